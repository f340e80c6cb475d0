import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hmmlearn import _hmmc

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, DecodingError, Lexicon, NGram, WordLoop, WordPairGrammar
from decoder.search.compiled import Pruning, Weights
from decoder.search.network import build_network
from decoder.search.viterbi import search

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram")
OPEN = DecoderConfig(lm_scale=1.7, word_penalty=-0.4, silence_log_prob=-0.8, beam=np.inf)


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


def test_word_times_and_scores_add_up(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    decoder = decoder.with_config(silence_log_prob=-1.0, frame_shift_s=0.02, lm_scale=0.5)
    for scores in task.scores:
        found = decoder.decode(scores)
        times = [t for word in found.words for t in (word.start_s, word.end_s)]
        assert found.complete
        assert times == sorted(times)
        assert all(word.start_s < word.end_s for word in found.words)
        assert times[0] >= 0
        assert times[-1] <= 0.02 * len(scores) + 1e-12
        for word in found.words:  # alone, the word's own frames cannot score better
            first, stop = round(word.start_s / 0.02), round(word.end_s / 0.02)
            alone = decoder.decode(scores[first:stop])
            assert alone.log_score >= word.log_score - 1e-9


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


def test_threads_share_a_decoder(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology).with_config(
        confidence=True, n_best=3
    )
    alone = [decoder.decode(scores) for scores in task.scores]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(decoder.decode, task.scores * 4)) == alone * 4


def test_partial_path_is_returned_and_says_so():
    lexicon = Lexicon({"A": [("a",)], "B": [("b",)]})
    topology = Topology.monophones("ab", n_states=1)
    grammar = WordPairGrammar({"<s>": ["A"], "A": ["B"], "B": ["</s>"]})
    decoder = Decoder(lexicon, grammar, topology, DecoderConfig(n_best=3, confidence=True))
    a, b = (topology.phone_states[topology.phone_id(p)][0] for p in "ab")
    scores = np.full((6, topology.n_states), -np.inf)
    scores[:, a] = 0.0
    found = decoder.decode(scores)  # B is impossible in every frame
    assert not found.complete
    assert found.text == ("A",)
    assert found.words[0].end_s == pytest.approx(0.06)
    scores[4:, b] = -3.0
    assert decoder.decode(scores).complete
    scores[5] = -np.inf  # nothing survives the last frame
    found = decoder.decode(scores)
    assert not found.complete
    assert found.words[-1].end_s == pytest.approx(0.05)


def test_partial_path_in_the_middle_of_a_word_keeps_the_finished_words():
    lexicon = Lexicon({"A": [("a",)], "B": [("b", "b", "b", "b")]})
    topology = Topology.monophones("ab", n_states=1, short_pause=False)
    decoder = Decoder(lexicon, WordLoop(lexicon.words), topology)
    a, b = (topology.phone_states[topology.phone_id(p)][0] for p in "ab")
    scores = np.full((5, topology.n_states), -np.inf)
    scores[:3, a] = 0.0
    scores[3:, b] = 0.0
    found = decoder.decode(scores)
    assert (found.text[-1], found.complete) == ("A", False)
    assert found.words[-1].end_s == pytest.approx(0.03)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("n_best", [1, 5])
def test_no_frames_one_frame_and_hopeless_scores_do_not_crash(
    name, n_best, oracle, tiny_lexicon, tiny_topology
):
    rng = np.random.default_rng(2)
    grammar, _ = oracle.tiny_grammars(rng)[name]
    config = DecoderConfig(n_best=n_best, confidence=n_best > 1)
    decoder = Decoder(tiny_lexicon, grammar, tiny_topology, config)
    n_states = tiny_topology.n_states
    empty = decoder.decode(np.empty((0, n_states)))
    assert empty.text == ()
    assert empty.complete == (name != "word-pair")
    decoder.decode(rng.normal(size=(1, n_states)))
    nothing = decoder.decode(np.full((4, n_states), -np.inf))
    assert (nothing.text, nothing.complete) == ((), False)
    assert np.isfinite(decoder.decode(np.full((4, n_states), -1e300)).log_score)
    assert not decoder.decode(np.full((4, n_states), -1.7e308)).complete
    assert decoder.decode(np.full((9, n_states), 1e6)).complete
    decoder.decode(rng.normal(size=(50, n_states)).astype(np.float32))


def test_random_scores_of_a_random_task_never_break_the_invariants(oracle):
    rng = np.random.default_rng(23)
    for _ in range(60):
        words = [f"W{i}" for i in range(rng.integers(1, 7))]
        lexicon = Lexicon(
            {w: [tuple(rng.choice(list("abcd"), size=rng.integers(1, 4))) for _ in range(2)] for w in words}
        )
        topology = Topology.monophones(
            "abcd", n_states=int(rng.integers(1, 4)), short_pause=bool(rng.integers(2))
        )
        text = oracle.random_sentences(rng, words, 3)
        grammar = [
            WordLoop(words),
            WordPairGrammar.from_sentences(text),
            NGram.estimate(text, int(rng.integers(1, 5)), vocabulary=words),
        ][rng.integers(3)]
        config = DecoderConfig(
            lm_scale=float(rng.uniform(0, 5)),
            word_penalty=float(rng.normal()),
            beam=float(rng.choice([5.0, 50.0, np.inf])),
            max_active=int(rng.choice([0, 3])),
            lattice_beam=float(rng.choice([5.0, 20.0])),
            n_best=4,
            confidence=True,
        )
        decoder = Decoder(lexicon, grammar, topology, config)
        scores = rng.normal(size=(int(rng.integers(0, 30)), topology.n_states))
        best = decoder.decode(scores)
        quick = decoder.with_config(n_best=1, confidence=False).decode(scores)
        assert (quick.text, quick.log_score, quick.complete) == (best.text, best.log_score, best.complete)
        widest = decoder.with_config(beam=np.inf, max_active=0).decode(scores)
        assert not best.complete or widest.log_score >= best.log_score - 1e-9
        hypotheses = [best, *best.alternatives]
        assert len({h.text for h in hypotheses}) == len(hypotheses) <= 4
        totals = [h.log_score for h in hypotheses]
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(totals))
        for h in hypotheses:
            assert not h.complete or oracle.sentence_log_prob(grammar, h.text) > -np.inf
            assert all(0.0 <= word.confidence <= 1.0 for word in h.words)
            ends = [t for word in h.words for t in (word.start_s, word.end_s)]
            assert ends == sorted(ends)


def test_errors_name_what_is_wrong(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    n_states = task.topology.n_states
    with pytest.raises(DecodingError, match=rf"expected shape \(n_frames, {n_states}\).*got \(4, 3\)"):
        decoder.decode(np.zeros((4, 3)))
    with pytest.raises(DecodingError, match=r"got \(3,\)"):
        decoder.decode(np.zeros(3))
    scores = np.zeros((4, n_states))
    scores[2, 1] = np.nan
    with pytest.raises(DecodingError, match="got nan in frame 2, state 1"):
        decoder.decode(scores)
    scores[2, 1] = np.inf
    with pytest.raises(DecodingError, match="got inf in frame 2, state 1"):
        decoder.decode(scores)
    with pytest.raises(DecodingError, match=r"with_config: .* got lmscale"):
        decoder.with_config(lmscale=2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lm_scale": np.nan}, "lm_scale: expected a finite number, got nan"),
        ({"beam": -1.0}, "beam: expected at least 0.0, got -1.0"),
        ({"beam": np.nan}, "beam: expected at least 0.0, got nan"),
        ({"n_best": 0}, "n_best: expected at least 1, got 0"),
        ({"frame_shift_s": 0.0}, "frame_shift_s: expected more than 0, got 0.0"),
        ({"posterior_scale": -1.0}, "posterior_scale: expected more than 0, got -1.0"),
    ],
)
def test_config_is_checked(change, message):
    with pytest.raises(DecodingError, match=message):
        replace(DecoderConfig(), **change)


def test_with_config_shares_the_network(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    other = decoder.with_config(word_penalty=-30.0)
    assert other.network is decoder.network
    assert (decoder.config.word_penalty, other.config.word_penalty) == (0.0, -30.0)
    assert len(other.decode(task.scores[-1]).words) <= len(decoder.decode(task.scores[-1]).words)
