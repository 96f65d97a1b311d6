"""Architectures as plain data, and the Flax modules and initial weights made from them."""
