"""Sweeps: many runs that belong together, planned, started, compared. No JAX is imported here."""
