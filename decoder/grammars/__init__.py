"""Which words may follow which, and at what cost."""
