"""Isolated words, one left-to-right HMM each, trained by hmmlearn: a baseline beside the phone models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hmmlearn.hmm import GMMHMM, GaussianHMM
from threadpoolctl import threadpool_limits

from acoustic.errors import ModelError, TrainingError
from foundation.arrays import Floats, Reals

_FIRST_SELF_LOOP = 0.6
_SPREAD = 0.2  # standard deviations between a state's mean and the first means of its components
_MIN_VARIANCE = 1e-8  # of a feature that is constant in all recordings


class WholeWordRecognizer:
    """Recognises recordings of one word each.

    Every word has one HMM, which begins in its first state and moves on by one state or not at all; it is
    trained on that word's recordings by Baum-Welch from a uniform segmentation.

    Parameters
    ----------
    n_states : number of states of each word's HMM
    n_components : diagonal Gaussians of each state
    n_iterations : EM passes
    variance_floor : share of the variance of all frames below which no variance falls
    seed : seed of the components' first means; nothing is random with one component

    Attributes
    ----------
    words_ : the words, sorted
    models_ : for each of them its ``hmmlearn`` model
    """

    words_: tuple[str, ...]
    models_: tuple[GaussianHMM | GMMHMM, ...]

    def __init__(
        self,
        n_states: int = 8,
        n_components: int = 1,
        n_iterations: int = 10,
        variance_floor: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.n_components = n_components
        self.n_iterations = n_iterations
        self.variance_floor = variance_floor
        self.seed = seed

    def fit(self, utterances: Sequence[Reals], words: Sequence[str]) -> WholeWordRecognizer:
        """Learn from recordings (T, D) of one word each, T at least ``n_states``."""
        self._check_parameters()
        _check_utterances(utterances, words, self.n_states)
        rng = np.random.default_rng(self.seed)
        floor = self.variance_floor * np.maximum(np.concatenate(utterances).var(axis=0), _MIN_VARIANCE)
        self.words_ = tuple(sorted(set(words)))
        by_word = [[x for x, y in zip(utterances, words, strict=True) if y == word] for word in self.words_]
        with threadpool_limits(limits=1):  # the matrices are too small to share among threads
            self.models_ = tuple(self._fit_word(recordings, floor, rng) for recordings in by_word)
        return self

    def predict(self, utterances: Sequence[Reals]) -> list[str]:
        """Return the likeliest word of each recording (T, D)."""
        return [self.words_[best] for best in self.log_likelihoods(utterances).argmax(axis=1)]

    def log_likelihoods(self, utterances: Sequence[Reals]) -> Floats:
        """Return log p(recording | word), (N, W), for recordings (T, D)."""
        if not hasattr(self, "models_"):
            raise ModelError("WholeWordRecognizer: expected learned models, got none; call fit first")
        n_features = self.models_[0].n_features
        for index, x in enumerate(utterances):
            if x.ndim != 2 or x.shape[1] != n_features or not np.isfinite(x).all() or not len(x):
                raise ModelError(
                    f"recording {index}: expected finite frames (T, {n_features}), T at least 1, got shape "
                    f"{x.shape}; compute them as those of training"
                )
        scores = [[model.score(x) for model in self.models_] for x in utterances]
        return np.array(scores, dtype=np.float64).reshape(len(utterances), len(self.models_))

    def _check_parameters(self) -> None:
        for name in ("n_states", "n_components", "n_iterations"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name}: expected 1 or more, got {getattr(self, name)}; change it")
        if not 0 < self.variance_floor <= 1:
            raise TrainingError(
                f"variance_floor: expected more than 0, at most 1, got {self.variance_floor}; change it"
            )

    def _fit_word(
        self, utterances: Sequence[Reals], floor: Floats, rng: np.random.Generator
    ) -> GaussianHMM | GMMHMM:
        """Return the model of one word; variances stay above ``floor`` (D,)."""
        means, variances = _uniform_segmentation(utterances, self.n_states)
        variances = np.maximum(variances, floor)
        # A convergence threshold of -inf: all passes are made.
        schedule = {"n_iter": self.n_iterations, "tol": -np.inf, "init_params": "", "random_state": self.seed}
        model: GaussianHMM | GMMHMM
        if self.n_components == 1:
            # The floor takes the place of hmmlearn's prior.
            model = _FlooredGaussianHMM(self.n_states, params="tmc", covars_prior=0.0, **schedule)
            model.means_, model.covars_ = means, variances
        else:
            model = _FlooredGMMHMM(self.n_states, self.n_components, params="tmcw", **schedule)
            shape = (self.n_states, self.n_components, means.shape[1])
            spread = _SPREAD * rng.standard_normal(shape) * np.sqrt(variances)[:, None]
            model.means_ = means[:, None] + spread
            model.covars_ = np.broadcast_to(variances[:, None], shape).copy()
            model.weights_ = np.full(shape[:2], 1.0 / self.n_components)
        model.floor = floor
        model.startprob_ = np.eye(self.n_states)[0]
        model.transmat_ = _left_to_right(self.n_states)
        return model.fit(np.concatenate(utterances), [len(x) for x in utterances])


class _FlooredGaussianHMM(GaussianHMM):  # type: ignore[misc]  # hmmlearn has no types
    """Variances do not fall below ``floor`` (D,)."""

    floor: Floats
    covars_: Any

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        variances = np.diagonal(self.covars_, axis1=1, axis2=2)  # hmmlearn shows whole matrices
        self.covars_ = np.maximum(variances, self.floor)


class _FlooredGMMHMM(GMMHMM):  # type: ignore[misc]  # hmmlearn has no types
    """Variances do not fall below ``floor`` (D,)."""

    floor: Floats
    covars_: Any

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        self.covars_ = np.maximum(self.covars_, self.floor)


def _left_to_right(n_states: int) -> Floats:
    """Return transition probabilities (S, S) from each state to itself and the next; EM keeps zeros zero."""
    transitions = np.diag(np.full(n_states, _FIRST_SELF_LOOP)) + np.diag(
        np.full(n_states - 1, 1 - _FIRST_SELF_LOOP), k=1
    )
    transitions[-1, -1] = 1.0
    return transitions


def _uniform_segmentation(utterances: Sequence[Reals], n_states: int) -> tuple[Floats, Floats]:
    """Return mean and variance (S, D) of the frames of each state, when all states last equally long."""
    labels = np.concatenate([np.arange(len(x)) * n_states // len(x) for x in utterances])
    frames = np.concatenate(utterances).astype(np.float64)
    segments = [frames[labels == state] for state in range(n_states)]
    return np.array([s.mean(axis=0) for s in segments]), np.array([s.var(axis=0) for s in segments])


def _check_utterances(utterances: Sequence[Reals], words: Sequence[str], n_states: int) -> None:
    if len(utterances) != len(words) or not len(words):
        raise TrainingError(
            f"expected one word for each recording, got {len(utterances)} recordings and {len(words)} words; "
            "pair them"
        )
    for index, (x, word) in enumerate(zip(utterances, words, strict=True)):
        if x.ndim != 2 or x.shape[1:] != utterances[0].shape[1:] or not np.isfinite(x).all():
            raise TrainingError(
                f'recording {index} ("{word}"): expected finite frames (T, D) of one D, got shape {x.shape}; '
                "compute all with one configuration"
            )
        if len(x) < n_states:
            raise TrainingError(
                f'recording {index} ("{word}"): expected {n_states} frames or more, got {len(x)}; '
                "leave it out or take fewer states"
            )
