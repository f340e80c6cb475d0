"""The n best word sequences of a lattice, by hand and against brute force."""

import itertools

import numpy as np
import pytest

from decoder import Decoder, DecoderConfig, WordLoop
from decoder.grammars.grammar import pack_tables
from decoder.search.lattice import best_sequences

WIDE = DecoderConfig(
    lm_scale=1.3, word_penalty=-0.2, silence_log_prob=-0.5, beam=np.inf, lattice_beam=1e6, n_best=1000
)


class Remembering:
    """A grammar that never forgets a word: with it the word-pair approximation is exact."""

    def __init__(self, words, max_words, seed):
        rng = np.random.default_rng(seed)
        self.words = tuple(words)
        self.contexts = [()]
        self.log_probs = {}
        for history in self.contexts:
            if len(history) < max_words:
                self.contexts += [(*history, word) for word in self.words]
            log_probs = np.log(rng.dirichlet(np.ones(len(self.words) + 1)))
            self.log_probs[history] = dict(zip((*self.words, "</s>"), log_probs, strict=True))

    def compile(self, pronounceable):
        ids = {context: i for i, context in enumerate(self.contexts)}
        arcs = [
            [
                (w, self.log_probs[h][word], ids[*h, word])
                for w, word in enumerate(self.words)
                if (*h, word) in ids
            ]
            for h in self.contexts
        ]
        return pack_tables(self.words, arcs, [self.log_probs[h]["</s>"] for h in self.contexts], 0)

    def sentence_log_prob(self, words):
        if len(words) and tuple(words) not in self.contexts:
            return -np.inf
        return sum(self.log_probs[tuple(words[:i])][w] for i, w in enumerate([*words, "</s>"]))


@pytest.mark.parametrize("seed", range(4))
def test_n_best_equals_brute_force_where_the_approximation_is_exact(
    seed, oracle, tiny_lexicon, tiny_topology, monkeypatch
):
    rng = np.random.default_rng(seed)
    grammar = Remembering(tiny_lexicon.words, 5, seed)
    scores = 2.0 * rng.normal(size=(5, tiny_topology.n_states))
    monkeypatch.setitem(
        oracle.brute_force.__globals__, "sentence_log_prob", lambda g, w: g.sentence_log_prob(w)
    )
    expected = oracle.brute_force(tiny_lexicon, grammar, tiny_topology, WIDE, scores)
    ranked = sorted(expected, key=expected.get, reverse=True)
    found = Decoder(tiny_lexicon, grammar, tiny_topology, WIDE).decode(scores)
    hypotheses = [found, *found.alternatives]
    assert [h.text for h in hypotheses] == ranked
    np.testing.assert_allclose(
        [h.log_score for h in hypotheses], [expected[words] for words in ranked], rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize("name", ["loop", "word-pair", "bigram", "trigram"])
def test_n_best_is_distinct_ordered_allowed_and_never_above_brute_force(
    name, oracle, tiny_lexicon, tiny_topology
):
    rng = np.random.default_rng(17)
    grammar, _ = oracle.tiny_grammars(rng)[name]
    scores = 2.0 * rng.normal(size=(5, tiny_topology.n_states))
    expected = oracle.brute_force(tiny_lexicon, grammar, tiny_topology, WIDE, scores)
    found = Decoder(tiny_lexicon, grammar, tiny_topology, WIDE).decode(scores)
    hypotheses = [found, *found.alternatives]
    texts, totals = [h.text for h in hypotheses], [h.log_score for h in hypotheses]
    assert len(set(texts)) == len(texts) > 3
    assert totals == sorted(totals, reverse=True)
    assert all(total <= expected[text] + 1e-9 for text, total in zip(texts, totals, strict=True))
    assert texts[0] == max(expected, key=expected.get)


def test_n_best_words_carry_their_scores(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    decoder = decoder.with_config(n_best=5, lattice_beam=150.0, silence_log_prob=-1e9)
    found = decoder.decode(task.scores[3])
    assert len(found.alternatives) == 4
    for h in (found, *found.alternatives):
        total = sum(word.log_score for word in h.words)  # no silence can take a share
        np.testing.assert_allclose(total, h.log_score, rtol=1e-12, atol=1e-8)
        assert all(a.end_s == b.start_s for a, b in itertools.pairwise(h.words))


def words_and_scores(lattice, n_best):
    found = best_sequences(lattice, n_best)
    return [
        (tuple(int(w) for w in lattice.words[list(path.edges)] if w >= 0), path.log_score) for path in found
    ]


def test_sequences_by_hand(by_hand):
    expected = [((0, 1), -3.0), ((1, 1), -4.0), ((0, 0), -6.0), ((1, 0), -7.0), ((0,), -7.5)]
    for n_best in range(1, 8):
        assert words_and_scores(by_hand, n_best) == expected[:n_best]


def test_each_sequence_has_its_best_path(by_hand):
    first, *_ = best_sequences(by_hand, 1)
    assert first.edges == (0, 3)  # not over the silence, edges 0, 4, 6
