"""Alignment of two word sequences by minimum edit distance, with the counts of sclite or of HResults.

Conventions: a correct word costs nothing, a substitution 4, a deletion or an insertion 3 (sclite's weights,
not those of Levenshtein: three substitutions cost as much as two deletions and two insertions). Of the
alignments of equal cost the one that sclite prints is taken: read backwards it prefers a diagonal step, then
an insertion, then a deletion. Words are compared as they are, so "Zero" is not "zero" (`sclite -s`).

By the rule ``htk`` a substitution costs 10, a deletion or an insertion 7, and a deletion is preferred to an
insertion, as in HResults of HTK 3.4.1. (With ``-n`` HResults takes sclite's weights, but of the alignments of
equal cost others than sclite.) Taking "a b c" for "c d e" is three substitutions by the first rule; by the
second it is one word right, two deleted and two inserted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from asr.errors import ScoringError
from foundation.arrays import Ints
from foundation.compiled import njit

Rule = Literal["nist", "htk"]


class Weights(NamedTuple):
    """What an error costs, and whether a deletion or an insertion is preferred where both are as cheap."""

    substitution: int
    gap: int
    prefers_deletion: bool


WEIGHTS: dict[Rule, Weights] = {"nist": Weights(4, 3, False), "htk": Weights(10, 7, True)}
_CELLS_AT_ONCE, _MOST_CELLS = 1 << 26, 4 * 10**10  # of words of both texts: of memory, and of minutes
_DIAGONAL, _DELETION, _INSERTION = 0, 1, 2

WordPair = tuple[str | None, str | None]


@dataclass(frozen=True)
class ErrorCounts:
    """How many words came out right, substituted, deleted and inserted."""

    correct: int
    substitutions: int
    deletions: int
    insertions: int

    @property
    def words(self) -> int:
        """Words of the reference, N."""
        return self.correct + self.substitutions + self.deletions

    @property
    def errors(self) -> int:
        """All errors, S + I + D."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def word_accuracy(self) -> float:
        """A = 100 − 100(S+I+D)/N, NaN without reference words."""
        return 100.0 - 100.0 * self.errors / self.words if self.words else float("nan")  # thesis (4.5)


@dataclass(frozen=True)
class Confusion:
    """A wrong pair of words and how often it occurred; None marks a deletion or an insertion."""

    reference: str | None
    hypothesis: str | None
    count: int


def align_words(
    reference: Sequence[str], hypothesis: Sequence[str], rule: Rule = "nist"
) -> tuple[WordPair, ...]:
    """Return the aligned words as pairs (reference, hypothesis).

    Parameters
    ----------
    reference, hypothesis : sequence of str
        What was said and what was recognised; either may be empty.
    rule : ``nist`` or ``htk``, see the head of the module

    Returns
    -------
    tuple of (str or None, str or None)
        In order of time. A deleted word has no hypothesis, an inserted one no reference.

    Examples
    --------
    >>> align_words("go to the left".split(), "go the lift".split())
    (('go', 'go'), ('to', None), ('the', 'the'), ('left', 'lift'))
    """
    n_cells = len(reference) * len(hypothesis)
    if n_cells > _MOST_CELLS:
        raise ScoringError(
            f"{len(reference):,} words against {len(hypothesis):,}, expected texts of 200,000 words each at "
            "most; cut them into utterances"
        )
    n_rows = len(reference) + 1 if n_cells <= _CELLS_AT_ONCE else math.isqrt(len(reference)) + 1
    ids: dict[str, int] = {}
    encoded = [
        np.array([ids.setdefault(word, len(ids)) for word in words], dtype=np.int32)
        for words in (reference, hypothesis)
    ]
    pairs: list[WordPair] = []
    i = j = 0
    for step in _alignment_steps(*encoded, *WEIGHTS[rule], n_rows):
        takes_reference, takes_hypothesis = step != _INSERTION, step != _DELETION
        pairs.append((reference[i] if takes_reference else None, hypothesis[j] if takes_hypothesis else None))
        i += takes_reference
        j += takes_hypothesis
    return tuple(pairs)


def count_errors(pairs: Iterable[WordPair]) -> ErrorCounts:
    """Return the error counts of aligned words.

    Examples
    --------
    >>> count_errors([("go", "go"), ("left", None), (None, "uh")])
    ErrorCounts(correct=1, substitutions=0, deletions=1, insertions=1)
    """
    kinds = Counter(
        "deletions"
        if hypothesis is None
        else "insertions"
        if reference is None
        else "correct"
        if reference == hypothesis
        else "substitutions"
        for reference, hypothesis in pairs
    )
    return ErrorCounts(kinds["correct"], kinds["substitutions"], kinds["deletions"], kinds["insertions"])


def count_confusions(pairs: Iterable[WordPair]) -> tuple[Confusion, ...]:
    """Return every kind of wrong pair, the most frequent first, then by the words."""
    counts = Counter(pair for pair in pairs if pair[0] != pair[1])
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0][0] or "", item[0][1] or ""))
    return tuple(Confusion(*pair, count) for pair, count in by_frequency)


def _steps(
    reference: Ints, hypothesis: Ints, substitution: int, gap: int, prefers_deletion: bool, n_rows: int
) -> NDArray[np.int8]:
    """Return the steps, shape (n_steps,), of the cheapest alignment of word ids, shapes (R,) and (H,).

    Kept are the costs of every ``n_rows``-th row alone; between two of them the steps are found once more
    when the path comes there, from its end.
    """
    n_reference, n_hypothesis = len(reference), len(hypothesis)
    n_blocks = max(-(-n_reference // n_rows), 1)
    costs = np.empty((n_blocks, n_hypothesis + 1), np.int64)  # of the row before each block
    costs[0] = gap * np.arange(n_hypothesis + 1)
    back = np.empty((min(n_rows, n_reference) + 1, n_hypothesis + 1), np.int8)
    back[:, 0] = _DELETION
    above, row = costs[0].copy(), np.empty_like(costs[0])
    steps = np.empty(n_reference + n_hypothesis, np.int8)
    i, j, first = n_reference, n_hypothesis, n_reference + n_hypothesis
    for turn in range(2 * n_blocks - 1):  # forwards up to the last block, then backwards
        block = turn if turn < n_blocks else 2 * (n_blocks - 1) - turn
        above[:] = costs[block]
        start, stop = block * n_rows, min((block + 1) * n_rows, n_reference)
        for r in range(start, stop):
            row[0] = gap * (r + 1)
            for h in range(1, n_hypothesis + 1):
                mismatch = substitution if reference[r] != hypothesis[h - 1] else 0
                diagonal = above[h - 1] + mismatch
                deletion, insertion = above[h] + gap, row[h - 1] + gap
                if diagonal <= deletion and diagonal <= insertion:
                    back[r - start, h], row[h] = _DIAGONAL, diagonal
                elif deletion < insertion or (prefers_deletion and deletion == insertion):
                    back[r - start, h], row[h] = _DELETION, deletion
                else:
                    back[r - start, h], row[h] = _INSERTION, insertion
            above, row = row, above
        if block == n_blocks - 1 or turn >= n_blocks:
            while i > start or (j > 0 and start == 0):
                first -= 1
                steps[first] = back[i - 1 - start, j] if i > 0 else _INSERTION
                i, j = i - (steps[first] != _INSERTION), j - (steps[first] != _DELETION)
        else:
            costs[block + 1] = above
    return steps[first:]


_alignment_steps = njit(cache=True)(_steps)
