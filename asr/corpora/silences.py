"""Utterances with a transcript in whose recordings nothing is spoken, as far as their energy tells.

They are not left out: that is for who knows the recordings to decide. Digital silence is an error elsewhere,
for features cannot be made of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from asr.corpora.utterances import Utterance

_N_NAMED = 10

logger = logging.getLogger(__name__)


def no_speech(utterance: Utterance, why: str) -> str:
    """Return what is wrong with a transcribed utterance without speech, in one line.

    ``why`` is what `features.samples` says of its sound.
    """
    n_words = len(utterance.spoken)
    expected = f"the {n_words} words of its transcript" if n_words > 1 else "the word of its transcript"
    what = f"{utterance.audio_path}: no speech in it, expected {expected}"
    return f"{what}; {why}; listen to it, record it again or remove it"


def warn_of_silences(found: Sequence[tuple[Utterance, str]]) -> None:
    """Log a line for each transcribed utterance without speech; of many the first, and how many more."""
    silent = [f"{u.utterance_id}: {no_speech(u, why)}" for u, why in found if u.spoken]
    for line in silent[:_N_NAMED]:
        logger.warning("%s", line)
    for line in silent[_N_NAMED:]:
        logger.info("%s", line)
    if len(silent) > _N_NAMED:
        logger.warning(
            "no speech in %d more utterances with a transcript; asr validate lists all",
            len(silent) - _N_NAMED,
        )
