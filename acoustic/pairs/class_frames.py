"""Frames of known class, sorted by class so that each pair finds its frames quickly.

Axes: M training frames, D features, P pairs, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from acoustic.errors import ModelError
from acoustic.pairs.coupling import all_pairs
from foundation.arrays import Floats, Integers, Ints, Longs, Reals, Singles

# That are fitted one after the other by one thread, for methods that share nothing; by feel.
PAIRS_AT_ONCE = 16


def pair_name(pair: Ints) -> str:
    """Return how messages name a pair (2,) of classes.

    >>> pair_name(np.array([3, 9]))
    'classes 3 and 9'
    """
    return f"classes {pair[0]} and {pair[1]}"


@dataclass(frozen=True)
class LabelledFrames:
    """The frames that discriminants of classes are trained on.

    Attributes
    ----------
    x : (M, D) float32
    codes : (M,) int32 class of each frame, 0 … K − 1
    folds : (M,) int32 fold of each frame; frames of one recording are in one fold
    counts : (K,) number of frames of each class in the whole data, of which ``x`` may be a sample; their
        ratios are the prior odds
    """

    x: Singles
    codes: Ints
    folds: Ints
    counts: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.counts)

    def classes_of_one_fold(self) -> Longs:
        """Return the classes all of whose frames lie in one fold."""
        pairs = np.unique(np.stack([self.codes, self.folds], axis=1), axis=0)
        return np.flatnonzero(np.bincount(pairs[:, 0], minlength=self.n_classes) == 1)


class ClassFrames:
    """Frames ordered by class, and where each class lies among them.

    Parameters
    ----------
    x : (M, D)
    codes : (M,) class of each frame
    n_classes : K
    sample_weight : (M,) weights above 0; all equal by default
    folds : (M,) fold of each frame; by default all frames are in one fold
    """

    def __init__(
        self,
        x: Reals,
        codes: ArrayLike,
        n_classes: int,
        sample_weight: Floats | None = None,
        folds: Integers | None = None,
    ) -> None:
        labels = np.asarray(codes)
        if x.ndim != 2 or labels.shape != (len(x),):
            raise ModelError(
                f"x has shape {x.shape} and codes {labels.shape}, expected (frames, features) and (frames,)"
            )
        if len(labels) and not 0 <= labels.min() <= labels.max() < n_classes:
            raise ModelError(f"codes lie in {labels.min()} … {labels.max()}, expected 0 … {n_classes - 1}")
        self.order = np.argsort(labels, kind="stable")
        with np.errstate(over="ignore"):
            self.x = np.asarray(x[self.order], dtype=np.float32)
        if not np.isfinite(self.x).all():
            raise ModelError(
                "x has values that are not finite in single precision; drop or mend those frames (NaN, "
                "infinity), or scale them"
            )
        self.weight = np.ones(len(x))
        self.is_weighted = sample_weight is not None
        if sample_weight is not None:
            if not (np.isfinite(sample_weight).all() and (sample_weight > 0).all()):
                raise ModelError("sample_weight holds numbers that are not above 0; leave those frames out")
            self.weight = np.asarray(sample_weight, dtype=np.float64)[self.order]
        self.folds = np.zeros(len(x), dtype=np.int32) if folds is None else np.asarray(folds)[self.order]
        self.counts = np.bincount(labels, minlength=n_classes)
        self.weighted_counts = np.bincount(labels, sample_weight, minlength=n_classes).astype(np.float64)
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])

    def checked_pairs(self, pairs: ArrayLike | None) -> Ints:
        """Return the pairs (P, 2), all by default; raise ModelError if a class of a pair has no frames."""
        n_classes = len(self.counts)
        asked = all_pairs(n_classes) if pairs is None else np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
        if not len(asked):
            raise ModelError(
                f"no pairs of {n_classes} classes, expected at least one; give examples of two classes"
            )
        if asked.min() < 0 or asked.max() >= n_classes or (asked[:, 0] == asked[:, 1]).any():
            raise ModelError(f"pairs holds other than two different classes of 0 … {n_classes - 1}")
        empty = sorted({int(k) for k in np.unique(asked) if not self.counts[k]})
        if empty:
            raise ModelError(
                f"classes {empty} have no frames, expected at least one each; leave them out of pairs"
            )
        return asked

    def rows(self, pair: Ints) -> Longs:
        """Return the rows of the frames of a pair (i, j), frames of class i first."""
        return np.concatenate([np.arange(self.starts[k], self.starts[k + 1]) for k in pair])


def drawn(rows: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Return ``n`` random rows in their order, or all if there are no more than that."""
    return rows if len(rows) <= n else np.sort(rng.choice(rows, n, replace=False))
