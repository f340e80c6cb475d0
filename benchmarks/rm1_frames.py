"""Generated frames of as many states as RM1's, which overlap about as the states of real speech do.

Each state is a mixture of Gaussians. The constants below were chosen so that pairs of states are as separable
as those of AN4's monophones (39 components standardised over the corpus); `rm1_overlap` compares both. Axes:
M frames, D features, S states, G Gaussians of a state.
"""

from __future__ import annotations

import numpy as np

from acoustic.pairs.class_frames import LabelledFrames
from foundation.arrays import Floats, Singles

N_UNITS, N_POSITIONS = 49, 3  # 48 phones and silence
N_STATES = N_UNITS * N_POSITIONS
N_FEATURES = 39
TRAINING, NEW = 0, 1  # parts: frames of both are drawn from the same states

# Eigenvalues of the variance of the states' means, in units of the variance within states: the first one, and
# the share of each that is left in the next.
_BETWEEN, _BETWEEN_DECAY = 5.0, 0.5
_N_GROUPS = 6  # of phones: vowels, nasals, stops, …
_OF_GROUP, _OF_UNIT = 0.74, 0.2  # shares of it that phones of a group, and states of a phone, have in common
# Variance within states: its eigenvalues fall from the first number to the second.
_WITHIN, _WITHIN_LAST, _WITHIN_POWER = 2.3, 0.1, 0.6
_N_GAUSSIANS = 16
_OF_GAUSSIANS = 0.4  # share of the variance within states that lies between the means of its Gaussians
# Standard deviations of the logarithm of a state's width, of a Gaussian's width, of its features' variances.
_STATE_SPREAD, _GAUSSIAN_SPREAD, _SPREAD = 0.35, 0.5, 0.55


def generated_frames(n_each: int, n_states: int = N_STATES, part: int = TRAINING) -> LabelledFrames:
    """Return ``n_each`` frames of each state, in order of the states; every other frame is in fold 1.

    The states are always the same ones, and the first states of many are those of few.
    """
    means, mixing = _state_means(n_states), _mixing()
    x = np.empty((n_states * n_each, N_FEATURES), dtype=np.float32)
    for k, mean in enumerate(means):
        x[k * n_each : (k + 1) * n_each] = _frames_of_state(k, mean, n_each, part) @ mixing
    codes = np.repeat(np.arange(n_states, dtype=np.int32), n_each)
    folds = (np.arange(len(x)) % 2).astype(np.int32)
    return LabelledFrames(x, codes, folds, np.full(n_states, float(n_each)))


def _state_means(n_states: int) -> Floats:
    """Return the states' means (S, D); those of a phone lie near each other, and so do those of a group."""
    groups = np.random.default_rng(0).normal(size=(_N_GROUPS, N_FEATURES))
    means = np.empty((n_states, N_FEATURES))
    for k in range(n_states):
        of_unit, own = np.random.default_rng((1, k // N_POSITIONS)), np.random.default_rng((2, k))
        group = groups[of_unit.integers(_N_GROUPS)]
        unit = np.sqrt(_OF_GROUP) * group + np.sqrt(_OF_UNIT) * of_unit.normal(size=N_FEATURES)
        means[k] = unit + np.sqrt(1.0 - _OF_GROUP - _OF_UNIT) * own.normal(size=N_FEATURES)
    return means * np.sqrt(_BETWEEN * _BETWEEN_DECAY ** np.arange(N_FEATURES))


def _frames_of_state(k: int, mean: Floats, n_each: int, part: int) -> Singles:
    """Return frames (n_each, D) of a state, whose features are independent."""
    rng = np.random.default_rng((3, k))
    width = _drawn_scales(rng, _STATE_SPREAD, ())
    centers = mean + width * np.sqrt(_OF_GAUSSIANS) * rng.normal(size=(_N_GAUSSIANS, N_FEATURES))
    scales = np.sqrt(1.0 - _OF_GAUSSIANS) * width * _drawn_scales(rng, _GAUSSIAN_SPREAD, (_N_GAUSSIANS, 1))
    scales = scales * _drawn_scales(rng, 0.5 * _SPREAD, (_N_GAUSSIANS, N_FEATURES))
    drawing = np.random.default_rng((4, k, part))
    drawn = drawing.integers(_N_GAUSSIANS, size=n_each)
    found = drawing.standard_normal((n_each, N_FEATURES), dtype=np.float32)
    found *= scales.astype(np.float32)[drawn]
    found += centers.astype(np.float32)[drawn]
    return found


def _drawn_scales(rng: np.random.Generator, spread: float, shape: tuple[int, ...]) -> Floats:
    """Return log-normal scales whose mean square is 1."""
    return np.asarray(np.exp(spread * rng.normal(size=shape) - spread**2))


def _mixing() -> Singles:
    """Return the matrix (D, D) by which independent features become those of frames."""
    rng = np.random.default_rng(5)
    fall = (np.arange(N_FEATURES) / (N_FEATURES - 1)) ** _WITHIN_POWER
    deviations = np.sqrt(_WITHIN - (_WITHIN - _WITHIN_LAST) * fall)
    rotation, _ = np.linalg.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))
    return np.asarray(rng.permutation(deviations)[:, None] * rotation, dtype=np.float32)
