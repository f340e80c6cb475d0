"""What a page knows of an utterance: a line of the list for each, and for some all there is to see.

Both are plain data for the page's script, which `asr/reports/page/utterances.js` and ``view.js`` draw.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from acoustic.alignment import Alignment
from asr.corpora.corpus import Utterance
from asr.reports.hearing import Heard
from asr.reports.sounds import COLUMNS_PER_S, as_grey, envelope, narrowed, picture, spectrogram
from asr.scoring.edit_distance import WordPair, align_words
from asr.text.forms import NOT_WORDS
from foundation.arrays import Floats, Ints, Singles

_MOST_COLUMNS = 2400  # of a waveform
_MOST_PHONES = 16  # rows of posteriors
_SEEN = 0.2  # a phone whose posterior stays below is not shown

Plain = dict[str, Any]


def line(utterance_id: str, speaker: str, pairs: Sequence[WordPair]) -> Plain:
    """Return an utterance in the list: who says it, and its words (`short`)."""
    return {"id": utterance_id, "speaker": speaker, "pairs": short(pairs)}


def short(pairs: Iterable[WordPair]) -> list[str | list[str | None] | None]:
    """Return aligned words, a right one as itself and a wrong one as a pair.

    >>> short([("go", "go"), ("left", "lift"), (None, "uh")])
    ['go', ['left', 'lift'], [None, 'uh']]
    """
    return [said if said == heard else [said, heard] for said, heard in pairs]


def said_and_heard(heard: Heard, shift_s: float) -> tuple[list[Plain], list[Plain]]:
    """Return the words said and those heard, with times and what stands for each on the other side.

    A word without ``other`` was deleted or inserted; a noise, which is not scored, has none either but is
    marked.
    """
    utterance, hypothesis = heard.utterance, heard.hypothesis
    others: list[str | None] = [None] * len(utterance.spoken)
    for_heard: list[str | None] = []
    place = 0
    for said, found in align_words(utterance.spoken, hypothesis.text):
        if said is not None:
            others[place] = found
            place += 1
        if found is not None:
            for_heard.append(said)
    said_words = _said(utterance, others, heard.alignment, shift_s)
    heard_words = [
        {
            "start": round(word.start_s, 3),
            "end": round(word.end_s, 3),
            "word": word.word,
            "other": other,
            "sure": None if word.confidence is None else round(word.confidence, 3),
        }
        for word, other in zip(hypothesis.words, for_heard, strict=True)
    ]
    return said_words, heard_words


def _said(
    utterance: Utterance, others: Sequence[str | None], alignment: Alignment | None, shift_s: float
) -> list[Plain]:
    if alignment is None:
        return []
    scored = np.cumsum([word not in NOT_WORDS for word in utterance.words]) - 1
    found = []
    for segment in alignment.words:
        word = utterance.words[segment.index]
        is_noise = word in NOT_WORDS
        entry = {
            "start": round(segment.start * shift_s, 3),
            "end": round(segment.end * shift_s, 3),
            "word": word,
            "other": None if is_noise else others[scored[segment.index]],
        }
        found.append({**entry, "noise": True} if is_noise else entry)
    return found


def posterior_rows(labels: Ints | None, posteriors: Floats) -> list[int]:
    """Return the phones worth showing, in the order in which they are first the most probable.

    Parameters
    ----------
    labels : (T,) phones of the transcript, None if they are not known
    posteriors : (T, P)
    """
    best = np.argmax(posteriors, axis=1)
    seen = set(np.flatnonzero(posteriors.max(axis=0, initial=0.0) >= _SEEN).tolist())
    if labels is not None:
        seen |= set(labels[labels >= 0].tolist())
    mass = posteriors.sum(axis=0)
    kept = sorted(seen, key=lambda phone: -mass[phone])[:_MOST_PHONES]

    def first(phone: int) -> int:
        at = np.flatnonzero(best == phone)
        return int(at[0]) if len(at) else int(np.argmax(posteriors[:, phone]))

    return sorted(kept, key=lambda phone: (first(phone), phone))


def view(
    heard: Heard,
    samples: Singles,
    sample_rate: int,
    phones: Sequence[str],
    labels: Ints | None,
    shift_s: float,
) -> Plain:
    """Return all there is to see of an utterance.

    Parameters
    ----------
    heard : the utterance as the model hears it
    samples, sample_rate : its sound
    phones : (P,) names of the phones
    labels : (T,) phones of the transcript, None if they are not known
    shift_s : time between frames
    """
    duration = len(samples) / sample_rate
    said, recognised = said_and_heard(heard, shift_s)
    posteriors = np.exp(heard.log_posteriors)
    rows = posterior_rows(labels, posteriors)
    n_columns = min(_MOST_COLUMNS, max(1, round(2 * COLUMNS_PER_S * duration)))
    return {
        "duration": round(duration, 3),
        "topHz": sample_rate // 2,
        "wave": base64.b64encode(envelope(samples, n_columns).tobytes()).decode(),
        "spectrogram": picture(as_grey(spectrogram(samples, sample_rate))),
        "said": said,
        "heard": recognised,
        "phones": runs(labels, phones, shift_s),
        "posteriors": {
            "names": [phones[row] for row in rows],
            "end": round(len(posteriors) * shift_s, 3),
            "picture": picture(
                np.round(255 * narrowed(posteriors[:, rows].T)).astype(np.uint8), lossless=True
            ),
        },
    }


def runs(labels: Ints | None, names: Sequence[str], shift_s: float) -> list[tuple[float, float, str]]:
    """Return start, end and name of each run of one phone (T,); frames without one are left out."""
    if labels is None or not len(labels):
        return []
    bounds = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [
        (round(start * shift_s, 3), round(end * shift_s, 3), names[labels[start]])
        for start, end in pairwise(bounds)
        if labels[start] >= 0
    ]
