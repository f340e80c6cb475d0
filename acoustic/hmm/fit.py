"""Whether a transcript fits its recording, measured against what any phones would score.

The measure is the *margin*: by how many nats a frame the states of the transcript score less than those on
the best path through a loop of all phones and silences. It is near 0 where the words are spoken and far below
where they are not. What margin is too far, a corpus tells by itself: its utterances, aligned with transcripts
of others, show the margins of wrong words (`fit_curve`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from acoustic.hmm.alignment import Alignment
from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import best_path
from foundation.arrays import Floats, Ints, Reals
from foundation.threads import single_threaded_libraries

PRIOR_WRONG = 0.03  # share of a corpus whose transcripts are expected to be wrong
_LEAST_PAIRS = 10  # of each kind, to learn a curve from
_N_ROUNDS = 20
_WEAK = 1e3  # the inverse strength of the penalty on the slope over margins of variance 1


@dataclass(frozen=True)
class Margins:
    """By how much the words of an utterance score less than any phones, in nats a frame.

    Attributes
    ----------
    words : (W,) float64, mean over the frames of each word; NaN where nobody knows its pronunciation
    """

    words: Floats

    @property
    def utterance(self) -> float:
        """Mean over the words; each counts the same, for wrong words are squeezed into few frames."""
        return float(np.nanmean(self.words))


def loop_path(scores: Reals, loop: UtteranceGraph, topology: Topology, beam: float = 400.0) -> Ints:
    """Return the states (T,) on the best path through any phones; none of too few frames for a phone.

    Parameters
    ----------
    scores : (T, S) log-likelihoods
    loop : graph of any phones, `acoustic.hmm.graph.loop_graph`
    topology : topology with the transition probabilities
    beam : width of the search in nats; the loop is one block, so that it cuts nothing from its left
    """
    _, path = best_path(scores, loop.states.astype(np.int64), loop, topology, beam)
    return np.asarray(loop.states[path])


def loop_scores(scores: Reals, loop: UtteranceGraph, topology: Topology, beam: float = 400.0) -> Reals:
    """Return the score (T,) of each frame's state on the best path through any phones, as `loop_path`."""
    states = loop_path(scores, loop, topology, beam)
    return along(scores, states) if len(states) else np.asarray(scores.max(axis=1))


def along(scores: Reals, states: Ints) -> Reals:
    """Return the score (T,) of each frame on a path of states (T,), given those (T, S) of all states."""
    return np.asarray(scores[np.arange(len(scores)), states])


def margins(scores: Reals, of_loop: Reals, alignment: Alignment) -> Margins:
    """Return how well the words of an alignment fit.

    Parameters
    ----------
    scores : (T, S) log-likelihoods
    of_loop : (T,) scores of the best path through any phones, `loop_scores`
    alignment : words with one of known pronunciation at least
    """
    return margins_along(along(scores, alignment.states), of_loop, alignment)


def margins_along(own: Reals, of_loop: Reals, alignment: Alignment) -> Margins:
    """Return how well the words of an alignment fit, given the score (T,) of each frame's state."""
    of_frames = (own - of_loop).astype(np.float64)
    is_known = np.array(alignment.variants) >= 0
    sums = np.array([of_frames[word.start : word.end].sum() for word in alignment.words])
    lengths = np.array([word.end - word.start for word in alignment.words])
    return Margins(np.where(is_known, sums / lengths, np.nan))


@dataclass(frozen=True)
class FitCurve:
    """The probability that words were spoken, a logistic function of their margin."""

    slope: float
    offset: float

    def __call__(self, margin: Floats) -> Floats:
        """Return the probabilities of margins, NaN for NaN."""
        return np.asarray(expit(self.slope * np.asarray(margin) + self.offset))


def fit_curve(right: Floats, wrong: Floats, prior_wrong: float = PRIOR_WRONG) -> FitCurve | None:
    """Return the curve that tells margins of right words from margins of wrong ones; None of too few.

    Some of the right ones are errors of the corpus. Each counts as right by the probability that it has on
    the curve, in turn with the curve (expectation-maximisation). A weak penalty keeps the slope finite where
    the groups do not overlap.

    Parameters
    ----------
    right, wrong : margins of words with their own recordings (N,) and with those of others (N',)
    prior_wrong : expected share of errors among the right ones
    """
    if min(len(right), len(wrong)) < _LEAST_PAIRS:
        return None
    log_odds_of_groups = np.log((1 - prior_wrong) / prior_wrong) - np.log(len(right) / len(wrong))
    believed = np.full(len(right), 1 - prior_wrong)
    for _ in range(_N_ROUNDS):
        targets = np.concatenate([believed, np.zeros(len(wrong))])
        slope, offset = _logistic(np.concatenate([right, wrong]), targets)
        curve = FitCurve(slope, offset + float(log_odds_of_groups))
        believed, before = curve(right), believed
        if np.abs(believed - before).max() < 1e-4:
            break
    return curve


def _logistic(margins: Floats, targets: Floats) -> tuple[float, float]:
    """Return slope, 0 at least, and offset of the logistic function nearest to some targets from 0 to 1."""
    model = LogisticRegression(C=_WEAK)
    ones, scale = np.repeat([1, 0], len(margins)), max(float(margins.std()), 1e-9)
    with single_threaded_libraries():  # the last digits must not depend on the number of cores
        model.fit(np.tile(margins / scale, 2)[:, None], ones, np.concatenate([targets, 1 - targets]))
    if (slope := float(model.coef_[0, 0])) > 0:
        return slope / scale, float(model.intercept_[0])
    share = targets.mean()  # the margins tell nothing
    return 0.0, float(np.log(share / (1 - share)))
