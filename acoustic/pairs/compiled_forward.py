"""Forward selection of many small two-class problems compiled: thesis Algorithms 1 and 2.

It does what `forward.forward_selection` does for one column of targets, a Gaussian kernel of one width,
selection by residual and blocks of one. A step costs two passes over Q for the orthogonalisation. Q fits into
a core's cache for the usual number of frames of two states, so exact sequential selection is fast without
blocks. The interpreter lock is released, so threads run in parallel.

All functions that `fit_pair` calls are inlined into it. Otherwise the compiler would inline only some of
them, and the process that compiles would run other machine code, with other last digits, than processes that
load the compiled code from disk.

Axes: M points of a pair, D features, C centres at most; row 0 of Q is the bias. Points lie in columns, (D,
M), so that every inner loop runs over neighbouring points.
"""

from __future__ import annotations

import numpy as np

from foundation.arrays import Flags, Floats, Ints, Singles
from foundation.compiled import njit

Single = np.float32

# Kernel columns lie mostly along the first few rows of Q. Orthogonalising to these first usually saves a
# second full pass, which follows only if a pass leaves less than a tenth of a column's length (Rutishauser's
# rule). Rows of Q are then orthogonal to 1e-4 even where frames nearly repeat each other or σ is wide,
# however many rows there are. A share of one half, as in `basis`, gives 1e-6 and the same outputs, in 1.4
# times the time.
_FIRST = 8
_REORTHOGONALIZE = Single(0.1)
_ROUNDING = Single(64 * np.finfo(Single).eps)  # relative to the longest of a column's parts
_VANISHED = _ROUNDING**2
_ALONE = Single(np.finfo(Single).eps ** 0.6)  # 1 − h below this counts as 0
_LAMBDA_ROUNDS = 3
_JUDGED = 0.1  # share of M, see `ridge.settled_ridge`; by feel
_LEAST_TRACE = 1e-10  # share of M below which tr P̃ is rounding error
_LOG2_E = Single(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = Single(0.693359375), Single(-2.12194440e-4)
_E0, _E1, _E2 = Single(1.9875691500e-4), Single(1.3981999507e-3), Single(8.3334519073e-3)
_E3, _E4, _E5 = Single(4.1665795894e-2), Single(1.6666665459e-1), Single(0.5)
_ZERO, _HALF, _ONE, _TAKEN = Single(0), Single(0.5), Single(1), Single(1e30)
_LEAST_EXPONENT = Single(-69.0)  # below it a kernel value is 0, which spares denormal products
_EXPONENT_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)


@njit(nogil=True, cache=True, fastmath=True)
def fit_pair(
    xt: Singles,
    root: Singles,
    targets: Singles,
    is_open: Flags,
    scale: Single,
    epsilon: Single,
    tol: Single,
    regularize: bool,
    settled: float,
    patience: int,
    q: Singles,
    indices: Ints,
    weights: Floats,
    outputs: Singles,
    u: Floats,
    kappa: Floats,
    products: Floats,
    ridges: Floats,
) -> tuple[int, float]:
    """Select centres; return their number and the bias.

    Parameters
    ----------
    xt : (D, M) points
    root : (M,) roots of the points' weights
    targets : (M,) labels times the roots
    is_open : (M,) which points may become centres; at least C of them
    scale : −1/2σ²
    epsilon : added to the diagonal of the Gram matrix
    tol : the selection stops when no |residual| exceeds it; with a negative number it never does
    regularize : re-estimate λ by (3.88) after every centre
    settled : the selection stops when λ > 0 has changed by no more than this share for ``patience`` centres;
        with a negative number it never does
    patience : see ``settled``
    q : (C + 1, M) room for the basis
    indices : (C,) filled with the selected points
    weights : (C,) filled with their weights
    outputs : (2, M) filled with the fitted outputs and the leave-one-out outputs
    u : (C + 1, C + 1) zeros, filled with the unit upper triangular U of K_m = Q_m U_m
    kappa, products, ridges : (C + 1,) filled with κ_i, with q_iᵀy and with the λ of each size
    """
    capacity, n_points = q.shape
    parts = np.empty(capacity)
    plain, taken, score = targets.copy(), np.zeros(n_points, Single), np.empty(n_points, Single)
    residual = plain.copy() if regularize else plain  # plain is the residual for λ = 0
    ridge, n_taken = 0.0, 0
    for r in range(n_points):
        if not is_open[r]:
            taken[r] = _TAKEN
            n_taken += 1
    q[0] = root  # the bias column, thesis Alg. 1
    kappa[0], u[0, 0] = _dot(root, root), 1.0
    size, n_done = 1, 0
    while True:
        if n_done < size:
            newest = q[n_done]
            products[n_done] = _dot(newest, plain)
            _add(newest, Single(-products[n_done] / kappa[n_done]), plain)  # thesis (3.64)
            n_done = size
            if regularize:
                unexplained = float(_dot(plain, plain))
                ridge = _settled_ridge(kappa, products, size, unexplained, n_points, ridge)
                ridges[size - 1] = ridge
                # (3.82) holds only while λ is fixed: what λ holds back of each column is added back.
                for i in range(size):
                    parts[i] = -products[i] * ridge / (kappa[i] * (kappa[i] + ridge))
                residual[:] = plain
                _subtract(q, size, parts, residual)
        excess = _scores(residual, taken, root, tol, score)
        if size == capacity or n_taken == n_points or not excess > _ZERO:
            break
        if settled >= 0.0 and size > patience and _has_settled(ridges[size - 1 - patience : size], settled):
            break
        chosen = _argmax(score)
        taken[chosen] = _TAKEN
        n_taken += 1
        column = q[size]
        _kernel_column(xt, chosen, scale, epsilon, root, column)
        if _append(q, size, column, kappa, u, parts):
            indices[size - 1] = chosen
            size += 1
    alpha = _back_substitute(u, kappa, products, size, ridge)
    weights[: size - 1] = alpha[1:]
    _outputs(q, size, kappa, products, ridge, targets, residual, root, outputs)
    return size - 1, alpha[0]


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _dot(a: Singles, b: Singles) -> Single:
    total = _ZERO
    for r in range(a.size):
        total += a[r] * b[r]
    return total


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _add(row: Singles, share: Single, out: Singles) -> None:
    for r in range(out.size):
        out[r] += share * row[r]


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _scores(residual: Singles, taken: Singles, root: Singles, tol: Single, score: Singles) -> Single:
    """Fill the points' scores |e|, very low for taken points; return by how much the largest exceeds tol."""
    excess = -_TAKEN
    for r in range(residual.size):
        size = abs(residual[r])
        excess = max(excess, size - tol * root[r])
        score[r] = size - taken[r]
    return excess


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _argmax(score: Singles) -> int:
    """Return the first point of the largest score; of the two loops the compiler vectorises the first."""
    best = -_TAKEN
    for r in range(score.size):
        best = max(best, score[r])
    for r in range(score.size):
        if score[r] == best:
            return r
    return 0


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _kernel_column(
    xt: Singles, center: int, scale: Single, epsilon: Single, root: Singles, out: Singles
) -> None:
    """Fill k(x_r, x_center), ε added to the centre's own entry, times the roots of the weights."""
    n_dims, n_points = xt.shape
    out[:] = _ZERO
    d = 0
    while d + 4 <= n_dims:
        a0, a1, a2, a3 = xt[d], xt[d + 1], xt[d + 2], xt[d + 3]
        c0, c1, c2, c3 = a0[center], a1[center], a2[center], a3[center]
        for r in range(n_points):
            e0, e1, e2, e3 = a0[r] - c0, a1[r] - c1, a2[r] - c2, a3[r] - c3
            out[r] += e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3
        d += 4
    while d < n_dims:
        a0 = xt[d]
        c0 = a0[center]
        for r in range(n_points):
            e0 = a0[r] - c0
            out[r] += e0 * e0
        d += 1
    for r in range(n_points):
        out[r] = _exp(scale * out[r]) * root[r]
    out[center] += epsilon * root[center]


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _exp(v):  # type: ignore[no-untyped-def]  # inlined: numba types it where it stands
    """Return e^v of a number ≤ 0 by Cephes' polynomial, in operations that processors vectorise."""
    n = np.floor(v * _LOG2_E + _HALF)
    g = v - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_E0 * g + _E1) * g + _E2) * g + _E3) * g + _E4) * g + _E5
    power = np.int32((np.int32(n) + _EXPONENT_BIAS) << _MANTISSA_BITS).view(np.float32)
    return (p * g * g + g + _ONE) * power if v > _LEAST_EXPONENT else _ZERO


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _append(q: Singles, size: int, column: Singles, kappa: Floats, u: Floats, parts: Floats) -> bool:
    """Make the column q[size] orthogonal to the rows before; return whether it lies outside their span."""
    length = _dot(column, column)
    n_used = min(size, _FIRST)
    before = length
    for _ in range(4):
        _project(q, n_used, column, kappa, parts)
        _subtract(q, n_used, parts, column)
        for i in range(n_used):
            u[i, size] += parts[i]  # thesis (3.78)
        after = _dot(column, column)
        if not after > _VANISHED * length:
            u[:size, size] = 0.0
            return False
        if n_used == size and after > _REORTHOGONALIZE * _REORTHOGONALIZE * before:
            break
        n_used, before = size, after
    kappa[size], u[size, size] = after, 1.0
    return True


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _project(q: Singles, size: int, column: Singles, kappa: Floats, parts: Floats) -> None:
    """Fill q_iᵀ column / κ_i, four rows of Q at a time."""
    i = 0
    while i + 4 <= size:
        a0, a1, a2, a3 = q[i], q[i + 1], q[i + 2], q[i + 3]
        s0, s1, s2, s3 = _ZERO, _ZERO, _ZERO, _ZERO
        for r in range(column.size):
            v = column[r]
            s0 += a0[r] * v
            s1 += a1[r] * v
            s2 += a2[r] * v
            s3 += a3[r] * v
        parts[i], parts[i + 1], parts[i + 2], parts[i + 3] = s0, s1, s2, s3
        i += 4
    while i < size:
        parts[i] = _dot(q[i], column)
        i += 1
    for i in range(size):
        parts[i] /= kappa[i]


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _subtract(q: Singles, size: int, parts: Floats, column: Singles) -> None:
    """Take Σ parts_i q_i from the column, four rows of Q at a time."""
    i = 0
    while i + 4 <= size:
        a0, a1, a2, a3 = q[i], q[i + 1], q[i + 2], q[i + 3]
        s0, s1, s2, s3 = Single(parts[i]), Single(parts[i + 1]), Single(parts[i + 2]), Single(parts[i + 3])
        for r in range(column.size):
            column[r] -= s0 * a0[r] + s1 * a1[r] + s2 * a2[r] + s3 * a3[r]
        i += 4
    while i < size:
        a0 = q[i]
        s0 = Single(parts[i])
        for r in range(column.size):
            column[r] -= s0 * a0[r]
        i += 1


@njit(nogil=True, cache=True, forceinline=True)
def _has_settled(ridges: Floats, share: float) -> bool:
    """Return whether all λ are above 0 and differ by no more than a share of the largest."""
    least, largest = ridges[0], ridges[0]
    for i in range(1, ridges.size):
        least, largest = min(least, ridges[i]), max(largest, ridges[i])
    return bool(least > 0.0 and largest - least <= share * largest)


@njit(nogil=True, cache=True, forceinline=True)
def _settled_ridge(
    kappa: Floats, products: Floats, size: int, unexplained: float, n_points: int, ridge: float
) -> float:
    """Return λ after some steps of (3.88), like `ridge.settled_ridge`."""
    best, least = ridge, np.inf
    for start in range(2):
        settled = ridge if start == 0 else 0.0
        for _ in range(_LAMBDA_ROUNDS):
            settled = _next_ridge(kappa, products, size, unexplained, n_points, settled)
        if not (ridge > 0.0 and size <= n_points * _JUDGED):
            return settled
        score = _gcv_score(kappa, products, size, unexplained, n_points, settled)
        if score < least:
            best, least = settled, score
    return best


@njit(nogil=True, cache=True, forceinline=True)
def _gcv_score(
    kappa: Floats, products: Floats, size: int, unexplained: float, n_points: int, ridge: float
) -> float:
    """Return the generalised cross-validation score of λ, thesis (3.85), like `ridge.gcv_score`."""
    error, trace = unexplained, float(n_points)
    for i in range(size):
        total = kappa[i] + ridge
        error += products[i] * products[i] / kappa[i] * (ridge / total) ** 2
        trace -= kappa[i] / total
    return n_points * error / trace**2 if trace > n_points * _LEAST_TRACE else np.inf


@njit(nogil=True, cache=True, forceinline=True)
def _next_ridge(
    kappa: Floats, products: Floats, size: int, unexplained: float, n_points: int, ridge: float
) -> float:
    """Return λ re-estimated once, thesis (3.88), like `ridge.next_ridge`."""
    error, trace, slope, curvature, largest = unexplained, float(n_points), 0.0, 0.0, 0.0
    for i in range(size):
        total, squared = kappa[i] + ridge, products[i] * products[i]
        error += squared / kappa[i] * (ridge / total) ** 2
        trace -= kappa[i] / total
        slope += kappa[i] / total**2  # thesis (3.89)
        curvature += squared / total**3
        largest = max(largest, kappa[i])
    if not (trace > n_points * _LEAST_TRACE and curvature > 0.0):
        return ridge
    new = slope * error / (trace * curvature)
    return new if new <= largest else ridge


@njit(nogil=True, cache=True, forceinline=True)
def _back_substitute(u: Floats, kappa: Floats, products: Floats, size: int, ridge: float) -> Floats:
    """Return α = U⁻¹α̃, thesis (3.83–3.84)."""
    alpha = products[:size] / (kappa[:size] + ridge)
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            alpha[i] -= u[i, j] * alpha[j]
    return alpha


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _outputs(
    q: Singles,
    size: int,
    kappa: Floats,
    products: Floats,
    ridge: float,
    targets: Singles,
    residual: Singles,
    root: Singles,
    outputs: Singles,
) -> None:
    """Fill the fitted outputs y − e and the leave-one-out outputs.

    The latter are computed like `leave_one_out.basis_left_out_residuals`.
    """
    slack = outputs[1]
    slack[:] = _ONE
    for i in range(size):
        a, inverse = q[i], Single(1.0 / (kappa[i] + ridge))
        for r in range(slack.size):
            slack[r] -= a[r] * a[r] * inverse
    for r in range(slack.size):
        outputs[0, r] = (targets[r] - residual[r]) / root[r]
        error = residual[r] / slack[r] if slack[r] >= _ALONE else _alone(q, size, kappa, products, ridge, r)
        outputs[1, r] = (targets[r] - error) / root[r]


@njit(nogil=True, cache=True, forceinline=True)
def _alone(q: Singles, size: int, kappa: Floats, products: Floats, ridge: float, r: int) -> Single:
    """Return e/(1 − h) of a point that has a column to itself."""
    above, below = 0.0, 0.0
    for i in range(size):
        share = q[i, r] / (kappa[i] * (kappa[i] + ridge))
        above += share * products[i]
        below += share * q[i, r]
    return Single(above / below)
