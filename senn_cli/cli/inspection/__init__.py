"""How `senn inspect` looks: columns, sections, and a run that is followed."""
