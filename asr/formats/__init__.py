"""How words, alignments and scores are written and read."""
