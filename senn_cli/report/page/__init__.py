"""One self-contained HTML page about runs: its data, and how they become a file."""
