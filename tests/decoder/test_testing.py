"""The checks for authors of grammars: each fault is named, and none where there is none."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from decoder import Lexicon, NGram, WordLoop, WordPairGrammar
from decoder.grammars.finite_state import FiniteStateGrammar, WordArc
from decoder.grammars.grammar import GrammarTables, pack_tables
from decoder.grammars.jsgf import parse_jsgf
from decoder.testing import check_grammar
from foundation.conformance import ConformanceError

LEXICON = Lexicon({"ON": [("O", "N")], "OFF": [("O", "F")], "UP": [("A", "P")]})
SENTENCES = [("ON", "UP"), ("OFF",), ("OFF", "UP", "UP")]
HALF = float(np.log(0.5))


def sound() -> GrammarTables:
    """Return the tables of one word or two of ON and OFF."""
    arcs = [[(0, HALF, 1), (1, HALF, 1)], [(0, 2 * HALF, 2), (1, 2 * HALF, 2)], []]
    return pack_tables(["OFF", "ON"], arcs, [-np.inf, HALF, 0.0], 0)


class Mine:
    """A grammar with given tables."""

    def __init__(self, **changes: object) -> None:
        self.tables = replace(sound(), **changes)  # type: ignore[arg-type]

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        return self.tables


class NoTables(Mine):
    def compile(self, pronounceable):
        return {"words": ["ON"]}


class Fails(Mine):
    def compile(self, pronounceable):
        raise FileNotFoundError("words.txt")


class Takes(Mine):
    def compile(self, pronounceable):
        if isinstance(pronounceable, set):
            pronounceable.discard("UP")
        return self.tables


class Unordered(Mine):
    def compile(self, pronounceable):
        words = list(pronounceable)
        return pack_tables(words, [[(n, -2.0, 0) for n in range(len(words))]], [0.0], 0)


class Dice(Mine):
    def compile(self, pronounceable):
        return replace(self.tables, final_log_probs=np.array([-np.inf, HALF, -random.random()]))


class Locks(Mine):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def array(*values: float, dtype: type = np.int32) -> np.ndarray:
    return np.array(values, dtype=dtype)


BROKEN = {
    "no tables": (NoTables, "compile returns a dict, expected GrammarTables; make them with .*pack_tables"),
    "fails": (Fails, "compile raises FileNotFoundError: words.txt; expected GrammarTables"),
    "takes words away": (Takes, "changes the words it is given; expected them to stay"),
    "order of a set": (Unordered, "for the same words in another order; expected the same: sort"),
    "random": (Dice, "other tables the second time"),
    "a lock": (Locks, "the grammar cannot go to another process: raises TypeError"),
    "types": (
        lambda: Mine(arc_words=array(0, 1, 0, 1, dtype=np.int64)),
        r"arc_words: got int64 \(4,\), expected one row of int32",
    ),
    "lengths": (lambda: Mine(arc_contexts=array(1)), "arc_contexts has 1 entries, expected 4"),
    "offsets": (lambda: Mine(arc_offsets=array(0, 3, 2, 4)), "arc_offsets: expected numbers that rise"),
    "words out of range": (
        lambda: Mine(arc_words=array(0, 1, 0, 2)),
        "arc_words: got 0 to 2, expected",
    ),
    "start": (lambda: Mine(start_context=3), "start_context is 3, expected 0 to 2"),
    "unknown words": (lambda: Mine(words=("OFF", "OUT")), "not in the lexicon: OUT; expected only words"),
    "a word twice": (lambda: Mine(words=("ON", "ON")), "words: some occur twice"),
    "order of arcs": (lambda: Mine(arc_words=array(1, 0, 0, 1)), "context 0: words are not in rising order"),
    "probabilities": (
        lambda: Mine(arc_log_probs=np.array([0.5, 0.5, 0.25, 0.25])),
        "log probabilities up to 0.5, expected 0 or less",
    ),
    "infinite": (
        lambda: Mine(arc_log_probs=np.array([-1.0, -1.0, -1.0, -np.inf])),
        "arc_log_probs: expected finite logarithms; leave out",
    ),
    "a circle": (lambda: Mine(backoff_contexts=array(1, 0, -1)), "backoff_contexts go round in a circle"),
    "no end": (lambda: Mine(final_log_probs=np.full(3, -np.inf)), "no sentence is allowed; expected a way"),
}


@pytest.mark.parametrize(
    "grammar",
    [
        WordLoop(LEXICON.words),
        WordPairGrammar.from_sentences(SENTENCES),
        NGram.estimate(SENTENCES, 1),
        NGram.estimate(SENTENCES, 2),
        NGram.estimate(SENTENCES, 3, vocabulary=LEXICON.words, smoothing="modified-kneser-ney"),
        parse_jsgf("#JSGF V1.0; grammar g; public <s> = (/1/ ON | /3/ OFF) [UP]+;"),
        FiniteStateGrammar([WordArc(0, "ON", 0.0, 1), WordArc(1, None, -0.1, 0)], 0, {1: 0.0}),
        Mine(),
        Mine(arc_log_probs=np.zeros(4)),  # no probabilities at all
    ],
    ids=["loop", "word-pair", "unigram", "bigram", "trigram", "rules", "network", "own", "unweighted"],
)
def test_sound_grammars(grammar) -> None:  # type: ignore[no-untyped-def]
    check_grammar(grammar, LEXICON)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_grammars(name: str) -> None:
    make, message = BROKEN[name]
    with pytest.raises(ConformanceError, match=message):
        check_grammar(make(), LEXICON)
