"""Corpora on disk, what is wrong with them, and their recordings as cepstra."""
