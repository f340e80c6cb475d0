"""The static search network: lexicon × grammar × topology, as flat arrays.

A *chain* is one pronunciation of one word that leads to one grammar context (or an optional silence), laid
out as a contiguous run of nodes, one for each emission state on its way. Words are shared between all arcs
that agree on word and next context, so a loop or a bigram needs each pronunciation once, a trigram once for
each context that ends in the word. Where the phone contexts of a model reach across words, a chain leads to a
context and what may follow it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from acoustic.hmm.topology import EDGE, SILENCES, Topology
from decoder.errors import GrammarError, LexiconError
from decoder.grammars.grammar import Arc, GrammarTables, pack_tables
from decoder.lexicon import Lexicon, LogUsage, Pronunciation, is_own_unit
from decoder.search.compiled import SearchGraph
from decoder.search.word_ends import ArcTable
from foundation.arrays import Floats, Ints

NEUTRAL = LogUsage()
WordUsage = Mapping[tuple[int, Pronunciation], LogUsage]  # by word id and pronunciation
N_NAMED = 10  # how many words an error lists; by feel


@dataclass(frozen=True, eq=False)
class Network:
    """A search graph with the names that belong to it."""

    graph: SearchGraph
    words: tuple[str, ...]
    start_context: int
    n_states: int

    @property
    def arc_table(self) -> ArcTable:
        """The grammar for lattices; labels are words, destinations chains."""
        graph = self.graph
        return ArcTable(
            offsets=graph.arc_offsets,
            labels=graph.arc_words,
            destination_first=graph.arc_chain_first,
            destination_stop=graph.arc_chain_stop,
            log_probs=graph.arc_log_probs,
            backoff_contexts=graph.backoff_contexts,
            backoff_log_weights=graph.backoff_log_weights,
            final_log_probs=graph.final_log_probs,
        )


def build_network(lexicon: Lexicon, tables: GrammarTables, topology: Topology) -> Network:
    """Return the network of every word the grammar allows; raises as `pronounced_words` does."""
    pronunciations = pronounced_words(lexicon, tables, topology)
    usage = log_usage(lexicon, tables, pronunciations)
    silences = tuple(phone for phone in SILENCES if phone in topology)
    if topology.crosses_words:
        composed = compose(tables, pronunciations, topology, silences, usage)
        tables, chains = composed.tables, composed.chains
        n_silences = composed.n_silences
        arc_first = np.array(composed.arc_chains, dtype=np.int32)
        arc_stop = arc_first + np.int32(1)
    else:
        chains = [Chain(-1, context, (phone,)) for context in range(tables.n_contexts) for phone in silences]
        n_silences = [len(silences)] * tables.n_contexts
        arc_first, arc_stop = _add_word_chains(chains, tables, pronunciations, usage, topology)
    nodes, chain_offsets = _node_arrays(chains, topology)
    return Network(
        graph=SearchGraph(
            node_states=nodes[:, 0].astype(np.int32),
            node_log_stay=np.ascontiguousarray(nodes[:, 1]),
            node_log_advance=np.ascontiguousarray(nodes[:, 2]),
            chain_offsets=chain_offsets,
            chain_words=np.array([chain.word for chain in chains], dtype=np.int32),
            chain_contexts=np.array([chain.target for chain in chains], dtype=np.int32),
            chain_log_probs=np.array([chain.usage[:2] for chain in chains]),
            chain_pauses=np.array([chain.usage.silence_after for chain in chains]),
            knows_usage=any(chain.usage != NEUTRAL for chain in chains),
            silence_offsets=np.cumsum([0, *n_silences]).astype(np.int32),
            arc_chain_first=arc_first,
            arc_chain_stop=arc_stop,
            arc_offsets=tables.arc_offsets,
            arc_words=tables.arc_words,
            arc_log_probs=tables.arc_log_probs,
            arc_contexts=tables.arc_contexts,
            backoff_contexts=tables.backoff_contexts,
            backoff_log_weights=tables.backoff_log_weights,
            final_log_probs=tables.final_log_probs,
        ),
        words=tables.words,
        start_context=tables.start_context,
        n_states=topology.n_states,
    )


def _add_word_chains(
    chains: list[Chain],
    tables: GrammarTables,
    pronunciations: Mapping[int, tuple[Pronunciation, ...]],
    usage: WordUsage,
    topology: Topology,
) -> tuple[Ints, Ints]:
    """Append the chains of every (word, next context); return each arc's first and stop, (n_arcs,) int32."""
    ranges: dict[tuple[int, int], tuple[int, int]] = {}
    arc_ranges = np.empty((len(tables.arc_words), 2), dtype=np.int32)
    for arc, key in enumerate(zip(tables.arc_words.tolist(), tables.arc_contexts.tolist(), strict=True)):
        if key not in ranges:
            first = len(chains)
            chains.extend(
                Chain(*key, topology.units(variant), usage.get((key[0], variant), NEUTRAL))
                for variant in pronunciations[key[0]]
            )
            ranges[key] = (first, len(chains))
        arc_ranges[arc] = ranges[key]
    return np.ascontiguousarray(arc_ranges[:, 0]), np.ascontiguousarray(arc_ranges[:, 1])


def _node_arrays(chains: Sequence[Chain], topology: Topology) -> tuple[Floats, Ints]:
    """Return each node's state, log stay and log advance, (n_nodes, 3), and chain offsets (n_chains + 1,)."""
    phones = {phone: _phone_nodes(topology, phone) for chain in chains for phone in chain.units}
    runs = [np.concatenate([phones[phone] for phone in chain.units]) for chain in chains]
    offsets = np.concatenate([[0], np.cumsum([len(run) for run in runs])])
    return np.concatenate(runs), offsets.astype(np.int32)


def _phone_nodes(topology: Topology, phone: str) -> Floats:
    """Return emission state, log stay and log advance of a phone's states, shape (n_states_of_phone, 3)."""
    phone_id = topology.phone_id(phone)
    stay, advance = topology.log_transitions(phone_id)
    return np.column_stack([np.asarray(topology.phone_states[phone_id], dtype=np.float64), stay, advance])


# The pronunciations of a grammar's words, checked against the lexicon and the model.


def pronounced_words(
    lexicon: Lexicon, tables: GrammarTables, topology: Topology
) -> dict[int, tuple[Pronunciation, ...]]:
    """Return the distinct pronunciations of each word id that the grammar allows.

    Raises
    ------
    LexiconError
        Words of the grammar have no pronunciation, or a phone is not in the topology.
    GrammarError
        The grammar allows no word at all.
    """
    if not len(tables.arc_words):
        raise GrammarError(
            f"grammar: expected at least one word with a pronunciation, got none of "
            f"{len(tables.dropped_words)} words{_named(tables.dropped_words)}; "
            "use the lexicon and grammar of the same task"
        )
    used = np.unique(tables.arc_words)
    pronunciations = _pronunciations(lexicon, {int(w): tables.words[w] for w in used})
    _check_phones({tables.words[w]: variants for w, variants in pronunciations.items()}, topology)
    return pronunciations


def _pronunciations(lexicon: Lexicon, words: Mapping[int, str]) -> dict[int, tuple[Pronunciation, ...]]:
    """Return the distinct pronunciations of each word id."""
    known = set(lexicon.words)
    missing = sorted(word for word in words.values() if word not in known)
    if missing:
        raise LexiconError(
            f"lexicon: expected a pronunciation of every word of the grammar, got none for {len(missing)}"
            f"{_named(missing)}; add them to the lexicon or take them out of the grammar"
        )
    return {i: tuple(dict.fromkeys(lexicon.pronunciations(word))) for i, word in words.items()}


def log_usage(
    lexicon: Lexicon, tables: GrammarTables, pronunciations: Mapping[int, Sequence[Pronunciation]]
) -> dict[tuple[int, Pronunciation], LogUsage]:
    """Return what the usage of words adds to scores, by word id and pronunciation, if any is known.

    It is weighed as the grammar's probabilities are. Where these are all equal (a word loop, word pairs),
    there is no weight for either, and usage alone would decide between words that sound alike: none counts.
    """
    if not lexicon.usage or _is_uniform(tables):
        return {}
    return {
        (i, variant): usage
        for i in pronunciations
        for variant, usage in zip(
            lexicon.pronunciations(tables.words[i]), lexicon.log_usage(tables.words[i]), strict=True
        )
    }


def _is_uniform(tables: GrammarTables) -> bool:
    """Return whether all words that a context allows are equally probable."""
    firsts = np.repeat(tables.arc_offsets[:-1], np.diff(tables.arc_offsets))
    is_equal = tables.arc_log_probs == tables.arc_log_probs[firsts]
    return bool(is_equal.all() and (tables.backoff_contexts < 0).all())


def _check_phones(pronunciations: Mapping[str, tuple[Pronunciation, ...]], topology: Topology) -> None:
    """Raise a LexiconError that names each unknown phone with a word that has it, or words without phones."""
    empty = sorted(word for word, variants in pronunciations.items() if not all(variants) or not variants)
    if empty:
        raise LexiconError(
            f"lexicon: expected at least one phone in every pronunciation, got an empty one "
            f"for {len(empty)} words{_named(empty)}; correct the lexicon"
        )
    unknown: dict[str, str] = {}
    new: dict[str, None] = {}  # words in their order
    for word in sorted(pronunciations):
        for variant in pronunciations[word]:
            units = zip(variant, topology.units(variant), strict=True)
            for phone in (phone for phone, unit in units if unit not in topology):
                unknown.setdefault(phone, word)
                new[word] = None
    if unknown:
        listed = [f"{phone} (in {word})" for phone, word in sorted(unknown.items())]
        if any(map(is_own_unit, topology.phones)):
            raise LexiconError(
                f"lexicon: {len(new)} words are new to the model{_named(list(new))}; it knows whole words, "
                "not sounds: record them and train again, or train with --set without_lexicon=letters"
            )
        raise LexiconError(
            f"lexicon: expected the {len(topology.phones)} phones of the model, got {len(unknown)} others"
            f"{_named(listed)}; correct the lexicon or train a model that has them"
        )


def _named(words: Sequence[str]) -> str:
    """Return ': A B C …', or nothing for no words."""
    more = f" … and {len(words) - N_NAMED} more" if len(words) > N_NAMED else ""
    return ": " + ", ".join(words[:N_NAMED]) + more if words else ""


# Grammars for models whose phone contexts reach across words.
#
# A word's states then depend on the neighbouring words. The grammar is composed with the information that the
# phones at word edges need: a grammar context becomes several contexts (context, last phone, phones that may
# follow), and a pronunciation becomes several chains, one for each class of left neighbours and each class of
# right neighbours that give it the same states. Silence is the neighbour ``#``; any word may follow it. The
# search itself treats the composed grammar like any other.

Neighbours = frozenset[str]


class Place(NamedTuple):
    """A grammar context behind a phone (``#`` is silence), before one of some phones."""

    context: int
    last: str
    following: Neighbours


class Chain(NamedTuple):
    """A word (−1 is silence) in units of the topology, where it leads, and how often it is said so."""

    word: int
    target: int
    units: Pronunciation
    usage: LogUsage = NEUTRAL


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
    usage: WordUsage = MappingProxyType({}),
) -> Composed:
    """Return the grammar over places.

    Parameters
    ----------
    tables : the grammar
    pronunciations : pronunciations of each word id, in phones
    topology : topology whose contexts reach across words
    silences : names of the optional silences
    usage : what the usage of words adds to scores
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
                    chain = chains.setdefault(
                        Chain(word, end, units, usage.get((word, variant), NEUTRAL)), len(chains)
                    )
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
