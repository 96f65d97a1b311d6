"""Figures for papers, drawn with matplotlib from what runs recorded: one kind of plot a file."""
