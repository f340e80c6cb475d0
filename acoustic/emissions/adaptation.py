"""Linear transforms that bring a speaker's frames closer to those of all speakers (CMLLR).

The method is constrained maximum likelihood linear regression (Gales 1998) towards one Gaussian per state;
all Gaussians share one diagonal covariance. A Gaussian prior keeps the transform of a speaker with few frames
near the identity.

Axes: T frames, D features, S states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Flags, Floats, Integers, Reals, Singles, check_array
from foundation.blocks import block_map
from foundation.compiled import njit
from foundation.sequences import Computed

# Weight of the prior, in frames, for GMMs and hybrids; docs/results/an4.md, how the parts were chosen.
PRIOR_FRAMES = 100.0
_ROUNDS = 2  # of moving the training speakers' frames towards their common targets; by feel
_SWEEPS = 50  # by feel
_ENOUGH = 1e-7  # least gain of a sweep over the rows, in nats a frame; with less the iteration ends; by feel
_LEAST_VARIANCE = 1e-6
_EQUAL = 1e-6  # share of the largest entry by which the prior may miss symmetry
_FRAMES_AT_ONCE = 1 << 14


class Transform(NamedTuple):
    """An affine map of frames: x -> A x + b."""

    matrix: Floats
    offset: Floats

    def apply(self, frames: Singles) -> Singles:
        """Return the frames (T, D or more) with their first D columns mapped."""
        n = len(self.offset)
        moved = frames[:, :n] @ self.matrix.T.astype(np.float32) + self.offset.astype(np.float32)
        return moved if frames.shape[1] == n else np.column_stack([moved, frames[:, n:]])


@dataclass(frozen=True)
class AdaptationTargets:
    """Where the frames of each state should lie.

    Attributes
    ----------
    means : (S, D) mean of the training frames of each state
    variances : (D,) variances of the training frames about the means of their states
    is_used : (S,) bool, which states a transform is estimated from; silence and states without frames are not
        used
    prior : (D + 1, D + 1) sum Σ [x, 1][x, 1]ᵀ over imagined frames that a transform should leave unchanged;
        its last entry is their number
    """

    means: Floats
    variances: Floats
    is_used: Flags
    prior: Floats

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or not self.means.size:
            raise ModelError(f"adaptation: means have shape {self.means.shape}, expected (S, D); train again")
        n_states, n_columns = self.means.shape
        expected = {
            "variances": (n_columns,),
            "is_used": (n_states,),
            "prior": (n_columns + 1, n_columns + 1),
        }
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise ModelError(
                    f"adaptation: {name} has shape {getattr(self, name).shape}, expected {shape}; train again"
                )

    def check(self) -> None:
        """Raise ModelError unless all numbers are finite, variances above 0, and the prior is one."""
        shape, n = self.means.shape, self.n_columns
        check_array("adaptation.means", self.means, np.float64, shape, ModelError)
        check_array(
            "adaptation.variances", self.variances, np.float64, (n,), ModelError, lowest=_LEAST_VARIANCE / 2
        )
        check_array("adaptation.is_used", self.is_used, np.bool_, shape[:1], ModelError)
        check_array("adaptation.prior", self.prior, np.float64, (n + 1, n + 1), ModelError)
        scale = np.abs(self.prior).max()
        least = np.linalg.eigvalsh(self.prior)[0]
        if np.abs(self.prior - self.prior.T).max() > _EQUAL * scale or least < -_EQUAL * scale:
            raise ModelError(
                "adaptation.prior: expected a symmetric sum of squares, got another matrix; train again"
            )

    @property
    def n_columns(self) -> int:
        """Number D of columns that are transformed."""
        return len(self.variances)


def fit_targets(
    frames: Sequence[Singles],
    states: Sequence[Integers],
    is_used: Flags,
    prior_frames: float = PRIOR_FRAMES,
) -> AdaptationTargets:
    """Return the targets estimated from training frames.

    Parameters
    ----------
    frames : the frames (T, D) of each utterance
    states : the states (T,) of each utterance's frames, −1 where unknown
    is_used : (S,) states that count
    prior_frames : number of imagined frames of the prior, distributed like the training frames
    """
    n_columns = frames[0].shape[1]
    sums, counts = np.zeros((len(is_used), n_columns)), np.zeros(len(is_used))
    for x, s in zip(frames, states, strict=True):
        np.add.at(sums, s[s >= 0], x[s >= 0])
        counts += np.bincount(s[s >= 0], minlength=len(is_used))
    means = sums / np.maximum(counts, 1.0)[:, None]
    is_used = is_used & (counts > 0)
    squares, moments = np.zeros(n_columns), np.zeros((n_columns + 1, n_columns + 1))
    for x, s in zip(frames, states, strict=True):
        chosen = _chosen(s, is_used)
        squares += np.sum((x[chosen] - means[s[chosen]]) ** 2, axis=0)
        extended = _extended(x[chosen])
        moments += extended.T @ extended
    n_used = max(moments[-1, -1], 1.0)
    variances = np.maximum(squares / n_used, _LEAST_VARIANCE)
    return AdaptationTargets(means, variances, is_used, moments * (prior_frames / n_used))


def fit_adapted_targets(
    frames: Sequence[Singles], states: Sequence[Integers], speakers: Sequence[str], is_used: Flags
) -> AdaptationTargets:
    """Return the targets of speaker-adaptive training (Anastasakos et al. 1996), as `fit_targets` names them.

    They are those of frames that are moved towards the targets before, which draws the speakers together.
    """
    targets = fit_targets(frames, states, is_used)
    for _ in range(_ROUNDS):
        targets = fit_targets(adapted_frames(frames, states, speakers, targets), states, is_used)
    return targets


def adapted_frames(
    frames: Sequence[Singles], states: Sequence[Integers], speakers: Sequence[str], targets: AdaptationTargets
) -> Sequence[Singles]:
    """Return the frames (T, D or more) mapped by their speaker's transform, see `speaker_transforms`.

    Frames that are computed when they are needed stay so.
    """
    transforms = speaker_transforms(frames, states, speakers, targets)
    mapped = Computed(lambda n: transforms[speakers[n]].apply(frames[n]), len(frames))
    return mapped if isinstance(frames, Computed) else list(mapped)


def speaker_transforms(
    frames: Sequence[Singles], states: Sequence[Integers], speakers: Sequence[str], targets: AdaptationTargets
) -> dict[str, Transform]:
    """Return the transform of each speaker.

    Parameters
    ----------
    frames : the frames (T, D or more) of each utterance
    states : the states (T,) of each utterance's frames, −1 where unknown
    speakers : the speaker of each utterance
    targets : targets of the adaptation
    """
    spoken: dict[str, list[int]] = {}
    for n, speaker in enumerate(speakers):
        spoken.setdefault(speaker, []).append(n)

    def one(utterances: list[int]) -> Transform:
        return transform_of(statistics_of(((frames[n], states[n]) for n in utterances), targets), targets)

    found = block_map(lambda speaker: one(spoken[speaker]), list(spoken), label="adaptation")
    return dict(zip(spoken, found, strict=True))


def fit_transform(frames: Singles, states: Integers, targets: AdaptationTargets) -> Transform:
    """Return the transform of largest posterior probability for a speaker's frames (T, D) in states (T,).

    With ξ = [x, 1] and e_i the rows of the identity, it maximises T log det A − ½ Σ_i [Σ_t (w_i ξ − μ_i)² +
    (w_i − e_i) P (w_i − e_i)ᵀ] / σ_i² over the rows w_i of [A, b], one row after the other (Gales 1998,
    (40) to (45), with the prior P). It starts from the identity, and det A stays positive.
    """
    return transform_of(statistics_of([(frames, states)], targets), targets)


class Statistics(NamedTuple):
    """What a transform is estimated from: the number of frames x of a speaker in states of means μ, and sums.

    Attributes
    ----------
    n_frames : number of frames
    second : (D + 1, D + 1) Σ ξ ξᵀ with ξ = [x, 1]
    toward : (D, D + 1) Σ μ ξᵀ
    """

    n_frames: float
    second: Floats
    toward: Floats

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of the frames of both."""
        return Statistics(
            self.n_frames + other.n_frames, self.second + other.second, self.toward + other.toward
        )

    def at_most(self, n_frames: float) -> Statistics:
        """Return the statistics with their weight reduced to at most this number of frames."""
        share = min(n_frames / max(self.n_frames, 1.0), 1.0)
        return Statistics(self.n_frames * share, self.second * share, self.toward * share)


def transform_of(statistics: Statistics, targets: AdaptationTargets) -> Transform:
    """Return the transform of `fit_transform` from the statistics of the frames."""
    with_prior = statistics.plus(Statistics(0.0, targets.prior, targets.prior[:-1]))
    count, second, _ = with_prior
    n_columns = targets.n_columns
    rows = np.eye(n_columns, n_columns + 1)
    is_singular = np.linalg.matrix_rank(second, hermitian=True) <= n_columns  # constant frames
    if not count or is_singular:
        return Transform(rows[:, :-1], rows[:, -1])
    try:
        return _climbed(rows, with_prior, targets)
    except np.linalg.LinAlgError:
        raise ModelError(
            "adaptation: no transform of a speaker can be computed, expected targets as asr train makes "
            "them; train again or restore the file"
        ) from None


def _climbed(rows: Floats, statistics: Statistics, targets: AdaptationTargets) -> Transform:
    """Return the transform that is reached from the rows of the identity, which are overwritten."""
    count, second, toward = statistics
    inverse = np.asarray(np.linalg.inv(second), dtype=np.float64)
    settled = toward @ inverse  # the rows if the determinant did not count
    likelihood = -np.inf
    for _ in range(_SWEEPS):
        cofactors = np.ascontiguousarray(np.linalg.inv(rows[:, :-1]).T)  # up to the determinant
        _sweep(rows, cofactors, settled, inverse, targets.variances, count)
        before, likelihood = likelihood, _objective(rows, second, toward, targets.variances, count)
        if likelihood - before < _ENOUGH * count:
            break
    return Transform(rows[:, :-1], rows[:, -1])


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _sweep(
    rows: Floats, cofactors: Floats, settled: Floats, inverse: Floats, variances: Floats, count: float
) -> None:
    """Replace one row w of [A, b] after the other by the best, w = (α p + k) G⁻¹ with α² a + α b = T.

    Of the two roots α, that is taken which keeps the determinant's sign.

    Parameters
    ----------
    rows : (D, D + 1) replaced
    cofactors : (D, D) those of each row of A, p, up to the determinant; brought up to date
    settled : (D, D + 1) k G⁻¹ of each row
    inverse : (D + 1, D + 1) G⁻¹ of each row, but for its variance
    variances : (D,)
    count : number of frames T
    """
    n = len(variances)
    direction, change, shifts = np.empty(n + 1), np.empty(n), np.empty(n)
    for i in range(n):
        a = b = 0.0
        for j in range(n + 1):
            total = 0.0
            for d in range(n):
                total += inverse[j, d] * cofactors[i, d]
            direction[j] = variances[i] * total  # p G⁻¹
        for d in range(n):
            a += cofactors[i, d] * direction[d]
            b += cofactors[i, d] * settled[i, d]
        alpha = (-b + np.sqrt(b * b + 4.0 * a * count)) / (2.0 * a)
        for d in range(n):
            change[d] = settled[i, d] + alpha * direction[d] - rows[i, d]
        for j in range(n):
            total = 0.0
            for d in range(n):
                total += cofactors[j, d] * change[d]
            shifts[j] = total
        own, scale = cofactors[i].copy(), 1.0 / (1.0 + shifts[i])
        for j in range(n):  # Sherman and Morrison
            for d in range(n):
                cofactors[j, d] -= shifts[j] * scale * own[d]
        for d in range(n + 1):
            rows[i, d] = settled[i, d] + alpha * direction[d]


def statistics_of(utterances: Iterable[tuple[Singles, Integers]], targets: AdaptationTargets) -> Statistics:
    """Return the statistics of frames (T, D or more) in states that are used; utterances are read once."""
    count, n_columns = 0, targets.n_columns
    second, toward = np.zeros((n_columns + 1, n_columns + 1)), np.zeros((n_columns, n_columns + 1))
    for frames, states in _gathered(_used(utterances, targets)):
        extended = _extended(frames)
        second += extended.T @ extended
        toward += targets.means[states].T @ extended
        count += len(frames)
    return Statistics(float(count), second, toward)


def _used(
    utterances: Iterable[tuple[Singles, Integers]], targets: AdaptationTargets
) -> Iterator[tuple[Singles, Integers]]:
    """Yield the frames in states that are used, their columns that are transformed, and these states."""
    for frames, states in utterances:
        chosen = _chosen(states, targets.is_used)
        yield frames[:, : targets.n_columns][chosen], states[chosen]


def _gathered(pieces: Iterable[tuple[Singles, Integers]]) -> Iterator[tuple[Singles, Integers]]:
    """Yield the pieces joined to `_FRAMES_AT_ONCE` frames or more; most speakers have no more than one."""
    waiting: list[tuple[Singles, Integers]] = []
    n_waiting = 0
    for piece in pieces:
        waiting.append(piece)
        n_waiting += len(piece[0])
        if n_waiting >= _FRAMES_AT_ONCE:
            together, waiting, n_waiting = _joined(waiting), [], 0
            yield together
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[tuple[Singles, Integers]]) -> tuple[Singles, Integers]:
    frames, states = zip(*pieces, strict=True)
    return np.concatenate(frames), np.concatenate(states)


def _objective(rows: Floats, second: Floats, toward: Floats, variances: Floats, count: float) -> float:
    quadratic = np.einsum("ij,ij->i", rows @ second - 2.0 * toward, rows)
    return float(count * np.linalg.slogdet(rows[:, :-1])[1] - 0.5 * np.sum(quadratic / variances))


def _chosen(states: Integers, is_used: Flags) -> Flags:
    """Return which frames are in states that are used."""
    return np.asarray((states >= 0) & is_used[states])


def _extended(x: Reals) -> Floats:
    """Return [x, 1], (T, D + 1)."""
    return np.column_stack([x, np.ones(len(x))]).astype(np.float64, copy=False)
