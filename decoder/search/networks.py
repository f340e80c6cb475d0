"""Which of the two searches a task is for."""

from __future__ import annotations

import numpy as np

from acoustic.hmm.topology import Topology
from decoder.grammars.grammar import GrammarTables
from decoder.lexicon import Lexicon
from decoder.search.network import Network, build_network
from decoder.search.tree_network import TreeNetwork, build_tree_network

MOST_INSTANCES = 2000  # with more word instances, the prefix tree is faster


def choose_network(lexicon: Lexicon, tables: GrammarTables, topology: Topology) -> Network | TreeNetwork:
    """Return a prefix tree for large vocabularies and grammars, word instances for small ones.

    Where contexts reach across words there are only word instances, whatever the size.
    """
    if topology.crosses_words or n_word_instances(tables) <= MOST_INSTANCES:
        return build_network(lexicon, tables, topology)
    return build_tree_network(lexicon, tables, topology)


def n_word_instances(tables: GrammarTables) -> int:
    """Return the number of pairs of a word and the context after it."""
    return len(np.unique(tables.arc_words.astype(np.int64) * tables.n_contexts + tables.arc_contexts))
