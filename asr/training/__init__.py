"""Training of acoustic models from a corpus's recordings and transcripts."""
