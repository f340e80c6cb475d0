"""Diagonal Gaussian mixtures, one per emission state: likelihoods, splitting, re-estimation.

Arrays are (S, G, …), G the largest number of components; a state with fewer has log weight -inf in the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from acoustic.errors import ModelError
from foundation.arrays import Floats, Integers, Singles

_BLOCK_FRAMES = 128  # scores of one block stay in the second-level cache
_MIN_OCCUPANCY = 3.0  # frames below which a component keeps its mean and variance (HTK's MINEGS)
_MIN_POSTERIOR = 1e-6  # occupancies below this add nothing to the statistics
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

    def component_log_likelihoods(self, frames: Singles, states: Integers | None = None) -> Singles:
        """Return log(weight · density) of each component, (T, G, S); only of ``states``, (T, G, U)."""
        linear, constants = self._affine
        if states is not None:
            linear, constants = linear[:, :, states], constants[:, states]
        powers = np.concatenate([frames, frames * frames], axis=1)
        scores = powers @ linear.reshape(len(linear), -1)
        scores += constants.reshape(-1)
        return scores.reshape(len(frames), *constants.shape)

    def log_likelihoods(self, frames: Singles, states: Integers | None = None) -> Singles:
        """Return log p(frame | state), (T, S); with ``states`` only those columns, (T, U)."""
        if frames.ndim != 2 or frames.shape[1] != self.n_features:
            raise ModelError(
                f"frames: expected shape (T, {self.n_features}), got {frames.shape}; "
                "compute them with the model's front end"
            )
        blocks = [frames[b : b + _BLOCK_FRAMES] for b in range(0, max(len(frames), 1), _BLOCK_FRAMES)]
        return np.concatenate([log_sum_components(self.component_log_likelihoods(b, states)) for b in blocks])


def log_sum_components(components: Singles) -> Singles:
    """Return the log of the summed densities, (T, G, U) -> (T, U)."""
    if components.shape[1] == 1:
        return components[:, 0]
    top = components.max(axis=1)
    summed: Singles = np.exp(components - top[:, None]).sum(axis=1)
    np.log(summed, out=summed)
    summed += top
    return summed


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
        self,
        frames: Singles,
        components: Singles,
        scores: Singles,
        occupancy: Floats,
        states: Integers,
    ) -> None:
        """Add an utterance.

        Parameters
        ----------
        frames : (T, D)
        components : (T, G, U) log(weight · density), as `GmmModel.component_log_likelihoods` gives them
        scores : (T, U) their log sum
        occupancy : (T, U) P(state | utterance)
        states : (U,) emission states of the columns
        """
        _accumulate(frames, components, scores, occupancy, states, self.occupancy, self.first, self.second)


@njit(nogil=True, cache=True)
def _accumulate(
    frames: Singles,
    components: Singles,
    scores: Singles,
    occupancy: Floats,
    states: Integers,
    total: Floats,
    first: Floats,
    second: Floats,
) -> None:
    """Add an utterance to the sums ``total`` (S, G), ``first`` and ``second`` (S, G, D)."""
    n_frames, n_components, n_columns = components.shape
    n_features = frames.shape[1]
    for t in range(n_frames):
        for u in range(n_columns):
            gamma = occupancy[t, u]
            if gamma < _MIN_POSTERIOR:
                continue
            s = states[u]
            for k in range(n_components):
                weight = gamma * np.exp(np.float64(components[t, k, u] - scores[t, u]))
                if weight < _MIN_POSTERIOR:
                    continue
                total[s, k] += weight
                for d in range(n_features):
                    x = np.float64(frames[t, d])
                    first[s, k, d] += weight * x
                    second[s, k, d] += weight * x * x


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
