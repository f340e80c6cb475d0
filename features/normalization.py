"""Zero mean and unit variance over a corpus (as in the thesis), an utterance or a speaker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from features.errors import FeatureError
from foundation.arrays import Floats, Reals, Singles, check_array, check_reals

# A component whose spread is this small a share of its size varies by float32 rounding alone.
CONSTANT_RATIO = 1e-6
_LEAST_SCALE = 1e-12  # of a model file, where the least of a component that varies is its square


class Moments:
    """Mean and variance of frames that come in pieces, in float64 (Chan, Golub and LeVeque 1979).

    >>> moments = Moments()
    >>> moments.add(np.array([[1.0], [3.0]]))
    >>> moments.add(np.array([[5.0]]))
    >>> moments.mean.tolist()
    [3.0]
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: Floats = np.zeros(0)
        self._squares: Floats = np.zeros(0)

    def add(self, frames: Reals) -> None:
        """Take in ``(T, D)`` frames."""
        check_frames(frames)
        if self.count == 0:
            self.mean, self._squares = np.zeros(frames.shape[1]), np.zeros(frames.shape[1])
        if frames.shape[1] != self.mean.size:
            raise FeatureError(
                f"frames: expected {self.mean.size} columns as before, got {frames.shape[1]}; "
                "compute all utterances with one configuration"
            )
        if frames.shape[0] == 0:
            return
        piece = frames.astype(np.float64)
        piece_mean = piece.mean(axis=0)
        shift, total = piece_mean - self.mean, self.count + piece.shape[0]
        self._squares += np.square(piece - piece_mean).sum(axis=0)
        self._squares += np.square(shift) * (self.count * piece.shape[0] / total)
        self.mean = self.mean + shift * (piece.shape[0] / total)
        self.count = total

    def fade(self, most: int) -> None:
        """Reduce the weight of all frames so far to at most this number of frames."""
        if self.count > most:
            self._squares *= most / self.count
            self.count = most

    def smoothed(self, prior: Standardizer, prior_frames: float) -> tuple[Floats, Floats]:
        """Return mean and standard deviation ``(D,)`` as if so many frames of the prior had come, too.

        This is the maximum a posteriori estimate; it keeps a recording of half a second from being
        normalised by what happens to be said in it.
        """
        total = self.count + prior_frames
        mean = (self.count * self.mean + prior_frames * prior.mean_) / total
        own = self._squares + self.count * np.square(self.mean - mean)
        priors = prior_frames * (np.square(prior.scale_) + np.square(prior.mean_ - mean))
        return mean, np.sqrt((own + priors) / total)

    @property
    def scale(self) -> Floats:
        """Standard deviation ``(D,)`` float64; 1 where a component is constant."""
        deviation = np.sqrt(self._squares / max(self.count, 1))
        is_constant = deviation <= CONSTANT_RATIO * np.maximum(np.abs(self.mean), CONSTANT_RATIO)
        return np.where(is_constant, 1.0, deviation)


class Standardizer:
    """Subtracts the training data's mean and divides by its standard deviation (thesis, chapter 4).

    Attributes
    ----------
    mean_, scale_ : (D,) float64
        Learned by `fit`; the scale of a constant feature is 1.
    """

    mean_: Floats
    scale_: Floats

    def fit(self, frames: Reals | Iterable[Reals]) -> Standardizer:
        """Learn from ``(T, D)`` frames, or from any iterable of such arrays, which is never stacked."""
        moments = Moments()
        if not isinstance(frames, Iterable):
            check_reals("frames", frames, FeatureError)
        for piece in [frames] if isinstance(frames, np.ndarray) else frames:
            moments.add(piece)
        if moments.count == 0:
            raise FeatureError(
                "frames: expected at least one frame to learn from, got none; check the training list"
            )
        self.mean_, self.scale_ = moments.mean, moments.scale
        return self

    @classmethod
    def from_statistics(cls, mean: ArrayLike, scale: ArrayLike) -> Standardizer:
        """Return a standardizer with known ``(D,)`` mean and scale, for example from a model file."""
        standardizer = cls()
        standardizer.mean_ = np.asarray(mean, dtype=np.float64)
        standardizer.scale_ = np.asarray(scale, dtype=np.float64)
        return standardizer

    def check(self, n_columns: int) -> None:
        """Raise FeatureError unless the statistics are of so many columns, and deviations above 0."""
        check_array("standardizer.mean", self.mean_, np.float64, (n_columns,), FeatureError)
        check_array(
            "standardizer.scale", self.scale_, np.float64, (n_columns,), FeatureError, lowest=_LEAST_SCALE
        )

    def transform(self, frames: Reals) -> Singles:
        """Return standardised frames, ``(T, D)`` float32."""
        if not hasattr(self, "mean_"):
            raise FeatureError("Standardizer: expected learned statistics, got none; call fit first")
        check_frames(frames, n_columns=self.mean_.size)
        return Scale(self.mean_, self.scale_).apply(frames)


def normalize(frames: Reals, *, mean: bool = True, variance: bool = True) -> Singles:
    """Return one utterance ``(T, D)`` with its own mean and variance taken away, float32."""
    return normalize_groups([frames], [""], mean=mean, variance=variance)[0]


def normalize_groups(
    utterances: Sequence[Reals],
    groups: Sequence[str],
    *,
    mean: bool = True,
    variance: bool = True,
    prior: Standardizer | None = None,
    prior_frames: float = 0.0,
) -> list[Singles]:
    """Return utterances normalised with the statistics of their group, in the order given.

    Parameters
    ----------
    utterances : sequence of (T, D) float
    groups : sequence of str
        The group (as a rule the speaker) of each utterance.
    mean, variance : bool
        Which of the two to take away; a variance is taken about the mean either way.
    prior, prior_frames : Standardizer, float
        Statistics each group's own are smoothed with, and the number of frames they count for.

    Returns
    -------
    list of (T, D) float32
    """
    if len(utterances) != len(groups):
        raise FeatureError(
            f"groups: expected one for each of {len(utterances)} utterances, got {len(groups)}; "
            "pass as many of both"
        )
    pieces = zip(groups, utterances, strict=True)
    scales = group_scales(pieces, mean=mean, variance=variance, prior=prior, prior_frames=prior_frames)
    return [scales[group].apply(frames) for group, frames in zip(groups, utterances, strict=True)]


class Scale(NamedTuple):
    """A mean ``(D,)`` to take away and a deviation ``(D,)`` to divide by, float64."""

    shift: Floats
    deviation: Floats

    def apply(self, frames: Reals) -> Singles:
        """Return normalised frames, ``(T, D)`` float32."""
        # In float64: a constant component must come out as 0, not as the rounding error of its mean.
        return ((frames - self.shift) / self.deviation).astype(np.float32)


def group_scales(
    pieces: Iterable[tuple[str, Reals]],
    *,
    mean: bool = True,
    variance: bool = True,
    prior: Standardizer | None = None,
    prior_frames: float = 0.0,
) -> dict[str, Scale]:
    """Return the scale of each group from pieces ``(T, D)`` of its frames; the rest as `normalize_groups`."""
    return {
        group: _scale(moments, mean, variance, prior, prior_frames)
        for group, moments in _group_moments(pieces).items()
    }


def _scale(
    moments: Moments, mean: bool, variance: bool, prior: Standardizer | None, prior_frames: float
) -> Scale:
    if prior is None or prior_frames == 0:  # without smoothing a constant component has no scale
        shift, deviation = moments.mean, moments.scale
    else:
        shift, deviation = moments.smoothed(prior, prior_frames)
    return Scale(shift if mean else np.zeros_like(shift), deviation if variance else np.ones_like(deviation))


def fit_within_groups(utterances: Iterable[Reals], groups: Sequence[str]) -> Standardizer:
    """Return the mean of all frames and the standard deviation about the means of their groups.

    That is a group (a speaker) before anything is known of it: the prior of `normalize_groups`.
    """
    moments = list(_group_moments(zip(groups, utterances, strict=True)).values())
    total = max(sum(m.count for m in moments), 1)
    mean = sum((m.count / total * m.mean for m in moments), np.zeros(1))
    variance = sum((m.count / total * np.square(m.scale) for m in moments), np.zeros(1))
    return Standardizer.from_statistics(mean, np.sqrt(variance))


def _group_moments(pieces: Iterable[tuple[str, Reals]]) -> dict[str, Moments]:
    statistics: dict[str, Moments] = {}
    for group, frames in pieces:
        statistics.setdefault(group, Moments()).add(frames)
    return statistics


def check_frames(frames: Reals, n_columns: int | None = None) -> None:
    """Raise FeatureError unless frames are two-dimensional, with so many columns if that is given."""
    check_reals("frames", frames, FeatureError)
    if frames.ndim != 2:
        raise FeatureError(
            f"frames: expected ndim = 2 (T, D), got shape {frames.shape}; pass one utterance at a time"
        )
    if n_columns is not None and frames.shape[1] != n_columns:
        raise FeatureError(
            f"frames: expected {n_columns} columns, got {frames.shape[1]}; "
            "use the configuration it was learned with"
        )
