"""Probabilities of pronunciations and of silences beside words, in both searches and in lattices."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram
from decoder import decoder as networks
from decoder.lexicon import LogUsage, Usage
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import best_sequences, build_lattice
from decoder.search.network import build_network
from decoder.search.tree_network import build_tree_network
from decoder.search.tree_search import tree_search
from decoder.search.viterbi import search

ENTRIES = {"A": [("a",)], "B": [("b", "a"), ("c",)], "C": [("c", "b")]}
OPEN = DecoderConfig(lm_scale=1.7, word_penalty=1.4, silence_log_prob=0.6, beam=np.inf)
WEIGHTS = Weights(1.7, 1.4, 0.6)
UNPRUNED = Pruning(np.inf, 0, np.inf)


def with_usage(rng, is_known_before=True):
    """Return the lexicon with probabilities; no pronunciation gains by them between words."""
    usage = {}
    for word, variants in ENTRIES.items():
        after, before = rng.uniform(0.05, 0.95), rng.uniform(0.3, 3.0, 2)
        before /= max(before[1] * (1 - after) / 0.8, 1.0)
        for variant, probability in zip(variants, (1.0, rng.uniform(0.1, 1.0)), strict=False):
            factors = before if is_known_before else (before[1], before[1])
            usage[word, variant] = Usage(probability, after, *map(float, factors))
    return Lexicon(ENTRIES, usage=usage)


def networks_of(lexicon, grammar, topology):
    tables = grammar.compile(frozenset(lexicon.words))
    return build_network(lexicon, tables, topology), build_tree_network(lexicon, tables, topology)


@pytest.mark.parametrize("name", ["unigram", "bigram", "trigram"])
@pytest.mark.parametrize("seed", range(3))
def test_search_over_instances_equals_brute_force(name, seed, oracle, tiny_topology):
    rng = np.random.default_rng(seed)
    lexicon, grammar = with_usage(rng), oracle.tiny_grammars(rng)[name][0]
    decoder, changed = Decoder(lexicon, grammar, tiny_topology, OPEN), 0
    plain = Decoder(Lexicon(ENTRIES), grammar, tiny_topology, OPEN)
    for n_frames in range(1, 6):
        scores = rng.normal(size=(n_frames, tiny_topology.n_states))
        expected = oracle.brute_force(lexicon, grammar, tiny_topology, OPEN, scores)
        found = decoder.decode(scores)
        assert found.complete == bool(expected)
        if expected:
            best = max(expected.values())
            np.testing.assert_allclose(found.log_score, best, rtol=1e-12, atol=1e-10)
            np.testing.assert_allclose(expected[found.text], best, rtol=1e-12, atol=1e-10)
            changed += abs(plain.decode(scores).log_score - best) > 0.01
    assert changed


@pytest.mark.parametrize("name", ["unigram", "bigram", "trigram"])
@pytest.mark.parametrize("seed", range(3))
def test_search_over_a_tree_equals_brute_force_where_words_are_as_usual_behind_silence(
    name, seed, oracle, tiny_topology
):
    rng = np.random.default_rng(seed)
    lexicon, grammar = with_usage(rng, is_known_before=False), oracle.tiny_grammars(rng)[name][0]
    _, tree = networks_of(lexicon, grammar, tiny_topology)
    for n_frames in range(1, 6):
        scores = rng.normal(size=(n_frames, tiny_topology.n_states))
        expected = oracle.brute_force(lexicon, grammar, tiny_topology, OPEN, scores)
        found = tree_search(tree, scores, WEIGHTS, UNPRUNED)
        if expected:
            np.testing.assert_allclose(found.log_score, max(expected.values()), rtol=1e-12, atol=1e-10)


def test_what_a_tree_finds_has_the_score_that_it_says(oracle, tiny_topology):
    """Behind silence it is the better way before the word is known that goes on: seldom the wrong one."""
    rng, n_best, n_all = np.random.default_rng(5), 0, 0
    for name in ("unigram", "bigram", "trigram"):
        lexicon, grammar = with_usage(rng), oracle.tiny_grammars(rng)[name][0]
        instances, tree = networks_of(lexicon, grammar, tiny_topology)
        for _ in range(10):
            scores = rng.normal(size=(6, tiny_topology.n_states))
            best = search(instances, scores, WEIGHTS, UNPRUNED)
            found = tree_search(tree, scores, WEIGHTS, UNPRUNED)
            assert found.log_score <= best.log_score + 1e-9
            lattice = build_lattice(tree.arc_table, found, WEIGHTS, np.inf)
            assert found.log_score - 1e-9 <= best_sequences(lattice, 1)[0].log_score <= best.log_score + 1e-9
            n_all += 1
            n_best += abs(found.log_score - best.log_score) < 1e-9
    assert n_best / n_all > 0.7


@pytest.mark.parametrize("name", ["unigram", "bigram", "trigram"])
def test_lattices_hold_all_sentences_with_their_scores(name, oracle, tiny_topology):
    rng = np.random.default_rng(11)
    lexicon, grammar = with_usage(rng), oracle.tiny_grammars(rng)[name][0]
    network, _ = networks_of(lexicon, grammar, tiny_topology)
    for n_frames in (3, 5):
        scores = rng.normal(size=(n_frames, tiny_topology.n_states))
        expected = oracle.brute_force(lexicon, grammar, tiny_topology, OPEN, scores)
        result = search(network, scores, WEIGHTS, UNPRUNED)
        lattice = build_lattice(network.arc_table, result, WEIGHTS, np.inf)
        for path in best_sequences(lattice, 5):
            words = tuple(network.words[w] for w in lattice.words[list(path.edges)] if w >= 0)
            assert path.log_score <= expected[words] + 1e-9
        best = best_sequences(lattice, 1)[0]
        np.testing.assert_allclose(best.log_score, max(expected.values()), rtol=1e-12, atol=1e-9)
        # The grammar's part of a path is what another scale multiplies, usage included.
        edges = list(best.edges)
        acoustic = lattice.scores[edges].sum() - WEIGHTS.lm_scale * lattice.log_probs[edges].sum()
        path_words = lattice.words[edges]
        fixed = (
            WEIGHTS.word_penalty * (path_words >= 0).sum() + WEIGHTS.silence_log_prob * (path_words < 0).sum()
        )
        states_only = OPEN.__class__(lm_scale=0.0, word_penalty=0.0, silence_log_prob=0.0)
        words = tuple(network.words[w] for w in path_words if w >= 0)
        free = oracle.brute_force(lexicon, grammar, tiny_topology, states_only, scores)[words]
        assert acoustic - fixed <= free + 1e-9


def test_lattices_of_both_searches_are_equal(task, oracle, monkeypatch):
    """Words, times, alternatives and confidences, where words are as usual behind silence."""
    rng = np.random.default_rng(0)
    usage = {
        (word, variant): Usage(float(rng.uniform(0.2, 1.0)), float(rng.uniform(0.02, 0.6)), 0.9, 0.9)
        for word in task.lexicon
        for variant in task.lexicon.pronunciations(word)
    }
    lexicon = Lexicon(dict(task.lexicon.entries), usage=usage)
    text = oracle.random_sentences(rng, lexicon.words, 80)
    config = DecoderConfig(lm_scale=2.0, beam=np.inf, lattice_beam=15.0, n_best=8, confidence=True)
    decoders = []
    for most in (10**9, 0):
        monkeypatch.setattr(networks, "MOST_INSTANCES", most)
        decoders.append(
            Decoder(lexicon, NGram.estimate(text, 2, vocabulary=lexicon.words), task.topology, config)
        )
    for scores in task.scores[:4]:
        expected, found = (decoder.decode(scores) for decoder in decoders)
        assert [h.text for h in found.alternatives] == [h.text for h in expected.alternatives]
        for one, other in zip((found, *found.alternatives), (expected, *expected.alternatives), strict=True):
            np.testing.assert_allclose(one.log_score, other.log_score, rtol=1e-12, atol=1e-8)
            assert [(w.word, w.start_s, w.end_s) for w in one.words] == [
                (w.word, w.start_s, w.end_s) for w in other.words
            ]
            np.testing.assert_allclose(
                [w.confidence for w in one.words], [w.confidence for w in other.words], rtol=0, atol=1e-6
            )


def test_a_lattice_with_other_weights_finds_what_is_decoded_with_them(task, oracle):
    rng = np.random.default_rng(1)
    usage = {
        (word, variant): Usage(1.0, float(rng.uniform(0.02, 0.6)), float(rng.uniform(0.5, 1.5)), 0.9)
        for word in task.lexicon
        for variant in task.lexicon.pronunciations(word)
    }
    lexicon = Lexicon(dict(task.lexicon.entries), usage=usage)
    grammar = NGram.estimate(oracle.random_sentences(rng, lexicon.words, 80), 2, vocabulary=lexicon.words)
    decoder = Decoder(lexicon, grammar, task.topology, DecoderConfig(lm_scale=2.0))
    equal = 0
    for scores in task.scores:
        _, lattice = decoder.decode_with_lattice(scores, 100.0, 500)
        for weights in (Weights(2.0, 0.0, 0.0), Weights(4.0, -2.0, -1.0), Weights(1.0, 1.0, 1.0)):
            other = decoder.with_config(**weights._asdict())
            equal += lattice.best_words(weights) == other.decode(scores).text
    assert equal >= 3 * len(task.scores) - 1


def test_logarithms_of_usage() -> None:
    assert LogUsage.of(Usage()) == (0.0, 0.0, 0.0)
    found = LogUsage.of(Usage(0.5, 0.2, 0.6, 0.3))
    np.testing.assert_allclose(found, np.log([0.5 * 0.8 * 0.3, 0.5 * 0.8 * 0.6, 0.2 / 0.8]), rtol=1e-12)
    lexicon = Lexicon({"A": ["x"], "B": ["y"]}, usage={("A", ("x",)): Usage(1.0, 0.2)})
    assert lexicon.log_usage("B") == lexicon.log_usage("A")  # as the average word
    assert Lexicon({"A": ["x"]}).log_usage("A") == [(0.0, 0.0, 0.0)]
    cut = LogUsage.of(Usage(1.0, 0.0, 1.0, 3.0))
    assert (cut.behind_word, cut.silence_after) == (0.0, np.log(1e-4))


def test_topology_without_silences_has_no_use_for_them(oracle) -> None:
    """The words of a model that reaches across words count as those of any other."""
    rng = np.random.default_rng(2)
    lexicon, topology = with_usage(rng), Topology.monophones("abc", n_states=1, short_pause=False)
    grammar = oracle.tiny_grammars(rng)["bigram"][0]
    scores = rng.normal(size=(5, topology.n_states))
    expected = oracle.brute_force(lexicon, grammar, topology, OPEN, scores)
    found = Decoder(lexicon, grammar, topology, OPEN).decode(scores)
    np.testing.assert_allclose(found.log_score, max(expected.values()), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", ["loop", "word-pair"])
def test_grammars_without_probabilities_have_none_of_usage_either(name, oracle, tiny_topology) -> None:
    rng = np.random.default_rng(3)
    lexicon, grammar = with_usage(rng), oracle.tiny_grammars(rng)[name][0]
    scores = rng.normal(size=(5, tiny_topology.n_states))
    found = [
        Decoder(each, grammar, tiny_topology, OPEN).decode(scores) for each in (lexicon, Lexicon(ENTRIES))
    ]
    assert found[0] == found[1]
