"""NIST's STM: a line an utterance, ``recording channel speaker start end words``.

`asr.corpora.layouts.stm` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asr.corpora.utterances import Utterance
from asr.errors import CorpusError

CHANNEL = "1"


def to_stm(utterances: Iterable[Utterance], duration_s: Mapping[str, float]) -> str:
    """Return the transcripts of a corpus; recordings are called after their files.

    Parameters
    ----------
    utterances : what is written
    duration_s : length of the recordings by path, for utterances that last to the end
    """
    lines = sorted(_fields(u, duration_s) for u in utterances)
    return "".join(f"{name} {CHANNEL} {rest}\n" for name, _, rest in lines)


def _fields(utterance: Utterance, duration_s: Mapping[str, float]) -> tuple[str, float, str]:
    """Return the recording, the start, and what follows the channel."""
    name = utterance.audio_path.stem
    if name.split() != [name]:
        raise CorpusError(
            f'STM: expected recordings without white space in their names, got "{name}"; rename it'
        )
    end_s = utterance.end_s if utterance.end_s is not None else duration_s[str(utterance.audio_path)]
    times = f"{utterance.start_s:.3f} {end_s:.3f}"
    return name, utterance.start_s, " ".join([utterance.speaker, times, *utterance.words])
