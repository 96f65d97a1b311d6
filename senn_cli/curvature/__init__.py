"""Metrics on the outputs, Kronecker factors, and the natural gradient by KFAC or by CG."""
