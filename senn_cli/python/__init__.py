"""What is called from Python: fits of arrays, scikit-learn's estimators, runs to look at."""
