"""What a run tells: read from its plain files, shown as tables, plots and a page."""
