"""SwiGLU: gate * sigmoid(gate) * up."""
import numpy as np

import arrays


def swiglu(gate, up):
    return {"y": gate / (1.0 + np.exp(-gate)) * up}


if __name__ == "__main__":
    arrays.run(swiglu, floats=["gate", "up"], outputs=["y"])
