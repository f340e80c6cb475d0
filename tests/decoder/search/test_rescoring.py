"""A lattice with other weights gives the best of all its paths, and with its own what was decoded."""

import numpy as np
import pytest

from decoder import Decoder, NGram, WordLoop
from decoder.search.compiled import Weights
from decoder.search.lattice import WeighedLattice

OWN = Weights(1.0, 0.0, 0.0)


def all_paths(lattice, node):
    """Yield the edges of every path from a node to a final one."""
    if lattice.final_scores[node] > -np.inf:
        yield ()
    for edge in np.flatnonzero(lattice.sources == node):
        for rest in all_paths(lattice, lattice.targets[edge]):
            yield (int(edge), *rest)


def best_by_brute_force(lattice, weights):
    """Return the words of the best of all paths, each scored from acoustic and grammar scores anew."""

    def total(path):
        edges = list(path)
        spoken = lattice.words[edges] >= 0
        last = lattice.targets[edges[-1]] if edges else lattice.start
        acoustic = lattice.scores[edges].sum() - OWN.lm_scale * lattice.log_probs[edges].sum()
        log_prob = lattice.log_probs[edges].sum() + lattice.final_log_probs[last]
        counted = weights.word_penalty * spoken.sum() + weights.silence_log_prob * (~spoken).sum()
        rest = lattice.final_scores[last] - OWN.lm_scale * lattice.final_log_probs[last]
        return acoustic + rest + weights.lm_scale * log_prob + counted

    words = lattice.words[list(max(all_paths(lattice, lattice.start), key=total))]
    return tuple("ab"[word] for word in words if word >= 0)


def test_best_words_are_those_of_the_best_of_all_paths(by_hand):
    lattice, found = WeighedLattice(by_hand, OWN, ("a", "b")), set()
    rng = np.random.default_rng(0)
    for values in np.column_stack([rng.uniform(0, 12, 200), rng.normal(0, 6, 200), rng.normal(0, 6, 200)]):
        weights = Weights(*map(float, values))
        words = lattice.best_words(weights)
        assert words == best_by_brute_force(by_hand, weights)
        found.add(words)
    assert len(found) >= 4  # the weights matter


@pytest.mark.parametrize("weights", [{}, {"lm_scale": 6.0, "word_penalty": -20.0, "silence_log_prob": -5.0}])
def test_with_its_own_weights_a_lattice_says_what_was_decoded(task, weights):
    sentences = [words[:3] for words in zip(*[iter(sorted(task.lexicon.words))] * 3, strict=False)]
    for grammar in (
        WordLoop(task.lexicon.words),
        NGram.estimate(sentences, 2, vocabulary=task.lexicon.words),
    ):
        decoder = Decoder(task.lexicon, grammar, task.topology).with_config(**weights)
        for scores in task.scores[:3]:
            found, lattice = decoder.decode_with_lattice(scores, 60.0, 50)
            assert found == decoder.decode(scores)
            assert lattice.best_words(lattice.weights) == found.text


def test_few_edges_narrow_the_beam(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    _, wide = decoder.decode_with_lattice(task.scores[1], 80.0, 500)
    _, narrow = decoder.decode_with_lattice(task.scores[1], 80.0, 2)
    assert wide.lattice.beam == 80.0 > narrow.lattice.beam
    assert len(narrow.lattice.sources) <= 2 * (1 + len(task.scores[1])) < len(wide.lattice.sources)
    assert narrow.best_words(narrow.weights) == wide.best_words(wide.weights)
