"""Scores by which the size of a model, or its ridge λ, is chosen from a path of forward selection.

All of them follow from κ_i, q_iᵀy and ‖y‖²: no score needs the points again. The thesis (3.4.1) names the
Bayesian information criterion and the minimum description length as alternatives to cross-validation for the
number of centres, and (3.4.2) the evidence as an alternative to GCV for λ.

Axes: M training points, R targets, C centres; score number m is that of the model with m centres.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from acoustic.kernels.forward import ForwardPath
from acoustic.kernels.ridge import evidence_ridge, gcv_score, log_evidence
from foundation.arrays import Floats

_LEAST_ERROR = 1e-15  # share of ‖y‖² below which an error is rounding error


def unexplained_errors(path: ForwardPath, energy: float) -> Floats:
    """Return the squared errors of all sizes for λ = 0, ‖y‖² − Σ (q_iᵀy)²/κ_i, (C + 1,).

    Parameters
    ----------
    path : models of all sizes
    energy : ‖y‖², summed over the targets
    """
    explained = np.sum(path.products**2, axis=1) / path.kappa
    return np.asarray(np.maximum(energy - np.cumsum(explained), _LEAST_ERROR * energy))


def bayesian_information(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return the Bayesian information criterion of all sizes, (C + 1,); the least is the best. Schwarz 1978.

    MR log(‖e‖²/MR) + γR log M, with the noise variance that fits best. γ = Σ κ_i/(κ_i + λ) is the number of
    weights of each target, less what λ holds back.

    Parameters
    ----------
    path : models of all sizes
    energy : ‖y‖², summed over the targets
    n_points : M
    """
    n_targets = path.products.shape[1]
    sizes = range(1, len(path.kappa) + 1)
    n_weights = np.array([np.sum(path.kappa[:n] / (path.kappa[:n] + path.ridges[n - 1])) for n in sizes])
    count = n_points * n_targets
    errors = _errors(path, energy)
    return np.asarray(count * np.log(errors / count) + n_weights * n_targets * np.log(n_points))


def description_length(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return the description length of targets, weights and centres in nats, (C + 1,); Rissanen 1983.

    The first two parts are half of `bayesian_information`. The third, log(M over C), says which of the points
    are centres: without it the minimum description length would choose the same size as Schwarz.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    sizes = np.arange(len(path.kappa))
    naming = gammaln(n_points + 1) - gammaln(sizes + 1) - gammaln(n_points - sizes + 1)
    return np.asarray(0.5 * bayesian_information(path, energy, n_points) + naming)


def log_evidences(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return log p(y | λ) of all sizes with their λ > 0, (C + 1,); the largest is the best.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    states = _states(path, energy, n_points)
    return np.array([log_evidence(*state, ridge) for state, ridge in zip(states, path.ridges, strict=True)])


def with_evidence_ridges(path: ForwardPath, energy: float, n_points: int) -> ForwardPath:
    """Return the models of the same centres with the λ of the largest evidence in place of GCV's.

    ``fitted`` and ``leave_one_out``, which belong to the old λ, are left out.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    states = _states(path, energy, n_points)
    ridges = np.array([evidence_ridge(*state) for state in states])
    gcv = np.array([gcv_score(*state, ridge) for state, ridge in zip(states, ridges, strict=True)])
    nothing = np.empty((0, path.products.shape[1]))
    return replace(path, ridges=ridges, gcv=gcv, fitted=nothing, leave_one_out=nothing)


def _states(path: ForwardPath, energy: float, n_points: int) -> list[tuple[Floats, Floats, float, int]]:
    """Return κ, products, error for λ = 0 and M of each size, as `gcv_score` takes them."""
    errors = unexplained_errors(path, energy)
    return [
        (path.kappa[:n], path.products[:n], float(error), n_points) for n, error in enumerate(errors, start=1)
    ]


def _errors(path: ForwardPath, energy: float) -> Floats:
    """Return the squared errors ‖y − Qα̃‖² of all sizes with their λ, (C + 1,)."""
    explained = np.sum(path.products**2, axis=1) / path.kappa
    shares = [path.ridges[n] / (path.kappa[: n + 1] + path.ridges[n]) for n in range(len(path.kappa))]
    held = np.array([explained[: len(share)] @ share**2 for share in shares])
    return np.asarray(unexplained_errors(path, energy) + held)
