"""Layer normalisation: (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b."""
import numpy as np

import arrays


def layernorm(x, w, b, eps=1e-5):
    d = x - arrays.row_mean(x)
    return {"y": d / np.sqrt(arrays.row_mean(d * d) + arrays.f32(eps)) * w + b}


if __name__ == "__main__":
    arrays.run(layernorm, floats=["x", "w", "b"], outputs=["y"], scalars={"eps": 1e-5})
