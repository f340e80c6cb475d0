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
from decoder.errors import GrammarError, LexiconError
from decoder.grammars.grammar import GrammarTables
from decoder.lexicon import Lexicon
from decoder.search.compiled import SearchGraph
from decoder.search.cross_words import Chain, compose
from foundation.arrays import Floats, Ints

Pronunciation = tuple[str, ...]
N_NAMED = 10  # how many words an error lists


@dataclass(frozen=True, eq=False)
class Network:
    """A search graph with the names that belong to it."""

    graph: SearchGraph
    words: tuple[str, ...]
    start_context: int
    n_states: int


def build_network(lexicon: Lexicon, tables: GrammarTables, topology: Topology) -> Network:
    """Return the network of every word the grammar allows.

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


def _check_phones(pronunciations: Mapping[str, tuple[Pronunciation, ...]], topology: Topology) -> None:
    """Raise a LexiconError that names each unknown phone with a word that has it, or words without phones."""
    empty = sorted(word for word, variants in pronunciations.items() if not all(variants) or not variants)
    if empty:
        raise LexiconError(
            f"lexicon: expected at least one phone in every pronunciation, got an empty one "
            f"for {len(empty)} words{_named(empty)}; correct the lexicon"
        )
    unknown: dict[str, str] = {}
    for word in sorted(pronunciations):
        for variant in pronunciations[word]:
            units = zip(variant, topology.units(variant), strict=True)
            unknown.update({p: word for p, unit in units if unit not in topology and p not in unknown})
    if unknown:
        listed = [f"{phone} (in {word})" for phone, word in sorted(unknown.items())]
        raise LexiconError(
            f"lexicon: expected the {len(topology.phones)} phones of the model, got {len(unknown)} others"
            f"{_named(listed)}; correct the lexicon or train a model that has them"
        )


def _named(words: Sequence[str]) -> str:
    """Return ': A B C …', or nothing for no words."""
    more = f" … and {len(words) - N_NAMED} more" if len(words) > N_NAMED else ""
    return ": " + ", ".join(words[:N_NAMED]) + more if words else ""
