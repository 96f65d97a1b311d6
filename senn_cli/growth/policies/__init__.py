"""Policies: one file each, as far as they differ."""
