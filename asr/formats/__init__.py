"""File formats of words, alignments and tables: one module a format, which reads and writes it."""
