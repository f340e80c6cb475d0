"""Points, targets and designs that tests of several modules need."""

import numpy as np
import pytest


def draw_problem(n=80, n_targets=1, seed=0, noise=0.3):
    """Return points of the plane and smooth functions of them with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 2))
    angles = np.arange(1, n_targets + 1)
    return x, np.sin(x[:, :1] * angles) + x[:, 1:] * 0.5 + noise * rng.normal(size=(n, n_targets))


def draw_labels(n=80, seed=0):
    """Return points of the plane and targets ±1."""
    x, y = draw_problem(n, seed=seed)
    return x, np.where(y > 0, 1.0, -1.0)


def draw_classes(counts, n_dims=5, seed=0, spread=0.8):
    """Return overlapping classes (M, D) float32 and their codes (M,), shuffled."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    means = spread * rng.normal(size=(len(counts), n_dims))
    return (means[codes] + rng.normal(size=(len(codes), n_dims))).astype(np.float32), codes


def gram_matrix(x, config):
    """Return the kernel of all points, ε on its diagonal."""
    return config.kernel.block(x, x) + config.epsilon * np.eye(len(x))


def design_of_path(x, path, config, size=None):
    """Return K_m = [1 k_1 … k_m]."""
    size = path.size if size is None else size
    indices = path.indices[:size]
    columns = config.kernel.block(x, x[indices], path.sigmas[:size])
    columns[indices, np.arange(size)] += config.epsilon
    return np.column_stack([np.ones(len(x)), columns])


def orthogonal_factors(k):
    """Return Q and U of K = QU, U with unit diagonal, by Householder reflections."""
    q, r = np.linalg.qr(k)
    return q * np.diag(r), r / np.diag(r)[:, None]


@pytest.fixture(scope="session")
def problem():
    return draw_problem


@pytest.fixture(scope="session")
def labels():
    return draw_labels


@pytest.fixture(scope="session")
def overlapping():
    return draw_classes


@pytest.fixture(scope="session")
def gram():
    return gram_matrix


@pytest.fixture(scope="session")
def design():
    return design_of_path


@pytest.fixture(scope="session")
def orthogonal():
    return orthogonal_factors
