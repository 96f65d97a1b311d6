"""`python -m senn_cli` is the command `senn`."""

from senn_cli.cli.app import main

main()
