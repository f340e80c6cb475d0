"""How well the transcripts of a corpus fit, beside how well those of other utterances do.

Each utterance is aligned with its own transcript, and some of them with the transcripts of others that have
about as many phones. From both groups a curve learns what margins (`acoustic.alignment`) words have that were
not spoken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from acoustic.alignment import Alignment, Margins, align, fit_curve, loop_scores, margins
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import loop_graph, utterance_graph
from acoustic.model import AcousticModel
from asr.corpora.speech_data import BLOCK_UTTERANCES, SpeechData
from asr.decoding.model_directories import FitCurves
from asr.progress import progress_bar
from decoder.lexicon import Lexicon
from foundation.arrays import Floats, Reals
from foundation.blocks import block_map

N_WRONG_PAIRS = 600  # enough for a curve
_MOST_WRONG = 4  # for each utterance
_N_NEAR = 25  # how many utterances of nearly the same number of phones a wrong transcript is drawn from

Words = tuple[str, ...]


@dataclass(frozen=True)
class Heard:
    """An utterance with its own transcript and with those of others.

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
    """Return with how many transcripts of others each of some utterances is aligned."""
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
