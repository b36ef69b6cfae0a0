"""Layer normalisation of x + residual."""
import arrays
from layernorm import layernorm


def residual_layernorm(x, residual, w, b, eps=1e-5):
    return layernorm(x + residual, w, b, eps)


if __name__ == "__main__":
    arrays.run(residual_layernorm, floats=["x", "residual", "w", "b"], outputs=["y"],
               scalars={"eps": 1e-5})
