"""Sparse columns against dense ones: the decomposition, forward selection, and the estimators."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants import NPDClassifier, OROLSRegressor
from acoustic.kernels import forward
from acoustic.kernels.forward import ForwardConfig, forward_selection, has_sparse_columns
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.selection import OrthogonalBasis

NPD = ForwardConfig(Kernel("compact", 0.03), (0.03,), 150)


def waves(n_points=2500, n_targets=1, seed=0):
    """Return points of the unit square and noisy values."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n_points, 2))
    y = np.sin(9 * x).prod(axis=1) + 0.1 * rng.normal(size=n_points)
    return x, np.column_stack([y, y**2, np.cos(y)])[:, :n_targets]


def columns_of(n_points=300, n_centers=40, sigma=0.1):
    x, _ = waves(n_points)
    return Kernel("compact", sigma).block(x, x[:n_centers])


@pytest.mark.parametrize("size", [1, 7, 40])
def test_is_the_dense_decomposition(size):
    columns = np.column_stack([np.ones(300), columns_of()])
    sparse, dense = (OrthogonalBasis(300, 41, columns.dtype, is_sparse=s) for s in (True, False))
    for start in range(0, 41, size):
        block = columns[:, start : start + size]
        assert sparse.append(block).all()
        assert dense.append(block).all()
        assert_allclose(sparse.columns.newest(start), dense.columns.newest(start), rtol=0, atol=1e-12)
    assert_allclose(sparse.u, dense.u, rtol=0, atol=1e-12)
    assert_allclose(sparse.kappa, dense.kappa, rtol=1e-12, atol=0)
    assert_allclose(sparse.q, dense.q, rtol=0, atol=1e-12)
    assert_allclose(sparse.columns.k.toarray(), columns, rtol=0, atol=0)
    weights = np.random.default_rng(0).normal(size=(20, 2))
    assert_allclose(sparse.columns.combine(weights, 3), dense.columns.combine(weights, 3), rtol=0, atol=1e-11)
    for rows, q in sparse.columns.parts(11):
        assert_allclose(q, dense.q[rows, :11], rtol=0, atol=1e-12)


def test_columns_in_the_span_are_left_out():
    columns = columns_of()
    twice = np.hstack([columns[:, :5], columns[:, :5] @ np.arange(1.0, 26.0).reshape(5, 5), columns[:, 5:8]])
    basis = OrthogonalBasis(300, 20, columns.dtype, is_sparse=True)
    assert_array_equal(basis.append(twice), [True] * 5 + [False] * 5 + [True] * 3)
    assert_allclose(basis.q.T @ basis.q, np.diag(basis.kappa), rtol=0, atol=1e-10)


def test_nearly_dependent_columns_are_orthogonal():
    columns = columns_of(sigma=1.0)  # all within reach of all, condition 1e6
    basis = OrthogonalBasis(300, 40, columns.dtype, is_sparse=True)
    basis.append(columns)
    q = basis.q / np.sqrt(basis.kappa)
    assert_allclose(q.T @ q, np.eye(basis.size), rtol=0, atol=1e-9)


CONFIGS = {
    "npd": NPD,
    "orols": replace(NPD, regularize=True),
    "gcv": replace(NPD, regularize=True, stopping="gcv", patience=5),
    "blocks": replace(NPD, block_size=16),
    "random": replace(NPD, selection="random", block_size=7),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CONFIGS)
def test_selection_and_models_are_those_of_dense_columns(monkeypatch, name, dtype):
    x, y = waves(n_targets=2)
    x, config = x.astype(dtype), CONFIGS[name]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x))
    paths = []
    for is_sparse in (True, False):
        monkeypatch.setattr(forward, "has_sparse_columns", lambda *_, found=is_sparse: found)
        paths.append(forward_selection(x, y, config, sample_weight=weight))
    found, expected = paths
    if dtype == np.float64:  # in single precision points of nearly equal residual change places
        assert_array_equal(found.indices, expected.indices)
        assert found.size == expected.size
        for field in ("u", "kappa", "products", "ridges", "fitted", "leave_one_out"):
            assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9, atol=1e-9)
    errors = [np.sqrt(np.mean((path.fitted - y) ** 2)) for path in (found, expected)]
    assert_allclose(errors[0], errors[1], rtol=1e-10 if dtype == np.float64 else 1e-2, atol=0)


@pytest.mark.parametrize(
    ("change", "is_sparse"),
    [
        ({}, True),
        ({"selection": "error_reduction"}, False),
        ({"stopping": "loo"}, False),
        ({"sigmas": (0.02, 0.03)}, False),
        ({"sigmas": (0.3,)}, False),
        ({"kernel": Kernel("gaussian", 0.03)}, False),
    ],
)
def test_the_dense_basis_stays_where_it_is_better(change, is_sparse):
    assert has_sparse_columns(waves(8000)[0], replace(NPD, **change)) is is_sparse


def test_estimators_predict_the_same(monkeypatch):
    x, y = waves()
    labels = (y[:, 0] > 0) + 2 * (x[:, 0] > 0.5)
    options = {"sigma": 0.03, "max_centers": 100, "kernel": "compact", "stopping": "size", "block_size": 1}
    found = []
    for is_sparse in (True, False):
        monkeypatch.setattr(forward, "has_sparse_columns", lambda *_, found=is_sparse: found)
        models = OROLSRegressor(**options).fit(x, y[:, 0]), NPDClassifier(**options).fit(x, labels)
        found.append([model.predict(x[:500]) for model in models])
        monkeypatch.setattr(Kernel, "rows", Kernel.block)
    # In dense blocks the distance of a centre from itself is 1e-8, the root of a rounding error.
    assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-6)
    # Labels make ties in the residual, which rounding breaks: other centres, equally good.
    assert np.mean(found[0][1] != found[1][1]) < 0.1
