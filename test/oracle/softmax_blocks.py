"""Softmax of each row; in blocks or not, the function is the same."""
import arrays
from softmax import softmax


def softmax_blocks(x):
    return softmax(x)


if __name__ == "__main__":
    arrays.run(softmax_blocks, floats=["x"], outputs=["y"])
