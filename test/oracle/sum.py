"""The sum of each row."""
import arrays


def sum(x):
    return {"y": arrays.row_sum(x)[..., 0]}


if __name__ == "__main__":
    arrays.run(sum, floats=["x"], outputs=["y"])
