"""NPD and OROLS as scikit-learn estimators: thesis Algorithms 1 and 2, over `forward_selection`.

What the arguments leave open for a training set, `plan_of` decides.

Axes: M training points, D features, R targets or rows of weights, K classes, C centres.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.base import predicted_codes, warn_without_effect
from acoustic.discriminants.forward_machine import (
    PAIR_CENTERS,
    Auto,
    ForwardClassifier,
    ForwardMachines,
    ForwardRegressor,
    HeldOut,
    Multiclass,
    SigmaName,
    automatic_centers,
    checked_epsilon,
    fit_one_vs_one,
    generator,
    given_widths,
    held_out_points,
    machine_of,
    named,
    number_of_centers,
    warn_of_extreme_width,
)
from acoustic.kernels.forward import (
    Algorithm,
    ForwardConfig,
    ForwardPath,
    Selection,
    Stopping,
    forward_selection,
)
from acoustic.kernels.kernel import KernelName, check_whole, make_kernel
from acoustic.kernels.width import EPSILONS, left_out_setting
from acoustic.pairs.calibration import Calibration
from foundation.arrays import Floats, Longs

EpsilonName = Literal["auto", "loo"]

PATIENCE = 20  # centres without improvement before a stopping rule of the estimators takes effect; by feel
N_CANDIDATES = 60  # for selection="error_reduction"; with probability 0.95 one is among the best 5 %
THESIS_EPSILON = 1e-6  # of Algorithm 1, for which the thesis names no value
MANY_CLASSES = 12  # above it multiclass="auto" is one-vs-one; ADR 10
_NEARLY_ALL = 0.9  # share of the points; by feel


class _Algorithm(ForwardMachines):
    """What the classifiers and regressors of both algorithms have in common."""

    _regularize: bool
    # Files written by earlier versions have estimators without these arguments.
    algorithm: Algorithm = "stable"
    held_out: float = 0.0

    @property
    def ridge_(self) -> Floats:
        """(R,) λ of the OROLS machine that each row of weights belongs to."""
        if not self._regularize:
            raise AttributeError(f"{type(self).__name__} has no ridge_: only OROLS learns λ")
        ridges = [m.path.ridges[m.path.size] for m in self.machines_]
        return np.repeat(ridges, [len(m.biases) for m in self.machines_])

    def _plan(
        self, x: NDArray[Any], targets: Floats, sample_weight: Floats | None, *, is_pairwise: bool = False
    ) -> ForwardConfig:
        """Return how centres are selected, from the estimator's parameters and what is left to the data."""
        config = plan_of(
            self.get_params(deep=False),  # type: ignore[attr-defined]
            x,
            targets,
            sample_weight,
            regularize=self._regularize,
            is_pairwise=is_pairwise,
        )
        self.sigma_ = config.sigmas[0] if len(config.sigmas) == 1 else config.sigmas
        self.epsilon_ = config.epsilon
        if config.stopping not in ("tol", "lambda"):
            warn_without_effect(self, ["tol"], f'stopping="{config.stopping}"')
        return config

    def _held_out_rng(self) -> np.random.Generator:
        """Return the generator that draws the points held out: the same in every fit without a seed."""
        state = self.random_state  # type: ignore[attr-defined]
        return np.random.default_rng(0) if state is None else generator(state)

    def _paths(
        self,
        x: NDArray[Any],
        columns: Sequence[Floats],
        config: ForwardConfig,
        sample_weight: Floats | None,
        held_out: Longs,
    ) -> list[ForwardPath]:
        """Return the path of a forward selection for each group of columns of targets (M, R)."""
        rng = generator(self.random_state)  # type: ignore[attr-defined]
        paths = [
            forward_selection(x, y, config, sample_weight=sample_weight, rng=rng, held_out=held_out)
            for y in columns
        ]
        if config.algorithm == "stable":  # who asks for the algorithm as printed may want this
            _warn_of_unsettled_ridge(paths, config, len(x))
        return paths


class _Classifier(_Algorithm, ForwardClassifier):
    def __init__(
        self,
        sigma: float | Sequence[float] | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        algorithm: Algorithm = "stable",
        epsilon: float | EpsilonName = "auto",
        selection: Selection = "residual",
        stopping: Stopping | Auto = "auto",
        tol: float = 1e-3,
        block_size: int = 1,
        held_out: float = 0.0,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        multiclass: Multiclass = "auto",
        calibration: Calibration | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.block_size = block_size
        self.held_out = held_out
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.multiclass = multiclass
        self.calibration = calibration
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> None:
        self._check_multiclass()
        self._forget()
        several = targets.shape[1] > 1
        multiclass = self.multiclass
        if multiclass == "auto":
            many = targets.shape[1] > MANY_CLASSES
            multiclass = "ovr" if self.algorithm == "thesis" else "ovo" if many else "shared"
        is_pairwise = several and multiclass == "ovo"
        calibration = self._checked_calibration(is_pairwise=is_pairwise)
        config = self._plan(X, targets, sample_weight, is_pairwise=is_pairwise)
        codes = predicted_codes(targets)
        held_out = held_out_points(codes, self.held_out, self._held_out_rng())
        if is_pairwise:
            seed = int(generator(self.random_state).integers(2**31))
            n_classes = targets.shape[1]
            found = fit_one_vs_one(
                X, codes, self._rows, n_classes, config, calibration, sample_weight, seed, held_out
            )
            self._keep_pairs(found, targets, sample_weight, held_out)
            return
        columns = np.hsplit(targets, targets.shape[1]) if multiclass == "ovr" else [targets]
        paths = self._paths(X, columns, config, sample_weight, held_out)
        left_out = np.concatenate([path.leave_one_out[held_out] for path in paths], axis=1)
        held = HeldOut(held_out, left_out)
        self._keep_shared(paths, X, len(paths) * [config.kernel], targets, sample_weight, held)


class _Regressor(_Algorithm, ForwardRegressor):
    def __init__(
        self,
        sigma: float | Sequence[float] | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        algorithm: Algorithm = "stable",
        epsilon: float | EpsilonName = "auto",
        selection: Selection = "residual",
        stopping: Stopping | Auto = "auto",
        tol: float = 1e-3,
        block_size: int = 1,
        held_out: float = 0.0,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.block_size = block_size
        self.held_out = held_out
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_values(self, x: NDArray[Any], targets: Floats, weight: Floats | None, rows: Longs) -> None:
        config = self._plan(x, targets, weight)
        nobody = np.zeros(len(x), dtype=np.int64)
        held_out = held_out_points(nobody, self.held_out, self._held_out_rng())
        (path,) = self._paths(x, [targets], config, weight, held_out)
        self._keep([machine_of(path, x, config.kernel, rows)], path.leave_one_out)
        self.held_out_indices_, self.left_out_decision_ = rows[held_out], path.leave_one_out[held_out]


class NPDClassifier(_Classifier):
    """Nonlinear pseudodiscriminant: sparse least squares in feature space on ±1 targets, thesis Algorithm 1.

    Centres are selected one after the other, each the point with the largest |residual|, whatever their
    number. `ResidualSampledClassifier` takes a fraction of the time and mostly errs less.

    Parameters
    ----------
    sigma : width of the kernel. ``loo`` takes, of ¼ to 2 times ``scale``, the width of the least
        leave-one-out error of small models; ``scale`` is √(D var(X)/2), the width that ``SVC(gamma="scale")``
        has; ``median`` is the median distance of training points. Of several numbers each centre gets the one
        that reduces the error most
    max_centers : largest number of centres of each machine; ``auto`` is a third of the points, but at most
        500, or 6 √M if that is more; it is 150 for a pair of classes. As printed, OROLS has no limit
    algorithm : ``thesis`` is the algorithm as printed; ``stable`` orthogonalises columns again where rounding
        demands it, and for OROLS lets λ take steps until it has about settled, never above the largest κ,
        with the residual of the present λ. The two select the same centres as long as their columns are far
        from dependent (NPD) and λ is small (OROLS)
    epsilon : number added to the diagonal of the Gram matrix; ``loo`` takes the one of the least
        leave-one-out error; ``auto`` is ``loo``, and as printed 1e-6 for NPD and 0 for OROLS
    selection : rule for the next centre: ``residual`` takes the training point with the largest |residual|
        (thesis), ``error_reduction`` the one of `N_CANDIDATES` random points that reduces the squared error
        most, ``random`` a random point
    stopping : rule for the end: ``size`` stops at ``max_centers``; ``tol`` when no |residual| exceeds
        ``tol``; ``gcv`` and ``loo`` when the generalised cross-validation score or the leave-one-out squared
        error has not fallen for `PATIENCE` centres, and the best size is taken; ``lambda`` (only OROLS) when
        λ has changed by a share of less than ``tol`` for `PATIENCE` centres, as printed for one. ``auto`` is
        ``size`` if ``max_centers`` is given; if not, it is ``loo``, and as printed ``tol`` for NPD and
        ``lambda`` for OROLS
    tol : threshold of the stopping rules ``tol`` and ``lambda``
    block_size : number of centres added at once; more than one are selected by the algorithm among points
        drawn with probability ∝ residual², which is faster and no longer the thesis's algorithm
    held_out : share of the points of each class, at most 2,000, that never become centres. Their
        leave-one-out outputs are not spoiled by the choice of centres: they give ``left_out_accuracy_``
    kernel : ``gaussian``, ``polynomial``, ``sigmoid`` or ``compact``, see `Kernel`
    kernel_params : further parameters of the kernel, see `make_kernel`
    multiclass : how more than two classes are told apart: ``shared`` has one set of centres for all classes,
        ``ovr`` a machine for each class against the rest, ``ovo`` a machine for each pair of classes;
        ``auto`` is ``shared`` for up to 12 classes, ``ovo`` for more, and as printed ``ovr`` (thesis 5.1.1)
    calibration : rule by which the curves from outputs to log odds are fitted, which ``predict_proba`` and,
        with ``ovo``, ``predict`` use; None is ``Calibration("loo", "gaussian")``, and with pairs that
        ``multiclass="auto"`` chose ``Calibration("loo", "logistic")``
    random_state : seed of the random choices

    Attributes
    ----------
    classes_ : (K,)
    sigma_ : width of the kernel, or a tuple of several
    epsilon_ : ε
    center_indices_ : (C,) rows of X, the distinct centres of all machines in the order of their selection
    centers_ : (C, D)
    center_sigmas_ : (C,) widths of the centres; a point with two widths is two centres
    dual_coef_ : (R, C) weights, 0 where a machine does not have a centre. R is 1 for two classes; for more it
        is the number of classes, or with ``ovo`` the number of pairs i < j (positive: i)
    intercept_ : (R,)
    machine_center_indices_ : list of the centres of each machine; ``shared`` has one machine, the others have
        R
    ridge_ : (R,) λ (only OROLS)
    biased_loo_decision_ : leave-one-out value of ``decision_function`` at each of the M training points
        of non-zero weight, (M, 1) for two classes, else (M, K). The centres are kept, though the point left
        out may be one for its label's sake: errors counted from these values are biased, mostly too few
    held_out_indices_, left_out_decision_, left_out_accuracy_ : with ``held_out``, the rows held out, their
        leave-one-out values, and the share of them that these name rightly
    curves_ : list of R curves from outputs to log odds
    n_distinct_centers_ : number of different points among the centres
    pairwise_ : with ``ovo`` all machines, ready to be evaluated together

    Notes
    -----
    With float32 data the algorithm computes in float32, which is twice as fast; centres are then accepted up
    to a condition number of about 1e5. ``ovo`` always computes in float32; ``stable`` with one Gaussian width
    runs compiled there.
    """

    _regularize = False


class NPDRegressor(_Regressor):
    """NPD on real targets; several columns of targets share their centres.

    Parameters and attributes are those of `NPDClassifier` without those that concern classes.
    """

    _regularize = False


class OROLSClassifier(_Classifier):
    """Order-recursive orthogonal least squares, λ by generalised cross-validation, thesis Algorithm 2.

    Parameters and attributes are those of `NPDClassifier`.

    Notes
    -----
    Effect of the stopping rules with a ``max_centers`` so large that it does not matter: test error in %
    (RMSE for sinc) and number of centres, with σ chosen on a part of the training points
    (``benchmarks/stopping.py``)::

                  optdigits    satimage     banana     German       sinc
        size      1.06  2000   11.1  1281   12.2  399  28.1  699   0.052  49
        lambda    1.06  2000   11.1  1281   12.1  294  28.1  699   0.052  37
        gcv       1.06  2000    9.9   841   11.3  129  25.5  109   0.056   9
        loo       1.06  1261    9.8   282   11.7   41  25.3   22   0.056   8

    Where there is little noise, λ alone prevents the harm of too many centres. Where there is more noise,
    ``gcv`` and, with fewer centres, ``loo`` prevent it; ``lambda`` hardly ever stops, and takes nearly all
    points of a small set. ``loo`` takes a third more time for each centre.
    """

    _regularize = True


class OROLSRegressor(_Regressor):
    """OROLS on real targets; several columns of targets share their centres and λ.

    Parameters and attributes are those of `NPDClassifier` without those that concern classes. On 50 noisy
    points of sinc the RMSE is 0.052 with ``stopping`` ``size`` (49 centres) or ``lambda`` (37), and 0.056
    with ``gcv`` (9) or ``loo`` (8).
    """

    _regularize = True


def _warn_of_unsettled_ridge(paths: list[ForwardPath], config: ForwardConfig, n_points: int) -> None:
    """Warn if the rule ``lambda`` let nearly all points become centres."""
    most = max(path.size for path in paths)
    if config.stopping == "lambda" and most >= _NEARLY_ALL * n_points:
        warnings.warn(
            f'stopping="lambda" took {most} of {n_points} points as centres, expected λ to settle before; '
            'give stopping="loo" or "gcv", or a smaller max_centers',
            UserWarning,
            stacklevel=5,
        )


def plan_of(
    parameters: Mapping[str, Any],
    x: NDArray[Any],
    targets: Floats,
    sample_weight: Floats | None,
    *,
    regularize: bool,
    is_pairwise: bool = False,
) -> ForwardConfig:
    """Return how centres are selected among points (M, D) for targets (M, R).

    Parameters
    ----------
    parameters : arguments of an estimator of NPD or OROLS
    x, targets, sample_weight : the training set
    regularize : whether λ is estimated (OROLS)
    is_pairwise : whether there will be a machine for each pair of classes
    """
    is_thesis = parameters["algorithm"] == "thesis"
    given = given_widths(parameters["sigma"], x)
    is_free = named(parameters["max_centers"], "auto")
    automatic = len(x) if is_thesis and regularize else automatic_centers(len(x))
    automatic = PAIR_CENTERS if is_pairwise else automatic
    n_centers = number_of_centers(parameters["max_centers"], automatic)
    stopping = parameters["stopping"]
    if named(stopping, "auto"):
        own: Stopping = "lambda" if regularize else "tol"
        free: Stopping = own if is_thesis else "size" if is_pairwise else "loo"
        stopping = free if is_free else "size"
    epsilon = parameters["epsilon"]
    if named(epsilon, "auto"):
        epsilon = (0.0 if regularize else THESIS_EPSILON) if is_thesis else "loo"
    block_size = 1 if named(parameters["block_size"], "auto") else parameters["block_size"]  # of older files
    check_whole("block_size", block_size)
    config = ForwardConfig(
        make_kernel(parameters["kernel"], given[0], parameters["kernel_params"]),
        given,
        n_centers,
        parameters["selection"],
        stopping,
        parameters["tol"],
        1 if is_thesis and stopping == "lambda" else PATIENCE,
        checked_epsilon(epsilon),
        block_size,
        N_CANDIDATES,
        regularize,
        parameters["algorithm"],
    )
    searches_width, searches_epsilon = named(parameters["sigma"], "loo"), named(epsilon, "loo")
    if searches_width or searches_epsilon:
        # Without any ε small models tell no widths apart.
        epsilons = EPSILONS if searches_epsilon or not config.epsilon else np.array([config.epsilon])
        found = left_out_setting(x, targets, config.kernel, np.sort(config.sigmas), epsilons, sample_weight)
        sigmas = (found.sigma,) if searches_width else config.sigmas
        kernel = replace(config.kernel, sigma=sigmas[0])
        chosen = found.epsilon if searches_epsilon else config.epsilon
        config = replace(config, sigmas=sigmas, kernel=kernel, epsilon=chosen)
    if not isinstance(parameters["sigma"], str):
        warn_of_extreme_width(config.kernel, config.sigmas, x, stacklevel=6)
    return config
