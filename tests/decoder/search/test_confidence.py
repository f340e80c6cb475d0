"""Posteriors of edges by hand and against the sum over all paths; confidence of words."""

import numpy as np
import pytest

from decoder import Decoder, DecoderConfig
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import best_sequences, build_lattice, edge_posteriors, word_confidence
from decoder.search.viterbi import search

WIDE = DecoderConfig(
    lm_scale=1.3, word_penalty=-0.2, silence_log_prob=-0.5, beam=np.inf, lattice_beam=1e6, n_best=1000
)


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
    lattice = build_lattice(decoder.network.arc_table, result, weights, np.inf)
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


def test_confidence_counts_the_same_word_at_shifted_times_once(task, lattice_of):
    _, lattice = lattice_of(task.scores[1], 150.0)
    posteriors = edge_posteriors(lattice, 0.01)
    for path in best_sequences(lattice, 3):
        for edge in path.edges:
            start, end = (int(lattice.boundaries[x[edge]]) for x in (lattice.sources, lattice.targets))
            word = int(lattice.words[edge])
            confidence = word_confidence(lattice, posteriors, word, start, end)
            assert posteriors[edge] - 1e-12 <= confidence <= 1.0


def test_posteriors_and_confidence_by_hand(by_hand):
    paths = {(0, 3): -3.0, (0, 4, 6): -3.5, (0, 5): -6.0, (2,): -7.5}
    paths |= {(1, 3): -4.0, (1, 4, 6): -4.5, (1, 5): -7.0}
    total = sum(np.exp(0.5 * score) for score in paths.values())
    expected = [sum(np.exp(0.5 * s) for p, s in paths.items() if edge in p) / total for edge in range(7)]
    posteriors = edge_posteriors(by_hand, 0.5)
    np.testing.assert_allclose(posteriors, expected, rtol=1e-12)
    # Word 0 in the first two frames: the short edge and the long one; word 1 is surest in the last frame.
    first = word_confidence(by_hand, posteriors, 0, 0, 2)
    np.testing.assert_allclose(first, expected[0] + expected[2], rtol=1e-12)
    last = word_confidence(by_hand, posteriors, 1, 2, 4)
    np.testing.assert_allclose(last, expected[3] + expected[6], rtol=1e-12)
