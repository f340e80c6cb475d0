"""Word accuracy: alignment with the reference, intervals, comparisons, tables of results."""
