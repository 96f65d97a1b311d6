"""The names of activation functions; what they compute is in `nets/activation.py`."""

from typing import Literal

Plain = Literal["silu", "tanh", "relu", "gelu", "leaky_relu", "softplus", "identity"]
"""Those without coefficients, which every kind of network has."""

Activation = Literal["rational", Plain]
"""All of them; `rational` is the paper's, with three coefficients for every unit."""
