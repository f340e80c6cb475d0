"""How words, alignments and word accuracies are written and read: one module a format."""
