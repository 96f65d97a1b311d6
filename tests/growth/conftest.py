"""Dense algebra that what is computed here is compared with."""

from tests.dense_algebra import dense, nets

__all__ = ["dense", "nets"]
