"""From spelling to pronunciation: a model of letters and phones, learned from a lexicon."""
