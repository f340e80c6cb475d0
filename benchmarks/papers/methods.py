"""The methods of the classification tables: what they predict on points held out, and their estimators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from acoustic.discriminants import KernelFisherDiscriminant, NPDClassifier, OLSClassifier, OROLSClassifier
from acoustic.discriminants.base import class_targets
from benchmarks.papers.cross_validation import Guess, Method
from benchmarks.papers.held_out import Rule, fisher_outputs, forward_outputs
from foundation.arrays import Floats, Integers

# Of NPD and OROLS, added to a diagonal of ones; with 0, points equal to a centre are skipped.
EPSILONS = (1.0, 1e-1, 1e-2, 1e-3, 0.0)
FISHER_EPSILONS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SHARES = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 13.0, 17.0, 22.0, 27.0, 35.0, 43.0, 50.0)
ALL = (100.0,)  # of the training points are centres, or the method decides


# The papers' algorithms, centre by centre, whatever the estimators' defaults are.
AS_IN_PAPERS: dict[str, Any] = {"selection": "residual", "stopping": "size"}


def npd(shares: tuple[float, ...] = SHARES, **options: Any) -> Method:
    """Return thesis Algorithm 1: σ, ε and the number of centres are chosen."""
    return Method("NPD", partial(_grown, "npd"), partial(_forward, NPDClassifier, options), EPSILONS, shares)


def orols(shares: tuple[float, ...] = SHARES, **options: Any) -> Method:
    """Return thesis Algorithm 2, which finds λ itself."""
    return Method(
        "OROLS", partial(_grown, "orols"), partial(_forward, OROLSClassifier, options), EPSILONS, shares
    )


def ols(shares: tuple[float, ...] = SHARES) -> Method:
    """Return orthogonal least squares on the whole Gram matrix (Chen et al. 1991)."""
    return Method("OLS", partial(_grown, "ols"), _ols, (0.0,), shares)


def fisher() -> Method:
    """Return the kernel Fisher discriminant on all training points."""
    return Method("KFD", _fisher_codes, _fisher, FISHER_EPSILONS, ALL)


def svm() -> Method:
    """Return the support vector machine of scikit-learn; more than two classes are told apart in pairs."""
    return Method("SVM", _svm_codes, _svm, COSTS, ALL)


def _forward(estimator: type[Any], options: dict[str, Any], sigma: float, epsilon: float, n: int) -> Any:
    return estimator(sigma, n, epsilon=epsilon, **(AS_IN_PAPERS | options))


def _ols(sigma: float, _: float, n: int) -> OLSClassifier:
    return OLSClassifier(sigma, n, stopping="size")


def _fisher(sigma: float, epsilon: float, _: int) -> KernelFisherDiscriminant:
    return KernelFisherDiscriminant(sigma, epsilon=epsilon)


def _svm(sigma: float, cost: float, _: int) -> SVC:
    return SVC(C=cost, gamma=0.5 / sigma**2)


def _grown(rule: Rule, guess: Guess) -> Integers:
    """Return the codes (E, S, V) of forward selection, one-vs-rest."""
    targets = class_targets(guess.codes, guess.n_classes)
    outputs = [
        [forward_outputs(guess.columns, y, guess.sizes, rule, epsilon)[0] for y in targets.T]
        for epsilon in guess.constants
    ]
    return _codes(np.moveaxis(np.array(outputs), 1, -1))


def _fisher_codes(guess: Guess) -> Integers:
    targets = class_targets(guess.codes, guess.n_classes)
    columns = guess.columns.astype(np.float64)
    outputs = [fisher_outputs(columns, y, guess.constants) for y in targets.T]
    return _codes(np.moveaxis(np.array(outputs), 0, -1))[:, None]


def _svm_codes(guess: Guess) -> Integers:
    n = len(guess.codes)
    inner, across = guess.columns[:, :n].astype(np.float64), guess.columns[:, n:].T.astype(np.float64)
    models = [SVC(C=cost, kernel="precomputed").fit(inner, guess.codes) for cost in guess.constants]
    return np.array([model.predict(across) for model in models])[:, None]


def _codes(outputs: Floats) -> Integers:
    """Return the class codes (…) of outputs (…, R): the sign of one column, else the largest."""
    return (outputs[..., 0] > 0).astype(np.int64) if outputs.shape[-1] == 1 else outputs.argmax(axis=-1)
