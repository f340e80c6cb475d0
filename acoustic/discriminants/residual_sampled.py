"""The residual-sampled subset of regressors as scikit-learn estimators, which choose all by left-out errors.

Axes: M training points, D features, R targets or rows of weights, K classes, C centres, n points held out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.base import predicted_codes
from acoustic.discriminants.forward_machine import (
    PAIR_CENTERS,
    Auto,
    ForwardClassifier,
    ForwardMachines,
    ForwardRegressor,
    HeldOut,
    Multiclass,
    OneVsOne,
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
from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.residual_sampling import STILL_FALLING, Sampled, SamplingConfig, sample_regressors
from acoustic.kernels.width import EPSILONS, left_out_setting
from acoustic.pairs.calibration import Calibration
from foundation.arrays import Floats, Longs

_WIDTHS, _SHARES = (1.0, 0.5, 0.25), (0.1, 1.0, 10.0)  # of σ and ε, compared on the way
# Shared centres and pairs are compared on so many points at least, and so many of a class; by feel.
_COMPARED, _COMPARED_OF_A_CLASS = 1000, 100
# The first number of centres may be raised to all points up to so many, beyond that by a half; by feel.
_ALL_POINTS, _MORE = 500, 1.5
_ENOUGH_TO_JUDGE = 30  # points held out, below which nothing can be compared; by feel
_MANY_CLASSES, _MANY_OF_A_CLASS = 12, 200  # beyond both pairs are taken without a comparison; ADR 10
_PAIR_REACH = 0.5  # least width of a pair's kernel, in units of what small models choose; by feel
_MANY_CANDIDATES = 2  # for each centre of a pair, from which Algorithm 1 selects them; by feel


class _ResidualSampled(ForwardMachines):
    """What the classifier and the regressor have in common."""

    def _setting(
        self, x: NDArray[Any], targets: Floats, weight: Floats | None, sigma: float | None = None
    ) -> SamplingConfig:
        """Return how centres are drawn, from the parameters, or a known σ, and what is left to the data."""
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        sigmas = given_widths(given["sigma"] if sigma is None else sigma, x)
        searches_width, searches_epsilon = named(given["sigma"], "loo"), named(given["epsilon"], "loo")
        if len(sigmas) > 1 and not searches_width:
            raise ParameterError(f"sigma has {len(sigmas)} widths, expected one here; give one number")
        epsilon = checked_epsilon(given["epsilon"])
        for name, allowed in {"stopping": ("loo", "size"), "selection": ("residual", "random")}.items():
            if given[name] not in allowed:
                raise ParameterError(f'{name} is "{given[name]}", expected one of: {", ".join(allowed)}')
        if not searches_width:
            warn_of_extreme_width(Kernel("gaussian", sigmas[0]), sigmas, x)
        epsilons = EPSILONS if searches_epsilon else np.array([epsilon])
        found = left_out_setting(x, targets, Kernel("gaussian", sigmas[0]), np.sort(sigmas), epsilons, weight)
        is_free = named(given["max_centers"], "auto")
        n_centers = number_of_centers(given["max_centers"], automatic_centers(len(x)))
        most = max(min(len(x), _ALL_POINTS), round(_MORE * n_centers)) if is_free else n_centers
        return SamplingConfig(
            found.sigma,
            found.epsilon,
            n_centers,
            most,
            _WIDTHS if searches_width else (1.0,),
            _SHARES if searches_epsilon else (1.0,),
            chooses_size=given["stopping"] == "loo" and is_free,
            selection=given["selection"],
        )

    def _keep_setting(self, sigma: float | tuple[float, ...], epsilon: float) -> None:
        self.sigma_, self.epsilon_ = sigma, epsilon

    def _warn_of_the_cap(self, found: Sampled, config: SamplingConfig) -> None:
        """Warn if all centres allowed were taken while the error still fell."""
        if found.last_gain < STILL_FALLING and found.path.size >= config.most_centers:
            warnings.warn(
                f"the left-out error still falls with all {config.most_centers} centres that "
                f'max_centers="auto" allows here (the last ones took {100 * (1 - found.last_gain):.0f} % of '
                "it): more may err less; give max_centers a larger number",
                UserWarning,
                stacklevel=4,
            )


class ResidualSampledClassifier(_ResidualSampled, ForwardClassifier):
    """Residual-sampled subset of regressors: kernel ridge regression on few centres, on ±1 targets.

    The centres are drawn in a few large blocks, with probability ∝ residual² of the model on those before,
    and all weights come from one ridge regression on all points, see `acoustic.kernels.residual_sampling`. A
    quarter of the points become no centres while the settings are chosen: their leave-one-out errors choose
    width, ε, number of centres, and whether several classes share the centres or are told apart in pairs.

    Parameters
    ----------
    sigma : width of the Gaussian kernel. ``loo`` takes, of ¼ to 2 times ``scale``, the width of the least
        leave-one-out error of small models, and then a half or a quarter of it if that is better with half
        the centres; ``scale`` is √(D var(X)/2), the width that ``SVC(gamma="scale")`` has; ``median`` is the
        median distance of training points
    max_centers : largest number of centres. ``auto`` begins with a third of the points, but at most 500, or 6
        √M if that is more, and adds more while the left-out error falls: up to all of 500 points, else
        half as many again; a warning says if it still falls then. It is 150 for a pair of classes
    epsilon : weight 2ε of the penalty αᵀPα, where P is the Gram matrix of the centres; ``loo`` takes the one
        of the least left-out error
    held_out : share of the points of each class, at most 2,000, that are held out from candidacy
    stopping : ``loo`` keeps the smallest of 12 sizes whose left-out error is about the least; ``size``, and a
        given ``max_centers``, keep all centres
    selection : ``residual`` draws with probability ∝ residual², ``random`` uniformly
    multiclass : how more than two classes are told apart: ``shared`` has one set of centres for all classes,
        ``ovr`` one for each class against the rest, ``ovo`` one for each pair of classes, whose outputs are
        coupled as in the thesis; centres of pairs with many points are not drawn but selected by Algorithm 1,
        which makes more of few centres; ``auto`` takes ``shared`` or ``ovo``, whichever errs less on the
        points held out. Of many points a part decides; more than 12 classes of 200 points or more get ``ovo``
    calibration : rule by which the curves from outputs to log odds are fitted, which ``predict_proba`` and,
        with ``ovo``, ``predict`` use; None is ``Calibration("loo", "gaussian")``, and with pairs
        ``Calibration("loo", "logistic")``, which errs less
    random_state : seed of the draws; they are the same in every fit if it is None

    Attributes
    ----------
    multiclass_ : ``shared``, ``ovr`` or ``ovo``
    left_out_accuracy_ : share of the points held out that the model without each of them names rightly: an
        estimate of the accuracy on new points of the same kind
    held_out_indices_, left_out_decision_ : rows of the points held out, and their leave-one-out values
    classes_, sigma_, epsilon_, center_indices_, centers_, center_sigmas_, dual_coef_, intercept_,
    machine_center_indices_, biased_loo_decision_, curves_, n_distinct_centers_, pairwise_ : see
        `NPDClassifier`
    """

    multiclass_: Multiclass
    _pairs_are_logistic = True

    def __init__(
        self,
        sigma: float | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        epsilon: float | Literal["loo"] = "loo",
        held_out: float = 0.25,
        stopping: Literal["loo", "size"] = "loo",
        selection: Literal["residual", "random"] = "residual",
        multiclass: Multiclass = "auto",
        calibration: Calibration | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.held_out = held_out
        self.stopping = stopping
        self.selection = selection
        self.multiclass = multiclass
        self.calibration = calibration
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> None:
        self._check_multiclass()
        self._forget()
        config = self._setting(X, targets, sample_weight)
        problem = _Problem.of(X, targets, sample_weight, self._rows, predicted_codes(targets), self)
        multiclass, config, known = self._chosen(problem, config)
        self.multiclass_ = multiclass
        if multiclass == "ovo":
            self._keep_setting(config.sigma, config.epsilon)
            pairs = known if isinstance(known, OneVsOne) else self._pairs(problem, config)
            self._keep_pairs(pairs, targets, sample_weight, problem.held_out)
            return
        columns = np.hsplit(targets, targets.shape[1]) if multiclass == "ovr" else [targets]
        found = [known] if isinstance(known, Sampled) else [problem.sampled(y, config) for y in columns]
        for one in found:
            self._warn_of_the_cap(one, config)
        sigmas = tuple(dict.fromkeys(one.sigma for one in found))
        self._keep_setting(sigmas[0] if len(sigmas) == 1 else sigmas, found[0].epsilon)
        left_out = np.concatenate([one.left_out for one in found], axis=1)
        self._keep_shared(
            [one.path for one in found],
            X,
            [Kernel("gaussian", one.sigma) for one in found],
            targets,
            sample_weight,
            HeldOut(problem.held_out, left_out),
        )

    def _chosen(
        self, problem: _Problem, config: SamplingConfig
    ) -> tuple[Multiclass, SamplingConfig, Sampled | OneVsOne | None]:
        """Return how classes are told apart, with what setting, and the models if they are known already."""
        if problem.n_classes == 2:
            return "shared", config, None
        if self.multiclass != "auto":
            return self.multiclass, config, None
        few = problem.part(max(_COMPARED, _COMPARED_OF_A_CLASS * problem.n_classes))
        if len(few.held_out) < _ENOUGH_TO_JUDGE:
            return "shared", config, None
        shared = few.sampled(few.targets, config)
        # The few centres of a pair have to reach farther than many shared ones.
        sigma = max(shared.sigma, _PAIR_REACH * config.sigma)
        own = self._setting(few.x, few.targets, few.weight, sigma)
        pair = replace(config, sigma=sigma, epsilon=own.epsilon)
        if problem.n_classes > _MANY_CLASSES and len(problem.x) >= _MANY_OF_A_CLASS * problem.n_classes:
            return "ovo", pair, None  # which a part of the points could not tell
        pairs = self._pairs(few, pair)
        accuracies = [
            HeldOut(few.held_out, outputs).accuracy(few.targets, few.weight)
            for outputs in (shared.left_out, pairs.left_out[few.held_out])
        ]
        if accuracies[1] > accuracies[0]:
            return "ovo", pair, pairs if few is problem else None
        # More points bear a narrower kernel.
        config = replace(config, sigma=shared.sigma, epsilon=shared.epsilon, widths=config.widths[:2])
        return "shared", config, shared if few is problem else None

    def _pairs(self, problem: _Problem, config: SamplingConfig) -> OneVsOne:
        """Return a machine for each pair of classes."""
        n_centers = number_of_centers(self.max_centers, PAIR_CENTERS)
        n_candidates = 2 * (len(problem.x) - len(problem.held_out)) / problem.n_classes
        is_greedy = self.selection == "residual" and n_candidates >= _MANY_CANDIDATES * n_centers
        pair: ForwardConfig | SamplingConfig = replace(
            config,
            max_centers=n_centers,
            most_centers=n_centers,
            widths=(1.0,),
            epsilons=(1.0,),
            chooses_size=False,
        )
        if is_greedy:
            pair = ForwardConfig(config.kernel, (config.sigma,), n_centers, epsilon=config.epsilon)
        return fit_one_vs_one(
            problem.x,
            problem.targets.argmax(axis=1),
            problem.rows,
            problem.n_classes,
            pair,
            self._checked_calibration(is_pairwise=True),
            problem.weight,
            problem.seed,
            problem.held_out,
        )


class ResidualSampledRegressor(_ResidualSampled, ForwardRegressor):
    """The residual-sampled subset of regressors on real targets; several columns share their centres.

    Parameters and attributes are those of `ResidualSampledClassifier` without those that concern classes.
    """

    def __init__(
        self,
        sigma: float | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        epsilon: float | Literal["loo"] = "loo",
        held_out: float = 0.25,
        stopping: Literal["loo", "size"] = "loo",
        selection: Literal["residual", "random"] = "residual",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.held_out = held_out
        self.stopping = stopping
        self.selection = selection
        self.random_state = random_state

    def _fit_values(self, x: NDArray[Any], targets: Floats, weight: Floats | None, rows: Longs) -> None:
        config = self._setting(x, targets, weight)
        problem = _Problem.of(x, targets, weight, rows, np.zeros(len(x), dtype=np.int64), self)
        found = problem.sampled(targets, config)
        self._warn_of_the_cap(found, config)
        self._keep_setting(found.sigma, found.epsilon)
        self._keep(
            [machine_of(found.path, x, Kernel("gaussian", found.sigma), rows)], found.path.leave_one_out
        )
        self.held_out_indices_, self.left_out_decision_ = rows[problem.held_out], found.left_out


@dataclass(frozen=True)
class _Problem:
    """Points and targets, and which of the points are held out from candidacy.

    Attributes
    ----------
    x : (M, D)
    targets : (M, R)
    weight : (M,) weights of the squared errors
    rows : (M,) rows of the points in the estimator's X
    held_out : (n,) points held out
    seed : seed of the draws
    """

    x: NDArray[Any]
    targets: Floats
    weight: Floats | None
    rows: Longs
    held_out: Longs
    seed: int

    @classmethod
    def of(
        cls,
        x: NDArray[Any],
        targets: Floats,
        weight: Floats | None,
        rows: Longs,
        codes: Longs,
        estimator: Any,
    ) -> Self:
        """Return the problem of an estimator's training set, whose points are of these classes (M,)."""
        seed = 0
        if estimator.random_state is not None:
            seed = int(generator(estimator.random_state).integers(2**31))
        held_out = held_out_points(codes, estimator.held_out, np.random.default_rng(seed))
        return cls(x, targets, weight, rows, held_out, seed)

    @property
    def n_classes(self) -> int:
        """Number K of classes, where targets are labels."""
        return int(max(self.targets.shape[1], 2))

    def sampled(self, targets: Floats, config: SamplingConfig) -> Sampled:
        """Return the models on centres drawn for targets (M, R)."""
        rng = np.random.default_rng(self.seed)
        return sample_regressors(
            self.x, targets, config, held_out=self.held_out, sample_weight=self.weight, rng=rng
        )

    def part(self, n_most: int) -> _Problem:
        """Return the problem of some points of each class, or this one if it has no more than ``n_most``."""
        if len(self.x) <= n_most:
            return self
        rng, codes = np.random.default_rng(self.seed), predicted_codes(self.targets)
        order = rng.permutation(len(codes))
        wanted = np.ceil(np.bincount(codes) * n_most / len(codes)).astype(int)
        kept = np.sort(np.concatenate([order[codes[order] == k][:n] for k, n in enumerate(wanted)]))
        held_out = np.flatnonzero(np.isin(kept, self.held_out))
        weight = None if self.weight is None else self.weight[kept]
        return _Problem(self.x[kept], self.targets[kept], weight, self.rows[kept], held_out, self.seed)
