"""Frame-synchronous Viterbi search with beam and histogram pruning.

Time runs over boundaries b = 0 … T; frame b lies between boundaries b and b + 1. At a boundary every grammar
context that a word has just reached lets words and silences in; a frame then moves every token on by one node
and adds the emission score; tokens that leave a chain become *records* (chain, end boundary, predecessor
record), from which words and times are read back. The start of a record is the end of its predecessor.

The recursion is the usual one, e.g. H. Ney and S. Ortmanns, "Dynamic programming search for
continuous speech recognition", IEEE Signal Processing Magazine 16(5), 1999.
"""

from __future__ import annotations

import numpy as np

from decoder.search import compiled
from decoder.search.compiled import START_CHAIN, Pruning, Records, SearchGraph, Tokens, Weights
from decoder.search.network import Network
from decoder.search.word_ends import OpenPath, SearchResult, WordEnds, best_result, final_scores, open_path
from foundation.arrays import Floats, Ints
from foundation.compiled import njit


class WordSearch:
    """A search over a network of word instances that moves on frame by frame.

    Parameters
    ----------
    network, weights, pruning : what is searched, and how
    n_frames : how many frames are expected; there may be more
    """

    def __init__(self, network: Network, weights: Weights, pruning: Pruning, n_frames: int = 0) -> None:
        self._network, self._weights, self._pruning = network, weights, pruning
        self._tokens, self._records = new_tokens(network.graph), new_records(n_frames)
        compiled.begin(self._tokens, network.start_context)

    def advance(self, scores: Floats) -> None:
        """Search the next frames, given their log emission scores (T, S) float64."""
        self._records = compiled.advance(
            self._network.graph, scores, self._weights, self._pruning, self._tokens, self._records
        )

    def open_path(self) -> OpenPath:
        """Return the best path up to here."""
        counts, chain_words = self._tokens.counts, self._network.graph.chain_words
        best = int(counts[compiled.BEST_CHAIN])
        return open_path(
            lambda record: int(chain_words[self._records.chains[record]]),
            self._records.ends,
            self._records.predecessors,
            int(counts[compiled.OPEN_RECORD]),
            None if best == START_CHAIN else int(chain_words[best]),
            int(counts[compiled.BOUNDARY]),
            bool(counts[compiled.IS_DEAD]),
        )

    def end(self) -> SearchResult:
        """End the search; return the word ends and the best path."""
        network, counts = self._network, self._tokens.counts
        compiled.end(network.graph, self._tokens, self._records)
        ends = _word_ends(network, cut(self._records, int(counts[compiled.N_RECORDS])))
        return best_result(
            ends,
            int(counts[compiled.BOUNDARY]),
            not counts[compiled.IS_DEAD],
            int(counts[compiled.OPEN_RECORD]),
            final_scores(network.graph.final_log_probs, self._weights.lm_scale)[ends.contexts],
        )


def search(network: Network, scores: Floats, weights: Weights, pruning: Pruning) -> SearchResult:
    """Return the word ends and the best path through a (T, S) float64 matrix of log emission scores."""
    found = WordSearch(network, weights, pruning, len(scores))
    found.advance(scores)
    return found.end()


def _word_ends(network: Network, records: Records) -> WordEnds:
    """Return the word ends with their words and contexts."""
    graph, chains = network.graph, records.chains
    is_start = chains == START_CHAIN
    words = np.where(is_start, -1, graph.chain_words[chains])
    contexts = np.where(is_start, network.start_context, graph.chain_contexts[chains])
    return WordEnds(
        words=words.astype(np.int32),
        labels=words.astype(np.int32),
        destinations=chains,
        contexts=contexts.astype(np.int32),
        seams=np.zeros(len(chains), dtype=np.int32),
        ends=records.ends,
        predecessors=records.predecessors,
        scores=records.scores,
    )


# The working memory of one search, allocated before it begins.


def new_tokens(graph: SearchGraph) -> Tokens:
    """Return the working memory of a search that has not started."""
    n_nodes, n_chains = graph.node_states.size, graph.chain_words.size
    n_contexts = graph.final_log_probs.size
    n_words = int(graph.arc_words.max()) + 1
    n_waiting = n_contexts * _backoff_depth(graph.backoff_contexts)
    return Tokens(
        scores=np.full(n_nodes, -np.inf),
        predecessors=np.zeros(n_nodes, dtype=np.int32),
        entry_scores=np.full(n_chains, -np.inf),
        entry_predecessors=np.zeros(n_chains, dtype=np.int32),
        chain_scores=np.full(n_chains, -np.inf),
        active=np.zeros(n_chains, dtype=np.int32),
        is_active=np.zeros(n_chains, dtype=np.bool_),
        context_scores=np.full((n_contexts, 2), -np.inf),
        context_records=np.full((n_contexts, 2), -1, dtype=np.int32),
        reached=np.zeros(n_contexts, dtype=np.int32),
        is_reached=np.zeros(n_contexts, dtype=np.bool_),
        waiting_heads=np.full(n_contexts, -1, dtype=np.int32),
        waiting_next=np.zeros(n_waiting, dtype=np.int32),
        waiting_levels=np.zeros(n_waiting, dtype=np.int32),
        waiting_contexts=np.zeros(n_waiting, dtype=np.int32),
        waiting_scores=np.zeros(n_waiting, dtype=np.float64),
        stamps=np.zeros(n_words, dtype=np.int64),
        counts=np.zeros(9, dtype=np.int64),
        levels=np.full(2, -np.inf),
    )


def new_records(n_frames: int) -> Records:
    """Return records with only the start of the sentence in them, and room for more."""
    size = 64 + 4 * n_frames
    records = Records(
        chains=np.empty(size, dtype=np.int32),
        ends=np.empty(size, dtype=np.int32),
        predecessors=np.empty(size, dtype=np.int32),
        scores=np.empty(size, dtype=np.float64),
    )
    records.chains[0] = START_CHAIN
    records.ends[0] = 0
    records.predecessors[0] = -1
    records.scores[0] = 0.0
    return records


def cut(records: Records, n_records: int) -> Records:
    """Return the records in use."""
    return Records(
        chains=records.chains[:n_records].copy(),
        ends=records.ends[:n_records].copy(),
        predecessors=records.predecessors[:n_records].copy(),
        scores=records.scores[:n_records].copy(),
    )


@njit(nogil=True, cache=True)
def _backoff_depth(backoff_contexts: Ints) -> int:
    """Return the greatest number of contexts any context backs off to."""
    deepest = 0
    for context in range(backoff_contexts.size):
        depth, level = 0, backoff_contexts[context]
        while level >= 0:
            depth += 1
            level = backoff_contexts[level]
        deepest = max(deepest, depth)
    return deepest
