"""Finished runs in use: measured on data, asked for predictions, written for other programs."""
