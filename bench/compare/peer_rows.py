"""The peer's side of every row-operator comparison: how PyTorch is called.

Handed to the project with the recorded times of data/peer_h200_torch.json, which were measured
with it, and used unchanged: only this head and the breaks of long lines are ours. Each entry:
eager form writing into a preallocated output where the API has one, the function to compile
(written into `out` by out.copy_), and the bytes that must move (each input once, each output once;
weights and labels left out).
"""
import torch
import torch.nn.functional as F


def make(rows, width, dtype, device):
    x = torch.randn(rows, width, device=device, dtype=dtype)
    return {"x": x, "residual": torch.randn_like(x),
            "weight": torch.randn(width, device=device, dtype=dtype),
            "bias": torch.randn(width, device=device, dtype=dtype), "y": torch.empty_like(x),
            "s": torch.empty(rows, device=device, dtype=dtype),
            "label": torch.randint(0, width, (rows,), device=device)}


EAGER = {
    "sum": lambda a: torch.sum(a["x"], -1, out=a["s"]),
    "softmax": lambda a: torch.softmax(a["x"], -1, out=a["y"]),
    "rmsnorm": lambda a: F.rms_norm(a["x"], (a["x"].shape[-1],), a["weight"], 1e-5),
    "layernorm": lambda a: F.layer_norm(a["x"], (a["x"].shape[-1],), a["weight"], a["bias"], 1e-5),
    "residual_layernorm": lambda a: F.layer_norm(a["x"] + a["residual"], (a["x"].shape[-1],),
                                                 a["weight"], a["bias"], 1e-5),
    "cross_entropy": lambda a: F.cross_entropy(a["x"], a["label"], reduction="none"),
}
FUNCTION = {  # compile these with fullgraph=True, dynamic=False, after a reset per shape
    "sum": lambda x, residual, weight, bias, label, out:
        out.copy_(torch.sum(x, -1)),
    "softmax": lambda x, residual, weight, bias, label, out:
        out.copy_(torch.softmax(x, -1)),
    "rmsnorm": lambda x, residual, weight, bias, label, out:
        out.copy_(F.rms_norm(x, (x.shape[-1],), weight, 1e-5)),
    "layernorm": lambda x, residual, weight, bias, label, out:
        out.copy_(F.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)),
    "residual_layernorm": lambda x, residual, weight, bias, label, out:
        out.copy_(F.layer_norm(x + residual, (x.shape[-1],), weight, bias, 1e-5)),
    "cross_entropy": lambda x, residual, weight, bias, label, out:
        out.copy_(F.cross_entropy(x, label, reduction="none")),
}
OUTPUT = {"sum": "s", "cross_entropy": "s", "softmax": "y", "rmsnorm": "y", "layernorm": "y",
          "residual_layernorm": "y"}
TENSORS_MOVED = {"sum": (1, 0), "cross_entropy": (1, 0), "softmax": (1, 1), "rmsnorm": (1, 1),
                 "layernorm": (1, 1),
                 "residual_layernorm": (2, 1)}  # full-size tensors read, written
