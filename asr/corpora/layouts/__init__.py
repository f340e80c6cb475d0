"""The forms in which people keep recordings and transcripts, one module each (see `layouts.LAYOUTS`)."""
