"""One page that shows what an experiment's models hear, and where they go wrong."""
