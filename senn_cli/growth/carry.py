"""Carrying an optimizer's and the curvature's state through an edit."""

from __future__ import annotations

from typing import Any

import numpy as np

from senn_cli.curvature.kfac import KfacState
from senn_cli.growth.edits import AddNeurons, Edit, InsertLayer, PruneNeuron
from senn_cli.growth.optimizer_state import Kind, moved
from senn_cli.growth.surgery import (
    Tree,
    edit_moments,
    homogeneous,
    joined,
    renumbered,
    swap_out,
)
from senn_cli.nets.mlp import MlpArchitecture


def edit_optimizer(
    state: Any, architecture: MlpArchitecture, edit: Edit, after: MlpArchitecture, *, natural: bool
) -> Any:
    """Optax's state (NumPy leaves) after `edit`; see `optimizer_state.moved`.

    Args:
      natural: whether the momentum is one of natural gradients.

    Raises:
      UsageError: a state that nothing is known of.
    """

    def change(tree: Tree, kind: Kind) -> Tree:
        return edit_moments(tree, architecture, edit, after, kind)

    return moved(state, change, natural=natural)


def _square(matrix: np.ndarray, size: int) -> np.ndarray:
    """A factor (n, n), or one a neuron (n, 3, 3), padded with zeros to `size` rows."""
    extra = size - matrix.shape[0]
    room = ((0, extra), (0, 0), (0, 0)) if matrix.ndim == 3 else ((0, extra), (0, extra))
    return np.pad(matrix, room)


def _room_for(factors: Tree, after: MlpArchitecture) -> Tree:
    result: Tree = {}
    for name, leaves in factors.items():
        n_in, n_out = after.map_capacity(int(name.rsplit("_", 1)[1]))
        result[name] = {
            symbol: _square(m, 1 + n_in if symbol.startswith("a") else n_out)
            for symbol, m in leaves.items()
        }
    return result


def edit_curvature(
    state: KfacState | None,
    params: Tree,
    architecture: MlpArchitecture,
    edit: Edit,
    after: MlpArchitecture,
) -> KfacState | None:
    """KFAC's state (NumPy leaves) after `edit`; its inverses are made anew at the next step.

    Old entries stay. A new neuron's row of A follows from measured second moments; its row of S and
    its 3 x 3 block are zero, as its gradients are while its output weights are zero. An inserted
    layer's factors follow from the old ones by the change of coordinates; only its 3 x 3 blocks
    are unknown and start from the next batch.

    Args:
      params: the parameters before the edit.
    """
    if state is None:
        return None
    stale = np.ones((), bool)
    ages = dict(state.ages)
    if isinstance(edit, InsertLayer):
        factors, ages = _insert_factors(state, params, architecture, edit)
        return KfacState(state.seen, ages, stale, _room_for(factors, after))
    factors = _room_for(state.factors, after)
    if isinstance(edit, AddNeurons) and edit.moments is not None:
        reads = factors[f"map_{edit.layer + 1}"]
        reads["a"] = extended(reads["a"], edit.moments, edit.weights.shape[1])
    if isinstance(edit, PruneNeuron):
        last = architecture.hidden[edit.layer].width - 1
        feeds, reads = factors[f"map_{edit.layer}"], factors[f"map_{edit.layer + 1}"]
        for axis in (0, 1):
            feeds["s"] = swap_out(feeds["s"], axis, edit.neuron, last)
            reads["a"] = swap_out(reads["a"], axis, 1 + edit.neuron, 1 + last)
        if (block := factors.get(f"activation_{edit.layer}")) is not None:
            block["c"] = swap_out(block["c"], 0, edit.neuron, last)
    return KfacState(state.seen, ages, stale, factors)


def extended(a: np.ndarray, moments: np.ndarray, k: int) -> np.ndarray:
    """The factor A with the rows of `k` new neurons, by what a sample says of them.

    A is an average over batches, `moments` (c + k, c + k) come from another sample, so that copying
    the new rows could make A indefinite. The sample is asked for the new neurons' regression on the
    c old ones, B = M_cc^-1 M_cp, and for what that leaves; with the old block of A they give
    A_cp = A_cc B and A_pp = B^T A_cc B + (M_pp - M_pc B), positive semi-definite whatever A_cc. On
    the sample that A was measured on, this is A itself.
    """
    c = moments.shape[0] - k
    m, old = moments.astype(np.float64), a[:c, :c].astype(np.float64)
    b = np.linalg.lstsq(m[:c, :c], m[:c, c:], rcond=1e-6)[0]
    rest = m[c:, c:] - m[c:, :c] @ b
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    rest = (vectors * np.maximum(values, 0.0)) @ vectors.T
    result = a.copy()
    result[:c, c : c + k] = old @ b
    result[c : c + k, :c] = (old @ b).T
    result[c : c + k, c : c + k] = b.T @ old @ b + rest
    return result


def _insert_factors(
    state: KfacState, params: Tree, architecture: MlpArchitecture, edit: InsertLayer
) -> tuple[Tree, dict[str, Any]]:
    n_in, n_out = architecture.map_width(edit.map)
    old = state.factors[f"map_{edit.map}"]
    dtype = old["a"].dtype
    a = old["a"][: 1 + n_in, : 1 + n_in].astype(np.float64)
    s = old["s"][:n_out, :n_out].astype(np.float64)
    q = homogeneous(edit.weights)
    inverse = np.linalg.inv(q)
    weights = joined(params[f"map_{edit.map}"], n_in, n_out).astype(np.float64)
    if edit.side == "inputs":
        # Pre-activations z_q = [1, h] Q: their second moments are Q^T A Q; the gradient with
        # respect to them is that of the old map, pulled back through W_q^-1 W.
        second_kernel = (inverse @ weights)[1:]
        s_first = second_kernel @ s @ second_kernel.T
        a_second = q.T @ a @ q
    else:
        # z_q = z W_q + b with z = [1, h] W; the gradient is pulled back through W_q^-1.
        back = inverse[1:, 1:]
        s_first = back @ s @ back.T
        lifted = homogeneous(weights) @ q
        a_second = lifted.T @ a @ lifted
    factors, ages = renumbered(state.factors, edit.map), renumbered(state.ages, edit.map)

    def entry(a: np.ndarray, s: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "a": a.astype(dtype),
            "s": s.astype(dtype),
            "a_inverse": np.zeros_like(a, dtype),
            "s_inverse": np.zeros_like(s, dtype),
        }

    factors[f"map_{edit.map}"] = entry(a, s_first)
    factors[f"map_{edit.map + 1}"] = entry(a_second, s)
    blocks = np.zeros((edit.weights.shape[1], 3, 3), dtype)
    factors[f"activation_{edit.map}"] = {"c": blocks, "c_inverse": blocks.copy()}
    age = state.ages[f"map_{edit.map}"]
    ages[f"map_{edit.map}"] = ages[f"map_{edit.map + 1}"] = age
    ages[f"activation_{edit.map}"] = np.zeros((), np.int32)
    return factors, ages
