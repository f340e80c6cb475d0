"""The HMM of one transcribed utterance: every way to speak its words, as nodes in topological order.

A transcript is a sequence of words, each a set of pronunciations; silence is optional before the first and
after the last word, a pause optional between words. All alternatives are in the graph at once, so a training
pass sums over them and an alignment chooses among them: no separate pronunciation realignment is needed.
A word whose pronunciation nobody knows is a loop over all phones of speech.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from acoustic.errors import ModelError
from acoustic.hmm.topology import EDGE, NOISE, SHORT_PAUSE, SILENCE, Topology
from foundation.arrays import Floats, Ints

Pronunciation = tuple[str, ...]
# Log probabilities of a pronunciation behind a word, behind silence, and where silence follows
# (`decoder.lexicon.LogUsage`).
WeightsOfUsage = tuple[float, float, float]
_START = -1
_MOST_ARCS, _ARCS_PER_NODE = 4_000_000, 20  # by feel
_PAUSE_LOG_PROBABILITY = float(np.log(0.5))  # with and without a pause are equally probable


@dataclass(frozen=True)
class UtteranceGraph:
    """Nodes with their incoming arcs; an arc leads backwards only inside a loop, a run of nodes.

    Attributes
    ----------
    states : (n_nodes,) int32, emission state of each node
    transitions : (n_nodes,) int32, row of each node in `Topology.flat_self_loops`
    phones : (n_nodes,) int32, phone id of each node
    phone_starts : (n_nodes,) int32, node at which the phone of this node begins
    words : (n_nodes,) int32, index of the word in the transcript, -1 in silence
    variants : (n_nodes,) int32, index of the pronunciation of that word, -1 in silence and unknown words
    arc_offsets : (n_nodes + 1,) int32, where the incoming arcs of a node begin in the next two
    arc_sources : (n_arcs,) int32, the node an arc comes from, -1 for the start of the utterance
    arc_weights : (n_arcs,) float64, log probability of an arc beside the source's own log P(move on)
    exit_weights : (n_nodes,) float64, the same for the end of the utterance, -inf where it cannot end
    reach : (n_nodes,) int32, the last node that any node up to this one has an arc to
    floors : (n_nodes,) int32, the first node of the loop that a node is in, the node itself outside of loops
    """

    states: Ints
    transitions: Ints
    phones: Ints
    phone_starts: Ints
    words: Ints
    variants: Ints
    arc_offsets: Ints
    arc_sources: Ints
    arc_weights: Floats
    exit_weights: Floats
    reach: Ints
    floors: Ints

    @property
    def n_nodes(self) -> int:
        """Number N of nodes."""
        return len(self.states)


class _End(NamedTuple):
    """Where a slot ends: a node, the log probability of going on from it, and what it was spoken beside.

    ``phone`` is the last phone, ``#`` behind silence; ``following`` the phone its context was chosen for,
    None if any may follow; ``pause`` is added where a silence does follow, or None, where that is a coin.
    """

    node: int
    log: float
    phone: str
    following: str | None
    pause: float | None = None


@dataclass
class _Builder:
    """Grows a graph slot by slot; the frontier is what the next slot may follow."""

    topology: Topology
    rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    arcs: list[list[tuple[int, float]]] = field(default_factory=list)
    n_arcs: int = 0
    loops: list[tuple[int, int]] = field(default_factory=list)  # nodes [first, stop) of each
    frontier: list[_End] = field(default_factory=lambda: [_End(_START, 0.0, EDGE, None)])

    def chain(
        self,
        units: Pronunciation,
        word: int,
        variant: int,
        weights: float | tuple[float, float],
        behind: Sequence[_End],
    ) -> int:
        """Append the states of a phone sequence behind some ends; return its last node.

        It has one weight, or one behind a word and one behind silence.
        """
        behind_word, behind_silence = (weights, weights) if isinstance(weights, float) else weights
        entries = [
            (
                end.node,
                end.log + (behind_silence if end.node != _START and end.phone == EDGE else behind_word),
            )
            for end in behind
        ]
        for phone in units:
            phone_id = self.topology.phone_id(phone)
            first_row = int(self.topology.transition_offsets[phone_id])
            first_node = len(self.rows)
            for position, state in enumerate(self.topology.phone_states[phone_id]):
                self.rows.append((state, first_row + position, phone_id, first_node, word, variant))
                self.arcs.append(entries)
                self._count(len(entries))
                entries = [(len(self.rows) - 1, 0.0)]
        return entries[0][0]

    def _count(self, n_arcs: int) -> None:
        """Raise an error once arcs are far too many: each way to say a word leads to each of the next one."""
        self.n_arcs += n_arcs
        if self.n_arcs > _MOST_ARCS + _ARCS_PER_NODE * len(self.rows):
            raise ModelError(
                f"the transcript can be said in too many ways: over {_MOST_ARCS:,} lead from one word to the "
                "next, expected fewer; remove pronunciations of its words from the lexicon"
            )

    def word(
        self,
        index: int,
        pronunciations: Sequence[Pronunciation],
        following: set[str],
        usage: Sequence[WeightsOfUsage] | None = None,
    ) -> None:
        """Append a word that must be spoken in one of its pronunciations, before silence or some phones."""
        is_crossing = self.topology.crosses_words
        rights: list[str | None] = [EDGE, *sorted(following)] if is_crossing else [None]
        ends = []
        for variant, pronunciation in enumerate(pronunciations):
            *weights, pause = usage[variant] if usage else (0.0, 0.0, None)
            behind: dict[str, list[_End]] = {}
            for end in self.frontier:
                if end.following in (None, pronunciation[0]):
                    behind.setdefault(end.phone if is_crossing else EDGE, []).append(end)
            for left, before in behind.items():
                for right in rights:
                    units = self.topology.units(pronunciation, left, right or EDGE)
                    node = self.chain(units, index, variant, (weights[0], weights[1]), before)
                    ends.append(_End(node, 0.0, pronunciation[-1], right, pause))
        self.frontier = ends

    def noise(self, index: int) -> None:
        """Append a noise that must be heard."""
        self.frontier = [_End(self.chain((NOISE,), index, 0, 0.0, self._beside_silence()), 0.0, EDGE, None)]

    def unknown_word(self, index: int) -> None:
        """Append a word of one phone of speech or more."""
        self.loop(self.topology.loose_units, index)

    def loop(self, units: Sequence[str], index: int) -> None:
        """Append one unit or more; each may follow each, all are equally probable."""
        first, weight, behind = len(self.rows), -float(np.log(len(units))), self._beside_silence()
        ends = [_End(self.chain((unit,), index, -1, weight, behind), 0.0, EDGE, None) for unit in units]
        for entry in sorted({self.rows[end.node][3] for end in ends}):
            self.arcs[entry] += [(end.node, weight) for end in ends]
        self.loops.append((first, len(self.rows)))
        self.frontier = ends

    def _beside_silence(self) -> list[_End]:
        """Return the ends that something may follow which has no context."""
        return [end for end in self.frontier if end.following in (None, EDGE)]

    def pause(self, phone: str) -> None:
        """Append a silence that may be left out."""
        coin = _PAUSE_LOG_PROBABILITY
        skipped = [end._replace(log=end.log + (coin if end.pause is None else 0.0)) for end in self.frontier]
        before = [
            end._replace(log=end.log + (coin if end.pause is None else end.pause))
            for end in self._beside_silence()
        ]
        node = self.chain((phone,), -1, -1, 0.0, before)
        self.frontier = [*skipped, _End(node, 0.0, EDGE, None)]

    def finish(self) -> UtteranceGraph:
        """Return the arrays."""
        states, transitions, phones, phone_starts, words, variants = np.array(self.rows, dtype=np.int32).T
        n_nodes = len(self.rows)
        exits = np.full(n_nodes, -np.inf)
        for end in self.frontier:
            if end.node != _START:
                exits[end.node] = end.log
        flat = [arc for incoming in self.arcs for arc in incoming]
        sources = np.array([source for source, _ in flat], dtype=np.int32)
        offsets = np.cumsum([0, *(len(incoming) for incoming in self.arcs)]).astype(np.int32)
        targets = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(offsets))
        reach = np.arange(n_nodes, dtype=np.int32)
        np.maximum.at(reach, sources[sources >= 0], targets[sources >= 0])
        floors = np.arange(n_nodes, dtype=np.int32)
        for first, stop in self.loops:
            floors[first:stop] = first
        return UtteranceGraph(
            states=states,
            transitions=transitions,
            phones=phones,
            phone_starts=phone_starts,
            words=words,
            variants=variants,
            arc_offsets=offsets,
            arc_sources=sources,
            arc_weights=np.array([log for _, log in flat]),
            exit_weights=exits,
            reach=np.maximum.accumulate(reach),
            floors=floors,
        )


def utterance_graph(
    words: Sequence[Sequence[Pronunciation] | None],
    topology: Topology,
    usage: Sequence[Sequence[WeightsOfUsage] | None] | None = None,
) -> UtteranceGraph:
    """Return the graph of a transcript.

    Parameters
    ----------
    words : for each spoken word its pronunciations, each a tuple of phone names; may be empty (silence only).
        None is a word of any phones. ``((NOISE,),)`` is a noise, where the topology has it, else any phones
    topology : the phones' states; ``sp`` between words where it has one, else ``sil``
    usage : for each word what the usage of its pronunciations adds, where that is known

    Raises
    ------
    ModelError : a word has no pronunciation, or a phone the topology lacks
    """
    for index, pronunciations in enumerate(words):
        if pronunciations is not None and not (pronunciations and all(pronunciations)):
            raise ModelError(
                f"word {index} of the transcript: expected pronunciations of one phone or more, "
                f"got {pronunciations!r}; correct the lexicon"
            )
    between = SHORT_PAUSE if SHORT_PAUSE in topology else SILENCE
    builder = _Builder(topology)
    builder.pause(SILENCE)
    for index, pronunciations in enumerate(words):
        if index:
            builder.pause(between)
        if pronunciations is None or (_is_noise(pronunciations) and NOISE not in topology):
            builder.unknown_word(index)
        elif _is_noise(pronunciations):
            builder.noise(index)
        else:
            following = _first_phones(words[index + 1 : index + 2])
            builder.word(index, pronunciations, following, usage[index] if usage else None)
    if words:
        builder.pause(SILENCE)
    return builder.finish()


def word_graph(pronunciations: Sequence[Pronunciation], topology: Topology) -> UtteranceGraph:
    """Return the graph of one word alone, without silences, in any of its pronunciations."""
    builder = _Builder(topology)
    builder.word(0, pronunciations, set())
    return builder.finish()


def loop_graph(topology: Topology) -> UtteranceGraph:
    """Return the graph of a recording in which anything may be said: any phones and silences."""
    builder = _Builder(topology)
    builder.loop((*topology.loose_units, *(s for s in (SILENCE, NOISE) if s in topology)), -1)
    return builder.finish()


def _first_phones(words: Sequence[Sequence[Pronunciation] | None]) -> set[str]:
    """Return the phones that some words may begin with; noise and unknown words sound like silence."""
    return {p[0] for ways in words if ways is not None and not _is_noise(ways) for p in ways}


def _is_noise(pronunciations: Sequence[Pronunciation]) -> bool:
    return tuple(pronunciations) == ((NOISE,),)
