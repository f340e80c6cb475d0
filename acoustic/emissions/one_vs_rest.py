"""Emission scores from one discriminant for each state against all others (KRLS in the thesis).

Axes: T frames, M training frames, D features, K classes, C centres, S states.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from acoustic.emissions.emission_model import StatePriors
from acoustic.errors import ModelError, ParameterError
from acoustic.kernels.kernel import CenteredGaussian, check_positive, mean_point
from acoustic.pairs.calibration import Calibration, fit_curve, quadratics
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.machines import LEAST_SIGMA
from foundation.arrays import Flags, Floats, Longs, Singles, bounded, check_array, check_number
from foundation.records import check_highest

if TYPE_CHECKING:
    from acoustic.discriminants.krls import KRLSClassifier

logger = logging.getLogger(__name__)

_FRAMES_AT_ONCE = 256
_MOST_CENTERS = 1000


@dataclass(frozen=True)
class OneVsRestModel:
    """An emission model of K calibrated discriminants: P(k | x) is proportional to 1/(1 + e^{−d_k}).

    Attributes
    ----------
    sigma : kernel width
    centers : (C, D) float32
    weights : (C, K) float32
    biases : (K,)
    curves : (K, 3) from outputs to log odds
    states : the emission states that the classes stand for
    """

    sigma: float
    centers: Singles
    weights: Singles
    biases: Floats
    curves: Floats
    states: StatePriors

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames."""
        return int(self.centers.shape[1])

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other."""
        self.states.check()
        n_classes, prefix = len(self.states.log_priors), "one_vs_rest"
        check_number("sigma", self.sigma, ModelError, lowest=LEAST_SIGMA)
        check_array(f"{prefix}.centers", self.centers, np.float32, (None, None), ModelError)
        if not self.centers.size:
            raise ModelError(f"{prefix}.centers: expected some, got none; train again")
        check_array(f"{prefix}.weights", self.weights, np.float32, (len(self.centers), n_classes), ModelError)
        check_array(f"{prefix}.biases", self.biases, np.float64, (n_classes,), ModelError)
        check_array(f"{prefix}.curves", self.curves, np.float64, (n_classes, 3), ModelError)

    @cached_property
    def _kernel(self) -> CenteredGaussian:
        return CenteredGaussian(self.sigma, mean_point(self.centers))

    @cached_property
    def _right(self) -> Singles:
        """The centres in the form that `CenteredGaussian.values` multiplies."""
        return self._kernel.right(self.centers)

    def outputs(self, frames: Singles) -> Floats:
        """Return the outputs of all discriminants, (T, D) -> (T, K)."""
        left = self._kernel.left(bounded(frames))
        outputs = np.empty((len(frames), len(self.biases)))
        for start in range(0, len(frames), _FRAMES_AT_ONCE):
            rows = slice(start, start + _FRAMES_AT_ONCE)
            outputs[rows] = self._kernel.values(left[rows], self._right) @ self.weights + self.biases
        return outputs

    def log_posteriors(self, frames: Singles) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        found = -np.logaddexp(0.0, -quadratics(self.outputs(frames), self.curves))
        return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))


@dataclass(frozen=True)
class KrlsConfig:
    """How kernel recursive least squares is trained.

    Attributes
    ----------
    nu : threshold of approximate linear dependence above which a frame enters the dictionary of centres,
        thesis (3.94); the larger, the fewer centres
    """

    nu: float = 1e-2

    def __post_init__(self) -> None:
        check_positive("nu", self.nu)
        check_highest(self, {"nu": 1e6}, ParameterError)


def train_one_vs_rest(
    frames: LabelledFrames,
    states: StatePriors,
    sigma: float,
    config: KrlsConfig,
    calibration: Calibration,
    seed: int = 0,
) -> OneVsRestModel:
    """Return kernel recursive least squares, one class against all others over one dictionary.

    Frames are learned in random order, since the dictionary depends on the order.

    Parameters
    ----------
    frames : training frames of known class
    states : emission states that the classes stand for
    sigma : width of the Gaussian kernel
    config : how kernel recursive least squares is trained
    calibration : how curves are fitted
    seed : seed of the random order
    """
    order = np.random.default_rng(seed).permutation(len(frames.x))
    machine = _learned(frames, order, sigma, config)
    covered = len(np.unique(frames.codes[order[machine.center_indices_]]))
    n_centers = len(machine.centers_)
    logger.info("krls: a dictionary of %d frames of %d of %d classes", n_centers, covered, frames.n_classes)
    outputs = _outputs_for(calibration, machine, frames, order, sigma, config)
    weights, biases = machine.dual_coef_.T, machine.intercept_
    if frames.n_classes == 2:  # one column, positive for the second class
        weights, biases = weights * [-1, 1], biases * [-1, 1]
    return OneVsRestModel(
        sigma,
        machine.centers_.astype(np.float32),
        weights.astype(np.float32),
        biases,
        np.array([_curve(outputs[:, k], frames, k, calibration) for k in range(frames.n_classes)]),
        states,
    )


def _learned(frames: LabelledFrames, rows: Longs, sigma: float, config: KrlsConfig) -> KRLSClassifier:
    """Return the machine that learned some of the frames in this order."""
    from sklearn.exceptions import ConvergenceWarning  # a large package, and only for training

    from acoustic.discriminants.krls import KRLSClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a full dictionary is reported in the log
        return KRLSClassifier(sigma, _MOST_CENTERS, nu=config.nu).fit(frames.x[rows], frames.codes[rows])


def _outputs_for(
    calibration: Calibration,
    machine: KRLSClassifier,
    frames: LabelledFrames,
    order: Longs,
    sigma: float,
    config: KrlsConfig,
) -> Floats:
    """Return the outputs (M, K) that calibration asks for."""
    if calibration.outputs == "loo":
        outputs = np.empty((len(order), machine.loo_decision_.shape[1]))
        outputs[order] = machine.loo_decision_
        return _of_all_classes(outputs)
    outputs = _of_all_classes(machine.decision_function(frames.x))
    if calibration.outputs == "held-out":
        for fold in np.unique(frames.folds):
            is_own = frames.folds == fold
            rest = order[~is_own[order]]
            if len(np.unique(frames.codes[rest])) == frames.n_classes:  # else fitted outputs stay
                other = _learned(frames, rest, sigma, config)
                outputs[is_own] = _of_all_classes(other.decision_function(frames.x[is_own]))
    return outputs


def _of_all_classes(outputs: Floats) -> Floats:
    """Return one column for each class (M, K); two classes come as one column, positive for the second."""
    columns = outputs.reshape(len(outputs), -1)
    return columns if columns.shape[1] > 1 else np.column_stack([-columns, columns])


def _curve(outputs: Floats, frames: LabelledFrames, k: int, calibration: Calibration) -> Floats:
    """Return the curve (3,) of the outputs (M,) of one class against the rest."""
    own: Flags = frames.codes == k
    values = np.concatenate([outputs[own], outputs[~own]])
    counts = (float(frames.counts[k]), float(frames.counts.sum() - frames.counts[k]))
    return fit_curve(values, int(own.sum()), counts, calibration.curve)
