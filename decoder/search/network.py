"""The static search network: lexicon × grammar × topology, as flat arrays.

A *chain* is one pronunciation of one word that leads to one grammar context (or an optional silence), laid
out as a contiguous run of nodes, one for each emission state on its way. Words are shared between all arcs
that agree on word and next context, so a loop or a bigram needs each pronunciation once, a trigram once for
each context that ends in the word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from acoustic.hmm.topology import SILENCES, Topology
from decoder.grammars.grammar import GrammarTables
from decoder.lexicon import Lexicon
from decoder.search.compiled import SearchGraph
from decoder.search.cross_words import Chain, compose
from decoder.search.pronounced import Pronunciation, pronounced_words
from decoder.search.word_ends import ArcTable
from foundation.arrays import Floats, Ints


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
    silences = tuple(phone for phone in SILENCES if phone in topology)
    if topology.crosses_words:
        composed = compose(tables, pronunciations, topology, silences)
        tables, chains = composed.tables, composed.chains
        n_silences = composed.n_silences
        arc_first = np.array(composed.arc_chains, dtype=np.int32)
        arc_stop = arc_first + np.int32(1)
    else:
        chains = [Chain(-1, context, (phone,)) for context in range(tables.n_contexts) for phone in silences]
        n_silences = [len(silences)] * tables.n_contexts
        arc_first, arc_stop = _add_word_chains(chains, tables, pronunciations, topology)
    nodes, chain_offsets = _node_arrays(chains, topology)
    return Network(
        graph=SearchGraph(
            node_states=nodes[:, 0].astype(np.int32),
            node_log_stay=np.ascontiguousarray(nodes[:, 1]),
            node_log_advance=np.ascontiguousarray(nodes[:, 2]),
            chain_offsets=chain_offsets,
            chain_words=np.array([chain.word for chain in chains], dtype=np.int32),
            chain_contexts=np.array([chain.target for chain in chains], dtype=np.int32),
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
    topology: Topology,
) -> tuple[Ints, Ints]:
    """Append the chains of every (word, next context); return each arc's first and stop, (n_arcs,) int32."""
    ranges: dict[tuple[int, int], tuple[int, int]] = {}
    arc_ranges = np.empty((len(tables.arc_words), 2), dtype=np.int32)
    for arc, key in enumerate(zip(tables.arc_words.tolist(), tables.arc_contexts.tolist(), strict=True)):
        if key not in ranges:
            first = len(chains)
            chains.extend(Chain(*key, topology.units(variant)) for variant in pronunciations[key[0]])
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
