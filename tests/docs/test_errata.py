"""The errata of docs/papers.md on random data: what is printed fails, what we put in its place holds.

The page names for each erratum the test that shows it: one of these, or one beside the code it concerns.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import rbf_kernel

from acoustic.discriminants.krls import KRLSRegressor
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel


def two_classes(seed=0, n_plus=40, n_minus=25, n_features=3):
    """Return the points of X₊ and of X₋, (M±, D)."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_features, n_features))
    return rng.normal(size=(n_plus, n_features)) @ mixing + 1.0, rng.normal(size=(n_minus, n_features))


def scatters(plus, minus):
    """Return m₊, m₋ and S_W of thesis (3.1), (3.7)."""
    means = plus.mean(axis=0), minus.mean(axis=0)
    within = sum((x - m).T @ (x - m) for x, m in zip((plus, minus), means, strict=True))
    return *means, within


def printed_targets(plus, minus):
    """Return X̃ and the targets of (3.23), −1 for X₊ and 1 for X₋."""
    x = np.vstack([plus, minus])
    return np.column_stack([x, np.ones(len(x))]), np.repeat([-1.0, 1.0], [len(plus), len(minus)])


def relative(found, expected):
    """Return how far one array is from another, in lengths of the latter."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def orthogonal_columns(seed=0, n_points=60, n_centers=12):
    """Return targets y, Q, U and κ of [1 k_1 … k_m] by QR, columns of Q not normalised."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_points, 2))
    columns = np.column_stack([np.ones(n_points), rbf_kernel(x, x[:n_centers], gamma=1.0)])
    q, r = np.linalg.qr(columns)
    return rng.normal(size=n_points) + 1.0, q * np.diag(r), r / np.diag(r)[:, None], np.diag(r) ** 2


def test_pseudoinverse_of_3_22_is_that_of_the_extended_matrix():
    plus, minus = two_classes()
    extended, y = printed_targets(plus, minus)
    weights = np.linalg.pinv(extended) @ y
    assert_allclose(extended.T @ (extended @ weights - y), 0.0, rtol=0, atol=1e-10)  # (3.21)
    assert_allclose(np.linalg.inv(extended.T @ extended) @ extended.T @ y, weights, rtol=1e-9, atol=1e-11)
    printed = np.linalg.pinv(np.vstack([plus, minus])) @ y  # X†y, without the column of ones
    assert len(printed) == len(weights) - 1
    assert relative(printed, weights[:-1]) > 0.1


def test_targets_of_3_23_turn_the_direction_of_3_11_round():
    plus, minus = two_classes()
    extended, y = printed_targets(plus, minus)
    mean_plus, mean_minus, within = scatters(plus, minus)
    fisher = np.linalg.solve(within, mean_plus - mean_minus)  # (3.11)
    least_squares = np.linalg.lstsq(extended, y, rcond=None)[0][:-1]
    cosine = fisher @ least_squares / np.linalg.norm(fisher) / np.linalg.norm(least_squares)
    assert_allclose(cosine, -1.0, rtol=1e-12, atol=0)


def test_block_of_3_25_is_the_sum_of_all_squares():
    plus, minus = two_classes()
    extended, y = printed_targets(plus, minus)
    mean_plus, mean_minus, within = scatters(plus, minus)
    whole = extended.T @ extended
    n_plus, n_minus = len(plus), len(minus)
    ours = within + n_plus * np.outer(mean_plus, mean_plus) + n_minus * np.outer(mean_minus, mean_minus)
    assert_allclose(whole[:-1, :-1], ours, rtol=1e-12, atol=1e-10)
    assert relative(within + np.outer(mean_plus, mean_minus), whole[:-1, :-1]) > 0.1  # as printed
    assert_allclose(whole[:-1, -1], n_plus * mean_plus + n_minus * mean_minus, rtol=1e-12, atol=1e-10)
    assert_allclose((extended.T @ y)[:-1], n_minus * mean_minus - n_plus * mean_plus, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize(("n_plus", "n_minus"), [(40, 25), (30, 30)])
def test_equation_3_27_is_that_of_the_least_squares_weights(n_plus, n_minus):
    plus, minus = two_classes(1, n_plus, n_minus)
    extended, y = printed_targets(plus, minus)
    mean_plus, mean_minus, within = scatters(plus, minus)
    w = np.linalg.lstsq(extended, y, rcond=None)[0][:-1]
    difference, n = mean_minus - mean_plus, n_plus + n_minus
    between = n_plus * n_minus / n * difference * (difference @ w)
    assert_allclose(within @ w, -between + 2 * n_plus * n_minus / n * difference, rtol=1e-9, atol=1e-9)
    printed = -(between + (n_plus**2 + n_minus**2) / n * difference)
    assert relative(printed, within @ w) > 1.0
    assert_allclose(  # (3.28) stands: w has the direction of S_W⁻¹(m₋ − m₊)
        np.cross(w, np.linalg.solve(within, difference)), 0.0, rtol=0, atol=1e-12
    )


def test_rows_of_3_39_are_those_of_all_points():
    plus, minus = two_classes()
    x, groups = np.vstack([plus, minus]), (plus, minus)

    def within(of_rows):
        """Return (3.38) with K₊, K₋ of these rows."""
        found = 0.0
        for group in groups:
            n = len(group)
            k = rbf_kernel(of_rows(group), group, gamma=0.2)
            found = found + k @ (np.eye(n) - np.full((n, n), 1 / n)) @ k.T
        return found

    alpha = np.random.default_rng(0).normal(size=len(x))
    outputs = [rbf_kernel(group, x, gamma=0.2) @ alpha for group in groups]  # (3.42)
    spread = sum(np.sum((f - f.mean()) ** 2) for f in outputs)  # αᵀS_Wα is the scatter of the outputs
    found = within(lambda _: x)
    assert_allclose(alpha @ found @ alpha, spread, rtol=1e-10, atol=0)
    # x_i and x_j both of one class, as printed, give M₊ × M₊ and M₋ × M₋: they cannot be added.
    with pytest.raises(ValueError, match="could not be broadcast"):
        within(lambda group: group)
    assert np.linalg.matrix_rank(found) <= len(x) - 2  # thesis 3.3.1


def test_the_last_column_lies_in_the_span_of_the_others():
    x = np.random.default_rng(0).normal(size=(30, 2))
    columns = np.column_stack([np.ones(30), rbf_kernel(x, gamma=2.0) + 1e-3 * np.eye(30)])
    assert np.linalg.eigvalsh(columns[:, 1:]).min() > 1e-4  # strictly positive definite
    q, *_ = np.linalg.lstsq(columns[:, :-1], columns[:, -1], rcond=None)
    assert_allclose(columns[:, :-1] @ q, columns[:, -1], rtol=0, atol=1e-8)
    y = np.random.default_rng(1).normal(size=(30, 1))
    path = forward_selection(x, y, ForwardConfig(Kernel("gaussian", 0.5), (0.5,), 30, epsilon=1e-3))
    assert len(path.indices) == 29


def test_orols_penalises_the_weights_of_q():
    y, q, u, kappa = orthogonal_columns()
    ridge, columns = 0.3, q @ u
    tilde = q.T @ y / (kappa + ridge)  # (3.83)
    alpha = solve_triangular(u, tilde)  # (3.84)
    assert_allclose(
        np.sum((y - q @ tilde) ** 2) + ridge * tilde @ tilde,  # (3.80)
        np.sum((y - columns @ alpha) ** 2) + ridge * np.sum((u @ alpha) ** 2),
        rtol=1e-10,
        atol=0,
    )
    gram = columns.T @ columns
    assert_allclose(alpha, np.linalg.solve(gram + ridge * u.T @ u, columns.T @ y), rtol=1e-6, atol=1e-8)
    of_3_67 = columns @ np.linalg.solve(gram + ridge * np.eye(len(gram)), columns.T @ y)  # (3.70)
    assert relative(of_3_67, q @ tilde) > 0.05
    # The bias is shrunk, too: without other columns the output is the mean times M/(M + λ).
    assert_allclose(q[:, 0] * tilde[0], y.mean() * 60 / (60 + ridge), rtol=1e-10, atol=0)


def test_recursion_3_82_holds_for_a_fixed_ridge_only():
    y, q, _, kappa = orthogonal_columns()
    products = q.T @ y

    def last(ridges):
        """Return the residual by (3.82) with these λ, and the residual (3.79) with the last of them."""
        residual = y
        for k, ridge in enumerate(ridges):
            residual = residual - q[:, k] * products[k] / (ridge + kappa[k])
        return residual, y - q @ (products / (ridges[-1] + kappa))

    fixed, expected = last(np.full(len(kappa), 0.3))
    assert_allclose(fixed, expected, rtol=0, atol=1e-12)
    moving, expected = last(np.linspace(2.0, 0.1, len(kappa)))
    assert relative(moving, expected) > 0.05
    kept = y - q @ (products / kappa)  # what the code does: (3.64) and the share that λ holds back
    held = products * 0.1 / (kappa * (kappa + 0.1))
    assert_allclose(kept + q @ held, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 5.0])
def test_identity_3_87_and_derivative_3_89(ridge):
    y, q, _, kappa = orthogonal_columns()

    def projected(value):
        return np.eye(len(y)) - (q / (kappa + value)) @ q.T  # (3.81)

    step = 1e-5 * ridge
    slope = (projected(ridge + step) - projected(ridge - step)) / (2 * step)
    tilde = q.T @ y / (kappa + ridge)
    expected = ridge * tilde @ (tilde / (kappa + ridge))  # (3.87)
    assert_allclose(y @ projected(ridge) @ slope @ y, expected, rtol=1e-6, atol=0)
    assert_allclose(np.trace(slope), np.sum(kappa / (ridge + kappa) ** 2), rtol=1e-6, atol=0)


def test_far_samples_are_independent_of_any_dictionary_even_at_nu_1():
    x = 1e3 * np.arange(6.0)[:, None]
    for m in range(1, 6):
        gram = rbf_kernel(x[: m + 1]) + 1.0
        k = gram[:m, m]
        delta = gram[m, m] - k @ np.linalg.solve(gram[:m, :m], k)  # (3.95)
        assert_allclose(delta, 1 + 1 / (m + 1), rtol=1e-12, atol=0)
    model = KRLSRegressor(nu=1.0).fit(x, np.arange(6.0))
    assert model.center_indices_.tolist() == list(range(6))


def test_transpose_of_the_lectures_example_is_not_its_solution():
    rows = np.array([[1, 1, 2], [1, 2, 0], [-1, -3, -1], [-1, -2, -3]], dtype=float)
    assert_allclose(rows.T @ np.ones(4), [0, -2, -2], rtol=0, atol=0)  # Yᵗb, as printed
    assert_allclose(np.linalg.pinv(rows) @ np.ones(4), [11 / 3, -4 / 3, -2 / 3], rtol=1e-12, atol=0)
