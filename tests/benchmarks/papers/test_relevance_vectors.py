"""The relevance vector machine against scikit-learn's ARD regression, and its evidence by definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.linear_model import ARDRegression

from acoustic.kernels.kernel import Kernel
from benchmarks.papers import relevance_vectors
from benchmarks.papers.datasets import sinc
from benchmarks.papers.relevance_vectors import RelevanceVectorRegressor, sparse_bayes

SIGMA = 3.0


def columns(x: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), Kernel("gaussian", SIGMA).block(x, centers)])


@pytest.mark.parametrize("seed", [0, 2])
def test_predicts_as_ard_regression_of_scikit_learn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both prune weights at the same precision and run until nothing changes."""
    monkeypatch.setattr(relevance_vectors, "_PRUNED", 1e9)
    split = sinc(50, 200, 0.1, np.random.default_rng(seed))
    ours = RelevanceVectorRegressor(SIGMA, max_steps=2500, tol=1e-5).fit(split.x, split.y)
    theirs = ARDRegression(
        fit_intercept=False, max_iter=2500, tol=1e-9, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0,
        threshold_lambda=1e9 / split.y.var(),
    ).fit(columns(split.x, split.x), split.y)  # fmt: skip
    expected = theirs.predict(columns(split.x_test, split.x))
    assert_allclose(ours.predict(split.x_test), expected, rtol=0, atol=2e-3)
    assert ours.noise_ == pytest.approx(1 / theirs.alpha_, rel=0.02)
    assert 3 <= len(ours.center_indices_) <= 12


def test_the_evidence_is_stationary_where_the_iteration_ends() -> None:
    """No small change of a precision or of the noise raises p(y) = N(y; 0, s²I + ΦA⁻¹Φᵀ)."""
    split = sinc(40, 1, 0.1, np.random.default_rng(1))
    design = columns(split.x, split.x)
    kept, mean, noise, _ = sparse_bayes(design, split.y, 5000, 1e-7)
    phi = design[:, kept]
    precision = np.full(len(kept), 1.0)
    for _ in range(3000):  # the fixed point of Tipping (16) on the columns that are left
        covariance = np.linalg.inv(phi.T @ phi / noise + np.diag(precision))
        weights = covariance @ phi.T @ split.y / noise
        precision = (1 - precision * np.diag(covariance)) / weights**2
    assert_allclose(mean, weights, rtol=1e-3, atol=1e-6)

    def log_evidence(log_precision: np.ndarray, log_noise: float) -> float:
        spread = np.exp(log_noise) * np.eye(40) + phi / np.exp(log_precision) @ phi.T
        return float(multivariate_normal(np.zeros(40), spread).logpdf(split.y))

    best = log_evidence(np.log(precision), np.log(noise))
    for i in range(len(kept)):
        for step in (-0.05, 0.05):
            moved = np.log(precision)
            moved[i] += step
            assert log_evidence(moved, np.log(noise)) < best + 1e-6
    for step in (-0.05, 0.05):
        assert log_evidence(np.log(precision), np.log(noise) + step) < best


def test_few_centres_and_the_noise_are_found() -> None:
    split = sinc(120, 1000, 0.1, np.random.default_rng(2))
    model = RelevanceVectorRegressor(SIGMA).fit(split.x, split.y)
    assert np.sqrt(np.mean((model.predict(split.x_test) - split.y_test) ** 2)) < 0.05
    assert model.noise_ == pytest.approx(0.01, rel=0.25)
    assert len(model.center_indices_) < 15
    assert_allclose(model.centers_, split.x[model.center_indices_], rtol=0, atol=0)
