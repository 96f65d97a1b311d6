"""Runs of several processes and on clusters: how they meet, and scripts for Slurm."""
