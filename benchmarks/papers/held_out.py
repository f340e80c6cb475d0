"""Outputs of NPD, OROLS, OLS and KFD on points held out, all sizes at once, from one Gram matrix.

Cross-validation fits thousands of small models that differ in σ, ε and the number of centres alone. The
functions here grow the same models as the estimators, from columns of a Gram matrix that folds, classes and
values of ε share: the columns of the points held out are carried along through the orthogonalisation, so
that the outputs of every size cost nothing. A test compares each with its estimator.

Axes: M training points, V points held out, S sizes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from foundation.arrays import Floats, Longs, Reals
from foundation.compiled import njit

Rule = Literal["npd", "orols", "ols"]

_REORTHOGONALIZE = 0.5  # the constants are those of acoustic.kernels.selection, ridge and ols_selection
_VANISHED = 64.0
_OLS_VANISHED = 1e-7
_LEAST_TRACE = 1e-10
_JUDGED = 0.1
_ROUNDS = 3


def forward_outputs(
    columns: Reals, targets: Floats, sizes: Longs, rule: Rule, epsilon: float = 0.0
) -> tuple[Floats, Longs]:
    """Return the outputs (S, V) of a forward selection, and the training points (C,) it selected.

    Parameters
    ----------
    columns : (M, M + V) kernel of each training point with all training points, then with those held out;
        k(x, x) is 1
    targets : (M,) ±1
    sizes : (S,) numbers of centres, ascending
    rule : ``npd`` is thesis Algorithm 1, ``orols`` Algorithm 2, ``ols`` the largest error reduction
    epsilon : number added to the diagonal of the Gram matrix
    """
    number = ("npd", "orols", "ols").index(rule)
    return _grown(columns, targets.astype(columns.dtype), sizes, number, epsilon)  # type: ignore[no-any-return]


def fisher_outputs(columns: Floats, targets: Floats, epsilons: Floats) -> Floats:
    """Return the outputs (number of ε, V) of kernel Fisher discriminants on all training points.

    ``columns`` (M, M + V) and ``targets`` (M,) are as in `forward_outputs`, ε as in
    `KernelFisherDiscriminant`.
    """
    n = len(columns)
    mean = columns[:, :n].mean(axis=1)
    centered = columns - mean[:, None]  # rows are centres
    normal = centered[:, :n] @ centered[:, :n].T  # S_T, thesis (3.36) to (3.38)
    right = centered[:, :n] @ (targets - targets.mean())
    scale = np.diag(normal).mean()
    found = []
    for epsilon in epsilons:
        ridged = normal.copy()
        ridged.flat[:: n + 1] += epsilon * scale
        alpha = cho_solve(cho_factor(ridged, lower=True, overwrite_a=True), right)  # thesis (3.41)
        found.append(centered[:, n:].T @ alpha + targets.mean())
    return np.array(found)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _grown(columns, targets, sizes, rule, epsilon):  # type: ignore[no-untyped-def]
    """Return outputs (S, V) and selected points; rule 0 is NPD, 1 OROLS, 2 OLS."""
    n, n_all = columns.shape
    n_most = min(sizes[-1], n)
    basis = np.empty((1 + n_most, n_all), dtype=columns.dtype)
    kappa, products = np.empty(1 + n_most), np.empty(1 + n_most)
    selected, is_free = np.empty(n_most, dtype=np.int64), np.ones(n, dtype=np.bool_)
    unregularized, residual = targets.copy(), targets.copy()
    outputs, found = np.zeros(n_all - n), np.zeros((len(sizes), n_all - n))
    # Of each candidate of OLS: squared length outside the basis, and scalar product with the residual.
    lengths, gains, least = np.zeros(n), np.zeros(n), np.zeros(n)
    column, ridge, size, next_size = np.ones(n_all, dtype=columns.dtype), 0.0, 0, 0
    if rule == 2:
        for c in range(n):
            lengths[c] = _dot(columns[c], columns[c], n) + epsilon * (2.0 + epsilon)
            gains[c] = _dot(columns[c], targets, n) + epsilon * targets[c]
            least[c] = _OLS_VANISHED**2 * lengths[c]
    chosen = -1
    while True:
        if chosen >= 0:
            column[:] = columns[chosen]
            column[chosen] += epsilon
        length = np.sqrt(_dot(column, column, n))
        _orthogonalize(column, basis, kappa, size, n)
        if np.sqrt(_dot(column, column, n)) < _REORTHOGONALIZE * length:
            _orthogonalize(column, basis, kappa, size, n)
        squared = _dot(column, column, n)
        share = _VANISHED * np.finfo(columns.dtype).eps
        if chosen >= 0:
            is_free[chosen] = False
        if squared > (share * length) ** 2:  # the column does not lie in the span of the others
            basis[size], kappa[size] = column, squared
            products[size] = _dot(column, unregularized, n)
            if chosen >= 0:
                selected[size - 1] = chosen
            step = products[size] / squared
            for i in range(n):
                unregularized[i] -= step * column[i]  # thesis (3.64)
            size += 1
            if rule == 1:
                unexplained = _dot(unregularized, unregularized, n)
                ridge = _settled_ridge(kappa[:size], products[:size], unexplained, n, ridge)
                residual[:] = unregularized
                if ridge > 0.0:
                    for j in range(size):
                        held = products[j] * ridge / (kappa[j] * (kappa[j] + ridge))
                        for i in range(n):
                            residual[i] += held * basis[j, i]
            else:
                residual[:] = unregularized
                for i in range(n_all - n):
                    outputs[i] += step * column[n + i]
            if rule == 2:
                for c in range(n):
                    along = _dot(columns[c], column, n) + epsilon * column[c]
                    lengths[c] -= along * along / squared
                    gains[c] -= along * step
            while next_size < len(sizes) and sizes[next_size] <= size - 1:
                if rule == 1:
                    outputs = _regularized(basis, kappa, products, ridge, size, n)
                found[next_size] = outputs
                next_size += 1
        if size - 1 == n_most:
            break
        best = -1.0
        chosen = -1
        for i in range(n):
            if not is_free[i]:
                continue
            if rule != 2:
                value = residual[i] * residual[i]
            else:
                value = gains[i] * gains[i] / lengths[i] if lengths[i] > least[i] else -2.0
            if value > best:
                best, chosen = value, i
        if chosen < 0:
            break
    for s in range(next_size, len(sizes)):  # there are no more columns: the largest model
        if rule == 1:
            outputs = _regularized(basis, kappa, products, ridge, size, n)
        found[s] = outputs
    return found, selected[: max(size - 1, 0)]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dot(a, b, n):  # type: ignore[no-untyped-def]
    """Return the scalar product of the first n entries."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _orthogonalize(column, basis, kappa, size, n):  # type: ignore[no-untyped-def]
    """Subtract from a column its parts along the basis, by the first n entries; classical Gram-Schmidt."""
    parts = np.empty(size, dtype=column.dtype)
    for j in range(size):
        parts[j] = _dot(basis[j], column, n) / kappa[j]  # thesis (3.78)
    for j in range(size):
        part = parts[j]
        row = basis[j]
        for i in range(len(column)):
            column[i] -= part * row[i]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _regularized(basis, kappa, products, ridge, size, n):  # type: ignore[no-untyped-def]
    """Return the outputs (V,) of the model with ``size`` columns and ridge λ, thesis (3.83)."""
    outputs = np.zeros(basis.shape[1] - n)
    for j in range(size):
        weight = products[j] / (kappa[j] + ridge)
        for i in range(len(outputs)):
            outputs[i] += weight * basis[j, n + i]
    return outputs


@njit(nogil=True, cache=True)
def _error_and_trace(kappa, products, unexplained, n_points, ridge):  # type: ignore[no-untyped-def]
    """Return ‖P̃y‖² and tr P̃, thesis (3.81), as in acoustic.kernels.ridge."""
    held, trace = 0.0, float(n_points)
    for j in range(len(kappa)):
        total = kappa[j] + ridge
        held += products[j] ** 2 / kappa[j] * (ridge / total) ** 2
        trace -= kappa[j] / total
    return unexplained + held, trace


@njit(nogil=True, cache=True)
def _next_ridge(kappa, products, unexplained, n_points, ridge):  # type: ignore[no-untyped-def]
    """Return λ re-estimated once, thesis (3.88)."""
    error, trace = _error_and_trace(kappa, products, unexplained, n_points, ridge)
    slope, shrunk, largest = 0.0, 0.0, 0.0
    for j in range(len(kappa)):
        total = kappa[j] + ridge
        slope += kappa[j] / total**2  # thesis (3.89)
        shrunk += products[j] ** 2 / total**3
        largest = max(largest, kappa[j])
    denominator = trace * shrunk
    if not (trace > n_points * _LEAST_TRACE and denominator > 0.0):
        return ridge
    new = slope * error / denominator
    return new if new <= largest else ridge


@njit(nogil=True, cache=True)
def _settled_ridge(kappa, products, unexplained, n_points, ridge):  # type: ignore[no-untyped-def]
    """Return λ after some steps from the present one, or from 0 where that scores better."""
    settled = ridge
    for _ in range(_ROUNDS):
        settled = _next_ridge(kappa, products, unexplained, n_points, settled)
    if not (ridge > 0.0 and len(kappa) <= n_points * _JUDGED):
        return settled
    other = 0.0
    for _ in range(_ROUNDS):
        other = _next_ridge(kappa, products, unexplained, n_points, other)
    error, trace = _error_and_trace(kappa, products, unexplained, n_points, settled)
    other_error, other_trace = _error_and_trace(kappa, products, unexplained, n_points, other)
    score = error / trace**2 if trace > n_points * _LEAST_TRACE else np.inf
    other_score = other_error / other_trace**2 if other_trace > n_points * _LEAST_TRACE else np.inf
    return settled if score <= other_score else other
