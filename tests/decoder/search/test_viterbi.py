"""The search against every word sequence and state path, dense Viterbi on the composed HMM, and hmmlearn."""

import numpy as np
import pytest
from hmmlearn import _hmmc

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, WordLoop
from decoder.search.compiled import START_CHAIN, Pruning, Weights
from decoder.search.network import build_network
from decoder.search.viterbi import cut, new_records, new_tokens, search
from decoder.search.word_ends import trace

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram")
OPEN = DecoderConfig(lm_scale=1.7, word_penalty=-0.4, silence_log_prob=-0.8, beam=np.inf)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_brute_force_over_all_word_sequences_and_state_paths(
    name, seed, oracle, tiny_lexicon, tiny_topology
):
    rng = np.random.default_rng(seed)
    grammar, _ = oracle.tiny_grammars(rng)[name]
    decoder = Decoder(tiny_lexicon, grammar, tiny_topology, OPEN)
    for n_frames in range(1, 6):
        scores = 2.0 * rng.normal(size=(n_frames, tiny_topology.n_states))
        expected = oracle.brute_force(tiny_lexicon, grammar, tiny_topology, OPEN, scores)
        found = decoder.decode(scores)
        assert found.complete == bool(expected)
        if expected:
            assert found.text == max(expected, key=expected.get)
            np.testing.assert_allclose(found.log_score, max(expected.values()), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("short_pause", [True, False])
def test_without_beam_equals_viterbi_on_the_composed_hmm(name, short_pause, oracle, tiny_lexicon):
    rng = np.random.default_rng(7)
    topology = Topology.monophones("abc", n_states=2, short_pause=short_pause, self_loop=0.7)
    grammar, order = oracle.tiny_grammars(rng)[name]
    decoder = Decoder(tiny_lexicon, grammar, topology, OPEN)
    hmm = oracle.compose(tiny_lexicon, grammar, topology, OPEN, order)
    for n_frames in (6, 25, 60):
        scores = rng.normal(size=(n_frames, topology.n_states))
        expected = oracle.dense_viterbi(hmm, scores)
        np.testing.assert_allclose(decoder.decode(scores).log_score, expected, rtol=1e-12, atol=1e-9)


def test_without_beam_equals_hmmlearn(oracle, tiny_lexicon, tiny_topology):
    """The oracle is hmmlearn 0.3; an added end state, alone in a last frame, closes the sentence."""
    rng = np.random.default_rng(11)
    grammar, order = oracle.tiny_grammars(rng)["bigram"]
    inner, start, end, states = oracle.compose(tiny_lexicon, grammar, tiny_topology, OPEN, order)
    n_nodes = len(states)
    transitions = np.full((n_nodes + 1, n_nodes + 1), -np.inf)
    transitions[:n_nodes, :n_nodes], transitions[:n_nodes, n_nodes] = inner, end
    scores = rng.normal(size=(40, tiny_topology.n_states))
    frames = np.full((41, n_nodes + 1), -np.inf)
    frames[:40, :n_nodes], frames[40, n_nodes] = scores[:, states], 0.0
    with np.errstate(divide="ignore"):
        log_score, _ = _hmmc.viterbi(np.exp(np.append(start, -np.inf)), np.exp(transitions), frames)
    found = Decoder(tiny_lexicon, grammar, tiny_topology, OPEN).decode(scores)
    np.testing.assert_allclose(found.log_score, log_score, rtol=1e-9, atol=1e-9)


def test_a_wider_beam_never_scores_worse(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    for scores in task.scores:
        found = [decoder.with_config(beam=beam).decode(scores) for beam in (20.0, 40.0, 80.0, 200.0, np.inf)]
        totals = [h.log_score for h in found if h.complete]
        assert found[-1].complete
        assert totals == sorted(totals)
        assert found[-2] == found[-1]


def test_histogram_pruning_keeps_the_best_and_more_chains_never_score_worse(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    n_chains = len(decoder.network.graph.chain_words)
    for scores in task.scores:
        full = decoder.with_config(beam=np.inf).decode(scores)
        assert decoder.with_config(beam=np.inf, max_active=n_chains).decode(scores) == full
        found = [decoder.with_config(beam=np.inf, max_active=n).decode(scores) for n in (1, 5, 20, n_chains)]
        totals = [h.log_score for h in found if h.complete]
        assert totals == sorted(totals)


def test_the_records_hold_the_best_path(oracle, task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    result = search(decoder.network, task.scores[2], Weights(1.0, 0.0, 0.0), Pruning(200.0, 0, -np.inf))
    path = trace(result.records, result.best)
    assert [result.records.predecessors[r] for r in path] == [0, *path[:-1]]
    assert result.records.ends[path[-1]] == len(task.scores[2])
    ends, scores = result.records.ends[path], result.records.scores[path]
    assert np.all(np.diff(ends) > 0)
    np.testing.assert_allclose(scores[-1], result.log_score, rtol=1e-12)


# Working memory is empty, large enough, and cut to what is used


@pytest.mark.parametrize(("name", "depth"), [("loop", 0), ("word-pair", 0), ("bigram", 1), ("trigram", 2)])
def test_nothing_is_anywhere_yet(name, depth, oracle, tiny_lexicon):
    grammar, _ = oracle.tiny_grammars(np.random.default_rng(0))[name]
    graph = build_network(
        tiny_lexicon, grammar.compile(frozenset(tiny_lexicon.words)), Topology.monophones("abc")
    ).graph
    tokens = new_tokens(graph)
    n_chains, n_contexts = len(graph.chain_words), len(graph.final_log_probs)
    for scores, n in (
        (tokens.scores, len(graph.node_states)),
        (tokens.entry_scores, n_chains),
        (tokens.chain_scores, n_chains),
        (tokens.context_scores.ravel(), 3 * n_contexts),
    ):
        assert scores.tolist() == [-np.inf] * n
    assert not tokens.is_active.any()
    assert not tokens.is_reached.any()
    assert tokens.waiting_heads.tolist() == [-1] * n_contexts
    assert len(tokens.waiting_scores) == n_contexts * depth  # every context may wait at all it backs off to
    assert len(tokens.stamps) == 3


def test_records_begin_with_the_start_of_the_sentence():
    records = new_records(10)
    assert len(records.scores) >= 10
    first = cut(records, 1)
    assert (first.chains[0], first.ends[0], first.predecessors[0], first.scores[0]) == (
        START_CHAIN,
        0,
        -1,
        0.0,
    )


def test_cut_keeps_the_first_records_and_shares_no_memory():
    records = new_records(0)
    records.chains[1], records.ends[1], records.predecessors[1], records.scores[1] = 5, 9, 0, -2.5
    kept = cut(records, 2)
    records.scores[1] = 0.0
    assert kept.chains.tolist() == [START_CHAIN, 5]
    assert kept.ends.tolist() == [0, 9]
    assert kept.predecessors.tolist() == [-1, 0]
    assert kept.scores.tolist() == [0.0, -2.5]
