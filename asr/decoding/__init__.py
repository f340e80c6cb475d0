"""Decoding of recordings, in two passes where a model adapts, and the tuning of the decoder's weights."""
