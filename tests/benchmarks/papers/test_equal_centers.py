"""Sparse methods with equal numbers of centres: each against its definition, and the part on small data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acoustic.kernels.kernel import Kernel
from benchmarks.papers.equal_centers import WAYS, drawn, equal_centers
from benchmarks.papers.parts import Request


def test_all_points_as_centres_are_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    x, others = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
    y = np.sign(x[:, 0] + 0.2 * rng.normal(size=30))
    gram, across = (Kernel("gaussian", 1.0).block(a, x) for a in (x, others))
    # min ‖y − Kα − b‖² + 2ε αᵀKα: (K + 2εI)α + b = y, and the residuals 2εα sum to zero.
    system = np.block([[gram + 0.2 * np.eye(30), np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]])
    *alpha, bias = np.linalg.solve(system, np.append(y, 0.0))
    for by_leverage in (False, True):
        outputs = drawn(x, y, others, 1.0, (0.1,), (30,), by_leverage=by_leverage)[0, 0]
        np.testing.assert_allclose(outputs, across @ alpha + bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("label", WAYS)
def test_one_size_alone_is_the_same_size_among_others(label: str) -> None:
    rng = np.random.default_rng(1)
    x, others = rng.normal(size=(40, 2)), rng.normal(size=(9, 2))
    y = np.sign(x[:, 0] * x[:, 1])
    way, constants = WAYS[label]
    among = way(x, y, others, 0.8, constants, (3, 8))
    alone = way(x, y, others, 0.8, constants[-1:], (8,))
    assert among.shape == (len(constants), 2, 9)
    np.testing.assert_allclose(among[-1, 1], alone[0, 0], rtol=1e-6, atol=1e-8)


def test_part_has_every_method_at_every_size(quick: Request, rows_of, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = replace(quick, data=frozenset({"heart"}), figures=tmp_path / "figures")
    rows = [row for row in rows_of(equal_centers(asked)) if row[0] == "heart"]
    assert [row[1] for row in rows] == [*WAYS, "SVM", "RVM"]
    assert all(float(cell) < 25 for row in rows[:-2] for cell in row[4:-1])  # blobs four deviations apart
    assert (tmp_path / "figures" / "equal_centers.png").read_bytes().startswith(b"\x89PNG")
