"""The names of activation functions; what they compute is in `nets/activation.py`."""

from typing import Literal

Plain = Literal["silu", "tanh", "relu", "gelu", "leaky_relu", "softplus", "identity"]
"""Those without coefficients, which every kind of network has."""

Activation = Literal["rational", Plain]
"""All of them; `rational` is the paper's, with three coefficients for every unit."""

SLOPES: dict[str, float] = {"rational": 1.0, "tanh": 1.0, "silu": 0.5, "gelu": 0.5, "identity": 1.0}
"""The slope at 0 of those that are 0 and smooth there; `rational` with the identity's coefficients.

A unit of one of them that reads by small weights psi yields about slope psi . x.
"""
