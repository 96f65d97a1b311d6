"""Networks, derivatives and scores in plain NumPy, written from the paper and not from the code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture

Tree = dict[str, dict[str, np.ndarray]]


class Pass(NamedTuple):
    """`reads` with the constant in front, pre-activations and their gradients, map by map."""

    outputs: np.ndarray
    reads: list[np.ndarray]
    z: list[np.ndarray]


def ones_first(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(x), 1), x.dtype), x], axis=1)


def basis(z: np.ndarray) -> np.ndarray:
    return np.stack([z, 1 / (1 + z**2), z / (1 + z**2)], axis=-1)


def act(name: str, z: np.ndarray, coefficients: np.ndarray | None) -> np.ndarray:
    if name == "rational":
        return np.einsum("...nk,kn->...n", basis(z), coefficients)
    return np.tanh(z) if name == "tanh" else z / (1 + np.exp(-z))


def slope(name: str, z: np.ndarray, coefficients: np.ndarray | None) -> np.ndarray:
    if name == "rational":
        alpha, beta, gamma = coefficients
        square = 1 + z**2
        return alpha + (gamma * square - 2 * z * (beta + gamma * z)) / square**2
    if name == "tanh":
        return 1 - np.tanh(z) ** 2
    gate = 1 / (1 + np.exp(-z))
    return gate * (1 + z * (1 - gate))


class Nets:
    """Fully connected networks over the neurons in use alone."""

    @staticmethod
    def architecture(
        inputs: int, hidden: list[tuple[int, int, str]], outputs: int
    ) -> MlpArchitecture:
        return MlpArchitecture(inputs, outputs, tuple(Layer(*h) for h in hidden))  # type: ignore[arg-type]

    @staticmethod
    def draw(rng: np.random.Generator, shape: MlpArchitecture, dtype: Any = np.float64) -> Tree:
        """LeCun normal kernels, unit normal biases and coefficients; zero where not in use."""
        tree: Tree = {}
        for i in range(len(shape.maps)):
            n_in, n_out = shape.map_width(i)
            kernel = np.zeros(shape.map_capacity(i), dtype)
            kernel[:n_in, :n_out] = rng.standard_normal((n_in, n_out)) / np.sqrt(n_in)
            bias = np.zeros(shape.map_capacity(i)[1], dtype)
            bias[:n_out] = rng.standard_normal(n_out)
            tree[f"map_{i}"] = {"kernel": kernel, "bias": bias}
            if i < len(shape.hidden) and shape.hidden[i].activation == "rational":
                coefficients = np.zeros((3, shape.hidden[i].capacity), dtype)
                coefficients[:, :n_out] = rng.standard_normal((3, n_out))
                tree[f"activation_{i}"] = {"coefficients": coefficients}
        return tree

    @staticmethod
    def coefficients(shape: MlpArchitecture, params: Tree, layer: int) -> np.ndarray | None:
        if shape.hidden[layer].activation != "rational":
            return None
        return params[f"activation_{layer}"]["coefficients"][:, : shape.hidden[layer].width]

    @classmethod
    def run(cls, shape: MlpArchitecture, params: Tree, x: np.ndarray) -> Pass:
        """The network in the precision of `x` and `params`."""
        reads, pre = [], []
        for i in range(len(shape.maps)):
            n_in, n_out = shape.map_width(i)
            linear = params[f"map_{i}"]
            reads.append(ones_first(x))
            z = x @ linear["kernel"][:n_in, :n_out] + linear["bias"][:n_out]
            pre.append(z)
            if i < len(shape.hidden):
                x = act(shape.hidden[i].activation, z, cls.coefficients(shape, params, i))
        return Pass(pre[-1], reads, pre)

    @classmethod
    def gradients(
        cls, shape: MlpArchitecture, params: Tree, seen: Pass, v: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """`v` (N, outputs) pulled back to every map's pre-activations and to activations."""
        to_z: list[np.ndarray] = [v]
        to_h: list[np.ndarray] = []
        for i in reversed(range(len(shape.hidden))):
            n_in, n_out = shape.map_width(i + 1)
            up = to_z[0] @ params[f"map_{i + 1}"]["kernel"][:n_in, :n_out].T
            coefficients = cls.coefficients(shape, params, i)
            to_h.insert(0, up)
            to_z.insert(0, up * slope(shape.hidden[i].activation, seen.z[i], coefficients))
        return to_z, to_h

    @classmethod
    def factors(cls, shape: MlpArchitecture, params: Tree, x: np.ndarray, v: np.ndarray) -> Tree:
        """KFAC's A, S and 3 x 3 blocks over the neurons in use, from output gradients `v`."""
        seen = cls.run(shape, params, x)
        to_z, to_h = cls.gradients(shape, params, seen, v)
        n, result = len(x), {}
        for i in range(len(shape.maps)):
            a, g = seen.reads[i], to_z[i]
            result[f"map_{i}"] = {"a": a.T @ a / n, "s": g.T @ g / n}
            if f"activation_{i}" in params:
                phi = basis(seen.z[i])
                c = np.einsum("nj,nja,njb->jab", to_h[i] ** 2, phi, phi) / n
                result[f"activation_{i}"] = {"c": c}
        return result

    @staticmethod
    def unused_are_zero(shape: MlpArchitecture, tree: Tree) -> bool:
        """Whether every entry that no neuron in use has is exactly zero, at the right shapes."""
        names = {f"map_{i}" for i in range(len(shape.maps))}
        names |= {
            f"activation_{i}" for i, h in enumerate(shape.hidden) if h.activation == "rational"
        }
        assert set(tree) == names
        for name, leaves in tree.items():
            index = int(name.rsplit("_", 1)[1])
            (n_in, n_out), (cap_in, cap_out) = shape.map_width(index), shape.map_capacity(index)
            for leaf, array in leaves.items():
                rows, used = {
                    "kernel": ((cap_in, cap_out), (slice(n_in), slice(n_out))),
                    "bias": ((cap_out,), (slice(n_out),)),
                    "coefficients": ((3, cap_out), (slice(3), slice(n_out))),
                }[leaf]
                assert array.shape == rows, (name, leaf)
                rest = array.copy()
                rest[used] = 0
                if np.any(rest):
                    return False
        return True


class Dense:
    """Section 3 of the paper by dense solves."""

    @staticmethod
    def damped(matrix: np.ndarray, share: float, active: int | None = None) -> np.ndarray:
        size = matrix.shape[0]
        ridge = share * np.trace(matrix) / (active or size)
        return matrix + ridge * np.eye(size)

    @staticmethod
    def score(a_matrix: np.ndarray, s_matrix: np.ndarray, moment: np.ndarray) -> float:
        """Tr[S^-1 E[g a^T] A^-1 E[a g^T]] with `moment` = E[a g^T]."""
        inner = moment.T @ np.linalg.solve(a_matrix, moment)
        return float(np.trace(np.linalg.solve(s_matrix, inner)))

    @classmethod
    def eta(
        cls, a: np.ndarray, g: np.ndarray, s: np.ndarray, share_a: float, share_s: float
    ) -> float:
        a_matrix = cls.damped(a.T @ a / len(a), share_a)
        return cls.score(a_matrix, cls.damped(s, share_s), a.T @ g / len(a))


@pytest.fixture(scope="session")
def nets() -> type[Nets]:
    return Nets


@pytest.fixture(scope="session")
def dense() -> type[Dense]:
    return Dense
