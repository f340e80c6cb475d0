"""Utterances that look as if something were wrong with them, and what.

A transcript is suspicious if it more probably does not belong to its recording than it does; it is far off if
a hundred to one speak against it, or as many to one as the corpus has utterances if these are more. How
probable that is, the corpus tells (`asr.training.fit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from acoustic.alignment import Alignment, Segment
from asr.corpora.speech_data import SpeechData
from asr.corpora.utterances import Utterance
from asr.decoding.model_directories import FitCurves
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from asr.training.fit import Heard
from foundation.records import record_of

SUSPICIOUS = "suspicious.json"
FAR_OFF = 0.01
_DOUBTFUL = 0.5
_LONG_S, _LONG_DEVIATIONS = 1.0, 6.0  # a word is too long only if both are passed
_N_NAMED = 5


@dataclass(frozen=True)
class Suspicious:
    """An utterance to be looked at.

    Attributes
    ----------
    utterance_id : its id
    text : what was written
    probability : that the text belongs to the recording; None if that cannot be told
    reasons : what is suspicious
    is_far_off : whether nothing should be learned from it
    """

    utterance_id: str
    text: str
    probability: float | None
    reasons: tuple[str, ...]
    is_far_off: bool

    def __str__(self) -> str:
        shown = "  ?  " if self.probability is None else f"{self.probability:.3f}"
        return f'{shown}  {self.utterance_id}: {"; ".join(self.reasons)}: "{self.text}"'


def find_suspicious(
    data: SpeechData,
    heard: Sequence[Heard],
    curves: FitCurves,
    sound_faults: Mapping[str, str],
    frame_shift_s: float,
) -> list[Suspicious]:
    """Return the suspicious utterances, the worst first.

    Parameters
    ----------
    data : utterances
    heard : how well the transcript of each fits
    curves : how probable that makes it
    sound_faults : what is wrong with the sound of some, by id
    frame_shift_s : seconds from one frame to the next
    """
    longest = _longest_for_phones([h.alignment for h in heard if h.alignment is not None])
    far_off = min(FAR_OFF, 1 / max(len(heard), 1))  # in a large corpus something right is one in a hundred
    found = []
    for utterance, h in zip(data.corpus, heard, strict=True):
        probability = _probability(h, curves)
        reasons = [*_reasons_of_text(utterance, h, curves, probability)]
        if h.alignment is not None:
            reasons += _long_words(utterance.words, h.alignment, longest, frame_shift_s)
        reasons += [sound_faults[utterance.utterance_id]] if utterance.utterance_id in sound_faults else []
        if reasons:
            is_far_off = probability is not None and probability < far_off
            text = " ".join(utterance.written or utterance.words)
            found.append(Suspicious(utterance.utterance_id, text, probability, tuple(reasons), is_far_off))
    return sorted(found, key=lambda s: (1.0 if s.probability is None else s.probability, s.utterance_id))


def write_suspicious(found: Sequence[Suspicious], n_utterances: int, directory: Path) -> None:
    """Write ``suspicious.json``."""
    write_json(directory / SUSPICIOUS, {"n_utterances": n_utterances, "suspicious": found})


def read_suspicious(directory: Path) -> tuple[list[Suspicious], int]:
    """Return what `write_suspicious` wrote: the suspicious utterances, and the number of all."""
    if not (directory / SUSPICIOUS).is_file():
        raise ExperimentError(
            f"{directory}: no {SUSPICIOUS} in it, expected a directory that asr train has finished; "
            "check the path or run asr train"
        )
    record = read_object(directory / SUSPICIOUS)
    with as_train_wrote(directory / SUSPICIOUS):
        rows = [record_of(Suspicious, row, ExperimentError, "suspicious.") for row in record["suspicious"]]
        return rows, int(record["n_utterances"])


def _probability(heard: Heard, curves: FitCurves) -> float | None:
    if curves.utterance is None or heard.right is None:
        return None
    return round(float(curves.utterance(np.array(heard.right.utterance))), 6)


def _reasons_of_text(
    utterance: Utterance, heard: Heard, curves: FitCurves, probability: float | None
) -> list[str]:
    """Return why the text is doubtful: some words of it, or all."""
    if heard.alignment is None:
        return ["text cannot be aligned"]
    if heard.right is None or probability is None or probability >= _DOUBTFUL:
        return []
    of_words = np.ones(0) if curves.word is None else curves.word(heard.right.words)
    wrong = [word for word, p in zip(utterance.words, of_words, strict=False) if p < _DOUBTFUL]
    if not 0 < len(wrong) <= min(_N_NAMED, len(utterance.words) - 1):
        return ["text does not fit"]
    return [f"text does not fit at {', '.join(wrong)}"]


def _longest_for_phones(alignments: Sequence[Alignment]) -> float:
    """Return how many frames a phone takes in the longest word that is no exception, as a factor of words."""
    logs = np.array([np.log(frames) for a in alignments for _, frames in _frames_of_phones(a)])
    if not len(logs):
        return np.inf
    median = np.median(logs)
    spread = 1.4826 * np.median(np.abs(logs - median))  # the standard deviation of a normal distribution
    return float(np.exp(median + _LONG_DEVIATIONS * spread))


def _frames_of_phones(alignment: Alignment) -> list[tuple[Segment, float]]:
    """Return each word with the mean number of frames of its phones."""
    starts = np.array([phone.start for phone in alignment.phones])
    return [
        (w, (w.end - w.start) / np.count_nonzero((starts >= w.start) & (starts < w.end)))
        for w in alignment.words
    ]


def _long_words(
    words: Sequence[str], alignment: Alignment, longest: float, frame_shift_s: float
) -> list[str]:
    found = []
    for word, frames in _frames_of_phones(alignment):
        seconds = (word.end - word.start) * frame_shift_s
        if frames > longest and seconds > _LONG_S:
            found.append(f"word {words[word.index]} lasts {seconds:.1f} s")
    return found
