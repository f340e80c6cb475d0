"""Transcripts as people write them, brought to the words of a lexicon."""
