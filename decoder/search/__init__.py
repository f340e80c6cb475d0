"""The Viterbi search: from scores of states to words, lattices, n-best lists and confidences."""
