"""Which words of a hypothesis were spoken, and which are only the best that a grammar has for other sounds.

A search always finds words. `Rejection` weighs the evidence of each (`asr.decoding.evidence`) to the log odds
that it was spoken, and keeps those that reach a threshold. A search for keywords is judged by the same rule:
its fillers are in no lexicon, and are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from acoustic.alignment import FitCurve
from asr.decoding.evidence import Evidence, evidence_of
from asr.decoding.scored_sound import ScoredSound
from decoder.decoder import Hypothesis
from decoder.lexicon import Lexicon

USUAL = FitCurve(slope=1.5, offset=5.0)  # of margins, for corpora that are too small for a curve of their own


@dataclass(frozen=True)
class Rejection:
    """A rule that keeps the words of a hypothesis that were spoken.

    Attributes
    ----------
    threshold : least log odds of a word that is kept
    weights : by how much each kind of evidence counts
    offset : log odds of a word without any evidence
    of_words : what is added for some words, which are confused with other sounds more or less than others
    """

    threshold: float
    weights: Evidence
    offset: float = 0.0
    of_words: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_curve(cls, curve: FitCurve, threshold: float = 0.0) -> Rejection:
        """Return a rule for who has learned none, in the measure of a curve that training has learned.

        The curve tells words of other transcripts, put where they do not belong. A search finds better ones:
        a word is kept if it is at most half as far from the best states as those that the curve is unsure of.
        """
        return cls(threshold, Evidence(best_margin=curve.slope), curve.offset / 2)

    def log_odds(self, word: str, evidence: Evidence | None) -> float:
        """Return the log odds that a word was spoken; -inf where it has too few frames to be."""
        if evidence is None:
            return -np.inf
        return float(np.dot(self.weights, evidence)) + self.offset + self.of_words.get(word, 0.0)

    def kept(self, hypothesis: Hypothesis, sound: ScoredSound, lexicon: Lexicon) -> Hypothesis:
        """Return the hypothesis without the words that were probably not spoken, and without fillers.

        The confidence of a kept word is the probability that it was spoken. Alternatives are left out: they
        are of the search, which knows nothing of other sounds.

        Parameters
        ----------
        hypothesis : words as the lexicon has them, in seconds from the first frame of the sound
        sound : emission scores of just these frames
        lexicon : pronunciations; what is not in it is a filler
        """
        words = [word for word in hypothesis.words if word.word in lexicon]
        found = evidence_of(words, sound, lexicon)
        judged = [(word, self.log_odds(word.word, e)) for word, e in zip(words, found, strict=True)]
        kept = tuple(
            replace(word, confidence=float(expit(odds))) for word, odds in judged if odds >= self.threshold
        )
        return replace(hypothesis, words=kept, alternatives=())
