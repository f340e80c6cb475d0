import itertools

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop
from decoder.grammars.grammar import pack_tables
from decoder.search.compiled import Pruning, Weights
from decoder.search.confidence import edge_posteriors, word_confidence
from decoder.search.lattice import best_remaining, build_lattice, edge_slacks
from decoder.search.nbest import best_sequences
from decoder.search.viterbi import search

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


@pytest.fixture
def lattice_of(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    weights = Weights(1.0, 0.0, 0.0)

    def make(scores, beam):
        result = search(decoder.network, scores, weights, Pruning(400.0, 0, beam))
        return result, build_lattice(decoder.network, result, weights, beam)

    return make


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


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("beam", [0.0, 30.0, 120.0])
def test_posteriors_sum_to_one_at_every_frame(scale, beam, task, lattice_of):
    for scores in task.scores[:4]:
        _, lattice = lattice_of(scores, beam)
        posteriors = edge_posteriors(lattice, scale)
        total = np.zeros(len(scores) + 1)
        np.add.at(total, lattice.boundaries[lattice.sources], posteriors)
        np.add.at(total, lattice.boundaries[lattice.targets], -posteriors)
        np.testing.assert_allclose(np.cumsum(total)[:-1], 1.0, rtol=0, atol=1e-9)


def test_posteriors_equal_the_sum_over_all_paths(oracle, tiny_lexicon, tiny_topology):
    rng = np.random.default_rng(4)
    grammar, _ = oracle.tiny_grammars(rng)["bigram"]
    decoder = Decoder(tiny_lexicon, grammar, tiny_topology, WIDE)
    weights = Weights(1.3, -0.2, -0.5)
    result = search(
        decoder.network,
        rng.normal(size=(5, tiny_topology.n_states)),
        weights,
        Pruning(np.inf, 0, np.inf),
    )
    lattice = build_lattice(decoder.network, result, weights, np.inf)
    paths, complete = [(lattice.start, 0.0, ())], []
    while paths:
        node, score, edges = paths.pop()
        if lattice.final_scores[node] > -np.inf:
            complete.append((score + lattice.final_scores[node], edges))
        for edge in np.flatnonzero(lattice.sources == node):
            paths.append((lattice.targets[edge], score + lattice.scores[edge], (*edges, edge)))
    totals = 0.7 * np.array([score for score, _ in complete])
    weights_of_paths = np.exp(totals - np.logaddexp.reduce(totals))
    expected = np.zeros(len(lattice.scores))
    for weight, (_, edges) in zip(weights_of_paths, complete, strict=True):
        expected[list(edges)] += weight
    assert len(complete) > 50
    np.testing.assert_allclose(edge_posteriors(lattice, 0.7), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(max(score for score, _ in complete), result.log_score, rtol=1e-12, atol=1e-9)


def test_every_edge_lies_on_a_path_within_the_beam(task, lattice_of):
    for beam in (0.0, 10.0, 80.0):
        result, lattice = lattice_of(task.scores[2], beam)
        remaining = best_remaining(lattice)
        slacks = edge_slacks(lattice, remaining)
        np.testing.assert_allclose(remaining[lattice.start], result.log_score, rtol=1e-12, atol=1e-8)
        assert slacks.max() <= beam + 1e-6
        assert np.count_nonzero(slacks < 1e-8) >= 1


def test_confidence_is_high_for_clear_words_and_low_for_noise(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    decoder = decoder.with_config(confidence=True, posterior_scale=0.5)
    clear = [w.confidence for scores in task.scores for w in decoder.decode(scores).words]
    rng = np.random.default_rng(1)
    noise = [w.confidence for w in decoder.decode(rng.normal(size=(200, task.topology.n_states))).words]
    assert all(0.0 <= c <= 1.0 for c in clear + noise)
    assert np.mean(clear) > 0.8 > 0.5 > np.mean(noise)


def test_two_equal_words_share_the_confidence():
    lexicon = Lexicon({"TO": [("t",)], "TWO": [("t",)]})
    topology = Topology.monophones("t", n_states=1)
    scores = np.full((4, topology.n_states), -100.0)
    scores[:, topology.phone_states[topology.phone_id("t")][0]] = 0.0
    config = DecoderConfig(confidence=True, n_best=2, lattice_beam=3.0, word_penalty=-20.0, beam=np.inf)
    found = Decoder(lexicon, WordLoop(lexicon.words), topology, config).decode(scores)
    assert {found.text, found.alternatives[0].text} == {("TO",), ("TWO",)}
    np.testing.assert_allclose(found.words[0].confidence, 0.5, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.alternatives[0].log_score, found.log_score, rtol=1e-12, atol=1e-9)


def test_confidence_counts_the_same_word_at_shifted_times_once(task, lattice_of):
    _, lattice = lattice_of(task.scores[1], 150.0)
    posteriors = edge_posteriors(lattice, 0.01)
    for path in best_sequences(lattice, 3):
        for edge in path.edges:
            start, end = (int(lattice.boundaries[x[edge]]) for x in (lattice.sources, lattice.targets))
            word = int(lattice.words[edge])
            confidence = word_confidence(lattice, posteriors, word, start, end)
            assert posteriors[edge] - 1e-12 <= confidence <= 1.0


def test_endless_ties_neither_crash_nor_fill_the_memory():
    lexicon = Lexicon({f"W{i:03d}": [("a",)] for i in range(300)})
    topology = Topology.monophones("a", n_states=1)
    text = [[word] for word in lexicon.words]
    grammar = NGram.estimate(text, 2, vocabulary=lexicon.words)
    config = DecoderConfig(lm_scale=0.0, n_best=3, confidence=True, word_penalty=0.0)
    found = Decoder(lexicon, grammar, topology, config).decode(np.zeros((30, topology.n_states)))
    assert found.complete
    assert all(0.0 <= word.confidence <= 1.0 for word in found.words)
