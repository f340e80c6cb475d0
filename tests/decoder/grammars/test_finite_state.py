"""Finite-state grammars: the best way to read each sentence, and what the search finds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from acoustic import Topology
from decoder import Decoder, DecoderConfig, Lexicon
from decoder.errors import GrammarError
from decoder.grammars.finite_state import FiniteStateGrammar, WordArc
from decoder.grammars.grammar import GrammarTables, pack_tables

SENTENCES = [s for n in range(5) for s in itertools.product("ab", repeat=n)]


def random_grammar(seed: int) -> FiniteStateGrammar:
    """Return a grammar of loops, silent arcs and words that lead to several states."""
    rng = np.random.default_rng(seed)
    n_states = int(rng.integers(2, 6))
    arcs = [
        WordArc(
            int(rng.integers(n_states)),
            (None, "a", "b")[rng.integers(3)],
            -float(rng.integers(0, 8)) / 4,
            int(rng.integers(n_states)),
        )
        for _ in range(rng.integers(4, 12))
    ]
    arcs.append(WordArc(0, "a", -0.25, n_states - 1))
    return FiniteStateGrammar(arcs, 0, {n_states - 1: -0.5, int(rng.integers(n_states)): 0.0})


def best_weight(grammar: FiniteStateGrammar, sentence: tuple[str, ...]) -> float:
    """Return the weight of the best of all ways, by steps over (state, words said) until nothing changes."""
    best = {(grammar.start, 0): 0.0}
    for _ in range(40):
        for source, word, weight, target in grammar.arcs:
            for said in range(len(sentence) + 1):
                if (source, said) not in best or (word is not None and sentence[said : said + 1] != (word,)):
                    continue
                place = target, said + (word is not None)
                best[place] = max(best.get(place, -np.inf), best[source, said] + weight)
    ends = (best.get((s, len(sentence)), -np.inf) + w for s, w in grammar.final.items())
    return max(ends, default=-np.inf)


@pytest.mark.parametrize("seed", range(40))
def test_tables_allow_the_sentences_of_the_grammar_with_their_best_weights(seed: int) -> None:
    grammar = random_grammar(seed)
    tables = grammar.compile(grammar.words)
    for sentence in SENTENCES:
        found = tables.sentence_log_prob(sentence)
        assert found == pytest.approx(best_weight(grammar, sentence), abs=1e-9), sentence


@dataclass(frozen=True)
class OneSentence:
    """A grammar of one sentence, made without what is tested here."""

    sentence: tuple[str, ...]
    log_prob: float

    def compile(self, pronounceable: object) -> GrammarTables:
        words = tuple(sorted(set(self.sentence)))
        arcs = [[(words.index(word), 0.0, n + 1)] for n, word in enumerate(self.sentence)]
        return pack_tables(words, [*arcs, []], [-np.inf] * len(arcs) + [self.log_prob], 0)


@pytest.mark.parametrize("seed", range(8))
def test_the_decoder_finds_the_best_sentence_of_the_language(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lexicon = Lexicon({"a": [("x", "y")], "b": [("y",), ("x", "x")]})
    topology = Topology.monophones(lexicon.phones, n_states=1)
    grammar, scores = random_grammar(seed), rng.normal(size=(7, topology.n_states)) * 3
    config = DecoderConfig(beam=np.inf, lm_scale=1.5)
    found = Decoder(lexicon, grammar, topology, config).decode(scores)
    allowed = [
        (s, best_weight(grammar, s)) for s in itertools.chain(SENTENCES, itertools.product("ab", repeat=5))
    ]
    decoded = {
        sentence: Decoder(lexicon, OneSentence(sentence, weight), topology, config).decode(scores)
        for sentence, weight in allowed
        if sentence and weight > -np.inf
    }
    complete = {s: h.log_score for s, h in decoded.items() if h.complete}
    best = max(complete, key=lambda sentence: complete[sentence])
    if found.text:  # else silence alone is best, where the grammar has the empty sentence
        assert found.text == best
        assert found.log_score == pytest.approx(complete[best], abs=1e-8)
    else:
        assert best_weight(grammar, ()) > -np.inf


def test_a_language_stays_exact_where_weightings_are_without_end() -> None:
    # After n words "a", the two readings differ by n/4: as many weightings as there are lengths.
    arcs = [
        WordArc(0, "a", -0.25, 0),
        WordArc(0, "b", 0.0, 2),
        WordArc(3, "a", -0.5, 3),
        WordArc(3, "c", 0.0, 2),
        WordArc(4, None, 0.0, 0),
        WordArc(4, None, 0.0, 3),
    ]
    grammar = FiniteStateGrammar(arcs, 4, {2: 0.0})
    tables = grammar.compile(grammar.words)
    assert tables.n_contexts < 40
    for n in range(30):
        for last in "bc":
            assert tables.sentence_log_prob([*"a" * n, last]) > -np.inf
        assert tables.sentence_log_prob("a" * n) == -np.inf
    assert tables.sentence_log_prob([*"a" * 9, "c"]) == pytest.approx(-4.5)


def test_words_of_the_grammar() -> None:
    grammar = FiniteStateGrammar([WordArc(0, "e\u0301", 0.0, 1), WordArc(0, "x", 0.0, 5)], 0, {1: 0.0})
    assert grammar.words == ("é",)  # nothing leads on from "x"
    assert grammar.renamed({"é": "É"}).words == ("É",)
    assert grammar.renamed({"é": "É"}).compile(()).sentence_log_prob(["É"]) == 0.0


def test_what_is_no_grammar() -> None:
    with pytest.raises(GrammarError, match="no way from its start to its end"):
        FiniteStateGrammar([WordArc(0, "a", 0.0, 1)], 0, {2: 0.0})
    with pytest.raises(GrammarError, match="no way from its start to its end"):
        FiniteStateGrammar([WordArc(0, "a", -np.inf, 1)], 0, {1: 0.0})
    gaining = [WordArc(0, None, 0.5, 1), WordArc(1, None, 0.0, 0), WordArc(1, "a", 0.0, 2)]
    with pytest.raises(GrammarError, match="a loop without a word that gains weight"):
        FiniteStateGrammar(gaining, 0, {2: 0.0}).compile(())
