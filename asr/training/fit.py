"""How well the transcripts of a corpus fit their recordings, and which look as if something were wrong.

Each utterance is aligned with its own transcript, and some of them with the transcripts of others that have
about as many phones. From both groups a curve learns what margins (`acoustic.alignment`) words have that were
not spoken.

A transcript is suspicious if it more probably does not belong to its recording than it does; it is far off if
a hundred to one speak against it, or as many to one as the corpus has utterances if these are more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from acoustic.alignment import Alignment, Margins, Segment, align, fit_curve, loop_scores, margins
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import loop_graph, utterance_graph
from acoustic.model import AcousticModel
from asr.corpora.speech_data import BLOCK_UTTERANCES, SpeechData
from asr.corpora.utterances import Utterance
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from asr.formats.model_directories import FitCurves
from asr.progress import progress_bar
from decoder.lexicon import Lexicon
from foundation.arrays import Floats, Reals
from foundation.blocks import block_map
from foundation.records import record_of

N_WRONG_PAIRS = 600  # enough for a curve; by feel
_MOST_WRONG = 4  # for each utterance; by feel
# How many utterances of nearly the same number of phones a wrong transcript is drawn from; by feel.
_N_NEAR = 25

SUSPICIOUS = "suspicious.json"
# Probability below which a transcript is not learned from; by feel, what it does: docs/results/suspicious.md.
FAR_OFF = 0.01
_DOUBTFUL = 0.5  # by feel
_LONG_S, _LONG_DEVIATIONS = 1.0, 6.0  # a word is too long only if both are passed
_N_NAMED = 5  # by feel

Words = tuple[str, ...]


@dataclass(frozen=True)
class Heard:
    """How well an utterance fits its own transcript, and those of other utterances.

    Attributes
    ----------
    words : its own transcript
    alignment, right : with its own transcript; None where there is no path, or no word that is known
    wrong : words and margins of each of the others that could be aligned
    """

    words: Words
    alignment: Alignment | None
    right: Margins | None
    wrong: tuple[tuple[Words, Margins], ...]


def hear(
    data: SpeechData,
    model: AcousticModel,
    lexicon: Lexicon,
    beam: float,
    *,
    n_utterances: int | None = None,
) -> list[Heard]:
    """Return how well transcripts fit, of all utterances or of some that lie evenly in the corpus."""
    chosen = _evenly(len(data.corpus), n_utterances)
    frames = model.front_end.transformed(data.cepstra, data.speakers)
    texts, loop = [u.words for u in data.corpus], loop_graph(model.topology)
    partners = _partners(texts, lexicon, chosen)

    def one(n: int) -> Heard:
        scores = model.scores(frames[n])
        of_loop = loop_scores(scores, loop, model.topology, beam)
        alignment, right = _heard(scores, of_loop, texts[n], model, lexicon, beam)
        others = [
            (texts[k], _heard(scores, of_loop, texts[k], model, lexicon, beam)[1])
            for k in partners.get(n, ())
        ]
        return Heard(texts[n], alignment, right, tuple((words, m) for words, m in others if m is not None))

    found = block_map(one, chosen, BLOCK_UTTERANCES, label="fit", names=data.corpus.ids.__getitem__)
    return list(progress_bar(found, len(chosen), "how well texts fit"))


def _heard(
    scores: Reals, of_loop: Reals, words: Words, model: AcousticModel, lexicon: Lexicon, beam: float
) -> tuple[Alignment | None, Margins | None]:
    try:
        alignment = align(
            scores, utterance_graph(lexicon.spoken(words), model.topology), model.topology, beam=beam
        )
    except AlignmentError:
        return None, None
    found = margins(scores, of_loop, alignment)
    return alignment, found if np.isfinite(found.words).any() else None


def fit_curves(heard: Sequence[Heard]) -> FitCurves:
    """Return the curves learned from what was heard."""
    right = [h.right for h in heard if h.right is not None]
    wrong = [(h.words, words, m) for h in heard for words, m in h.wrong]
    right_words = _known(np.concatenate([m.words for m in right] or [np.empty(0)]))
    # A word of another transcript may be one of the utterance's own, too.
    wrong_words = _known(
        np.array([x for own, words, m in wrong for w, x in zip(words, m.words, strict=True) if w not in own])
    )
    return FitCurves(
        fit_curve(np.array([m.utterance for m in right]), np.array([m.utterance for *_, m in wrong])),
        fit_curve(right_words, wrong_words),
    )


def _known(margins_of_words: Floats) -> Floats:
    """Return the margins of words whose pronunciation is known."""
    return margins_of_words[np.isfinite(margins_of_words)]


def _evenly(n: int, n_chosen: int | None) -> list[int]:
    """Return at most so many numbers below n, evenly spread."""
    if n_chosen is None or n_chosen >= n:
        return list(range(n))
    return [k * n // n_chosen for k in range(n_chosen)]


def n_wrong_each(n_utterances: int) -> int:
    """Return the number of other utterances' transcripts with which each of some utterances is aligned."""
    return min(_MOST_WRONG, -(-N_WRONG_PAIRS // max(n_utterances, 1)))


def _partners(texts: Sequence[Words], lexicon: Lexicon, chosen: Sequence[int]) -> dict[int, list[int]]:
    """Return for some of the utterances chosen those whose transcripts are aligned with them, too."""
    known = [[p for p in lexicon.spoken(words) if p is not None] for words in texts]
    n_phones = np.array([sum(min(map(len, p)) for p in ways) for ways in known])
    n_each = n_wrong_each(len(chosen))
    with_partners = {chosen[k] for k in _evenly(len(chosen), N_WRONG_PAIRS)}
    found: dict[int, list[int]] = {}
    for n in with_partners:
        near = np.argsort(np.abs(n_phones - n_phones[n]), kind="stable")
        others = list(islice((int(k) for k in near if texts[k] != texts[n]), _N_NEAR))
        drawn = np.random.default_rng(n).choice(others or [n], min(n_each, len(others)), replace=False)
        found[n] = sorted(drawn.tolist())
    return found


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
