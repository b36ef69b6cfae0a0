"""Root-mean-square normalisation: x / sqrt(mean(x^2) + eps) * w."""
import numpy as np

import arrays


def rmsnorm(x, w, eps=1e-5):
    return {"y": x / np.sqrt(arrays.row_mean(x * x) + arrays.f32(eps)) * w}


if __name__ == "__main__":
    arrays.run(rmsnorm, floats=["x", "w"], outputs=["y"], scalars={"eps": 1e-5})
