"""How far an arm's outputs are from the same operation in float64, in ulp of their type; or, of
what is only moved, whether they have the same bits.

The reference is the peer's own function on inputs converted to float64. An element's ulp is that
of the larger of the reference and of the root mean square of its row: where terms cancel, an error
of ordinary size is not a thousand ulp of what is left. Outputs are poisoned before: what an arm
does not write is NaN, or the least integer, and stays an error without bound.
"""
import math

import torch

DIGITS = {torch.float32: 24, torch.bfloat16: 8, torch.float16: 11, torch.float64: 53}
LEAST_EXPONENT = {torch.float32: -125, torch.bfloat16: -125, torch.float16: -13,
                  torch.float64: -1021}  # of the least normal number, as frexp says it
# Largest error in ulp. A peer may round in between (x + residual in halves), so it gets more.
BOUND = {torch.float32: 64, torch.bfloat16: 8, torch.float16: 8, torch.float64: 64}
PEER_BOUND = 8  # times BOUND
CHUNK = 1 << 24
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def poison(tensor):
    if tensor.dtype.is_floating_point:
        tensor.fill_(math.nan)
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).min)


def widened(value):
    return value.double() if torch.is_tensor(value) and value.dtype.is_floating_point else value


def differing(output, reference):
    """How many elements have other bits, or all where type or shape is another."""
    if output.shape != reference.shape or output.dtype != reference.dtype:
        return max(1, output.numel())
    word = WORDS[output.element_size()]
    return int((output.contiguous().view(word) != reference.contiguous().view(word)).sum())


def error_ulp(output, reference):
    """The largest error of an output; infinite where it is no number or not of this shape."""
    if output.numel() != reference.numel():
        return math.inf
    if not output.dtype.is_floating_point:
        return float((output.double() - reference.double().reshape(output.shape)).abs().max())
    width = output.shape[-1] if output.dim() > 1 else output.numel()
    rows = output.reshape(-1, width)
    wanted = reference.reshape(-1, width)
    step, worst = max(1, CHUNK // max(1, width)), 0.0
    for at in range(0, rows.shape[0], step):
        worst = max(worst, chunk_ulp(rows[at:at + step], wanted[at:at + step], output.dtype))
    return worst


def chunk_ulp(output, reference, dtype):
    scale = reference.square().mean(-1, keepdim=True).sqrt()
    size = torch.maximum(reference.abs(), scale)
    exponent = torch.frexp(size)[1].clamp(min=LEAST_EXPONENT[dtype]) - DIGITS[dtype]
    error = (output.double() - reference).abs() / torch.exp2(exponent.double())
    return float(torch.nan_to_num(error, nan=math.inf, posinf=math.inf).max())
