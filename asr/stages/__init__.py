"""The stages of an experiment: what each is made from, and where its output is kept."""
