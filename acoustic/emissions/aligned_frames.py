"""What the training of a hybrid starts from: options of all ways of training, and frames of known state.

Axes: M training frames, D features, S states, K classes (states with enough frames), N utterances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acoustic.emissions.emission_model import FLOOR, StatePriors
from acoustic.errors import TrainingError
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.class_frames import LabelledFrames, drawn
from acoustic.pairs.coupling import CouplingName
from features.frontend import Projection
from foundation.arrays import Floats, Integers, Ints, Longs, Singles
from foundation.records import check_choices, check_highest, check_lowest

Units = Literal["phone", "context", "cross-word"]
Adaptation = Literal["none", "cmllr", "sat"]

_HIGHEST = {
    "max_frames": 10**9,
    "min_frames": 10**9,
    "prior_scale": 1000,
    "gmm_weight": 1000,
    "seed": 2**32 - 1,  # of scikit-learn's estimators
}
_HELD_OUT = Calibration("held-out", "logistic")


@dataclass(frozen=True)
class HybridConfig:
    """What all hybrids have in common, however their discriminants are trained.

    Attributes
    ----------
    input_projection : projection of the frames that the discriminants see: ``lda`` or ``none``
    warps : factors by which the frequency axis is warped to make further copies of the training recordings,
        from which the discriminants learn, too
    units : what states stand for: phones (``phone``), or phones in context tied by decision trees, where the
        context stays within a word (``context``) or reaches across words (``cross-word``)
    max_frames : largest number of frames of a class that discriminants are trained on, drawn at random
    min_frames : least number of frames of a class; a state with fewer frames shares the class of the state
        whose mean frame is nearest, and a state without any frames gets the prior of the rarest class as
        its posterior
    sigma : width σ of the Gaussian kernel, in units of the frames' values
    calibration : how the curves from outputs to log odds are fitted
    coupling : how the log odds of all pairs are coupled to posteriors: ``price``, ``wu-lin-weng`` or
        ``hastie-tibshirani``
    prior_scale : factor of the log prior of a state that is subtracted from its log posterior
    gmm_weight : factor of the log-likelihoods of a Gaussian mixture model that are added to the scores
    adaptation : how frames are adapted to speakers. ``cmllr``: in decoding, one linear transform per speaker
        is estimated from the words of a first pass. ``sat``: in training, too, where units are phones in
        context and frames are projected; mixtures of these units on adapted frames align and tie them anew,
        and are the ones that are added. Otherwise these are the aligner's, which see adapted frames only if
        there is no input projection. ``none``: they are not
    seed : seed of the random choice of frames and centres
    """

    input_projection: Projection = "lda"
    warps: tuple[float, ...] = (0.93, 1.07)
    units: Units = "context"
    max_frames: int = 4000
    min_frames: int = 20
    sigma: float = 5.0
    calibration: Calibration = _HELD_OUT
    coupling: CouplingName = "price"
    prior_scale: float = 0.5
    gmm_weight: float = 0.2
    adaptation: Adaptation = "sat"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self, TrainingError)
        lowest = {"max_frames": 2, "min_frames": 1, "prior_scale": 0, "gmm_weight": 0, "seed": 0}
        check_lowest(self, lowest, TrainingError)
        check_highest(self, _HIGHEST, TrainingError)
        if not all(0.5 < warp < 2 and warp != 1 for warp in self.warps):
            raise TrainingError(
                f"warps: expected numbers near 1, as 0.92,1.08, got {self.warps}; change them"
            )
        # In single precision its square must be neither 0 nor infinite.
        if not 1e-6 <= self.sigma <= 1e6:
            raise TrainingError(f"sigma: expected 1e-6 to 1e6, got {self.sigma}; change it")

    @property
    def floor(self) -> float | None:
        """Least log posterior of a state; None for none, as in the thesis, whose curves are Gaussian."""
        return None if self.calibration.curve == "gaussian" else FLOOR

    @property
    def learns_adapted(self) -> bool:
        """Whether training, too, adapts frames to their speakers."""
        return self.adaptation == "sat" and self.units != "phone" and self.input_projection != "none"

    def of_training(self) -> HybridConfig:
        """Return the options; adaptation in decoding alone does not affect what is trained, and is none."""
        return self if self.learns_adapted else replace(self, adaptation="none")


THESIS = HybridConfig(
    input_projection="none",
    warps=(),
    units="phone",
    max_frames=2500,
    calibration=Calibration("fitted", "gaussian"),
    prior_scale=1.0,
    gmm_weight=0.0,
    adaptation="none",
)


FrameSource = Callable[[], Iterable[tuple[int, Singles]]]


@dataclass(frozen=True)
class AlignedFrames(LabelledFrames):
    """Frames of known class, and the states that the classes stand for.

    Attributes
    ----------
    class_of_state : (S,) int32 class of each state, −1 for none
    """

    class_of_state: Ints

    def state_priors(self, prior_scale: float, floor: float | None = FLOOR) -> StatePriors:
        """Return the priors by which posteriors of classes become scores of states."""
        return StatePriors(self.class_of_state, np.log(self.counts / self.counts.sum()), prior_scale, floor)


def aligned_frames(
    frames: FrameSource,
    labels: Sequence[Integers],
    folds: Integers,
    n_states: int,
    *,
    max_frames: int,
    min_frames: int,
    seed: int = 0,
) -> AlignedFrames:
    """Return some frames of each state, without holding all frames in memory.

    Parameters
    ----------
    frames : function that yields, each time it is called, the number of every utterance with its frames (T,
        D)
    labels : the states (T,) of each utterance's frames, −1 where unknown
    folds : (N,) fold of each utterance
    n_states : S
    max_frames : largest number of frames of a class, drawn at random
    min_frames : least number of frames of a class; a state with fewer shares the class of the state whose
        mean frame is nearest, and a state without any has no class
    seed : seed of the random choice of frames
    """
    states = np.concatenate(labels)
    starts = np.cumsum([0, *map(len, labels)])
    class_of_state = _classes(frames, labels, n_states, min_frames)
    n_classes = int(class_of_state.max(initial=-1)) + 1
    if n_classes < 2:
        raise TrainingError(
            f"{n_classes} states have {min_frames} frames or more, expected two at least to tell "
            "apart; record more, or lower min_frames"
        )
    codes = np.where(states >= 0, class_of_state[states], -1)
    rng = np.random.default_rng(seed)
    rows = np.concatenate([drawn(np.flatnonzero(codes == k), max_frames, rng) for k in range(n_classes)])
    return AlignedFrames(
        _gathered(frames, rows, starts),
        codes[rows].astype(np.int32),
        folds[np.searchsorted(starts, rows, side="right") - 1].astype(np.int32),
        np.bincount(codes[codes >= 0], minlength=n_classes).astype(np.float64),
        class_of_state,
    )


def halves(*levels: Sequence[str]) -> Ints:
    """Return the fold, 0 or 1, of each utterance: halves by the first level that has two names or more.

    Utterances with the same name at that level (a speaker, a recording) are in one fold.

    Parameters
    ----------
    levels : for each level the names (N,) of all utterances, for example speakers, recordings and utterance
        ids

    >>> halves(["ann", "bob", "ann", "cid"], ["1", "2", "3", "4"])
    array([0, 1, 0, 0], dtype=int32)
    >>> halves(["ann", "ann", "ann"], ["1", "2", "2"])
    array([0, 1, 1], dtype=int32)
    """
    names = next((level for level in levels if len(set(level)) > 1), levels[-1])
    fold = {name: k % 2 for k, name in enumerate(sorted(set(names)))}
    return np.array([fold[name] for name in names], dtype=np.int32)


def _gathered(frames: FrameSource, rows: Longs, starts: Longs) -> Singles:
    """Return the frames (M, D) at some rows of all utterances one behind the other."""
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], starts)
    found: Singles | None = None
    n_seen = 0
    for n, x in frames():
        if len(x) != starts[n + 1] - starts[n]:
            raise TrainingError(
                f"utterance {n}: {len(x)} frames, expected {starts[n + 1] - starts[n]}, one for each label"
            )
        n_seen += 1
        if found is None:
            found = np.empty((len(rows), x.shape[1]), dtype=np.float32)
        places = order[bounds[n] : bounds[n + 1]]
        found[places] = x[rows[places] - starts[n]]
    if found is None or n_seen != len(starts) - 1:
        raise TrainingError(
            f"frames of {n_seen} utterances, expected of {len(starts) - 1}, one for each label"
        )
    return found


def _classes(frames: FrameSource, labels: Sequence[Integers], n_states: int, min_frames: int) -> Ints:
    """Return the class of each state (S,): its own, that of the nearest mean frame, or −1 without frames."""
    counts = np.zeros(n_states, dtype=np.int64)
    for states in labels:
        counts += np.bincount(states[states >= 0], minlength=n_states)
    own = np.flatnonzero(counts >= min_frames)
    found = np.full(n_states, -1, dtype=np.int32)
    found[own] = np.arange(len(own))
    rare = np.flatnonzero((counts > 0) & (counts < min_frames))
    if len(rare) and len(own):
        means = _means(frames, labels, counts)
        for s in rare:
            found[s] = found[own[np.argmin(np.sum((means[own] - means[s]) ** 2, axis=1))]]
    return found


def _means(frames: FrameSource, labels: Sequence[Integers], counts: Longs) -> Floats:
    """Return the mean frame of each state, (S, D)."""
    sums: Floats | None = None
    for n, x in frames():
        if sums is None:
            sums = np.zeros((len(counts), x.shape[1]))
        known = labels[n] >= 0
        np.add.at(sums, labels[n][known], x[known].astype(np.float64))
    if sums is None:
        return np.zeros((len(counts), 0))
    return sums / np.maximum(counts, 1)[:, None]
