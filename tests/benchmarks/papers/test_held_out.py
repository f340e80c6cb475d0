"""The fast models of cross-validation are those of the estimators."""

import numpy as np
import pytest

from acoustic.discriminants import KernelFisherDiscriminant, NPDClassifier, OLSClassifier, OROLSClassifier
from acoustic.kernels.kernel import Kernel
from benchmarks.papers.held_out import fisher_outputs, forward_outputs


def noisy_ring(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the plane, and ±1 by their distance from the middle with a tenth flipped."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.8, 1.8, size=(n, 2))  # no far points, whose residuals are equal
    return x, np.where((np.linalg.norm(x, axis=1) > 1.3) ^ (rng.random(n) < 0.1), 1.0, -1.0)


def columns_of(x: np.ndarray, held_out: np.ndarray, sigma: float) -> np.ndarray:
    """Return the kernel of training points with all points, (M, M + V)."""
    return np.asarray(Kernel("gaussian", sigma).block(x, np.concatenate([x, held_out])))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
def test_forward_outputs_are_those_of_the_estimator(
    estimator: type[NPDClassifier], seed: int, epsilon: float
) -> None:
    (x, y), (held_out, _) = noisy_ring(seed, 70), noisy_ring(seed + 100, 30)
    sizes = np.array([1, 3, 8, 20, 35])
    model = estimator(0.7, 35, epsilon=epsilon, block_size=1).fit(x, y)
    outputs, selected = forward_outputs(
        columns_of(x, held_out, 0.7), y, sizes, "npd" if estimator is NPDClassifier else "orols", epsilon
    )
    np.testing.assert_array_equal(selected, model.center_indices_)
    expected = model._machine_outputs(held_out, list(sizes))[:, :, 0]
    np.testing.assert_allclose(outputs, expected, rtol=1e-6, atol=1e-6)
    labels = np.where(outputs > 0, 1.0, -1.0)
    np.testing.assert_array_equal(labels, model.path_predict(held_out, list(sizes)))


@pytest.mark.parametrize("seed", range(4))
def test_ols_outputs_are_those_of_the_estimator(seed: int) -> None:
    (x, y), (held_out, _) = noisy_ring(seed, 70), noisy_ring(seed + 100, 30)
    outputs, selected = forward_outputs(columns_of(x, held_out, 0.7), y, np.array([2, 9, 20]), "ols")
    for size, found in zip((2, 9, 20), outputs, strict=True):
        model = OLSClassifier(0.7, size, stopping="size").fit(x, y)
        np.testing.assert_array_equal(selected[:size], model.center_indices_)
        np.testing.assert_allclose(found, model.decision_function(held_out), rtol=1e-7, atol=1e-7)


def test_fisher_outputs_are_those_of_the_estimator() -> None:
    (x, y), (held_out, _) = noisy_ring(1, 60), noisy_ring(2, 25)
    epsilons = np.array([1e-5, 1e-2, 1.0])
    for epsilon, found in zip(
        epsilons, fisher_outputs(columns_of(x, held_out, 0.9), y, epsilons), strict=True
    ):
        model = KernelFisherDiscriminant(0.9, epsilon=epsilon).fit(x, y)
        np.testing.assert_allclose(found, model.decision_function(held_out), rtol=1e-7, atol=1e-8)


def test_equal_points_are_skipped_as_by_the_estimator() -> None:
    x = np.repeat(np.arange(6.0)[:, None], 4, axis=0)  # six places, four points each
    y = np.where(np.arange(24) % 5 < 2, 1.0, -1.0)
    held_out = np.linspace(-1, 6, 9)[:, None]
    for rule, estimator in (("npd", NPDClassifier), ("orols", OROLSClassifier)):
        model = estimator(1.0, 20, epsilon=0.0, block_size=1).fit(x, y)
        outputs, selected = forward_outputs(columns_of(x, held_out, 1.0), y, np.array([2, 20]), rule, 0.0)
        np.testing.assert_array_equal(selected, model.center_indices_)
        assert len(selected) == 6 or len(selected) == 5  # the column of ones may take the place of one
        expected = model._machine_outputs(held_out, [2, 20])[:, :, 0]
        np.testing.assert_allclose(outputs, expected, rtol=1e-6, atol=1e-6)
