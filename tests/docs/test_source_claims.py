"""Claims of the sources that random data can decide; docs/claims.md points here."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LassoLars
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from acoustic.discriminants import (
    KernelFisherDiscriminant,
    KRLSRegressor,
    LinearDiscriminant,
    LMSClassifier,
    NPDRegressor,
)
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import next_ridge


def wave(n=200, seed=0):
    """Return points of the plane and noisy values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2 * x.sum(axis=1)) + 0.1 * rng.normal(size=n)


def cosine(a, b):
    return float(np.ravel(a) @ np.ravel(b) / np.linalg.norm(a) / np.linalg.norm(b))


def test_plain_least_squares_is_no_maximum_a_posteriori_under_a_gaussian_prior():
    """Thesis 3.2 names both as one; with noise s² and prior t² the maximum is ridge regression, λ = s²/t²."""
    x, y = wave()
    noise, prior = 0.04, 0.5

    def slope(w):
        """Return the gradient of the log posterior at weights w."""
        return x.T @ (y - x @ w) / noise - w / prior

    ridge = np.linalg.solve(x.T @ x + noise / prior * np.eye(2), x.T @ y)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    assert_allclose(slope(ridge), 0.0, rtol=0, atol=1e-9)
    assert_allclose(slope(plain), -plain / prior, rtol=0, atol=1e-9)
    assert np.abs(slope(plain)).max() > 1e-2


def test_the_kernel_discriminant_is_the_linear_one_in_the_space_of_monomials():
    """The kernel trick, thesis (3.33) to (3.42), with a kernel whose features can be written down."""
    x, values = wave(120)
    y = (values > 0).astype(int)
    first, second = x.T
    root = np.sqrt(2.0)
    monomials = np.column_stack([root * first, root * second, first**2, root * first * second, second**2])
    assert_allclose(monomials @ monomials.T + 1.0, polynomial_kernel(x, degree=2, gamma=1.0, coef0=1.0))
    kernel = KernelFisherDiscriminant(
        1.0, epsilon=1e-9, kernel="polynomial", kernel_params={"degree": 2, "theta": 1.0}
    ).fit(x, y)
    linear = LinearDiscriminant().fit(monomials, y)
    assert_allclose(cosine(monomials.T @ kernel.dual_coef_[0], linear.coef_[0]), 1.0, rtol=0, atol=1e-4)


def test_least_squares_support_vector_machines_are_ridge_regression_with_another_penalty():
    """Thesis 3.3.1: close relatives, not the same: αᵀKα in place of (3.43)'s ‖α‖²."""
    x, values = wave(80)
    y, gram, ridge = np.sign(values), rbf_kernel(x, gamma=0.5), 0.1
    ones = np.ones((80, 1))
    system = np.block([[np.zeros((1, 1)), ones.T], [ones, gram + ridge * np.eye(80)]])
    found = np.linalg.solve(system, np.append(0.0, y))
    bias, alpha = found[0], found[1:]
    # The bias is not penalised, the rest is kernel ridge regression on what the bias leaves.
    expected = KernelRidge(alpha=ridge, kernel="precomputed").fit(gram, y - bias)
    assert_allclose(gram @ alpha, expected.predict(gram), rtol=0, atol=1e-9)
    columns = np.hstack([ones, gram])
    penalty = ridge * np.diag(np.r_[0.0, np.ones(80)])
    of_3_43 = columns @ np.linalg.solve(columns.T @ columns + penalty, columns.T @ y)
    assert 0.8 < cosine(of_3_43, gram @ alpha + bias) < 0.9999


def test_an_l1_penalty_is_sparse_and_unique_unless_columns_are_equal():
    """Thesis 3.4: a convex problem with a unique and sparse solution."""
    x, y = wave(80)
    gram = rbf_kernel(x, gamma=2.0)
    descent = Lasso(0.01, tol=1e-12, max_iter=200_000).fit(gram, y).coef_
    path = LassoLars(0.01).fit(gram, y).coef_  # another algorithm, the same weights
    assert_allclose(descent, path, rtol=0, atol=1e-5)
    assert 3 < np.count_nonzero(descent) < 40
    # With a point that occurs twice its weight may lie on either copy: other weights of the same penalty.
    heaviest = int(np.abs(descent).argmax())
    twice = np.column_stack([gram, gram[:, heaviest]])
    first, second = np.append(descent, 0.0), np.append(descent, descent[heaviest])
    second[heaviest] = 0.0
    assert_allclose(twice @ first, twice @ second, rtol=0, atol=1e-12)
    assert np.abs(first).sum() == pytest.approx(np.abs(second).sum(), rel=1e-12)
    assert np.abs(first - second).max() > 0.1


def test_the_regularised_pseudoinverse_gives_no_projection():
    """Why (3.70) cannot be updated like (3.62)."""
    x, _ = wave(60)
    columns = np.column_stack([np.ones(60), rbf_kernel(x, x[:9], gamma=0.5)])
    for ridge, is_projection in ((0.0, True), (0.1, False)):
        inverse = np.linalg.solve(columns.T @ columns + ridge * np.eye(10), columns.T)
        p = np.eye(60) - columns @ inverse
        assert bool(np.abs(p @ p - p).max() < 1e-8) is is_projection


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2, 1e-1])
def test_epsilon_smooths_like_ridge_regression(epsilon):
    """With all points as centres, but for the bias, (K + εI)α = y is kernel ridge regression with λ = ε."""
    x, y = wave()
    new = wave(500, seed=1)[0]
    found = NPDRegressor(0.7, len(x), epsilon=epsilon, stopping="size", block_size=1).fit(x, y).predict(new)
    ridge = KernelRidge(alpha=epsilon, kernel="rbf", gamma=0.5 / 0.7**2).fit(x, y).predict(new)
    unregularised = KernelRidge(alpha=1e-6, kernel="rbf", gamma=0.5 / 0.7**2).fit(x, y).predict(new)
    assert np.std(found - ridge) < 0.5 * np.std(unregularised - ridge)


def test_the_condition_number_of_q_grows_with_its_columns():
    x, y = wave()
    path = forward_selection(x, y[:, None], ForwardConfig(Kernel("gaussian", 0.7), (0.7,), 80))
    conditions = [np.sqrt(path.kappa[:m].max() / path.kappa[:m].min()) for m in range(2, 82)]
    assert (np.diff(conditions) >= 0).all()
    assert conditions[-1] > 30 * conditions[0]


def test_orthogonal_columns_are_those_of_gram_schmidt():
    """OROLS calls its update novel; Q and U are those of every QR decomposition."""
    x, y = wave()
    kernel = Kernel("gaussian", 0.7)
    path = forward_selection(x, y[:, None], ForwardConfig(kernel, (0.7,), 20, epsilon=0.0))
    columns = np.column_stack([np.ones(200), kernel.block(x, x[path.indices])])
    r = np.linalg.qr(columns, mode="r")
    assert_allclose(path.u, r / np.diag(r)[:, None], rtol=0, atol=1e-6)
    assert_allclose(path.kappa, np.diag(r) ** 2, rtol=1e-6, atol=0)


def literal_basis(columns):
    """Return q_m = k_m − Q(QᵀQ)⁻¹Qᵀk_m of columns (M, m) by OROLS (10) and (20), of length 1."""
    q = columns[:, :1]
    for column in columns.T[1:]:
        q = np.column_stack([q, column - q @ ((q.T @ column) / np.sum(q**2, axis=0))])
    return q / np.linalg.norm(q, axis=0)


def test_full_rank_does_not_save_the_update_from_reorthogonalisation():
    """OROLS 4.2 says that it need not be reorthogonalised as long as the Gram matrix has full rank."""
    x, _ = wave(100)
    kernel, epsilon = Kernel("gaussian", 3.0), 1e-8
    gram = kernel.block(x, x) + epsilon * np.eye(100)
    assert np.linalg.eigvalsh(gram).min() > 0.5 * epsilon  # full rank
    columns = np.column_stack([np.ones(100), gram[:, :60]])
    literal = literal_basis(columns)
    assert np.abs(literal.T @ literal - np.eye(61)).max() > 0.1
    narrow = literal_basis(np.column_stack([np.ones(100), rbf_kernel(x, x[:60], gamma=50.0)]))
    assert np.abs(narrow.T @ narrow - np.eye(61)).max() < 1e-12  # and where K is nearly I it is true


def test_the_ridge_update_needs_no_column_of_length_m():
    """O(m): (3.88) is computed from κ and qᵀy alone, whatever the number of points."""
    rng = np.random.default_rng(0)
    kappa, products = rng.uniform(1, 5, 30), rng.normal(size=(30, 1))
    tracemalloc.start()
    assert next_ridge(kappa, products, 40.0, 10**9, 0.1) > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000


def test_recursive_least_squares_keeps_no_more_for_more_samples():
    """O(m²) in place of O(Mm), thesis 3.4.3: ten times the samples, the same dictionary, the same memory."""
    rng = np.random.default_rng(0)
    model = KRLSRegressor(1.0, nu=1e-2).partial_fit(x := rng.uniform(size=(500, 2)), x.sum(axis=1))
    sizes, peaks = [], []
    for _ in range(2):
        tracemalloc.start()
        for _ in range(10):
            x = rng.uniform(size=(500, 2))
            model.partial_fit(x, x.sum(axis=1))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(len(model.centers_))
    assert sizes[1] - sizes[0] <= 1
    assert peaks[1] < 1.2 * peaks[0]


def test_a_larger_threshold_gives_a_sparser_dictionary():
    x, y = wave(400)
    sizes = [len(KRLSRegressor(1.0, nu=nu).fit(x, y).centers_) for nu in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 4 * sizes[-1]


def test_widrow_hoff_need_not_separate_what_is_separable():
    """MSE lecture: LMS 'need not converge to a separating hyperplane even if there exist one'."""
    x = np.r_[np.linspace(-1.0, -0.05, 20), np.linspace(0.05, 0.2, 20), 3.0, 3.0, 3.0][:, None]
    y = (x[:, 0] > 0).astype(int)
    assert SVC(kernel="linear", C=1e6).fit(x, y).score(x, y) == 1.0
    assert LMSClassifier(max_iter=5000, tol=1e-3, random_state=0).fit(x, y).score(x, y) < 1.0
