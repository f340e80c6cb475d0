"""The compiled search against the same in plain Python, one context at a time."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram
from decoder.search.compiled import BEFORE_SILENCE, BY_SILENCE, BY_WORD, Pruning, Weights, enter
from decoder.search.network import build_network
from decoder.search.viterbi import new_tokens, search

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram")


def search_reference(network, tables, scores, weights, pruning):
    """Return (best record, complete, score, records): the search in plain Python, one context at a time."""
    graph = network.graph
    n_chains = len(graph.chain_words)
    tokens = {}  # (chain, position) -> (score, record)
    records = [(-1, 0, -1, 0.0)]
    reached = {(network.start_context, False): 0}
    threshold = -np.inf
    for t, frame in enumerate([*scores, None]):
        if frame is None:
            break
        entries = {}
        for context in {c for c, _ in reached}:
            ways = [reached[context, s] for s in (False, True) if (context, s) in reached]
            record = max(ways, key=lambda r: records[r][3])
            for k in range(n_chains):
                word = graph.chain_words[k]
                if word < 0:
                    if graph.chain_contexts[k] != context or (context, False) not in reached:
                        continue
                    offer = (
                        records[reached[context, False]][3] + weights.silence_log_prob,
                        reached[context, False],
                    )
                else:
                    step = tables.follow(context, word)
                    if step is None or step[1] != graph.chain_contexts[k]:
                        continue
                    offer = (records[record][3] + weights.lm_scale * step[0] + weights.word_penalty, record)
                if offer[0] >= threshold:
                    entries[k] = max(entries.get(k, (-np.inf, -1)), offer)
        moved = {}
        for k in range(n_chains):
            first, stop = graph.chain_offsets[k : k + 2]
            for node in range(first, stop):
                before = entries.get(k) if node == first else tokens.get(node - 1)
                step = graph.node_log_advance[node - 1] if node > first else 0.0
                ways = [(before[0] + step, before[1])] if before else []
                if node in tokens:
                    ways.append((tokens[node][0] + graph.node_log_stay[node], tokens[node][1]))
                if ways:
                    score, record = max(ways)
                    moved[node] = (score + frame[graph.node_states[node]], record)
        chain_best = {}
        chain_of = np.repeat(np.arange(n_chains), np.diff(graph.chain_offsets))
        for node, (score, _) in moved.items():
            if score > -np.inf:
                chain_best[chain_of[node]] = max(chain_best.get(chain_of[node], -np.inf), score)
        best = max(chain_best.values())
        threshold = best - pruning.beam
        if pruning.max_active and len(chain_best) > pruning.max_active:
            threshold = max(threshold, sorted(chain_best.values())[-pruning.max_active])
        tokens = {n: v for n, v in moved.items() if chain_best.get(chain_of[n], -np.inf) >= threshold}
        reached = {}
        for k in range(n_chains):
            last = graph.chain_offsets[k + 1] - 1
            if last in tokens and tokens[last][0] > -np.inf:
                if t + 1 < len(scores) and tokens[last][0] < threshold:
                    continue
                records.append((k, t + 1, tokens[last][1], tokens[last][0] + graph.node_log_advance[last]))
                key = (graph.chain_contexts[k], bool(graph.chain_words[k] < 0))
                if key not in reached or records[-1][3] > records[reached[key]][3]:
                    reached[key] = len(records) - 1
    ends = {
        r: records[r][3] + weights.lm_scale * tables.final_log_probs[c]
        for (c, _), r in reached.items()
        if tables.final_log_probs[c] > -np.inf
    }
    if ends:
        best = max(ends, key=lambda r: ends[r])
        return True, ends[best]
    return False, max((records[r][3] for r in reached.values()), default=None)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(
    ("beam", "max_active"), [(np.inf, 0), (8.0, 0), (3.0, 0), (1.0, 0), (np.inf, 3), (6.0, 2)]
)
def test_kernel_equals_reference_for_every_beam(name, beam, max_active, oracle, tiny_lexicon):
    rng = np.random.default_rng(5)
    topology = Topology.monophones("abc", n_states=2)
    grammar, _ = oracle.tiny_grammars(rng)[name]
    tables = grammar.compile(frozenset(tiny_lexicon.words))
    network = build_network(tiny_lexicon, tables, topology)
    weights, pruning = Weights(2.0, -0.5, -0.3), Pruning(beam, max_active, -np.inf)
    for n_frames in (1, 4, 12, 20):
        scores = 2.0 * rng.normal(size=(n_frames, topology.n_states))
        complete, log_score = search_reference(network, tables, scores, weights, pruning)
        found = search(network, scores, weights, pruning)
        assert found.complete == complete
        if log_score is not None:
            np.testing.assert_allclose(found.log_score, log_score, rtol=1e-12, atol=1e-9)


def test_backoff_is_not_taken_where_the_word_is_listed():
    # Listed, B after A is all but impossible; through backoff it would be likely.
    model = NGram(
        (
            {("<s>",): -np.inf, ("A",): -0.4, ("B",): -0.3, ("</s>",): -1.0},
            {("<s>", "A"): -0.1, ("A", "B"): -6.0},
        ),
        {("<s>",): -1.0, ("A",): 0.0},
    )
    lexicon, topology = Lexicon({"A": [("a",)], "B": [("b",)]}), Topology.monophones("ab", n_states=1)
    decoder = Decoder(lexicon, model, topology, DecoderConfig(beam=np.inf))
    scores = np.full((2, topology.n_states), -50.0)
    scores[0, topology.phone_states[topology.phone_id("a")][0]] = 0.0
    scores[1, topology.phone_states[topology.phone_id("b")][0]] = 0.0
    found = decoder.decode(scores)
    assert found.text == ("A", "B")
    expected = np.log(10) * (-0.1 - 6.0 - 1.0) + 2 * np.log(0.4)
    np.testing.assert_allclose(found.log_score, expected, rtol=1e-12, atol=1e-12)


def entered(network, tables, reached, weights):
    """Return the best score before each chain when some contexts are reached by word or silence."""
    graph = network.graph
    scores = np.full(len(graph.chain_words), -np.inf)
    for context, (by_word, by_silence) in reached.items():
        for chain, word in enumerate(graph.chain_words):
            step = tables.follow(context, word) if word >= 0 else None
            if word < 0 and graph.chain_contexts[chain] == context:
                scores[chain] = max(scores[chain], by_word + weights.silence_log_prob)
            elif step is not None and step[1] == graph.chain_contexts[chain]:
                offer = max(by_word, by_silence) + weights.lm_scale * step[0] + weights.word_penalty
                scores[chain] = max(scores[chain], offer)
    return scores


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(4))
def test_words_are_entered_from_every_context_at_their_best_score(name, seed, oracle, tiny_lexicon):
    rng = np.random.default_rng(seed)
    grammar, _ = oracle.tiny_grammars(rng)[name]
    tables = grammar.compile(frozenset(tiny_lexicon.words))
    network = build_network(tiny_lexicon, tables, Topology.monophones("abc", n_states=2))
    weights = Weights(2.0, -0.5, -0.3)
    contexts = rng.permutation(tables.n_contexts)[: rng.integers(1, tables.n_contexts + 1)]
    reached = {int(c): tuple(rng.normal(size=2)) for c in contexts}
    tokens = new_tokens(network.graph)
    for i, (context, scores) in enumerate(reached.items()):
        tokens.reached[i] = context
        tokens.context_scores[context] = (*scores, scores[0])
        tokens.context_records[context] = (2 * i, 2 * i + 1, 2 * i)
    n_active, _ = enter(network.graph, tokens, len(reached), 0, 0, weights, -np.inf)
    expected = entered(network, tables, reached, weights)
    np.testing.assert_allclose(tokens.entry_scores, expected, rtol=1e-12, atol=1e-12)
    assert sorted(tokens.active[:n_active]) == np.flatnonzero(expected > -np.inf).tolist()
    for chain in tokens.active[:n_active]:
        i, way = divmod(int(tokens.entry_predecessors[chain]), 2)
        scores = list(reached.values())[i]
        assert way == (
            BY_SILENCE if network.graph.chain_words[chain] >= 0 and scores[1] > scores[0] else BY_WORD
        )


def test_what_scores_below_the_threshold_is_not_entered(oracle, tiny_lexicon):
    grammar, _ = oracle.tiny_grammars(np.random.default_rng(0))["bigram"]
    network = build_network(
        tiny_lexicon, grammar.compile(frozenset(tiny_lexicon.words)), Topology.monophones("abc", n_states=2)
    )
    start, weights = network.start_context, Weights(2.0, -0.5, -0.3)

    def scores(threshold):
        tokens = new_tokens(network.graph)
        tokens.reached[0] = start
        for way in (BY_WORD, BEFORE_SILENCE):
            tokens.context_scores[start, way], tokens.context_records[start, way] = 0.0, 0
        enter(network.graph, tokens, 1, 0, 0, weights, threshold)
        return tokens.entry_scores

    everything = scores(-np.inf)
    middle = float(np.median(everything[everything > -np.inf]))
    expected = np.where(everything >= middle, everything, -np.inf)
    np.testing.assert_array_equal(scores(middle), expected)
    assert 0 < np.count_nonzero(expected > -np.inf) < np.count_nonzero(everything > -np.inf)
