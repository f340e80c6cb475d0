"""Algorithm 2 as printed, against matrices, and the tables it is in, on small data."""

from pathlib import Path

import numpy as np
import pytest

from acoustic.kernels.kernel import Kernel
from benchmarks.papers import printed
from benchmarks.papers.parts import Request
from benchmarks.papers.printed import PRINTED, TWICE, Reading, either, is_ill, printed_path, rises, settles


def never(*_: object) -> int:
    """Never stop."""
    return 0


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return a Gram matrix and noisy targets."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, size=(40, 1))
    return Kernel("gaussian", 0.7).block(x, x), np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=40)


def by_matrices(gram: np.ndarray, y: np.ndarray, n_steps: int) -> tuple[list[int], list[float]]:
    """Return points and λ of Algorithm 2, with P̃ as a matrix and Q by projections."""
    n, q, ridge = len(y), np.ones((len(y), 1)), 0.0
    residual, points, ridges = y - y.mean(), [], [0.0]
    for _ in range(n_steps):
        free = np.setdiff1d(np.arange(n), points)
        points.append(int(free[np.argmax(np.abs(residual[free]))]))
        column = gram[:, points[-1]]
        q = np.column_stack([q, column - q @ np.linalg.pinv(q) @ column])
        new, kappa = q[:, -1], np.sum(q**2, axis=0)
        residual = residual - new * (new @ y) / (ridge + new @ new)  # (3.82)
        p = np.eye(n) - q @ np.diag(1 / (kappa + ridge)) @ q.T  # (3.81), the λ of the step before
        weights = q.T @ y / (kappa + ridge)
        slope = np.sum(kappa / (kappa + ridge) ** 2)
        ridge = slope * (residual @ residual) / (np.trace(p) * np.sum(weights**2 / (kappa + ridge)))  # (3.88)
        ridges.append(ridge)
    return points, ridges


def test_path_is_the_printed_algorithm(problem: tuple[np.ndarray, np.ndarray]) -> None:
    gram, y = problem
    path, sizes = printed_path(gram.__getitem__, y, 12, [never])
    points, ridges = by_matrices(gram, y, 12)
    assert sizes == [12]
    assert path.indices.tolist() == points
    np.testing.assert_allclose(path.ridges, ridges, rtol=1e-6)


def test_weights_solve_the_ridge_on_the_orthogonal_columns(problem: tuple[np.ndarray, np.ndarray]) -> None:
    gram, y = problem
    path, _ = printed_path(gram.__getitem__, y, 10, [never])
    columns = np.column_stack([np.ones(len(y)), gram[:, path.indices[:6]]])
    q = np.linalg.solve(path.u[:7, :7].T, columns.T).T
    np.testing.assert_allclose(q.T @ q, np.diag(path.kappa[:7]), atol=1e-8)
    alpha, bias = path.weights(6)
    shrunk = q @ np.linalg.solve(q.T @ q + path.ridges[6] * np.eye(7), q.T @ y)
    np.testing.assert_allclose(columns[:, 1:] @ alpha + bias, shrunk, rtol=1e-8, atol=1e-10)


def test_each_rule_stops_the_one_path_where_it_would_stop_its_own(
    problem: tuple[np.ndarray, np.ndarray],
) -> None:
    gram, y = problem
    rules = [settles(0.2, 1), is_ill(30.0), either(settles(0.2, 1), is_ill(30.0)), never]
    together = printed_path(gram.__getitem__, y, 25, rules)[1]
    alone = [printed_path(gram.__getitem__, y, 25, [rule])[1][0] for rule in rules]
    assert together == alone
    assert together[2] == min(together[:2]) < together[3] == 25


def test_settling_counts_every_value_of_the_window() -> None:
    rule = settles(0.1, 2)
    assert not rule([0.0, 1.0, 1.0], [], [])  # λ starts at 0
    assert rule([0.0, 1.0, 1.0, 0.95], [], []) == 3
    assert not rule([0.0, 1.0, 0.95, 0.89], [], [])


def test_condition_is_the_ratio_of_the_lengths_of_the_columns() -> None:
    assert is_ill(9.9)([], [100.0, 1.0], []) == 1
    assert not is_ill(10.1)([], [100.0, 1.0], [])


def test_the_size_of_the_least_gcv_score_is_kept_once_later_ones_are_no_lower() -> None:
    assert rises(2)([], [], [3.0, 2.0, 1.0, 1.5, 1.2]) == 2
    assert not rises(3)([], [], [3.0, 2.0, 1.0, 1.5, 1.2])


def test_a_second_pass_keeps_columns_orthogonal_where_one_does_not() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(60, 1))
    gram, y = Kernel("gaussian", 2.0).block(x, x), rng.normal(size=60)

    def worst(reading: Reading) -> float:
        path, _ = printed_path(gram.__getitem__, y, 12, [never], reading)
        columns = np.column_stack([np.ones(60), gram[:, path.indices]])
        q = np.linalg.solve(path.u.T, columns.T).T / np.sqrt(path.kappa)
        return float(np.abs(q.T @ q - np.eye(len(path.kappa)))[:8, :8].max())

    assert worst(TWICE) < 1e-6
    assert worst(TWICE) < 0.01 * worst(PRINTED)


def test_tables_have_the_paper_beside_every_rule(quick: Request, rows_of) -> None:
    found = {name: rows_of(part.make(quick)) for name, part in printed.PARTS.items()}
    heart = next(row for row in found["printed-benchmarks"] if row[0] == "heart")
    assert heart[1] == "16.1 (9)"
    assert all("±" in cell for cell in (*heart[2:10], *heart[11:]))
    digits = next(row for row in found["printed-characters"] if row[0] == "optdigits")
    assert digits[1] == "1.11 (10.2)"
    assert float(digits[2].split()[0]) < 20  # three blobs
    houses = next(row for row in found["printed-regression"] if row[0] == "boston")
    assert houses[1] == "7.92 (26)"
    noisy = [[float(cell.split()[0]) for cell in row[1:]] for row in found["printed-sinc"][-2:]]
    assert all(less < more for less, more in zip(*noisy, strict=True))


def test_absent_data_are_named(tmp_path: Path, rows_of) -> None:
    rows = rows_of(printed.printed_characters(Request(tmp_path, is_quick=True)))
    assert [row[1] for row in rows[1:]] == ["not in the folder"] * 5
