"""The logarithm of each row's softmax: x_i - max - log sum_j exp(x_j - max)."""
import numpy as np

import arrays


def log_softmax(x):
    d = x - arrays.row_max(x)
    return {"y": d - np.log(arrays.row_sum(np.exp(d)))}


if __name__ == "__main__":
    arrays.run(log_softmax, floats=["x"], outputs=["y"])
