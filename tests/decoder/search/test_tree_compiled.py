"""The compiled search over a prefix tree against the same in plain Python."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram
from decoder import decoder as networks
from decoder.search.compiled import Pruning, Weights
from decoder.search.tree_network import build_tree_network
from decoder.search.tree_search import tree_search

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram", "4-gram")


class Reference:
    """The search in plain Python: tokens in a dictionary by (node, context)."""

    def __init__(self, network, tables, weights, pruning):
        self.graph, self.network, self.tables = network.graph, network, tables
        self.weights, self.pruning = weights, pruning

    def listed(self, context):
        first, stop = self.tables.arc_offsets[context : context + 2]
        words = self.tables.arc_words[first:stop].tolist()
        return dict(zip(words, self.tables.arc_log_probs[first:stop].tolist(), strict=True))

    def words_below(self, node):
        return self.network.leaf_words[self.graph.leaf_first[node] : self.graph.leaf_stop[node]].tolist()

    def look_ahead(self, node, context):
        if context < 0:
            return -np.inf
        listed = self.listed(context)
        own = max((listed[w] for w in self.words_below(node) if w in listed), default=-np.inf)
        further = self.look_ahead(node, self.tables.backoff_contexts[context])
        return max(own, self.tables.backoff_log_weights[context] + further)

    def home(self, node, context):
        """Return the context that lists words below a node, and the weight of the backoffs to it."""
        weight = 0.0
        while context >= 0 and not set(self.words_below(node)) & set(self.listed(context)):
            weight += self.tables.backoff_log_weights[context]
            context = self.tables.backoff_contexts[context]
        return int(context), weight

    def states(self, node):
        unit = self.graph.node_units[node]
        span = slice(self.graph.unit_offsets[unit], self.graph.unit_offsets[unit + 1])
        columns = (self.graph.unit_states, self.graph.unit_log_stay, self.graph.unit_log_advance)
        return list(zip(*(column[span].tolist() for column in columns), strict=True))

    def ahead(self, node, context):
        if node >= self.graph.n_silences:
            return self.weights.lm_scale * self.look_ahead(node, context)
        steps = [self.graph.best_log_probs[context] + self.weights.word_penalty / self.weights.lm_scale]
        best = max(*steps, self.tables.final_log_probs[context])
        return self.weights.lm_scale * best if best > -np.inf else 0.0

    def best(self, scores):
        """Return whether the search is complete, and the score of its best path."""
        graph, tables, weights = self.graph, self.tables, self.weights
        tokens, reached = {}, {(self.network.start_context, False): 0.0}
        threshold = floor = -np.inf
        for t, frame in enumerate(scores):
            entries = {}

            def offer(node, context, score, *, frame=frame, entries=entries, limits=(threshold, floor)):
                total = score + self.ahead(node, context)
                if total >= limits[0] and total + frame[self.states(node)[0][0]] >= limits[1]:
                    entries[node, context] = max(entries.get((node, context), -np.inf), score)

            for (node, context), values in tokens.items():
                score = values[-1] + self.states(node)[-1][2]
                for child in range(graph.child_first[node], graph.child_stop[node]):
                    home, weight = self.home(child, context)
                    if home >= 0 and score + self.ahead(node, context) >= threshold:
                        offer(child, home, score + weights.lm_scale * weight)
            for context in {c for c, _ in reached}:
                score = max(reached.get((context, way), -np.inf) for way in (False, True))
                if (context, False) in reached:
                    for node in range(graph.n_silences):
                        offer(node, context, reached[context, False] + weights.silence_log_prob)
                for node in range(graph.n_silences, graph.n_roots):
                    home, weight = self.home(node, context)
                    if home >= 0:
                        offer(node, home, score + weights.word_penalty + weights.lm_scale * weight)
            moved, totals = {}, {}
            for key in {*tokens, *entries}:
                states = self.states(key[0])
                before = tokens.get(key, [-np.inf] * len(states))
                arriving, values = entries.get(key, -np.inf), []
                for (state, stay, advance), old in zip(states, before, strict=True):
                    values.append(max(old + stay, arriving) + frame[state])
                    arriving = old + advance
                moved[key], totals[key] = values, max(values) + self.ahead(*key)
            best_key = max(totals, key=totals.get)
            best = totals[best_key]
            threshold = best - self.pruning.beam
            if 0 < self.pruning.max_active < len(totals):
                threshold = max(threshold, sorted(totals.values())[-self.pruning.max_active])
            tokens = {key: values for key, values in moved.items() if totals[key] >= threshold}
            is_last = t + 1 == len(scores)
            reached = {}
            for (node, context), values in tokens.items():
                for leaf in range(graph.leaf_first[node], graph.own_stop[node]):
                    word, step = int(self.network.leaf_words[leaf]), (0.0, context)
                    if word >= 0:
                        step = tables.follow(context, word)
                    if step is None or values[-1] == -np.inf:
                        continue
                    if word >= 0 and not is_last and values[-1] + weights.lm_scale * step[0] < threshold:
                        continue
                    score = values[-1] + self.states(node)[-1][2] + weights.lm_scale * step[0]
                    key = (step[1], word < 0)
                    reached[key] = max(reached.get(key, -np.inf), score)
            if not is_last:
                stays = zip(tokens[best_key], self.states(best_key[0]), strict=True)
                stay = max(value + log_stay + scores[t + 1][state] for value, (state, log_stay, _) in stays)
                floor = stay + self.ahead(*best_key) - (best - threshold)
        ends = [s + weights.lm_scale * tables.final_log_probs[c] for (c, _), s in reached.items()]
        if max(ends, default=-np.inf) > -np.inf:
            return True, max(ends)
        return False, max(reached.values(), default=None)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(
    ("beam", "max_active"), [(np.inf, 0), (8.0, 0), (3.0, 0), (1.0, 0), (np.inf, 3), (6.0, 2)]
)
def test_kernel_equals_reference_for_every_beam(name, beam, max_active, oracle, tiny_lexicon):
    rng = np.random.default_rng(5)
    topology = Topology.monophones("abc", n_states=2)
    tables = oracle.tiny_grammars(rng)[name][0].compile(frozenset(tiny_lexicon.words))
    network = build_tree_network(tiny_lexicon, tables, topology)
    weights, pruning = Weights(2.0, -0.5, -0.3), Pruning(beam, max_active, -np.inf)
    for n_frames in (1, 4, 12, 20):
        scores = 2.0 * rng.normal(size=(n_frames, topology.n_states))
        complete, log_score = Reference(network, tables, weights, pruning).best(scores)
        found = tree_search(network, scores, weights, pruning)
        assert found.complete == complete
        if log_score is not None:
            np.testing.assert_allclose(found.log_score, log_score, rtol=1e-12, atol=1e-9)


def test_backoff_is_not_taken_where_the_word_is_listed(monkeypatch):
    # Listed, B after A is all but impossible; through backoff it would be likely. C begins as B does.
    model = NGram(
        (
            {("<s>",): -np.inf, ("A",): -0.4, ("B",): -0.3, ("C",): -2.0, ("</s>",): -1.0},
            {("<s>", "A"): -0.1, ("A", "B"): -6.0},
        ),
        {("<s>",): -1.0, ("A",): 0.0},
    )
    lexicon = Lexicon({"A": [("a",)], "B": [("b", "a")], "C": [("b",)]})
    topology = Topology.monophones("ab", n_states=1)
    monkeypatch.setattr(networks, "MOST_INSTANCES", 0)
    decoder = Decoder(lexicon, model, topology, DecoderConfig(beam=np.inf))
    a, b = (topology.phone_states[topology.phone_id(phone)][0] for phone in "ab")
    scores = np.full((3, topology.n_states), -50.0)
    scores[[0, 1, 2], [a, b, a]] = 0.0
    expected = {  # A B, and A C A, of log10 probabilities
        ("A", "B"): np.log(10) * (-0.1 - 6.0 - 1.0) + 3 * np.log(0.4),
        ("A", "C", "A"): np.log(10) * (-0.1 - 2.0 - 0.4 - 1.0) + 3 * np.log(0.4),
    }
    found = decoder.decode(scores)
    assert found.text == max(expected, key=expected.get)
    np.testing.assert_allclose(found.log_score, max(expected.values()), rtol=1e-12, atol=1e-12)
