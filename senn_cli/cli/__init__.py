"""The command line: one verb a file, arguments and rendering alone."""
