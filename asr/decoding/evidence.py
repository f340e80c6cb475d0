"""What speaks for and against a recognised word, measured on the emission scores of its frames.

A word is compared with the best state of each frame, whatever phone that is of, and with the best path
through any phones and silences (`acoustic.hmm.fit`). How high and how different the scores of all states are
tells sounds that the model knows from others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.errors import AlignmentError
from acoustic.hmm.alignment import Alignment, align
from acoustic.hmm.fit import along, loop_scores
from acoustic.hmm.graph import loop_graph, word_graph
from decoder.decoder import HypothesisWord
from decoder.lexicon import Lexicon
from foundation.arrays import Reals

_RANK = 10  # the state whose score is compared with the best one's


class Evidence(NamedTuple):
    """Measures of a word, in nats a frame but for the two of its length; those of the word itself are ≤ 0.

    Attributes
    ----------
    margin : by how much its states score more than the best path through any phones, on average
    phone_margin : the same of its worst phone
    best_margin : by how much its states score more than the best state of each frame, on average
    best_phone_margin : the same of its worst phone
    length : logarithm of its frames per phone
    squared_length : its square
    level : mean score of the best state of each frame
    contrast : by how much the best state scores more than the tenth best, on average
    mean : mean score of all states
    """

    margin: float = 0.0
    phone_margin: float = 0.0
    best_margin: float = 0.0
    best_phone_margin: float = 0.0
    length: float = 0.0
    squared_length: float = 0.0
    level: float = 0.0
    contrast: float = 0.0
    mean: float = 0.0


def evidence_of(
    words: Sequence[HypothesisWord], scores: Reals, model: AcousticModel, lexicon: Lexicon
) -> list[Evidence | None]:
    """Return the evidence of each word; None where it has fewer frames than states.

    Parameters
    ----------
    words : words of the lexicon, in seconds from the first frame of ``scores``
    scores : (T, S) emission scores
    model : topology and seconds from one frame to the next
    lexicon : pronunciations
    """
    if not words:
        return []
    topology, shift = model.topology, model.front_end.frame_shift_s
    of_loop = loop_scores(scores, loop_graph(topology), topology)

    def one(word: HypothesisWord) -> Evidence | None:
        frames = slice(round(word.start_s / shift), round(word.end_s / shift))
        graph = word_graph(lexicon.pronunciations(word.word), topology)
        try:
            alignment = align(scores[frames], graph, topology)
        except AlignmentError:
            return None
        return _evidence(scores[frames], of_loop[frames], alignment)

    return [one(word) for word in words]


def _evidence(scores: Reals, of_loop: Reals, alignment: Alignment) -> Evidence:
    """Return the evidence of a word, given the scores of its frames."""
    own, best = along(scores, alignment.states).astype(np.float64), scores.max(axis=1)
    rank = min(_RANK, scores.shape[1])
    lower = np.partition(scores, -rank, axis=1)[:, -rank]
    length = float(np.log(len(scores) / len(alignment.phones)))
    return Evidence(
        *_mean_and_worst(own - of_loop, alignment),
        *_mean_and_worst(own - best, alignment),
        length,
        length**2,
        float(best.mean()),
        float((best - lower).mean()),
        float(scores.mean()),
    )


def _mean_and_worst(margins: Reals, alignment: Alignment) -> tuple[float, float]:
    """Return the mean over all frames, and the least mean over the frames of a phone."""
    return float(margins.mean()), min(float(margins[p.start : p.end].mean()) for p in alignment.phones)
