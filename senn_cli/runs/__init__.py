"""Run directories: what a run leaves on the disk, readable without this package."""
