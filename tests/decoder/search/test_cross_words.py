"""Words in the context of their neighbours: the search against every sequence of words, each aligned."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.alignment import align
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import utterance_graph
from acoustic.hmm.topology import Topology, all_contexts
from acoustic.hmm.tying import contextual_topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop

LEXICON = Lexicon({"AB": [("a", "b")], "C": [("c",)], "BA": [("b", "a"), ("c", "a")], "A": [("a",)]})
SENTENCES = [("AB", "C"), ("C", "BA", "A"), ("A",), ("BA", "BA"), ("C", "C", "AB")]
MOST_WORDS = 3


def crossing(n_states, seed):
    """Return a topology whose contexts reach across words and share states at random."""
    phones = Topology.monophones(["a", "b", "c"], n_states=1, short_pause=False, self_loop=0.4)
    found = all_contexts([p for w in LEXICON.words for p in LEXICON.pronunciations(w)], crosses_words=True)
    rng = np.random.default_rng(seed)
    states = [(int(s),) for s in rng.integers(1, n_states, size=len(found))]
    return contextual_topology(phones, found, states, crosses_words=True)


def every_score(scores, topology, log_prob, penalty):
    """Return the best score of each sequence of words, and the score of no words."""
    found = {}
    for n in range(1, MOST_WORDS + 1):
        for words in product(LEXICON.words, repeat=n):
            graph = utterance_graph([LEXICON.pronunciations(w) for w in words], topology)
            try:
                aligned = align(scores, graph, topology, beam=np.inf)
            except AlignmentError:
                continue
            coins = (n + 1) * np.log(0.5)  # of the graph's optional pauses
            found[words] = aligned.log_likelihood - coins + log_prob(words) + n * penalty
    return found


@pytest.mark.parametrize("n_states", [4, 12, 60])
@pytest.mark.parametrize("grammar", ["loop", "bigram"])
def test_the_best_of_all_sequences_is_found(n_states, grammar):
    rng = np.random.default_rng(n_states)
    topology = crossing(n_states, n_states)
    loop = WordLoop(LEXICON.words)
    known = loop if grammar == "loop" else NGram.estimate(SENTENCES, 2, vocabulary=LEXICON.words)
    tables = known.compile(frozenset(LEXICON.words))
    penalty, scale = -1.0, 1.0
    config = DecoderConfig(lm_scale=scale, word_penalty=penalty, beam=np.inf, lattice_beam=np.inf, n_best=5)
    decoder = Decoder(LEXICON, known, topology, config)
    for _ in range(6):
        scores = rng.normal(scale=2, size=(5, topology.n_states))
        expected = every_score(scores, topology, tables.sentence_log_prob, penalty)
        found = decoder.decode(scores)
        best = max(expected, key=expected.get)
        if len(found.text) > MOST_WORDS:
            continue
        assert_allclose(found.log_score, expected[best], rtol=1e-9, atol=1e-9)
        assert_allclose(found.log_score, expected[found.text], rtol=1e-9, atol=1e-9)
        for other in found.alternatives:
            if other.text in expected:  # words begin where the best path's do: no better than the best
                assert other.log_score <= expected[other.text] + 1e-9
