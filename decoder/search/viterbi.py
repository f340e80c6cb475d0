"""Frame-synchronous Viterbi search with beam and histogram pruning.

Time runs over boundaries b = 0 … T; frame b lies between boundaries b and b + 1. At a boundary every grammar
context that a word has just reached lets words and silences in; a frame then moves every token on by one node
and adds the emission score; tokens that leave a chain become *records* (chain, end boundary, predecessor
record), from which words and times are read back. The start of a record is the end of its predecessor.

The recursion is the usual one, e.g. H. Ney and S. Ortmanns, "Dynamic programming search for
continuous speech recognition", IEEE Signal Processing Magazine 16(5), 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.search.compiled import START_CHAIN, Pruning, Records, Weights, viterbi
from decoder.search.network import Network
from decoder.search.tokens import cut, new_records, new_tokens
from foundation.arrays import Floats, Ints


class SearchResult(NamedTuple):
    """Outcome of a search.

    Attributes
    ----------
    records : the word ends
    best : the record in which the best path ends
    complete : whether the path covers all frames and the sentence may end there
    log_score : score of the best path, the sentence end included when it is complete
    """

    records: Records
    best: int
    complete: bool
    log_score: float


def search(network: Network, scores: Floats, weights: Weights, pruning: Pruning) -> SearchResult:
    """Return the records of the best paths through a (T, S) float64 matrix of log emission scores.

    Without a complete path the best partial one is taken: the best that ends a word at the last boundary
    reached, or else the finished words of the best token there.
    """
    graph = network.graph
    tokens, records = new_tokens(graph), new_records(len(scores))
    records, n_records, last_boundary, open_record = viterbi(
        graph, network.start_context, scores, weights, pruning, tokens, records
    )
    records = cut(records, n_records)
    at_end = np.flatnonzero(records.ends == last_boundary)
    if last_boundary == len(scores) and len(at_end):
        final = final_scores(network, records.chains[at_end], weights.lm_scale)
        totals = records.scores[at_end] + final
        if totals.max() > -np.inf:
            best = int(at_end[totals.argmax()])
            return SearchResult(records, best, True, float(totals.max()))
    best = int(at_end[records.scores[at_end].argmax()]) if len(at_end) else int(open_record)
    return SearchResult(records, best, False, float(records.scores[best]))


def final_scores(network: Network, chains: Ints, lm_scale: float) -> Floats:
    """Return the scaled log probability that the sentence ends after each chain, -inf where it may not."""
    contexts = np.where(chains == START_CHAIN, network.start_context, network.graph.chain_contexts[chains])
    final = network.graph.final_log_probs[contexts]
    allowed = final > -np.inf  # 0 * -inf is not a number
    return np.where(allowed, lm_scale * np.where(allowed, final, 0.0), -np.inf)


def trace(records: Records, last: int) -> list[int]:
    """Return the records of the path that ends in one, in order of time, without the start."""
    path = []
    while last > 0:
        path.append(last)
        last = int(records.predecessors[last])
    return path[::-1]
