"""Compiled programs and their ledger, arrays on devices, objectives and their metrics."""
