"""Decoding and scoring of a corpus with a decoder and its cached emission scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acoustic.model import AcousticModel
from acoustic.parallel import parallel_map
from asr.corpus import Corpus
from asr.data import SpeechData
from asr.progress import progress_bar
from asr.scoring import Score, score
from decoder.decoder import Decoder, Hypothesis

Scores = Sequence[NDArray[np.float32]]


def emission_scores(data: SpeechData, model: AcousticModel) -> list[NDArray[np.float32]]:
    """Return the emission scores (T, S) of each utterance."""
    frames = model.front_end.transform(data.cepstra, data.speakers)
    return list(progress_bar(parallel_map(model.emissions.log_likelihoods, frames), "scores", len(frames)))


def decode_corpus(data: SpeechData, decoder: Decoder, scores: Scores) -> dict[str, Hypothesis]:
    """Return the hypothesis of each utterance by its id."""
    decoded = progress_bar(parallel_map(decoder.decode, scores), "decoding", len(scores))
    return dict(zip(data.corpus.ids, decoded, strict=True))


def score_decoded(corpus: Corpus, decoded: Mapping[str, Hypothesis]) -> Score:
    """Return the score of hypotheses against the corpus's transcripts, with its speakers."""
    speakers = {u.utterance_id: u.speaker for u in corpus}
    return score(corpus.text, {i: h.text for i, h in decoded.items()}, speakers=speakers)
