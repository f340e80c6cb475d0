"""What every search returns: the ends of words and silences it has found, joined to paths.

Both searches (`decoder.search.viterbi` over word instances, `decoder.search.tree_search` over a prefix tree)
end here, and lattices, n-best lists and confidences begin here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from foundation.arrays import Flags, Floats, Ints

SILENCE = -1  # word of silences


class WordEnds(NamedTuple):
    """The ends of words and silences, R of them; the first is the start of the sentence.

    Attributes
    ----------
    words : (R,) int32, word ids, -1 = silence or start
    labels, destinations : (R,) int32, which arc of the grammar said the word, see `ArcTable`
    contexts : (R,) int32, the grammar context reached
    seams : (R,) int32, the seam reached, see `Seams`; 0 where there are none
    ends : (R,) int32, boundary
    predecessors : (R,) int32, -1 for the start
    scores : (R,) float64, score of the best path up to here
    """

    words: Ints
    labels: Ints
    destinations: Ints
    contexts: Ints
    seams: Ints
    ends: Ints
    predecessors: Ints
    scores: Floats


class Seams(NamedTuple):
    """What may follow a word end, where sounds decide it beside the grammar.

    Attributes
    ----------
    offsets : (E + 1,) int32, words that follow seam e begin with ``nodes[offsets[e]:offsets[e + 1]]``
    nodes : int32, ascending within a seam
    pauses : (E,) bool, whether silence or the sentence's end may follow
    label_first, label_stop : (L,) int32, a word end's label begins with one of these nodes
    """

    offsets: Ints
    nodes: Ints
    pauses: Flags
    label_first: Ints
    label_stop: Ints


class ArcTable(NamedTuple):
    """A grammar as lattices look words up in it.

    Attributes
    ----------
    offsets : (C + 1,) int32, the arcs of context c are ``offsets[c]:offsets[c + 1]``
    labels : (A,) int32, ascending within a context: words, or pronunciations of words
    destination_first, destination_stop : (A,) int32, an arc is that of a word end with its label if the end's
        destination is in this range
    log_probs : (A,) float64
    backoff_contexts, backoff_log_weights : (C,), see :class:`decoder.grammars.grammar.GrammarTables`
    final_log_probs : (C,) float64
    seams : None where the grammar alone decides what follows
    """

    offsets: Ints
    labels: Ints
    destination_first: Ints
    destination_stop: Ints
    log_probs: Floats
    backoff_contexts: Ints
    backoff_log_weights: Floats
    final_log_probs: Floats
    seams: Seams | None = None


def first_nodes(seams: Seams | None, behind: Ints, labels: Ints) -> Ints:
    """Return the nodes with which labels begin behind some seams, both (R,) int32; -1 if with none."""
    if seams is None:
        return np.full(len(labels), -1, dtype=np.int32)
    width = np.int64(1 + seams.nodes.max())
    keys = np.repeat(np.arange(len(seams.pauses)), np.diff(seams.offsets)) * width + seams.nodes
    found = np.searchsorted(keys, behind * width + seams.label_first[labels])
    does_begin = np.append(keys, np.inf)[found] < behind * width + seams.label_stop[labels]
    return np.where(does_begin, np.append(seams.nodes, -1)[found], -1).astype(np.int32)


class OpenPath(NamedTuple):
    """The best path of a search under way.

    Attributes
    ----------
    words : words and silences (word id, start boundary, end boundary) that have ended, in order of time; the
        id of a silence is -1
    open_word : the word it is in, -1 = silence, None where that is not yet known or nothing was searched
    open_start : where that begins
    boundary : the boundary reached
    is_dead : whether no path is left
    """

    words: tuple[tuple[int, int, int], ...]
    open_word: int | None
    open_start: int
    boundary: int
    is_dead: bool


class Search(Protocol):
    """A search that moves on frame by frame."""

    def advance(self, scores: Floats) -> None:
        """Search the next frames, given their log emission scores (T, S) float64."""
        ...

    def open_path(self) -> OpenPath:
        """Return the best path up to here; nothing changes."""
        ...

    def end(self) -> SearchResult:
        """End the search and return its outcome."""
        ...


class SearchResult(NamedTuple):
    """Outcome of a search.

    Attributes
    ----------
    records : the word ends
    best : the record in which the best path ends
    complete : whether the path covers all frames and the sentence may end there
    log_score : score of the best path, the sentence end included when it is complete
    """

    records: WordEnds
    best: int
    complete: bool
    log_score: float


def best_result(
    records: WordEnds, last_boundary: int, is_alive: bool, open_record: int, final_log_scores: Floats
) -> SearchResult:
    """Return the outcome of a search that reached a boundary.

    Without a complete path the best partial one is taken: the best that ends a word at the last boundary
    reached, or else the finished words of the best token there.

    Parameters
    ----------
    records : all word ends
    last_boundary : the boundary reached
    is_alive : whether that is behind the last frame
    open_record : the record before the best token there
    final_log_scores : (R,) float64, score of ending the sentence behind each word end, -inf where it may not
    """
    at_end = np.flatnonzero(records.ends == last_boundary)
    if is_alive and len(at_end):
        totals = records.scores[at_end] + final_log_scores[at_end]
        if totals.max() > -np.inf:
            best = int(at_end[totals.argmax()])
            return SearchResult(records, best, True, float(totals.max()))
    best = int(at_end[records.scores[at_end].argmax()]) if len(at_end) else int(open_record)
    return SearchResult(records, best, False, float(records.scores[best]))


def open_path(
    word_of: Callable[[int], int],
    ends: Ints,
    predecessors: Ints,
    last: int,
    open_word: int | None,
    boundary: int,
    is_dead: bool,
) -> OpenPath:
    """Return the best path of a search under way from the record before its best token.

    Parameters
    ----------
    word_of : function from a record to its word, -1 = silence
    ends, predecessors : (R,) as in `WordEnds`
    last : the record before the best token
    open_word, boundary, is_dead : as in `OpenPath`
    """
    open_start, words = int(ends[last]), []
    while last > 0:
        before = int(predecessors[last])
        words.append((word_of(last), int(ends[before]), int(ends[last])))
        last = before
    return OpenPath(tuple(reversed(words)), open_word, open_start, boundary, is_dead)


def final_log_probs_at(table: ArcTable, contexts: Ints, seams: Ints) -> Floats:
    """Return the log probability that the sentence ends in contexts and behind seams, -inf if it may not."""
    found = table.final_log_probs[contexts]
    return found if table.seams is None else np.where(table.seams.pauses[seams], found, -np.inf)


def final_scores(final_log_probs: Floats, lm_scale: float) -> Floats:
    """Return the scaled log probabilities that the sentence ends, -inf where it may not."""
    allowed = final_log_probs > -np.inf  # 0 * -inf is not a number
    return np.where(allowed, lm_scale * np.where(allowed, final_log_probs, 0.0), -np.inf)


def trace(records: WordEnds, last: int) -> list[int]:
    """Return the records of the path that ends in one, in order of time, without the start."""
    path = []
    while last > 0:
        path.append(last)
        last = int(records.predecessors[last])
    return path[::-1]
