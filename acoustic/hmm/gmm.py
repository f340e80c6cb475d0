"""Diagonal Gaussian mixtures, one per emission state: likelihoods, splitting, re-estimation.

Arrays are (S, G, …), G the largest number of components; a state with fewer has log weight -inf in the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Floats, Integers, Ints, Singles, bounded, check_array, check_reals
from foundation.compiled import njit, single_exp

_BLOCK_ROWS = 1024  # frames × components; their scores stay in the second-level cache
_MIN_OCCUPANCY = 3.0  # frames below which a component keeps its mean and variance (HTK's MINEGS)
_ROUNDING = 1e-6  # the logarithm of a weight of one may be as far above 0
_LEAST_VARIANCE = 1e-12  # of a model file: what is divided by it stays finite
_MIN_POSTERIOR = 1e-5  # occupancies below this add nothing to the statistics
_LEAST_EXPONENT = np.float32(-80)  # of the density of a component beside the largest
_INEXACT = {"reassoc", "contract", "nsz"}  # sums in any order; infinities stay what they are
_SPLIT_DISTANCE = 0.2  # standard deviations between a split component's mean and each half (HTK's HHEd MU)


@dataclass(frozen=True)
class GmmModel:
    """Gaussian mixtures as an `EmissionModel`.

    Attributes
    ----------
    log_weights : (S, G) float64
    means, variances : (S, G, D) float64
    """

    log_weights: Floats
    means: Floats
    variances: Floats

    def __post_init__(self) -> None:
        shape = self.means.shape
        if len(shape) != 3 or self.log_weights.shape != shape[:2] or self.variances.shape != shape:
            raise ModelError(
                f"mixture arrays do not fit: expected weights (S, G), means and variances (S, G, D), got "
                f"{self.log_weights.shape}, {shape}, {self.variances.shape}; train again"
            )

    def check(self) -> None:
        """Raise ModelError unless all numbers are those of mixtures: finite, and variances above 0."""
        shape = self.means.shape
        if not self.means.size:
            raise ModelError(f"gmm.means: expected means of states, got shape {shape}; train again")
        check_array(
            "gmm.log_weights",
            self.log_weights,
            np.float64,
            shape[:2],
            ModelError,
            lowest=-np.inf,
            highest=_ROUNDING,
        )
        if not np.isfinite(self.log_weights.max(axis=1)).all():
            raise ModelError("gmm.log_weights: expected a component of each state, got none; train again")
        check_array("gmm.means", self.means, np.float64, shape, ModelError)
        check_array("gmm.variances", self.variances, np.float64, shape, ModelError, lowest=_LEAST_VARIANCE)

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.log_weights)

    @property
    def n_components(self) -> int:
        """Number G of components a state may have."""
        return int(self.log_weights.shape[1])

    @property
    def n_features(self) -> int:
        """Number D of features."""
        return int(self.means.shape[2])

    @cached_property
    def _affine(self) -> tuple[Singles, Singles]:
        """Weights (2D, G, S) and constants (G, S) that make log densities of [x, x²]."""
        precisions = 1.0 / self.variances
        constants = self.log_weights - 0.5 * np.sum(
            np.log(2 * np.pi * self.variances) + self.means**2 * precisions, axis=2
        )
        linear = np.concatenate([self.means * precisions, -0.5 * precisions], axis=2)
        return (
            np.ascontiguousarray(linear.transpose(2, 1, 0), dtype=np.float32),
            np.ascontiguousarray(constants.T, dtype=np.float32),
        )

    @cached_property
    def _rows(self) -> tuple[Singles, Singles]:
        """The same weights and constants, state by state: (S, G, 2D) and (S, G)."""
        linear, constants = self._affine
        return np.ascontiguousarray(linear.transpose(2, 1, 0)), np.ascontiguousarray(constants.T)

    def component_log_likelihoods(self, frames: Singles, states: Integers | None = None) -> Singles:
        """Return log(weight · density) of each component, (T, G, S); only of ``states``, (T, G, U)."""
        return _component_scores(frames, *self._affine_of(states))

    def log_likelihoods(self, frames: Singles, states: Integers | None = None) -> Singles:
        """Return log p(frame | state), (T, S); with ``states`` only those columns, (T, U)."""
        check_reals("frames", frames, ModelError)
        if frames.ndim != 2 or frames.shape[1] != self.n_features:
            raise ModelError(
                f"frames: expected shape (T, {self.n_features}), got {frames.shape}; "
                "compute them with the model's front end"
            )
        affine = self._affine_of(states)
        n = max(_BLOCK_ROWS // self.n_components, 1)
        blocks = [frames[first : first + n] for first in range(0, max(len(frames), 1), n)]
        return np.concatenate([log_sum_components(_component_scores(block, *affine)) for block in blocks])

    def _affine_of(self, states: Integers | None) -> tuple[Singles, Singles]:
        linear, constants = self._affine
        return (linear, constants) if states is None else (linear[:, :, states], constants[:, states])

    def log_likelihoods_within(
        self, frames: Singles, states: Integers, band: Ints, low: Ints, width: int
    ) -> Singles:
        """Return log p(frame | state) of the nodes in a band, -inf of others, (T, width).

        Parameters
        ----------
        frames : (T, D)
        states : (n_nodes,) emission state of each node
        band : (R, 3) runs of frames of a node: the node, the first frame and the one behind the last
        low : (T,) node of each frame's first column
        width : number of columns
        """
        found = np.full((len(frames), width), -np.inf, dtype=np.float32)
        _score_runs(frames, states, *self._rows, band, low, found)
        return found


def _component_scores(frames: Singles, linear: Singles, constants: Singles) -> Singles:
    """Return weights (2D, G, U) times [x, x²], plus constants (G, U), (T, G, U)."""
    frames = bounded(frames)
    scores = np.concatenate([frames, frames * frames], axis=1) @ linear.reshape(len(linear), -1)
    scores += constants.reshape(-1)
    return scores.reshape(len(frames), *constants.shape)


def log_sum_components(components: Singles) -> Singles:
    """Return the log of the summed densities, (T, G, U) -> (T, U)."""
    if components.shape[1] == 1:
        return components[:, 0]
    top, summed = _sum_components(components)
    np.log(summed, out=summed)
    summed += top
    return np.asarray(summed)


@njit(nogil=True, cache=True, fastmath=_INEXACT)
def _sum_components(components: Singles) -> tuple[Singles, Singles]:
    """Return the largest log density of each state, and the sum of its densities divided by that, (T, U)."""
    n_frames, n_components, n_columns = components.shape
    top, summed = components[:, 0].copy(), np.zeros((n_frames, n_columns), np.float32)
    for t in range(n_frames):
        for k in range(1, n_components):
            for u in range(n_columns):
                top[t, u] = max(top[t, u], components[t, k, u])
        for k in range(n_components):
            for u in range(n_columns):
                summed[t, u] += single_exp(max(components[t, k, u] - top[t, u], _LEAST_EXPONENT))
    return top, summed


def single_gaussian(n_states: int, mean: Floats, variance: Floats) -> GmmModel:
    """Return the flat start: the same Gaussian (D,) in every state."""
    shape = (n_states, 1, len(mean))
    return GmmModel(
        np.zeros((n_states, 1)), np.broadcast_to(mean, shape).copy(), np.broadcast_to(variance, shape).copy()
    )


@dataclass
class GmmStatistics:
    """Sums of the E step: occupancies (S, G), first and second moments (S, G, D), all float64."""

    occupancy: Floats
    first: Floats
    second: Floats

    @classmethod
    def zeros(cls, model: GmmModel) -> GmmStatistics:
        """Return empty statistics for a model."""
        return cls(np.zeros_like(model.log_weights), np.zeros_like(model.means), np.zeros_like(model.means))

    def __iadd__(self, other: GmmStatistics) -> GmmStatistics:
        self.occupancy += other.occupancy
        self.first += other.first
        self.second += other.second
        return self

    def accumulate(
        self, model: GmmModel, frames: Singles, occupancy: Floats, states: Integers, low: Ints | None = None
    ) -> None:
        """Add an utterance.

        Parameters
        ----------
        model : the model whose components share the frames of a state
        frames : (T, D)
        occupancy : (T, U) P(state | utterance)
        states : emission state of each column; with ``low``, those of column u at frame t are at low[t] + u
        low : (T,) place of each frame's first state; 0 by default
        """
        low = np.zeros(len(frames), np.int32) if low is None else low
        _accumulate(frames, states, low, *model._rows, occupancy, self.occupancy, self.first, self.second)


@njit(nogil=True, cache=True, fastmath=_INEXACT)
def _score_runs(
    frames: Singles,
    states: Integers,
    linear: Singles,
    constants: Singles,
    band: Ints,
    low: Ints,
    found: Singles,
) -> None:
    """Fill in the log-likelihoods (T, W) of the nodes' states in their runs of frames (R, 3)."""
    shares = np.empty(constants.shape[1], np.float32)
    for r in range(len(band)):
        node = band[r, 0]
        for t in range(band[r, 1], band[r, 2]):
            top, total = _share(frames, t, linear, constants, states[node], shares)
            found[t, node - low[t]] = top + np.log(total)


@njit(nogil=True, cache=True, fastmath=_INEXACT)
def _accumulate(
    frames: Singles,
    states: Integers,
    low: Ints,
    linear: Singles,
    constants: Singles,
    occupancy: Floats,
    total: Floats,
    first: Floats,
    second: Floats,
) -> None:
    """Add an utterance to the sums ``total`` (S, G), ``first`` and ``second`` (S, G, D)."""
    n_components, n_features = first.shape[1:]
    shares = np.empty(n_components, np.float32)
    for t in range(len(occupancy)):
        for u in range(occupancy.shape[1]):
            gamma = occupancy[t, u]
            if gamma < _MIN_POSTERIOR:
                continue
            s = states[low[t] + u]
            gamma /= _share(frames, t, linear, constants, s, shares)[1]
            for k in range(n_components):
                weight = gamma * shares[k]
                if weight < _MIN_POSTERIOR:
                    continue
                total[s, k] += weight
                for d in range(n_features):
                    x = np.float64(frames[t, d])
                    first[s, k, d] += weight * x
                    second[s, k, d] += weight * x * x


@njit(nogil=True, cache=True, fastmath=_INEXACT, inline="always")
def _share(frames, t, linear, constants, s, shares):  # type: ignore[no-untyped-def]  # slices would cost time
    """Fill in a state's densities (G,) at a frame divided by the largest; return its log, and their sum."""
    n_features = frames.shape[1]
    for k in range(len(shares)):
        value = constants[s, k]
        for d in range(n_features):
            value += (linear[s, k, d] + linear[s, k, n_features + d] * frames[t, d]) * frames[t, d]
        shares[k] = value
    top = shares[0]
    for k in range(1, len(shares)):
        top = max(top, shares[k])
    total = np.float32(0)
    for k in range(len(shares)):
        shares[k] = single_exp(max(shares[k] - top, _LEAST_EXPONENT))
        total += shares[k]
    return top, total


def reestimate(model: GmmModel, statistics: GmmStatistics, variance_floor: Floats) -> GmmModel:
    """Return the maximum-likelihood model of the statistics, variances not below ``variance_floor`` (D,).

    A component with hardly any frames keeps its mean and variance, a state without frames its weights: EM
    still cannot decrease the likelihood.
    """
    occupancy = statistics.occupancy
    seen = occupancy >= _MIN_OCCUPANCY
    safe = np.where(seen, occupancy, 1.0)[:, :, None]
    means = np.where(seen[:, :, None], statistics.first / safe, model.means)
    variances = np.where(seen[:, :, None], statistics.second / safe - means**2, model.variances)
    state_total = occupancy.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        weights = np.log(occupancy / np.where(state_total > 0, state_total, 1.0))
    log_weights = np.where(state_total > _MIN_OCCUPANCY, weights, model.log_weights)
    return GmmModel(log_weights, means, np.maximum(variances, variance_floor))


def split_components(model: GmmModel, n_components: int, occupancy: Floats, min_frames: float) -> GmmModel:
    """Return a model whose states have up to ``n_components``, the heaviest component split again and again.

    Each half keeps the variance and half the weight; its mean moves by 0.2 standard deviations. A component
    with fewer than ``2 * min_frames`` frames (``occupancy`` (S,) times its weight) is not split, so that a
    rare state stays small.
    """
    n_states, n_old, n_features = model.means.shape
    log_weights = np.full((n_states, n_components), -np.inf)
    means = np.zeros((n_states, n_components, n_features))
    variances = np.ones((n_states, n_components, n_features))
    log_weights[:, :n_old] = model.log_weights
    means[:, :n_old], variances[:, :n_old] = model.means, model.variances
    for s, n_frames in enumerate(np.maximum(occupancy, 1.0)):
        _split_state(log_weights[s], means[s], variances[s], min_frames / n_frames)
    return GmmModel(log_weights, means, variances)


def _split_state(log_weights: Floats, means: Floats, variances: Floats, min_weight: float) -> None:
    """Split the components of one state in place until all places are taken or none is heavy enough."""
    for free in np.flatnonzero(np.isneginf(log_weights)):
        heaviest = int(np.argmax(log_weights))
        if np.exp(log_weights[heaviest]) < 2 * min_weight:
            return
        log_weights[heaviest] = log_weights[free] = log_weights[heaviest] - np.log(2.0)
        step = _SPLIT_DISTANCE * np.sqrt(variances[heaviest])
        means[free], variances[free] = means[heaviest] - step, variances[heaviest]
        means[heaviest] = means[heaviest] + step
