"""Emission scores, words and word accuracy of recordings; in two passes where a model adapts to speakers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from acoustic.alignment import align
from acoustic.emissions.adaptation import adapted_frames
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import utterance_graph
from acoustic.model import AcousticModel
from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import BLOCK_UTTERANCES
from asr.progress import progress_bar
from asr.scoring.scoring import WordAccuracy, score
from decoder.decoder import Decoder, Hypothesis
from decoder.lexicon import Lexicon
from foundation.arrays import Ints, Singles
from foundation.blocks import block_map
from foundation.computed import Computed
from foundation.errors import AsrError
from foundation.kept import kept

logger = logging.getLogger(__name__)

Found = TypeVar("Found")
Scores = Sequence[Singles]
Judged = Callable[[Hypothesis, Singles], Hypothesis]


@dataclass(frozen=True)
class ScoredSpeech:
    """Recordings ready to be decoded.

    Attributes
    ----------
    frames : frames (T, D) of each recording
    speakers : speaker of each recording
    scores : emission scores (T, S) of each recording
    names : what errors call each recording; their numbers by default
    """

    frames: Sequence[Singles]
    speakers: Sequence[str]
    scores: Scores
    names: Sequence[str] = ()


def emission_scores(frames: Sequence[Singles], model: AcousticModel) -> Scores:
    """Return the emission scores (T, S) of each recording's frames (T, D).

    Scores of frames that are computed when they are needed are so, too. Others are kept, in a file if they
    are many.
    """
    if isinstance(frames, Computed):
        return frames.map(model.scores)
    found = block_map(
        lambda n: model.scores(frames[n]),
        range(len(frames)),
        BLOCK_UTTERANCES,
        label="scores",
        names=_name,
    )
    return kept(progress_bar(found, len(frames), "scores"))


def scored_speech(
    cepstra: Sequence[Singles], speakers: Sequence[str], model: AcousticModel, names: Sequence[str] = ()
) -> ScoredSpeech:
    """Return the frames and scores of recordings, given as the front end's cepstra (T, 39)."""
    frames = kept(model.front_end.transformed(cepstra, speakers))
    return ScoredSpeech(frames, speakers, emission_scores(frames, model), names)


def adapted(
    speech: ScoredSpeech, model: AcousticModel, first_pass: Decoder, lexicon: Lexicon
) -> ScoredSpeech:
    """Return the speech with each speaker's frames brought closer to those of the training speakers.

    The first pass recognises words from the scores; the speaker's transform is estimated from the states of
    these words. If the model does not adapt, the speech is returned unchanged.
    """
    if model.adaptation is None:
        return speech

    def states(scores: Singles) -> Ints:
        return heard_states(scores, first_pass.decode(scores).text, lexicon, model)

    heard = _each(states, speech.scores, "first pass", speech.names)
    n_unheard = sum(not np.any(states >= 0) for states in heard)
    if n_unheard:
        logger.info("%d of %d recordings: the first pass hears nothing to adapt by", n_unheard, len(heard))
    frames = adapted_frames(speech.frames, heard, speech.speakers, model.adaptation)
    return replace(speech, frames=frames, scores=emission_scores(frames, model))


def heard_states(scores: Singles, words: Sequence[str], lexicon: Lexicon, model: AcousticModel) -> Ints:
    """Return the state of each frame (T,) on the best path through some words; −1 where there is none."""
    nothing = np.full(len(scores), -1, dtype=np.int32)
    if not words:
        return nothing
    graph = utterance_graph([lexicon.pronunciations(w) for w in words], model.topology)
    try:
        return align(scores, graph, model.topology).states
    except AlignmentError:
        return nothing


def decode_all(
    scores: Scores, decoder: Decoder, judged: Judged | None = None, names: Sequence[str] = ()
) -> list[Hypothesis]:
    """Return the hypothesis of each recording, or what becomes of it if it is judged by its scores.

    An error begins with the name of the recording, if there are any.
    """
    if judged is None:
        return _each(decoder.decode, scores, "decoding", names)
    return _each(lambda found: judged(decoder.decode(found), found), scores, "decoding", names)


def _each(
    function: Callable[[Singles], Found], scores: Scores, label: str, names: Sequence[str]
) -> list[Found]:
    """Return what a function finds in the scores of each recording, which may be computed only then."""

    def one(n: int) -> Found:
        try:
            return function(scores[n])
        except AsrError as error:
            raise type(error)(f"{names[n]}: {error}" if names else str(error)) from error

    found = block_map(one, range(len(scores)), BLOCK_UTTERANCES, label=label, names=_name)
    return list(progress_bar(found, len(scores), label))


def _name(n: int) -> str:
    return f"recording {n + 1}"


def accuracy_of(corpus: Corpus, decoded: Sequence[Hypothesis]) -> WordAccuracy:
    """Return the word accuracy of hypotheses against the transcripts of a corpus, by speaker too."""
    speakers = {u.utterance_id: u.speaker for u in corpus}
    texts = {i: h.text for i, h in zip(corpus.ids, decoded, strict=True)}
    return score(corpus.text, texts, speakers=speakers)
