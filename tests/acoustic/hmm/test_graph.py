import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import ModelError, Topology, utterance_graph
from acoustic.hmm import graph as graph_module
from acoustic.hmm.graph import loop_graph
from acoustic.hmm.topology import all_contexts
from acoustic.hmm.tying import contextual_topology

TOPOLOGY = Topology.monophones("ab")
WITHOUT_SP = Topology.monophones("ab", short_pause=False)
A, B, AB = ("a",), ("b",), ("a", "b")
TRANSCRIPTS = [[], [[A]], [[A], [B]], [[A, AB], [B, A]], [[AB, B, A], [A], [B, AB]]]


def arcs(graph):
    """Return (source, target, log weight) of all arcs."""
    targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.arc_offsets))
    return list(zip(graph.arc_sources.tolist(), targets.tolist(), graph.arc_weights.tolist(), strict=True))


def node_sequences(graph, node=-1):
    """Yield every sequence of nodes from the start to the end, each node once, with its log weight."""
    if node >= 0 and np.isfinite(graph.exit_weights[node]):
        yield (node,), graph.exit_weights[node]
    for source, target, weight in arcs(graph):
        if source == node:
            for rest, rest_weight in node_sequences(graph, target):
                yield ((node, *rest) if node >= 0 else rest), weight + rest_weight


@pytest.mark.parametrize("topology", [TOPOLOGY, WITHOUT_SP], ids=["sp", "no sp"])
@pytest.mark.parametrize("words", TRANSCRIPTS)
def test_the_ways_through_are_the_ways_to_speak(oracle, topology, words):
    graph = utterance_graph(words, topology)
    found = sorted(
        (
            tuple(graph.states[list(nodes)].tolist()),
            tuple(graph.words[list(nodes)].tolist()),
            round(weight, 9),
        )
        for nodes, weight in node_sequences(graph)
    )
    expected = []
    for phones, owners, _, weight in oracle.spoken_forms(words, topology):
        states = [topology.phone_states[topology.phone_id(phone)] for phone in phones]
        words_of_states = [[owner] * len(s) for owner, s in zip(owners, states, strict=True)]
        chain = itertools.chain.from_iterable
        expected.append((tuple(chain(states)), tuple(chain(words_of_states)), round(weight, 9)))
    assert found == sorted(expected)


@pytest.mark.parametrize("words", TRANSCRIPTS)
def test_arcs_lead_forward_and_reach_tells_how_far(words):
    graph = utterance_graph(words, TOPOLOGY)
    assert all(source < target for source, target, _ in arcs(graph))
    for node in range(graph.n_nodes):
        farthest = max((target for source, target, _ in arcs(graph) if 0 <= source <= node), default=node)
        assert graph.reach[node] == max(farthest, node)


def test_number_of_nodes():
    assert utterance_graph([], TOPOLOGY).n_nodes == 3  # silence only
    assert utterance_graph([[A]], TOPOLOGY).n_nodes == 3 + 3 + 3
    assert utterance_graph([[A], [B]], TOPOLOGY).n_nodes == 3 + 3 + 1 + 3 + 3
    assert utterance_graph([[A], [B]], WITHOUT_SP).n_nodes == 3 + 3 + 3 + 3 + 3
    assert utterance_graph([[A, AB]], TOPOLOGY).n_nodes == 3 + 3 + 6 + 3


def test_short_pause_shares_the_middle_of_silence_but_not_its_transitions():
    graph = utterance_graph([[A], [B]], TOPOLOGY)
    (pause,) = np.flatnonzero(graph.phones == TOPOLOGY.phone_id("sp"))
    assert graph.states[pause] == TOPOLOGY.phone_states[TOPOLOGY.phone_id("sil")][1]
    assert graph.transitions[pause] == TOPOLOGY.transition_offsets[TOPOLOGY.phone_id("sp")]
    assert graph.transitions[pause] not in graph.transitions[graph.phones == TOPOLOGY.phone_id("sil")]


def test_what_a_node_belongs_to():
    graph = utterance_graph([[A, AB], [B]], TOPOLOGY)
    assert graph.words.tolist() == [-1] * 3 + [0] * 9 + [-1] + [1] * 3 + [-1] * 3
    assert graph.variants.tolist() == [-1] * 3 + [0] * 3 + [1] * 6 + [-1] + [0] * 3 + [-1] * 3
    assert graph.phone_starts.tolist() == [0] * 3 + [3] * 3 + [6] * 3 + [9] * 3 + [12] + [13] * 3 + [16] * 3


def test_a_pause_is_a_coin():
    graph = utterance_graph([[A]], TOPOLOGY)
    start = {target: weight for source, target, weight in arcs(graph) if source < 0}
    assert_allclose([start[0], start[3]], np.log(0.5), rtol=1e-15, atol=0)
    assert np.flatnonzero(np.isfinite(graph.exit_weights)).tolist() == [5, 8]


def test_usage_weighs_pronunciations_and_pauses():
    """Every way through two words: with each pronunciation, and with or without each of three silences."""
    usage = [[(-1.0, -0.3, -2.0), (-4.0, -3.5, -5.0)], [(-0.5, -0.25, 0.75)]]
    graph = utterance_graph([[A, AB], [B]], TOPOLOGY, usage)
    coin, found = np.log(0.5), {}
    for nodes, weight in node_sequences(graph):
        first = int(graph.variants[next(n for n in nodes if graph.words[n] == 0)])
        silent = {int(n) for n in nodes if graph.words[n] < 0}
        found[first, 0 in silent, bool(silent & {12}), bool(silent & {16})] = weight
    expected = {
        (first, before, between, after): coin
        + usage[0][first][1 if before else 0]
        + (usage[0][first][2] if between else 0.0)
        + usage[1][0][1 if between else 0]
        + (usage[1][0][2] if after else 0.0)
        for first in (0, 1)
        for before in (False, True)
        for between in (False, True)
        for after in (False, True)
    }
    assert found.keys() == expected.keys()
    for way, weight in expected.items():
        assert_allclose(found[way], weight, rtol=1e-12, atol=0)


def test_unknown_phone():
    with pytest.raises(ModelError, match=r'phone "x" is not in the model, expected one of: sil a b sp;'):
        utterance_graph([[("a", "x")]], TOPOLOGY)


@pytest.mark.parametrize("pronunciations", [[], [()], [A, ()]])
def test_a_word_needs_pronunciations(pronunciations):
    with pytest.raises(
        ModelError, match=r"word 1 of the transcript: expected pronunciations .* correct the lexicon"
    ):
        utterance_graph([[A], pronunciations], TOPOLOGY)


def test_one_word_in_full():
    # Silence is nodes 0 to 2, the word 3 to 5, silence 6 to 8; either silence may be left out.
    half, never = np.log(0.5), -np.inf
    expected = {
        "states": [0, 1, 2, 3, 4, 5, 0, 1, 2],
        "transitions": [0, 1, 2, 3, 4, 5, 0, 1, 2],
        "phones": [0, 0, 0, 1, 1, 1, 0, 0, 0],
        "phone_starts": [0, 0, 0, 3, 3, 3, 6, 6, 6],
        "words": [-1, -1, -1, 0, 0, 0, -1, -1, -1],
        "variants": [-1, -1, -1, 0, 0, 0, -1, -1, -1],
        "arc_offsets": [0, 1, 2, 3, 5, 6, 7, 8, 9, 10],
        "arc_sources": [-1, 0, 1, -1, 2, 3, 4, 5, 6, 7],
        "reach": [1, 2, 3, 4, 5, 6, 7, 8, 8],
        "floors": [0, 1, 2, 3, 4, 5, 6, 7, 8],
    }
    graph = utterance_graph([[A]], TOPOLOGY)
    for name, values in expected.items():
        assert_array_equal(getattr(graph, name), np.array(values, dtype=np.int32), strict=True)
    assert_array_equal(graph.arc_weights, [half, 0, 0, half, 0, 0, 0, half, 0, 0])
    assert_array_equal(graph.exit_weights, [never] * 5 + [half] + [never] * 2 + [0])
    assert graph.arc_weights.dtype == graph.exit_weights.dtype == np.float64


def named_arcs(graph, topology):
    """Return (source, target) of all arcs by "phone.position of word", "start" for the start."""
    names = [
        f"{topology.phones[p]}.{n - first}/{w}"
        for n, (p, first, w) in enumerate(zip(graph.phones, graph.phone_starts, graph.words, strict=True))
    ]
    return {(names[source] if source >= 0 else "start", names[target]) for source, target, _ in arcs(graph)}


def test_an_unknown_word_is_a_loop_over_all_phones_of_speech():
    topology = Topology.monophones("ab", n_states=2, noise=True)
    graph = utterance_graph([None], topology)
    assert graph.words.tolist() == [-1] * 2 + [0] * 4 + [-1] * 2
    assert graph.variants.tolist() == [-1] * 8
    assert graph.floors.tolist() == [0, 1, 2, 2, 2, 2, 6, 7]
    back = {(source, target) for source, target, _ in arcs(graph) if 2 <= source < 6 and target in (2, 4)}
    assert back == {(3, 2), (3, 4), (5, 2), (5, 4)}
    entering = [weight for _, target, weight in arcs(graph) if target in (2, 4)]
    assert_allclose(sorted(entering), [*[np.log(0.25)] * 2, *[np.log(0.5)] * 6], rtol=1e-15, atol=0)
    assert graph.reach[5] == 6
    assert graph.reach[2] == 4  # through the entries of both phones behind the first silence


def test_noise_is_a_unit_where_the_topology_has_it_and_else_any_phones():
    heard = utterance_graph([[A], [("noise",)]], Topology.monophones("ab", n_states=1, noise=True))
    assert heard.states.tolist() == [0, 2, 0, 1, 0]
    assert heard.words.tolist() == [-1, 0, -1, 1, -1]
    assert heard.variants.tolist() == [-1, 0, -1, 0, -1]
    unheard = utterance_graph([[A], [("noise",)]], Topology.monophones("ab", n_states=1))
    assert unheard.states.tolist() == [0, 1, 0, 1, 2, 0]
    assert unheard.variants.tolist() == [-1, 0, -1, -1, -1, -1]


CROSSING = contextual_topology(TOPOLOGY, all_contexts([AB, B], crosses_words=True), crosses_words=True)


def test_words_beside_an_unknown_one_sound_as_beside_silence():
    found = named_arcs(utterance_graph([[AB], None, [B]], CROSSING), CROSSING)
    into = {source.split(".")[0] for source, target in found if target == "#-b+#.0/1"}
    assert "a-b+#" in into
    assert not any(name.startswith("a-b+") and name != "a-b+#" for name in into)
    behind = {target for source, target in found if source.endswith(".2/1") and target.endswith("/2")}
    assert behind == {"#-b+#.0/2"}


def test_anything_said_is_a_loop_of_phones_and_silences():
    topology = Topology.monophones("ab", n_states=2, noise=True)
    graph = loop_graph(topology)
    assert [topology.phones[p] for p in graph.phones[::2]] == ["a", "b", "sil", "noise"]
    assert graph.floors.tolist() == [0] * 8
    assert graph.words.tolist() == [-1] * 8
    assert np.flatnonzero(np.isfinite(graph.exit_weights)).tolist() == [1, 3, 5, 7]
    into = [(source, target) for source, target, _ in arcs(graph) if target % 2 == 0]
    assert sorted(into) == sorted((s, t) for t in (0, 2, 4, 6) for s in (-1, 1, 3, 5, 7))


def test_ways_from_word_to_word_are_counted_while_the_graph_grows(monkeypatch):
    """Each of n pronunciations leads to each of the next word's: of a thousand each, a million ways."""
    ways = [("a",) * (n % 3 + 1) for n in range(30)]
    few = utterance_graph([ways] * 20, TOPOLOGY)
    monkeypatch.setattr("acoustic.hmm.graph._MOST_ARCS", 1000)
    monkeypatch.setattr("acoustic.hmm.graph._ARCS_PER_NODE", 2)
    assert len(few.arc_sources) > 1000 + 2 * few.n_nodes
    counted = []
    count = graph_module._Builder._count
    monkeypatch.setattr(
        graph_module._Builder, "_count", lambda self, n: (counted.append(n), count(self, n))[1]
    )
    with pytest.raises(ModelError, match=r"can be said in too many ways: over 1,000 lead"):
        utterance_graph([ways] * 20, TOPOLOGY)
    assert sum(counted) < len(few.arc_sources) / 2
