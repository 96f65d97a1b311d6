"""Randomness as a function of (seed, purpose, step), never of call order or the clock."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax


def purpose_number(purpose: str) -> int:
    """A fixed 31-bit number for a purpose's name, the same in every process and version."""
    return zlib.crc32(purpose.encode()) & 0x7FFFFFFF


def numpy_generator(seed: int, purpose: str, step: int) -> np.random.Generator:
    """NumPy's generator for (seed, purpose, step)."""
    return np.random.default_rng([seed, purpose_number(purpose), step])


def key_data(seed: int, purpose: str, step: int = 0) -> np.ndarray:
    """The data `(2,)` uint32 of a JAX key for (seed, purpose, step), made without compiling."""
    words = np.random.SeedSequence([seed, purpose_number(purpose), step]).generate_state(2)
    return np.asarray(words, np.uint32)


def wrap(data: jax.Array | np.ndarray) -> jax.Array:
    """The JAX key of `key_data`; called inside compiled functions."""
    import jax

    key: jax.Array = jax.random.wrap_key_data(jax.numpy.asarray(data), impl="threefry2x32")
    return key
