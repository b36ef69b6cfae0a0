"""GELU of t = x + bias, plus another tensor: t * Phi(t) + other, Phi the normal distribution."""
import math

import numpy as np

import arrays


def gelu_add(x, bias, other):
    t = x + bias
    # Phi(t) = erfc(-t / sqrt 2) / 2: no cancellation at negative t
    phi = 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-t / math.sqrt(2.0))
    return {"y": t * phi + other}


if __name__ == "__main__":
    arrays.run(gelu_add, floats=["x", "bias", "other"], outputs=["y"])
