"""Dimensionality reduction by OROLS, which the papers leave to future work (thesis 5.3, OROLS paper 5).

The orthogonal columns q_i of a forward selection are coordinates of the points: q(x) = [1 k(x)] U⁻¹. They are
compared with principal components, of the features and in feature space, and the outputs of OROLS for the
classes with linear discriminants, by the errors of 5 nearest neighbours in few dimensions.

Axes: M training points, N points, K classes, m coordinates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from acoustic.discriminants import OROLSClassifier
from acoustic.kernels.forward import ForwardConfig, ForwardPath, Selection, forward_selection
from acoustic.kernels.kernel import Kernel
from benchmarks.papers.datasets import Split, fixed_split, is_there
from benchmarks.papers.layout import absent, table
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.width_search import median_distance
from foundation.arrays import Floats
from foundation.threads import single_threaded_libraries

SETS = ("optdigits", "satimage")
DIMENSIONS = (2, 5, 10, 20, 40)
WIDTH = 0.5  # σ in median distances
_N_TRAIN, _QUICK = 1000, 80  # random training points
_N_NEIGHBORS = 5
_OUTPUT_PERCENT = 25  # centres of the machine whose outputs are taken

Coordinates = tuple[Floats, Floats]  # of training and of test points, (M, m) and (N, m)


def reduction_table(request: Request) -> str:
    """Return the error of 5 nearest neighbours for each way to few dimensions."""
    header = ("data", "coordinates", *(f"{m}" for m in DIMENSIONS), "dimensions of its own")
    rows: list[tuple[str, ...]] = []
    for name in request.chosen(SETS):
        if not is_there(request.folder, name):
            rows.append(absent(name, len(header)))
            continue
        split = fixed_split(request.folder, name)
        order = np.random.default_rng(request.search.seed).permutation(len(split.x))
        part = order[: _QUICK if request.is_quick else _N_TRAIN]
        x, x_test = (points.astype(np.float64) for points in (split.x[part], split.x_test))
        split = Split(x, split.y[part], x_test, split.y_test)
        with single_threaded_libraries():
            rows += [(name, *row) for row in _rows(split, request.search.seed)]
    return table("Test error % of 5 nearest neighbours, by dimensions", header, rows)


def _rows(split: Split, seed: int) -> list[tuple[str, ...]]:
    """Return the rows of one data set."""
    sigma = WIDTH * median_distance(split.x, seed)
    rows = []
    for label, coordinates in _reductions(split, sigma, seed).items():
        n_most = coordinates[0].shape[1]
        errors = [f"{_error(split, coordinates, m):.1f}" if m <= n_most else "–" for m in DIMENSIONS]
        rows.append((label, *errors, ""))
    for label, coordinates in _supervised(split, sigma).items():
        own = f"{_error(split, coordinates):.1f} ({coordinates[0].shape[1]})"
        rows.append((label, *[""] * len(DIMENSIONS), own))
    return rows


def _reductions(split: Split, sigma: float, seed: int) -> dict[str, Coordinates]:
    """Return coordinates of which the first are the most important."""
    most = min(max(DIMENSIONS), len(split.x) - 1)
    linear = PCA(min(most, split.x.shape[1])).fit(split.x)
    kernel = KernelPCA(most, kernel="rbf", gamma=0.5 / sigma**2, eigen_solver="arpack", random_state=seed)
    kernel.fit(split.x)
    found = {
        "principal components": (linear.transform(split.x), linear.transform(split.x_test)),
        "kernel principal components": (kernel.transform(split.x), kernel.transform(split.x_test)),
    }
    selections: dict[str, Selection] = {
        "random centres": "random",
        "OROLS, largest residual": "residual",
        "OROLS, error reduction": "error_reduction",
    }
    targets = np.where(split.y[:, None] == np.unique(split.y), 1.0, -1.0)
    config = ForwardConfig(Kernel("gaussian", sigma), (sigma,), most, regularize=True)
    for label, selection in selections.items():
        rng = np.random.default_rng(seed)
        path = forward_selection(split.x, targets, replace(config, selection=selection), rng=rng)
        centers = split.x[path.indices]
        found[label] = (
            orthogonal_coordinates(path, centers, config.kernel, split.x),
            orthogonal_coordinates(path, centers, config.kernel, split.x_test),
        )
    return found


def _supervised(split: Split, sigma: float) -> dict[str, Coordinates]:
    """Return coordinates whose number follows from that of the classes."""
    linear = LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-3).fit(split.x, split.y)
    n_centers = max(1, len(split.x) * _OUTPUT_PERCENT // 100)
    machine = OROLSClassifier(sigma, n_centers, epsilon=1e-6, multiclass="shared").fit(split.x, split.y)
    return {
        "all features": (split.x, split.x_test),
        "linear discriminants": (linear.transform(split.x), linear.transform(split.x_test)),
        f"outputs of OROLS, {_OUTPUT_PERCENT} % centres": (
            machine.biased_loo_decision_,  # fitted outputs are nearer to the targets than those at new points
            machine.decision_function(split.x_test),
        ),
    }


def orthogonal_coordinates(
    path: ForwardPath, centers: NDArray[Any], kernel: Kernel, x: NDArray[Any]
) -> Floats:
    """Return q(x) = [1 k(x)] U⁻¹ without its first column, (N, m).

    On the training points, with ε = 0, these are the columns of Q, thesis (3.76).

    Parameters
    ----------
    path : selected centres
    centers : (m, D)
    kernel : kernel function
    x : (N, D)
    """
    columns = np.column_stack([np.ones(len(x)), kernel.block(x, centers)])
    return np.asarray(solve_triangular(path.u, columns.T, trans="T", unit_diagonal=True).T[:, 1:])


def _error(split: Split, coordinates: Coordinates, n_dimensions: int | None = None) -> float:
    """Return the test error in % of nearest neighbours in the first coordinates."""
    train, test = (c[:, :n_dimensions] for c in coordinates)
    model = KNeighborsClassifier(_N_NEIGHBORS).fit(train, split.y)
    return 100 * float(np.mean(model.predict(test) != split.y_test))


PARTS = {
    "reduction": Part(
        "Dimensionality reduction by OROLS (outlook of thesis 5.3 and of the OROLS paper)",
        f"{_N_TRAIN:,} random training points of the fixed split, all its test points; Gaussian kernel, σ "
        f"{WIDTH} median distances for all; OROLS selects centres for the ±1 targets of all classes. The "
        "last column has the error, and the number of dimensions, of coordinates that come in a given "
        "number; the neighbours in the outputs of OROLS are found by leave-one-out outputs.",
        reduction_table,
        SETS,
    )
}
