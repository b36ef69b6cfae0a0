"""Root-mean-square normalisation, with a row in registers: the same mathematics as rmsnorm."""
import arrays
import rmsnorm


def rmsnorm_register(x, w, eps=1e-5):
    return rmsnorm.rmsnorm(x, w, eps)


if __name__ == "__main__":
    arrays.run(rmsnorm_register, floats=["x", "w"], outputs=["y"], scalars={"eps": 1e-5})
