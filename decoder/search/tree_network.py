"""The search network of a large vocabulary: lexicon as a prefix tree, grammar by leaves of the tree.

Nothing is composed. A token is at a node of the tree, in a context of the grammar; which pairs of the two are
in use is found during the search (`decoder.search.tree_compiled`). What is prepared here is independent of
the decoder's weights:

- the grammar's arcs, one for each pronunciation instead of each word, sorted by leaf, so that the words which
  a context lists below a node are a range of its arcs;
- the look-ahead: the best log probability of the words below a node. For contexts that list a good part of
  the vocabulary it is stored for all nodes, for the others it is the greatest of a few arcs;
- the seams. Where contexts of phones reach across words, the first phone of a word is a node for each sound
  that the words before give it, all with the same children, and the last phone is a node for each sound that
  the words behind give it. Behind the latter only those words may begin, in the sound that it gives them: its
  seam. Beside silence and at the sentence's ends the neighbour is ``#``. Elsewhere there is one seam for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from acoustic.hmm.topology import EDGE, SILENCES, Topology
from decoder.grammars.grammar import GrammarTables
from decoder.lexicon import Lexicon, Pronunciation
from decoder.search.network import NEUTRAL, log_usage, pronounced_words
from decoder.search.tree_compiled import TreeGraph
from decoder.search.word_ends import ArcTable, Seams
from foundation.arrays import Floats, Ints, Longs

# Contexts with arcs for more than one of so many leaves keep a look-ahead for all nodes; by feel.
DENSE_SHARE = 8


@dataclass(frozen=True, eq=False)
class TreeNetwork:
    """A tree graph with the names that belong to it.

    Attributes
    ----------
    graph : the arrays of the search
    words : the vocabulary, the index is the word id
    leaf_words : (L,) int32, word ids, -1 = silence
    seams : what may follow each seam, and with which nodes leaves begin
    start_context : context of the empty sentence
    n_states : number S of emission states
    """

    graph: TreeGraph
    words: tuple[str, ...]
    leaf_words: Ints
    seams: Seams
    start_context: int
    n_states: int

    @property
    def arc_table(self) -> ArcTable:
        """The grammar for lattices; labels are leaves, destinations contexts."""
        graph = self.graph
        return ArcTable(
            offsets=graph.arc_offsets,
            labels=graph.arc_leaves,
            destination_first=graph.arc_contexts,
            destination_stop=graph.arc_contexts + np.int32(1),
            log_probs=graph.arc_log_probs,
            backoff_contexts=graph.backoff_contexts,
            backoff_log_weights=graph.backoff_log_weights,
            final_log_probs=graph.final_log_probs,
            seams=self.seams if len(self.seams.pauses) > 1 else None,
        )


def build_tree_network(lexicon: Lexicon, tables: GrammarTables, topology: Topology) -> TreeNetwork:
    """Return the network of every word the grammar allows; raises as `pronounced_words` does."""
    pronunciations = pronounced_words(lexicon, tables, topology)
    usage = log_usage(lexicon, tables, pronunciations)
    sounds = _Sounds(topology, {variant for variants in pronunciations.values() for variant in variants})
    silences = [phone for phone in SILENCES if phone in topology]
    words, sequences = [-1] * len(silences), [[sounds.silence(phone)] for phone in silences]
    used = [NEUTRAL] * len(silences)
    for word, variants in pronunciations.items():
        for variant in variants:
            ways = sounds.ways(variant)
            words += [word] * len(ways)
            used += [usage.get((word, variant), NEUTRAL)] * len(ways)
            sequences += ways
    shared = build_prefix_tree(sequences)
    tree, node_seams, first_copies = _spread(shared, list(sounds.steps))
    seams, seam_numbers = _seams(sounds, shared, len(silences), first_copies)
    leaf_words = np.array(words, dtype=np.int32)[tree.order]
    leaf_usage = np.array(used)[tree.order]
    arcs = _arcs_by_leaf(tables, leaf_words, leaf_usage[:, 0])
    states, stay, advance, unit_offsets = _unit_arrays(sounds.units, topology)
    dense_rows, dense = _dense_look_ahead(tree, len(silences), arcs)
    return TreeNetwork(
        graph=TreeGraph(
            node_units=tree.units,
            child_first=tree.child_first,
            child_stop=tree.child_stop,
            leaf_first=tree.leaf_first,
            leaf_stop=tree.leaf_stop,
            own_stop=tree.own_stop,
            node_seams=seam_numbers[node_seams],
            n_silences=len(silences),
            n_roots=tree.n_roots,
            seam_offsets=seams.offsets,
            seam_nodes=seams.nodes,
            seam_pauses=seams.pauses,
            unit_offsets=unit_offsets,
            unit_states=states,
            unit_log_stay=stay,
            unit_log_advance=advance,
            arc_offsets=arcs.offsets,
            arc_leaves=arcs.leaves,
            arc_log_probs=arcs.log_probs,
            arc_contexts=arcs.contexts,
            leaf_log_probs=leaf_usage[:, 1] - leaf_usage[:, 0],
            leaf_pauses=np.ascontiguousarray(leaf_usage[:, 2]),
            backoff_contexts=tables.backoff_contexts,
            backoff_log_weights=tables.backoff_log_weights,
            final_log_probs=tables.final_log_probs,
            best_log_probs=_best_words(tables, arcs),
            dense_rows=dense_rows,
            dense_log_probs=dense,
        ),
        words=tables.words,
        leaf_words=leaf_words,
        seams=seams,
        start_context=tables.start_context,
        n_states=topology.n_states,
    )


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs of the grammar by leaf; those of context c are ``offsets[c]:offsets[c + 1]``, sorted by leaf."""

    offsets: Ints
    leaves: Ints
    log_probs: Floats
    contexts: Ints


def _arcs_by_leaf(tables: GrammarTables, leaf_words: Ints, leaf_log_probs: Floats) -> _Arcs:
    """Return an arc for each pronunciation of each arc's word, its own log probability included."""
    by_word = np.argsort(leaf_words, kind="stable")
    first = np.searchsorted(leaf_words[by_word], tables.arc_words)
    n_variants = np.searchsorted(leaf_words[by_word], tables.arc_words, side="right") - first
    arcs = np.repeat(np.arange(len(tables.arc_words)), n_variants)
    place = np.arange(len(arcs)) - np.repeat(np.cumsum(n_variants) - n_variants, n_variants)
    leaves = by_word[first[arcs] + place]
    sources = np.repeat(np.arange(tables.n_contexts), np.diff(tables.arc_offsets))[arcs]
    order = np.lexsort((leaves, sources))
    arcs = arcs[order]
    n_arcs = np.bincount(sources, minlength=tables.n_contexts)
    return _Arcs(
        np.concatenate([[0], np.cumsum(n_arcs)]).astype(np.int32),
        leaves[order].astype(np.int32),
        tables.arc_log_probs[arcs] + leaf_log_probs[leaves[order]],
        tables.arc_contexts[arcs],
    )


def _best_words(tables: GrammarTables, arcs: _Arcs) -> Floats:
    """Return the best log probability of a word in each context, backoff included, (C,) float64."""
    own = np.maximum.reduceat(
        np.append(arcs.log_probs, -np.inf), np.column_stack([arcs.offsets[:-1], arcs.offsets[1:]]).ravel()
    )[::2]
    best = np.where(np.diff(arcs.offsets) > 0, own, -np.inf)
    levels = tables.backoff_contexts
    weight = tables.backoff_log_weights.copy()
    found = best.copy()
    while (levels >= 0).any():
        found = np.where(levels >= 0, np.maximum(found, weight + best[levels]), found)
        weight = weight + np.where(levels >= 0, tables.backoff_log_weights[levels], 0.0)
        levels = np.where(levels >= 0, tables.backoff_contexts[levels], -1)
    return found


def _dense_look_ahead(tree: PrefixTree, n_silences: int, arcs: _Arcs) -> tuple[Ints, Floats]:
    """Return each context's row of the table, -1 = none, (C,) int32, and the table, (rows, N) float64.

    The table holds the best log probability among the words that a context itself lists below a node.
    """
    n_leaves = len(tree.order)
    n_arcs = np.diff(arcs.offsets)
    chosen = np.flatnonzero(n_arcs * DENSE_SHARE > n_leaves - n_silences)
    rows = np.full(len(n_arcs), -1, dtype=np.int32)
    rows[chosen] = np.arange(len(chosen))
    table = np.empty((len(chosen), len(tree.units)))
    for row, context in zip(table, chosen, strict=True):
        values = np.full(n_leaves, -np.inf)
        span = slice(arcs.offsets[context], arcs.offsets[context + 1])
        values[arcs.leaves[span]] = arcs.log_probs[span]
        row[:] = best_below(tree, values)
    return rows, table


# Phones between words: which sounds they have, and which may follow each other.

Unit = tuple[tuple[int, ...], tuple[float, ...]]  # the states of a phone and their self-loops
Neighbours = frozenset[str]
NO_PHONE = ""


class Variant(NamedTuple):
    """One sound of a phone, by the numbers of its unit and of the seam behind it."""

    unit: int
    seam: int


class Step(NamedTuple):
    """A phone of a pronunciation with all the sounds that neighbouring words give it.

    ``phone`` and ``by_left``, the unit beside each left neighbour, are known of first phones whose contexts
    reach across words.
    """

    variants: tuple[Variant, ...]
    phone: str = NO_PHONE
    by_left: tuple[int, ...] = ()


class _Sounds:
    """The sounds of words, each told from the others by a number.

    Parameters
    ----------
    topology : phones and their states
    spoken : the pronunciations of all words

    Attributes
    ----------
    units : those in use; phones of the same states are one unit, but silences are units by name
    steps : those in use
    seams : the last phone of a word, and the phones before which it sounds the same; the first is that of
        everything behind silence
    """

    def __init__(self, topology: Topology, spoken: Iterable[Pronunciation]) -> None:
        self._topology = topology
        edges = {(p[0], p[-1]) for p in spoken} if topology.crosses_words else set()
        self.lefts = (EDGE, *sorted({last for _, last in edges}))
        self.rights = (EDGE, *sorted({first for first, _ in edges}))
        self.units: dict[Unit | str, int] = {}
        self.steps: dict[Step, int] = {}
        self.seams: dict[tuple[str, Neighbours], int] = {(EDGE, frozenset(self.rights)): 0}
        self._step = cache(self._inner)
        self._first_step, self._last_step = cache(self._first), cache(self._last)

    def silence(self, phone: str) -> int:
        """Return the number of the only step of a silence."""
        return self._number(Step((Variant(self.units.setdefault(phone, len(self.units)), 0),)))

    def ways(self, pronunciation: Pronunciation) -> list[list[int]]:
        """Return the numbers of a word's steps, once for each sound of a word's only phone."""
        phones = self._topology.units(pronunciation)
        if not self._topology.crosses_words:
            return [[self._step(phone) for phone in phones]]
        if len(phones) == 1:
            return [[step] for step in self._alone(pronunciation[0])]
        inner = [self._step(phone) for phone in phones[1:-1]]
        return [[self._first_step(pronunciation[:2]), *inner, self._last_step(pronunciation[-2:])]]

    def _inner(self, phone: str) -> int:
        return self._number(Step((Variant(self._unit(phone), 0),)))

    def _first(self, phones: Pronunciation) -> int:
        """Return the first of a word's first two phones."""
        by_left = tuple(self._unit(self._topology.units(phones, left=left)[0]) for left in self.lefts)
        return self._number(Step(tuple(Variant(u, 0) for u in dict.fromkeys(by_left)), phones[0], by_left))

    def _last(self, phones: Pronunciation) -> int:
        """Return the last of a word's last two phones."""
        following: dict[int, list[str]] = {}
        for right in self.rights:
            unit = self._unit(self._topology.units(phones, right=right)[1])
            following.setdefault(unit, []).append(right)
        variants = (Variant(unit, self._seam(phones[1], rights)) for unit, rights in following.items())
        return self._number(Step(tuple(variants)))

    def _alone(self, phone: str) -> list[int]:
        """Return the only phone of a word, once for each sound that the words behind give it."""
        following: dict[tuple[int, ...], list[str]] = {}
        for right in self.rights:
            by_left = (self._topology.units((phone,), left, right)[0] for left in self.lefts)
            following.setdefault(tuple(map(self._unit, by_left)), []).append(right)
        found = []
        for units, rights in following.items():
            seam = self._seam(phone, rights)
            variants = tuple(Variant(unit, seam) for unit in dict.fromkeys(units))
            found.append(self._number(Step(variants, phone, units)))
        return found

    def _unit(self, phone: str) -> int:
        i = self._topology.phone_id(phone)
        unit = self._topology.phone_states[i], self._topology.self_loops[i]
        return self.units.setdefault(unit, len(self.units))

    def _seam(self, last: str, following: Iterable[str]) -> int:
        return self.seams.setdefault((last, frozenset(following)), len(self.seams))

    def _number(self, step: Step) -> int:
        return self.steps.setdefault(step, len(self.steps))


def _unit_arrays(units: Mapping[Unit | str, int], topology: Topology) -> tuple[Ints, Floats, Floats, Ints]:
    """Return the states of all units in one row, log stay and log advance, and where each unit begins."""
    states: list[int] = []
    loops: list[float] = []
    offsets = [0]
    for unit in units:
        if isinstance(unit, str):
            i = topology.phone_id(unit)
            unit = topology.phone_states[i], topology.self_loops[i]
        states += unit[0]
        loops += unit[1]
        offsets.append(len(states))
    stay = np.array(loops)
    return (
        np.array(states, dtype=np.int32),
        np.log(stay),
        np.log1p(-stay),
        np.array(offsets, dtype=np.int32),
    )


def _spread(tree: PrefixTree, steps: Sequence[Step]) -> tuple[PrefixTree, Ints, Longs]:
    """Return a tree of steps as one of units, with a node for each variant of a step.

    With it come the number of the seam behind each node, and the first of the nodes that stand for each node
    of the given tree, (N + 1,).
    """
    variants = np.array([variant for step in steps for variant in step.variants], dtype=np.int32)
    n_variants = np.array([len(step.variants) for step in steps])
    n_copies = n_variants[tree.units]
    first_copies = np.concatenate([[0], np.cumsum(n_copies)])
    first_variants = (np.cumsum(n_variants) - n_variants)[tree.units]
    chosen = variants[np.arange(first_copies[-1]) + np.repeat(first_variants - first_copies[:-1], n_copies)]
    spread = PrefixTree(
        order=tree.order,
        units=np.ascontiguousarray(chosen[:, 0]),
        child_first=np.repeat(first_copies[tree.child_first], n_copies).astype(np.int32),
        child_stop=np.repeat(first_copies[tree.child_stop], n_copies).astype(np.int32),
        leaf_first=np.repeat(tree.leaf_first, n_copies),
        leaf_stop=np.repeat(tree.leaf_stop, n_copies),
        own_stop=np.repeat(tree.own_stop, n_copies),
        n_roots=int(first_copies[tree.n_roots]),
    )
    return spread, chosen[:, 1], first_copies


def _seams(sounds: _Sounds, tree: PrefixTree, n_silences: int, first_copies: Longs) -> tuple[Seams, Ints]:
    """Return the seams of a tree of steps, and for each seam of the sounds which of them it is.

    Seams that the same nodes follow are one.
    """
    steps = list(sounds.steps)
    roots = [steps[i] for i in tree.units[: tree.n_roots]]
    nodes = np.empty((len(sounds.lefts), tree.n_roots), dtype=np.int32)
    for column, root, first in zip(nodes.T, roots, first_copies, strict=False):
        units = [variant.unit for variant in root.variants]
        column[:] = [first + units.index(unit) for unit in root.by_left] or first
    phones = np.array([root.phone for root in roots])
    found: dict[tuple[bytes, bool], int] = {}
    rows, numbers = [], []
    for last, following in sounds.seams:
        may_follow = np.isin(phones, [*following, NO_PHONE]) & (np.arange(len(roots)) >= n_silences)
        row = nodes[sounds.lefts.index(last), may_follow]
        key = row.tobytes(), EDGE in following
        if key not in found:
            rows.append(row)
        numbers.append(found.setdefault(key, len(found)))
    root_of_leaf = np.repeat(np.arange(tree.n_roots), (tree.leaf_stop - tree.leaf_first)[: tree.n_roots])
    seams = Seams(
        offsets=np.cumsum([0, *map(len, rows)]).astype(np.int32),
        nodes=np.concatenate(rows),
        pauses=np.array([may_pause for _, may_pause in found]),
        label_first=first_copies[root_of_leaf].astype(np.int32),
        label_stop=first_copies[root_of_leaf + 1].astype(np.int32),
    )
    return seams, np.array(numbers, dtype=np.int32)


# Pronunciations as a tree of shared beginnings, in flat arrays.
#
# The pronunciations are sorted, and every node of the tree covers a range of them: those that begin with the
# units on its way. So a set of pronunciations, kept sorted, has members below a node exactly if some of them
# fall into the node's range. Nodes are numbered level by level, which makes the children of a node
# neighbours.

NOTHING = -1  # fills the rows of short pronunciations


class PrefixTree(NamedTuple):
    """A tree over L pronunciations with N nodes, one for each distinct beginning.

    Attributes
    ----------
    order : (L,) int64, the pronunciations in the order of the tree; the leaf k is pronunciation ``order[k]``
    units : (N,) int32, the last unit of the beginning
    child_first, child_stop : (N,) int32, the nodes that are one unit longer
    leaf_first, leaf_stop : (N,) int32, the leaves that begin so
    own_stop : (N,) int32, the leaves that are no longer are ``leaf_first:own_stop``
    n_roots : the nodes of one unit are ``0:n_roots``
    """

    order: Longs
    units: Ints
    child_first: Ints
    child_stop: Ints
    leaf_first: Ints
    leaf_stop: Ints
    own_stop: Ints
    n_roots: int


def build_prefix_tree(pronunciations: Sequence[Sequence[int]]) -> PrefixTree:
    """Return the tree of pronunciations, each of one unit or more; units are numbered from 0.

    Pronunciations that are equal share their nodes and stay in the order in which they are given.
    """
    rows = np.full((len(pronunciations), max(map(len, pronunciations))), NOTHING, dtype=np.int32)
    for row, pronunciation in zip(rows, pronunciations, strict=True):
        row[: len(pronunciation)] = pronunciation
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    lengths = (rows != NOTHING).sum(axis=1)
    begins = np.arange(len(rows)) == 0  # where the beginning differs from that of the leaf before
    levels: list[tuple[Longs, Longs]] = []
    for depth, column in enumerate(rows.T):
        begins = begins | np.concatenate([[True], column[1:] != column[:-1]])
        edges = np.append(np.flatnonzero(begins), len(rows))
        has_node = column[edges[:-1]] != NOTHING
        levels.append((edges[:-1][has_node], edges[1:][has_node]))
        if (lengths <= depth + 1).all():
            break
    return _numbered(order, rows, lengths, levels)


def _numbered(order: Longs, rows: Ints, lengths: Longs, levels: Sequence[tuple[Longs, Longs]]) -> PrefixTree:
    """Return the tree whose nodes have the leaves given for each level."""
    sizes = np.array([len(first) for first, _ in levels])
    level_first = np.concatenate([[0], np.cumsum(sizes)])
    child_first, child_stop, own_stop, units = [], [], [], []
    for depth, (first, stop) in enumerate(levels):
        below = levels[depth + 1][0] if depth + 1 < len(levels) else np.zeros(0, dtype=np.int64)
        child_first.append(level_first[depth + 1] + np.searchsorted(below, first))
        child_stop.append(level_first[depth + 1] + np.searchsorted(below, stop))
        # Leaves are sorted, so that those that end here come before the longer ones.
        is_longer = np.concatenate([[0], np.cumsum(lengths > depth + 1)])
        own_stop.append(stop - (is_longer[stop] - is_longer[first]))
        units.append(rows[first, depth])
    return PrefixTree(
        order=order,
        units=_joined(units),
        child_first=_joined(child_first),
        child_stop=_joined(child_stop),
        leaf_first=_joined([first for first, _ in levels]),
        leaf_stop=_joined([stop for _, stop in levels]),
        own_stop=_joined(own_stop),
        n_roots=len(levels[0][0]),
    )


def _joined(parts: Sequence[Longs | Ints]) -> Ints:
    return np.concatenate(parts).astype(np.int32)


def best_below(tree: PrefixTree, values: Floats) -> Floats:
    """Return the greatest of the leaves' values (L,) below each node, (N,) float64."""
    ranges = np.column_stack([tree.leaf_first, tree.leaf_stop]).ravel()
    found: Floats = np.maximum.reduceat(np.append(values, -np.inf), ranges)[::2]
    return found
