"""Selection of columns against the least squares on them, and both rules against trying every column."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.discriminants.ols import (
    LargestReduction,
    LargestResidual,
    OlsProblem,
    fisher_targets,
    select_columns,
)
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.selection import OrthogonalBasis


def problem(n=60, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    targets = np.column_stack([np.sin(2 * x[:, 0]), x[:, 1] ** 2])[:, :n_targets]
    root = rng.uniform(0.5, 1.5, n)
    return OlsProblem(x, targets + 0.1 * rng.normal(size=targets.shape), root, Kernel(), 0.2, 12, 0.0)


def columns(given):
    """Return the weighted columns (M, M) of K + εI."""
    k = np.exp(-0.5 * ((given.x[:, None] - given.x) ** 2).sum(axis=2)) + given.epsilon * np.eye(len(given.x))
    return k * given.root[:, None]


def unexplained(given, selected):
    """Return the residual (M, R) of the weighted least squares on the bias and these columns."""
    design = np.column_stack([given.root, columns(given)[:, selected]])
    wanted = given.weighted_targets()
    return wanted - design @ np.linalg.lstsq(design, wanted, rcond=None)[0]


def test_rows_are_weighted_columns():
    given = problem()
    assert_allclose(given.rows(np.array([3, 8])).T, columns(given)[:, [3, 8]], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("algorithm", ["chen", "nair"])
def test_weights_are_least_squares_and_the_basis_holds_the_columns(algorithm):
    given = problem()
    found = select_columns(given, algorithm)
    design = np.column_stack([given.root, columns(given)[:, found.indices]])
    expected = np.linalg.lstsq(design, given.weighted_targets(), rcond=None)[0]
    assert_allclose(np.vstack([found.bias, found.alpha]), expected, rtol=1e-6, atol=1e-8)
    assert_allclose(found.basis.q @ found.basis.u, design, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", ["chen", "nair"])
def test_every_choice_is_the_best_of_all(algorithm):
    given = problem()
    found = select_columns(given, algorithm).indices
    for n in range(len(found)):
        free = np.setdiff1d(np.arange(60), found[:n])
        if algorithm == "chen":
            scores = [-np.sum(unexplained(given, [*found[:n], c]) ** 2) for c in free]
        else:
            scores = np.linalg.norm(unexplained(given, found[:n]), axis=1)[free] / given.root[free]
        assert free[np.argmax(scores)] == found[n]


@pytest.mark.parametrize("algorithm", ["chen", "nair"])
def test_ends_at_the_share_of_energy_about_the_mean(algorithm):
    given = replace(problem(), tol=0.3)
    found = select_columns(given, algorithm).indices
    shares = [np.sum(unexplained(given, found[:n]) ** 2) for n in range(len(found) + 1)]
    assert shares[-1] <= 0.3 * shares[0] < shares[-2]


@pytest.mark.parametrize("rule", [LargestReduction, LargestResidual])
def test_a_rule_proposes_no_point_twice_and_in_the_end_none(rule):
    given = problem(6)
    chooser, basis = rule(given), OrthogonalBasis(6, 6, np.dtype(np.float64))
    basis.append(given.root[:, None])
    proposed = []
    while len(points := chooser.choose(basis, given.weighted_targets())):
        proposed += points.tolist()
        basis.append(given.rows(points).T)
    assert len(proposed) == len(set(proposed)) >= 5
    assert set(proposed) <= set(range(6))
    assert_allclose(
        unexplained(given, proposed), 0.0, rtol=0, atol=1e-6
    )  # with the bias, five span everything


def test_fisher_targets_balance_the_classes():
    weight = np.array([2.0, 1.0, 1.0])
    assert_allclose(
        fisher_targets(np.array([[1.0], [-1.0], [-1.0]]), weight)[:, 0], [2.0, -2.0, -2.0], rtol=1e-15, atol=0
    )
