"""Words, times, scores and confidences of a decoder; what it does with hopeless scores and wrong options."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import (
    Decoder,
    DecoderConfig,
    DecodingError,
    GrammarError,
    Lexicon,
    NGram,
    WordLoop,
    WordPairGrammar,
)
from decoder import decoder as networks
from decoder.decoder import choose_network, n_word_instances
from decoder.search.network import Network
from decoder.search.tree_network import TreeNetwork

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram")


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
    with pytest.raises(
        DecodingError, match=r'no decoder option "lmscale" \(did you mean "lm_scale"\?\), .*some of: beam'
    ):
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


def test_endless_ties_neither_crash_nor_fill_the_memory():
    lexicon = Lexicon({f"W{i:03d}": [("a",)] for i in range(300)})
    topology = Topology.monophones("a", n_states=1)
    text = [[word] for word in lexicon.words]
    grammar = NGram.estimate(text, 2, vocabulary=lexicon.words)
    config = DecoderConfig(lm_scale=0.0, n_best=3, confidence=True, word_penalty=0.0)
    found = Decoder(lexicon, grammar, topology, config).decode(np.zeros((30, topology.n_states)))
    assert found.complete
    assert all(0.0 <= word.confidence <= 1.0 for word in found.words)


def test_ngram_leaves_out_and_names_what_cannot_be_said():
    model = NGram.estimate([["A", "B"], ["A", "C"]], 2)
    lexicon, topology = Lexicon({"A": [("a",)], "Z": [("a",)]}), Topology.monophones("a")
    decoder = Decoder(lexicon, model, topology)
    assert decoder.words_without_pronunciation == ("B", "C")
    assert decoder.words_outside_grammar == ("Z",)
    assert set(decoder.decode(np.zeros((30, topology.n_states))).text) <= {"A"}
    with pytest.raises(GrammarError, match=r"got none of 3 words: A, B, C"):
        Decoder(Lexicon({"Z": [("a",)]}), model, topology)


# Large tasks get the prefix tree


LEXICON = Lexicon({"A": [("a",)], "B": [("b", "a"), ("b",)]})


def test_a_loop_has_an_instance_of_each_word_a_trigram_one_of_each_context_after_it():
    words = set(LEXICON.words)
    assert n_word_instances(WordLoop(LEXICON.words).compile(words)) == 2
    trigram = NGram.estimate([["A", "B", "A"]], 3, vocabulary=LEXICON.words).compile(words)
    pairs = set(zip(trigram.arc_words.tolist(), trigram.arc_contexts.tolist(), strict=True))
    assert n_word_instances(trigram) == len(pairs) > 2


def test_the_size_decides(monkeypatch):
    tables = WordLoop(LEXICON.words).compile(set(LEXICON.words))
    within = Topology.monophones("ab")
    monkeypatch.setattr(networks, "MOST_INSTANCES", 2)
    assert isinstance(choose_network(LEXICON, tables, within), Network)
    monkeypatch.setattr(networks, "MOST_INSTANCES", 1)
    tree = choose_network(LEXICON, tables, within)
    assert isinstance(tree, TreeNetwork)
    assert (tree.words, tree.leaf_words.tolist()) == (("A", "B"), [-1, -1, 0, 1, 1])


@pytest.mark.parametrize(("most_instances", "kind"), [(4, Network), (3, TreeNetwork)])
def test_contexts_across_words_count_double(most_instances, kind, monkeypatch):
    phones = ("sil", *(f"{left}-{phone}+{right}" for phone in "ab" for left in "#ab" for right in "#ab"))
    across = Topology(
        phones,
        tuple((i,) for i in range(len(phones))),
        ((0.5,),) * len(phones),
        is_contextual=True,
        crosses_words=True,
    )
    monkeypatch.setattr(networks, "MOST_INSTANCES", most_instances)
    tables = WordLoop(LEXICON.words).compile(set(LEXICON.words))
    found = choose_network(LEXICON, tables, across)
    assert isinstance(found, kind)
    said = found.graph.chain_words if isinstance(found, Network) else found.leaf_words
    assert (found.words, sorted(set(said.tolist()))) == (("A", "B"), [-1, 0, 1])
