"""RMSNorm quantised to i8: scale = max |n| / 127, q = n / scale to nearest even (NaN gives 0).

The quotient before rounding is given too: near a half either neighbour is right.
"""
import numpy as np

import arrays
from rmsnorm import rmsnorm


def rmsnorm_quant(x, w, eps=1e-5):
    n = rmsnorm(x, w, eps)["y"]
    scale = arrays.row_max(np.abs(n)) / 127.0
    quotient = n / np.where(scale > 0.0, scale, 1.0)
    rounded = np.rint(quotient)
    q = np.clip(np.where(np.isnan(rounded), 0.0, rounded), -128.0, 127.0)
    return {"q": q.astype(np.int64), "scale": scale[..., 0], "quotient": quotient}


if __name__ == "__main__":
    arrays.run(rmsnorm_quant, floats=["x", "w"], outputs=["q", "scale"], scalars={"eps": 1e-5})
