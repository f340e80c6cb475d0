"""What becomes of hypotheses: no words where nothing is spoken, and only those that count as spoken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from acoustic.model import AcousticModel
from asr.decoding.no_speech import shortest_word, why_no_words, why_not_heard
from asr.decoding.rejection import Rejection
from asr.decoding.scored_sound import ScoredSound
from decoder.decoder import Hypothesis
from decoder.lexicon import Lexicon
from features.recording import Recording
from foundation.arrays import Singles

Decode = Callable[[Sequence[Recording], Sequence[str]], Sequence[Hypothesis]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judge:
    """Judges the hypotheses of a recogniser by their emission scores.

    Attributes
    ----------
    model, lexicon : those of the recogniser
    rejection : which words count as spoken; None keeps all
    """

    model: AcousticModel
    lexicon: Lexicon
    rejection: Rejection | None

    def kept(self, found: Hypothesis, scores: Singles) -> Hypothesis:
        """Return a hypothesis with the words that count as spoken."""
        return self._kept(found, ScoredSound(scores, self.model))

    def spoken(self, found: Hypothesis, scores: Singles) -> Hypothesis:
        """Return a hypothesis with the words that count as spoken; none, and why, where nothing is spoken."""
        sound = ScoredSound(scores, self.model)
        if found.words and (why := why_no_words(sound, self._shortest_word)):
            return replace(found, words=(), alternatives=(), no_speech=why)
        return self._kept(found, sound)

    def _kept(self, found: Hypothesis, sound: ScoredSound) -> Hypothesis:
        return found if self.rejection is None else self.rejection.kept(found, sound, self.lexicon)

    @cached_property
    def _shortest_word(self) -> int:
        return shortest_word(self.lexicon, self.model.topology)


def heard(recordings: Sequence[Recording], speakers: Sequence[str], decode: Decode) -> list[Hypothesis]:
    """Return the hypothesis of each recording; only those are decoded whose energy may be that of speech."""
    found = [_nothing(why_not_heard(recording)) for recording in recordings]
    sounding = [n for n, hypothesis in enumerate(found) if not hypothesis.no_speech]
    decoded = decode([recordings[n] for n in sounding], [speakers[n] for n in sounding])
    for n, hypothesis in zip(sounding, decoded, strict=True):
        found[n] = hypothesis
    return found


def tell_of_no_speech(name: str | Path, found: Hypothesis) -> None:
    """Log that a recording has no words because nothing is spoken in it."""
    if found.no_speech:
        logger.warning("%s: no speech in it, so no words: %s", name, found.no_speech)


def _nothing(why: str) -> Hypothesis:
    return Hypothesis((), 0.0, complete=True, no_speech=why)
