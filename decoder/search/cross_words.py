"""Grammars for models whose phone contexts reach across words.

A word's states then depend on the neighbouring words. The grammar is composed with the information that the
phones at word edges need: a grammar context becomes several contexts (context, last phone, phones that may
follow), and a pronunciation becomes several chains, one for each class of left neighbours and each class of
right neighbours that give it the same states. Silence is the neighbour ``#``; any word may follow it. The
search itself treats the composed grammar like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from acoustic.hmm.topology import EDGE, Topology
from decoder.grammars.grammar import Arc, GrammarTables, pack_tables

Pronunciation = tuple[str, ...]
Neighbours = frozenset[str]


class Place(NamedTuple):
    """A grammar context behind a phone (``#`` is silence), before one of some phones."""

    context: int
    last: str
    following: Neighbours


class Chain(NamedTuple):
    """A word (−1 is silence) in units of the topology, and where it leads."""

    word: int
    target: int
    units: Pronunciation


@dataclass(frozen=True)
class Composed:
    """A grammar over places.

    Attributes
    ----------
    tables : the grammar, whose contexts are places
    chains : chains of silences first, sorted by place, then those of words
    n_silences : (n_contexts,) silence chains of each place
    arc_chains : (n_arcs,) the chain of each arc
    """

    tables: GrammarTables
    chains: list[Chain]
    n_silences: list[int]
    arc_chains: list[int]


def compose(
    tables: GrammarTables,
    pronunciations: Mapping[int, Sequence[Pronunciation]],
    topology: Topology,
    silences: Sequence[str],
) -> Composed:
    """Return the grammar over places.

    Parameters
    ----------
    tables : the grammar
    pronunciations : pronunciations of each word id, in phones
    topology : topology whose contexts reach across words
    silences : names of the optional silences
    """
    spoken = {p for variants in pronunciations.values() for p in variants}
    edges = _Edges(topology, {p[-1] for p in spoken}, {p[0] for p in spoken})
    everything = frozenset(edges.rights)
    places: dict[Place, int] = {}
    waiting: list[Place] = []

    def index(place: Place) -> int:
        if place not in places:
            places[place] = len(places)
            waiting.append(place)
        return places[place]

    index(Place(tables.start_context, EDGE, everything))
    chains: dict[Chain, int] = {}
    arcs: list[list[Arc]] = []
    of_arcs: list[list[int]] = []
    backoffs: list[tuple[int, float]] = []
    behind_silence: list[int | None] = []
    for place in waiting:  # places are added during the loop
        found: set[tuple[Arc, int]] = set()
        for arc in range(tables.arc_offsets[place.context], tables.arc_offsets[place.context + 1]):
            word, target = int(tables.arc_words[arc]), int(tables.arc_contexts[arc])
            for variant in pronunciations[word]:
                if variant[0] not in place.following:
                    continue
                left = edges.left_class(variant, place.last)
                for rights in edges.right_classes(variant):
                    end = index(Place(target, variant[-1], rights))
                    units = topology.units(variant, left, min(rights))
                    chain = chains.setdefault(Chain(word, end, units), len(chains))
                    found.add(((word, float(tables.arc_log_probs[arc]), end), chain))
        row = sorted(found)
        arcs.append([arc for arc, _ in row])
        of_arcs.append([chain for _, chain in row])
        backoff = int(tables.backoff_contexts[place.context])
        weight = float(tables.backoff_log_weights[place.context])
        backoffs.append((index(place._replace(context=backoff)), weight) if backoff >= 0 else (-1, 0.0))
        may_pause = EDGE in place.following
        behind_silence.append(index(Place(place.context, EDGE, everything)) if may_pause else None)
    final = [tables.final_log_probs[p.context] if EDGE in p.following else -np.inf for p in waiting]
    pauses = [Chain(-1, t, (phone,)) for t in behind_silence if t is not None for phone in silences]
    return Composed(
        pack_tables(tables.words, arcs, final, 0, backoffs=backoffs, dropped_words=tables.dropped_words),
        [*pauses, *chains],
        [0 if target is None else len(silences) for target in behind_silence],
        [len(pauses) + chain for row in of_arcs for chain in row],
    )


class _Edges:
    """Which neighbours a pronunciation's edge phones tell apart."""

    def __init__(self, topology: Topology, lasts: Iterable[str], firsts: Iterable[str]) -> None:
        self.topology = topology
        self.lefts, self.rights = (EDGE, *sorted(lasts)), (EDGE, *sorted(firsts))
        self.left_class = cache(self._left_class)
        self.right_classes = cache(self._right_classes)

    def _left_class(self, pronunciation: Pronunciation, left: str) -> str:
        """Return the first of the left neighbours that sound the same beside this word."""
        wanted = self._sounds([(left, right) for right in self._rights_of(pronunciation)], pronunciation, 0)
        for other in self.lefts:
            sounds = self._sounds([(other, r) for r in self._rights_of(pronunciation)], pronunciation, 0)
            if sounds == wanted:
                return other
        return left

    def _right_classes(self, pronunciation: Pronunciation) -> tuple[Neighbours, ...]:
        """Return the classes of right neighbours that sound the same beside this word."""
        lefts = self.lefts if len(pronunciation) == 1 else (EDGE,)
        classes: dict[tuple[object, ...], list[str]] = {}
        for right in self.rights:
            sounds = self._sounds([(left, right) for left in lefts], pronunciation, -1)
            classes.setdefault(sounds, []).append(right)
        return tuple(frozenset(members) for members in classes.values())

    def _rights_of(self, pronunciation: Pronunciation) -> tuple[str, ...]:
        """Return the right neighbours that the first phone can have beyond the word."""
        return self.rights if len(pronunciation) == 1 else (EDGE,)

    def _sounds(
        self, neighbours: Iterable[tuple[str, str]], pronunciation: Pronunciation, place: int
    ) -> tuple[object, ...]:
        """Return states and self-loops of an edge phone beside each pair of neighbours."""
        found: list[object] = []
        for left, right in neighbours:
            phone = self.topology.phone_id(self.topology.units(pronunciation, left, right)[place])
            found += [self.topology.phone_states[phone], self.topology.self_loops[phone]]
        return tuple(found)
