"""Data: sources, splits as functions of the seed, and scaling. NumPy only, no JAX."""

from senn_cli.data.dataset import Dataset, Part
from senn_cli.data.registry import load_dataset

__all__ = ["Dataset", "Part", "load_dataset"]
