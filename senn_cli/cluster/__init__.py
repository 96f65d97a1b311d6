"""Runs of several processes and on clusters: what a launcher has started, scripts for Slurm."""
