"""Coordinates by OROLS against the orthogonal columns of its definition, and the table on blobs."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from benchmarks.papers.parts import Request
from benchmarks.papers.reduction import orthogonal_coordinates, reduction_table

GAUSSIAN = Kernel("gaussian", 1.5)


def test_coordinates_of_training_points_are_the_orthogonal_columns() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    path = forward_selection(x, y, ForwardConfig(GAUSSIAN, (1.5,), 12, epsilon=0.0, regularize=True))
    found = orthogonal_coordinates(path, x[path.indices], GAUSSIAN, x)
    assert_allclose(found.T @ found, np.diag(path.kappa[1:]), rtol=0, atol=1e-8)
    assert_allclose(found.sum(axis=0), 0.0, rtol=0, atol=1e-8)  # orthogonal to the bias
    orthogonal = path.products / (path.kappa + path.ridges[-1])[:, None]  # (3.83)
    assert_allclose(orthogonal[0] + found @ orthogonal[1:], path.fitted, rtol=0, atol=1e-8)


def test_coordinates_of_new_points_continue_the_outputs() -> None:
    rng = np.random.default_rng(1)
    x, y, new = rng.normal(size=(60, 3)), rng.normal(size=(60, 1)), rng.normal(size=(20, 3))
    path = forward_selection(x, y, ForwardConfig(GAUSSIAN, (1.5,), 10))
    alpha, bias = path.weights()
    expected = GAUSSIAN.block(new, x[path.indices]) @ alpha + bias
    orthogonal = path.products / path.kappa[:, None]
    found = orthogonal[0] + orthogonal_coordinates(path, x[path.indices], GAUSSIAN, new) @ orthogonal[1:]
    assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_rows_of_the_table(folder: Path) -> None:
    text = reduction_table(Request(folder, is_quick=True))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    found = {row[1]: row[2:] for row in rows if row[0] == "optdigits"}
    assert rows[-1][:2] == ["satimage", "not in the folder"]
    assert found["principal components"][1:5] == ["–"] * 4  # of two features
    for label in ("OROLS, largest residual", "OROLS, error reduction", "kernel principal components"):
        assert float(found[label][2]) < 10.0  # three blobs four deviations apart
    assert float(found["outputs of OROLS, 25 % centres"][5].split()[0]) < 10.0
    assert found["outputs of OROLS, 25 % centres"][5].endswith("(3)")
    assert found["linear discriminants"][5].endswith("(2)")
