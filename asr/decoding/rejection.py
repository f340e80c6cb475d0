"""Which words of a hypothesis were spoken, and which are the best that the grammar has for other sounds.

A search always finds words. Whether they were spoken, their margins tell: by how much less the states of a
word score than the best path through any phones and silences (`acoustic.hmm.fit`). A word has two of them,
the mean over its frames and that of its worst phone; `Rejection` weighs both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.errors import AlignmentError
from acoustic.hmm.alignment import align
from acoustic.hmm.fit import FitCurve, along, loop_scores
from acoustic.hmm.graph import loop_graph, word_graph
from decoder.decoder import Hypothesis, HypothesisWord
from decoder.lexicon import Lexicon
from foundation.arrays import Reals


class Evidence(NamedTuple):
    """How well a word fits where it was recognised; both in nats a frame, 0 is best.

    Attributes
    ----------
    margin : mean over the frames of the word
    worst_phone : least mean over the frames of one of its phones
    """

    margin: float
    worst_phone: float


NO_EVIDENCE = Evidence(-np.inf, -np.inf)  # of a word that has too few frames


@dataclass(frozen=True)
class Rejection:
    """A rule that keeps the words of a hypothesis that were spoken.

    Attributes
    ----------
    threshold : least score of a word that is kept
    phone_weight : share of the worst phone in a word's score, from 0 to 1; the rest is the margin's
    curve : turns a score into the probability that the word was spoken; None leaves the confidence of the
        search
    """

    threshold: float
    phone_weight: float = 0.0
    curve: FitCurve | None = None

    def score(self, evidence: Evidence) -> float:
        """Return the score of a word."""
        if self.phone_weight == 0 or evidence == NO_EVIDENCE:
            return evidence.margin
        return (1 - self.phone_weight) * evidence.margin + self.phone_weight * evidence.worst_phone

    def kept(
        self, hypothesis: Hypothesis, scores: Reals, model: AcousticModel, lexicon: Lexicon
    ) -> Hypothesis:
        """Return the hypothesis without the words that score less than the threshold.

        Alternatives are left out: they are of the search, which knows nothing of other sounds.

        Parameters
        ----------
        hypothesis : words as the lexicon has them, in seconds from the first frame of ``scores``
        scores : (T, S) emission scores of just these frames
        model : topology and seconds from one frame to the next
        lexicon : pronunciations of the words
        """
        found = evidence_of(hypothesis.words, scores, model, lexicon)
        scored = [(word, self.score(e)) for word, e in zip(hypothesis.words, found, strict=True)]
        words = tuple(self._judged(word, score) for word, score in scored if score >= self.threshold)
        return replace(hypothesis, words=words, alternatives=())

    def _judged(self, word: HypothesisWord, score: float) -> HypothesisWord:
        """Return a word with its confidence."""
        if self.curve is None:
            return word
        return replace(word, confidence=float(self.curve(np.asarray(score))))


def evidence_of(
    words: Sequence[HypothesisWord], scores: Reals, model: AcousticModel, lexicon: Lexicon
) -> list[Evidence]:
    """Return how well each word fits; the parameters are those of `Rejection.kept`."""
    if not words:
        return []
    topology, shift = model.topology, model.front_end.frame_shift_s
    of_loop = loop_scores(scores, loop_graph(topology), topology)

    def one(word: HypothesisWord) -> Evidence:
        frames = slice(round(word.start_s / shift), round(word.end_s / shift))
        graph = word_graph(lexicon.pronunciations(word.word), topology)
        try:
            found = align(scores[frames], graph, topology)
        except AlignmentError:
            return NO_EVIDENCE
        margins = along(scores[frames], found.states) - of_loop[frames]
        of_phones = [float(margins[p.start : p.end].mean()) for p in found.phones]
        return Evidence(float(margins.mean()), min(of_phones))

    return [one(word) for word in words]
