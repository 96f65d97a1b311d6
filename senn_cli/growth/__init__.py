"""Scores, proposals, function-preserving edits, and the policies that decide on them."""
