"""The peer of bench/kernels/transpose.croft: how PyTorch transposes the tiles of a batch.

eager copies the transposed view into `out`, compiled does the same compiled, contiguous makes the
tensor that it returns. What is only moved has to be equal bit by bit, zeros with their signs.
"""
import torch

from compare.transposes import owners

EXACT = True


def make(batches, p, q, dtype, device):
    source = torch.randn(batches, p, q, device=device).to(dtype)
    source.view(-1)[::7] = -0.0
    return {"source": source,
            "dest": torch.empty(batches, q, p, device=device, dtype=dtype)}


def kernel_arguments(operator, dtype, axes):
    return owners(dtype, *axes)


EAGER = {"transpose": lambda a: a["dest"].copy_(a["source"].transpose(1, 2))}
FURTHER = {"contiguous": {"transpose": lambda a: a["source"].transpose(1, 2).contiguous()}}
FUNCTION = {"transpose": lambda source, out: out.copy_(source.transpose(1, 2))}
OUTPUT = {"transpose": "dest"}
TENSORS_MOVED = {"transpose": (1, 1)}
