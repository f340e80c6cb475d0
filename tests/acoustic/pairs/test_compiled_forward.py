"""The compiled selection's basis in single precision on columns that lie nearly along each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.pairs.compiled_forward import fit_pair


def frames(kind, n_frames=1500, n_dims=20, seed=0):
    """Return frames (M, D) and labels: ``slow`` ones change little, ``doubled`` ones come nearly twice."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_frames) < n_frames // 2, 1.0, -1.0)
    x = rng.normal(size=(n_frames, n_dims))
    if kind == "slow":
        x = 0.05 * np.cumsum(x, axis=0)
    if kind == "doubled":
        x[::2] = x[1::2] + 1e-3 * rng.normal(size=x[::2].shape)
    return (x + 0.3 * y[:, None]).astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("regularize", [False, True])
@pytest.mark.parametrize("sigma", [4.0, 15.0, 80.0, 1000.0])
@pytest.mark.parametrize("kind", ["independent", "slow", "doubled"])
def test_the_basis_is_orthogonal(kind, sigma, regularize):
    x, y = frames(kind)
    n_frames, n_centers = len(x), 400
    q = np.empty((n_centers + 1, n_frames), dtype=np.float32)
    weights, outputs = np.zeros(n_centers), np.empty((2, n_frames), dtype=np.float32)
    indices = np.empty(n_centers, dtype=np.int32)
    u, steps = np.zeros((n_centers + 1, n_centers + 1)), np.zeros((3, n_centers + 1))
    found, bias = fit_pair(
        np.ascontiguousarray(x.T),
        np.ones(n_frames, dtype=np.float32),
        y,
        np.ones(n_frames, dtype=bool),
        np.float32(-0.5 / sigma**2),
        np.float32(1e-6),
        np.float32(-1.0),
        regularize,
        -1.0,
        1,
        q,
        indices,
        weights,
        outputs,
        u,
        *steps,
    )
    kappa, products, ridges = steps[:, : found + 1]
    used = slice(found + 1)
    first = indices[: min(found, 20)]
    columns = np.exp(-0.5 * np.sum((x[:, None] - x[first]) ** 2, axis=2, dtype=np.float64) / sigma**2)
    columns[first, np.arange(len(first))] += 1e-6
    some = slice(1 + len(first))
    assert_allclose(q[some].T.astype(np.float64) @ u[some, some][:, 1:], columns, rtol=0, atol=1e-4)
    solved = np.linalg.solve(u[used, used], products / (kappa + ridges[-1]))  # thesis (3.83), (3.84)
    assert_allclose(solved, np.append(bias, weights[:found]), rtol=1e-6, atol=1e-9)
    basis = q[: found + 1].astype(np.float64)
    basis /= np.linalg.norm(basis, axis=1)[:, None]
    assert_allclose(basis @ basis.T, np.eye(found + 1), rtol=0, atol=2e-4)
    assert np.isfinite(outputs).all()
    assert np.isfinite(bias)
