"""Finite-state grammars: states joined by weighted arcs that say a word, or nothing.

They are read by `decoder.grammars.jsgf` and `decoder.grammars.slf`. Where words can be read in several ways,
the best way counts, as it does in the search.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import Arc, GrammarTables, pack_tables
from foundation.arrays import Floats

# Of one set of places, so many weightings are told apart; beyond, the nearest of them stands for others.
_MOST_WEIGHTINGS = 16
_MOST_CONTEXTS = 200_000
_SAME = 1e-9  # log weights that differ by less are equal


class WordArc(NamedTuple):
    """An arc between states; the word None says nothing."""

    source: int
    word: str | None
    log_weight: float
    target: int


@dataclass(frozen=True)
class FiniteStateGrammar:
    """States 0 … and the arcs between them; words are in Unicode normal form C.

    Attributes
    ----------
    arcs : arcs in any order
    start : state of the empty sentence
    final : states in which a sentence may end, with the log weight of ending

    Examples
    --------
    >>> arcs = [WordArc(0, "GO", 0.0, 1), WordArc(1, "ON", -0.7, 1)]
    >>> tables = FiniteStateGrammar(arcs, 0, {1: -0.5}).compile({"GO", "ON"})
    >>> round(float(tables.sentence_log_prob(["GO", "ON", "ON"])), 4)
    -1.9
    """

    arcs: Sequence[WordArc]
    start: int
    final: Mapping[int, float]

    def __post_init__(self) -> None:
        normal = (
            a if a.word is None else a._replace(word=unicodedata.normalize("NFC", a.word)) for a in self.arcs
        )
        object.__setattr__(self, "arcs", tuple(self._useful(a for a in normal if a.log_weight > -np.inf)))
        if not any(state in self.final for state in self._reached(self.arcs)):
            raise GrammarError(
                "grammar: no way from its start to its end, expected at least one sentence; correct the rules"
            )

    def _reached(self, arcs: Iterable[WordArc]) -> set[int]:
        return _connected([self.start], ((a.source, a.target) for a in arcs))

    def _useful(self, arcs: Iterable[WordArc]) -> list[WordArc]:
        """Return the arcs on a way from the start to an end."""
        arcs = list(arcs)
        after = self._reached(arcs)
        before = _connected(self.final, ((a.target, a.source) for a in arcs))
        return [a for a in arcs if a.source in after and a.target in before]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the grammar, sorted."""
        return tuple(sorted({arc.word for arc in self.arcs if arc.word is not None}))

    def renamed(self, names: Mapping[str, str]) -> FiniteStateGrammar:
        """Return the grammar with other names for some words."""
        arcs = [a if a.word is None else a._replace(word=names.get(a.word, a.word)) for a in self.arcs]
        return FiniteStateGrammar(arcs, self.start, self.final)

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return the tables, one context for each set of places; no word is left out."""
        return _Determinizer(self).tables()


class _Determinizer:
    """Sets of states with their weights become contexts, in which each word leads to one context."""

    def __init__(self, grammar: FiniteStateGrammar) -> None:
        self.grammar = grammar
        self.word_ids = {word: n for n, word in enumerate(grammar.words)}
        self.silent: dict[int, list[tuple[float, int]]] = {}
        self.spoken: dict[int, list[tuple[int, float, int]]] = {}
        for source, word, weight, target in grammar.arcs:
            if word is None:
                self.silent.setdefault(source, []).append((weight, target))
            else:
                self.spoken.setdefault(source, []).append((self.word_ids[word], weight, target))
        # States that only lead on without a word tell no contexts apart.
        self.counted = self.spoken.keys() | grammar.final.keys()
        self.contexts: list[dict[int, float]] = []
        self.by_places: dict[tuple[int, ...], list[tuple[Floats, int]]] = {}

    def tables(self) -> GrammarTables:
        """Return the tables of the contexts that can be reached."""
        start_weight, start = self._context({self.grammar.start: 0.0})
        arcs: list[list[Arc]] = []
        final: list[float] = []
        while len(arcs) < len(self.contexts):
            weights = self.contexts[len(arcs)]
            arcs.append(self._arcs(weights))
            ends = (
                weight + self.grammar.final[s] for s, weight in weights.items() if s in self.grammar.final
            )
            final.append(max(ends, default=-np.inf))
            if len(self.contexts) > _MOST_CONTEXTS:
                raise GrammarError(
                    f"grammar: more than {_MOST_CONTEXTS:,} places a sentence can be at, expected fewer; "
                    "simplify rules that can be read in many ways"
                )
        return self._started(arcs, final, start, start_weight)

    def _started(
        self, arcs: list[list[Arc]], final: list[float], start: int, start_weight: float
    ) -> GrammarTables:
        """Return the tables; a weight before the first word is put on a start of its own."""
        if start_weight != 0.0:
            arcs.append([(word, weight + start_weight, target) for word, weight, target in arcs[start]])
            final.append(final[start] + start_weight)
            start = len(arcs) - 1
        return pack_tables(self.grammar.words, arcs, final, start)

    def _arcs(self, weights: Mapping[int, float]) -> list[Arc]:
        """Return the arcs of a context."""
        after: dict[int, dict[int, float]] = {}
        for state, weight in weights.items():
            for word, log_weight, target in self.spoken.get(state, ()):
                reached = after.setdefault(word, {})
                reached[target] = max(reached.get(target, -np.inf), weight + log_weight)
        return [(word, *self._context(reached)) for word, reached in sorted(after.items())]

    def _context(self, reached: Mapping[int, float]) -> tuple[float, int]:
        """Return the best weight of some places, and the context of what the weights are beyond it."""
        closed = self._closed(reached)
        best = max(closed.values())
        places = tuple(sorted(closed))
        weights = np.array([closed[place] for place in places]) - best
        known = self.by_places.setdefault(places, [])
        distances = [float(np.abs(other - weights).max()) for other, _ in known]
        if distances and (min(distances) < _SAME or len(known) >= _MOST_WEIGHTINGS):
            return best, known[int(np.argmin(distances))][1]
        known.append((weights, len(self.contexts)))
        self.contexts.append(dict(zip(places, weights.tolist(), strict=True)))
        return best, len(self.contexts) - 1

    def _closed(self, reached: Mapping[int, float]) -> dict[int, float]:
        """Return the places that can be reached without a word, those that tell contexts apart."""
        found = dict(reached)
        waiting = deque(found)
        n_visits: dict[int, int] = {}
        while waiting:
            state = waiting.popleft()
            n_visits[state] = n_visits.get(state, 0) + 1
            if n_visits[state] > len(self.silent) + 1:
                raise GrammarError(
                    "grammar: a loop without a word that gains weight, expected weights up to 1 there; "
                    "correct its weights"
                )
            for weight, target in self.silent.get(state, ()):
                if found[state] + weight > found.get(target, -np.inf) + _SAME:
                    found[target] = found[state] + weight
                    waiting.append(target)
        return {state: weight for state, weight in found.items() if state in self.counted}


def _connected(starts: Iterable[int], edges: Iterable[tuple[int, int]]) -> set[int]:
    """Return what can be reached from some states over edges."""
    following: dict[int, list[int]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found = set(starts)
    waiting = list(found)
    while waiting:
        for state in following.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found
