"""Hidden Markov models of phones: topology, transcripts as graphs, Gaussian mixtures, alignment, contexts."""
