"""Kernel minimum squared error, and its reduced form on few nodes; MSE lecture, last section.

Axes: M training points, D features, R columns of outputs, C nodes.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from acoustic.discriminants.base import warn_without_effect
from acoustic.discriminants.kernel_ridge import PenalizedKernel, gram, random_points
from acoustic.errors import ParameterError
from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.candidates import error_reductions
from acoustic.kernels.kernel import Kernel, KernelName
from acoustic.kernels.parameters import check_whole
from acoustic.kernels.selection import select_greedily
from foundation.arrays import Flags, Floats, Longs

NodeSelection = Literal["random", "greedy"]

_BLOCK = 1024  # candidate columns of the Gram matrix held at once
_VISIBLE = 64 * float(np.finfo(np.float64).eps)  # share of its squared length a column keeps outside a span


class KMSEClassifier(PenalizedKernel):
    """Kernel minimum squared error, Kγ = B, with a ridge and no bias; MSE lecture, last section.

    Two classes have the targets ±1; with more classes each has a column of targets, 1 for it and 0 for the
    rest (5.12).

    Parameters
    ----------
    sigma : width of the kernel
    n_nodes : s of the reduced form, β = Σ_{j ≤ s} γ'_j φ(x_j) with s ≪ n; None = all training points
    epsilon : λ in units of the mean diagonal of KᵀK; above 0, since K is singular or nearly so
    selection : ``greedy`` adds the node whose column reduces the squared error most, ``random`` takes random
        points
    n_candidates : number of random candidates for each ``greedy`` node; None = all other points. With
        probability 0.95 one of 59 candidates is among the best 5 %
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of nodes and candidates

    Attributes
    ----------
    center_indices_, centers_ : (C,) and (C, D); C is less than ``n_nodes`` if no further column is linearly
        independent
    dual_coef_, intercept_ : (R, C) γ, and (R,) zeros
    ridge_, loo_decision_ : λ, and (M, R)
    """

    def __init__(
        self,
        sigma: float = 1.0,
        n_nodes: int | None = None,
        *,
        epsilon: float = 1e-3,
        selection: NodeSelection = "greedy",
        n_candidates: int | None = 59,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.n_nodes = n_nodes
        self.epsilon = epsilon
        self.selection = selection
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        wanted = targets if targets.shape[1] == 1 else (targets + 1.0) / 2.0  # B
        return self._learn(x, wanted, sample_weight, self._nodes(x, wanted, sample_weight), has_bias=False)

    def _nodes(self, x: Floats, targets: Floats, weight: Floats | None) -> Longs:
        if self.selection not in ("random", "greedy"):
            raise ParameterError(f'selection is "{self.selection}", expected one of: random, greedy')
        if self.n_candidates is not None:
            check_whole("n_candidates", self.n_candidates, ", or None for all")
        if self.n_nodes is not None:
            check_whole("n_nodes", self.n_nodes, ", or None for all")
        if self.n_nodes is None:
            warn_without_effect(self, ["selection", "n_candidates"], "n_nodes=None")
        elif self.selection == "random":
            warn_without_effect(self, ["n_candidates"], 'selection="random"')
        if self.selection == "random" or self.n_nodes is None or self.n_nodes >= len(x):
            return random_points(len(x), self.n_nodes, "n_nodes", self.random_state)
        root = np.ones(len(x)) if weight is None else np.sqrt(weight)
        rng = check_random_state(self.random_state)
        return greedy_nodes(self._make_kernel(), x, targets, root, self.n_nodes, self.n_candidates, rng)


def greedy_nodes(
    kernel: Kernel,
    x: Floats,
    targets: Floats,
    root: Floats,
    n_nodes: int,
    n_candidates: int | None,
    rng: np.random.RandomState,
) -> Longs:
    """Return points (C,) chosen one by one, each the candidate whose column reduces ‖Kγ − B‖² most.

    Parameters
    ----------
    kernel : kernel function
    x, targets : (M, D) and (M, R)
    root : (M,) square roots of the weights
    n_nodes : C at most; fewer when no further column is independent of those before
    n_candidates : points tried for each node, None = all that are left
    rng : generator that draws the candidates
    """
    scorer = _Nodes(kernel, x, targets, root, n_nodes, n_candidates, rng)
    chosen = select_greedily(scorer, scorer.basis, n_nodes)
    if not len(chosen):
        raise ParameterError(
            f"the {kernel.name} kernel is 0 for all points, expected a node; take another kernel or sigma"
        )
    return chosen


class _Nodes:
    """The scorer of the reduced form: the candidate whose column reduces the squared error most."""

    def __init__(
        self,
        kernel: Kernel,
        x: Floats,
        targets: Floats,
        root: Floats,
        n_nodes: int,
        n_candidates: int | None,
        rng: np.random.RandomState,
    ) -> None:
        self.kernel, self.x, self.root, self.rng = kernel, x, root[:, None], rng
        self.n_candidates = len(x) if n_candidates is None else n_candidates
        self.basis = OrthogonalBasis(len(x), n_nodes, np.dtype(np.float64), np.sqrt(_VISIBLE))
        self.residual, self.is_left = targets * self.root, np.ones(len(x), dtype=bool)

    def choose(self) -> Longs:
        """Return the best candidate, or one that the basis will refuse if all lie in its span."""
        left = np.flatnonzero(self.is_left)
        if not len(left):
            return left
        n_tried = min(self.n_candidates, len(left))
        tried = left if n_tried == len(left) else np.sort(self.rng.choice(left, n_tried, replace=False))
        gains = self._gains(tried)
        self.is_left[tried[gains == -np.inf]] = False  # in the span now, hence for ever
        return tried[[gains.argmax()]]

    def columns(self, points: Longs) -> Floats:
        """Return the weighted columns of some points."""
        return np.asarray(gram(self.kernel, self.x, self.x[points]) * self.root)

    def account(self, points: Longs, added: Flags) -> None:
        """Subtract from the residual its part along the new column."""
        self.is_left[points] = False
        if added[0]:
            self.residual = self.basis.without_newest(self.residual)

    def is_done(self) -> bool:
        """Return False: nodes are taken as long as there are independent ones."""
        return False

    def _gains(self, points: Longs) -> Floats:
        """Return by how much each column would reduce the squared error, −∞ of those in the span."""
        blocks = (points[start : start + _BLOCK] for start in range(0, len(points), _BLOCK))
        found = [error_reductions(self.basis, self.columns(b), self.residual, 0.0, _VISIBLE) for b in blocks]
        return np.concatenate(found)
