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

from decoder.search.compiled import START_CHAIN, Pruning, Records, Weights, viterbi
from decoder.search.network import Network
from decoder.search.tokens import cut, new_records, new_tokens
from decoder.search.word_ends import SearchResult, WordEnds, best_result, final_scores
from foundation.arrays import Floats


def search(network: Network, scores: Floats, weights: Weights, pruning: Pruning) -> SearchResult:
    """Return the word ends and the best path through a (T, S) float64 matrix of log emission scores."""
    graph = network.graph
    tokens, records = new_tokens(graph), new_records(len(scores))
    records, n_records, last_boundary, open_record = viterbi(
        graph, network.start_context, scores, weights, pruning, tokens, records
    )
    return best_result(
        _word_ends(network, cut(records, n_records)),
        last_boundary,
        len(scores),
        open_record,
        final_scores(graph.final_log_probs, weights.lm_scale),
    )


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
        ends=records.ends,
        predecessors=records.predecessors,
        scores=records.scores,
    )
