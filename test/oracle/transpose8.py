"""The transpose of each 8x8 matrix."""
import numpy as np

import arrays


def transpose8(source):
    return {"dest": np.swapaxes(source, 1, 2).copy()}


if __name__ == "__main__":
    arrays.run(transpose8, floats=["source"], outputs=["dest"])
