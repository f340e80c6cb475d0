"""The way from recordings to words: every step stands here, in the order in which it happens.

::

    read → any speech? → cut → frames → scores
         → first pass → adapt → scores          (models that adapt to speakers)
         → second pass, its words judged → join → spell as people write

`transcribe_files` reads recordings and `transcribe` takes the other steps. Whoever begins or ends elsewhere
calls the steps: training, evaluation and exports begin with the cepstra of a corpus (`scored_speech`), adapt
(`adapted`) and decode (`decode_all`); a stream (`asr.live.stream`) takes them block by block. Words of a
corpus with transcripts are counted, so all of its utterances are decoded: they are neither cut nor asked
whether anybody speaks in them, and their words stay as the lexicon spells them.

A long recording is cut where it is quiet (`features.recording`), so that any length fits into memory: its
stretches count as recordings of one speaker, and their frames and scores are computed whenever a pass asks
for them. Recordings are decoded in parallel, in blocks whose results a stage of training keeps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from acoustic.alignment import align
from acoustic.emissions.adaptation import adapted_frames
from acoustic.errors import AlignmentError, ModelError
from acoustic.hmm.graph import utterance_graph
from acoustic.model import AcousticModel
from asr.progress import progress_bar
from asr.spotting.rejection import Judge
from decoder.decoder import Decoder, Hypothesis
from decoder.lexicon import Lexicon
from decoder.stream import joined
from features.audio import audio_blocks, warn_of_low_rates
from features.errors import AudioError
from features.recording import Recording
from features.samples import why_no_speech
from foundation.arrays import Ints, Singles
from foundation.blocks import block_map
from foundation.errors import AsrError
from foundation.files import as_path
from foundation.sequences import Computed, kept
from foundation.threads import parallel_map

_BLOCK_RECORDINGS = 8  # whose results make one file while a stage is under way; by feel
_OF_ONE = (AsrError, ArithmeticError, MemoryError)  # what one recording may raise

logger = logging.getLogger(__name__)

Found = TypeVar("Found")
Scores = Sequence[Singles]


@dataclass(frozen=True)
class Parts:
    """What recordings are transcribed with.

    Attributes
    ----------
    model : front end, topology, emissions
    lexicon : pronunciations
    decoder : finds the words
    first_pass : finds the words from which the adaptation to speakers is estimated; None adapts nothing
    judge : says which words count as spoken
    spelling : words that are written in another way than the lexicon's
    """

    model: AcousticModel
    lexicon: Lexicon
    decoder: Decoder
    first_pass: Decoder | None
    judge: Judge
    spelling: Mapping[str, str] = field(default_factory=dict)

    def written(self, word: str) -> str:
        """Return a word of the lexicon as people write it."""
        return self.spelling.get(word, word)


def transcribe_files(
    paths: Sequence[str | Path], parts: Parts, *, speakers: Sequence[str] | None = None
) -> list[Hypothesis | AsrError]:
    """Return the words of each recording as they are written, or the error that kept it from being decoded.

    The recordings of one of the ``speakers``, named for each recording, are normalised together and share one
    adaptation, which helps when each is short. By default each is taken by itself.
    """
    # Read: cepstra of all recordings, 19 MB an hour.
    warn_of_low_rates(map(Path, paths), parts.model.front_end.config.mfcc.sample_rate)
    read = list(parallel_map(partial(_read_or_error, model=parts.model), list(paths)))
    names = [str(path) for path, found in zip(paths, read, strict=True) if isinstance(found, Recording)]
    usable = [found for found in read if isinstance(found, Recording)]
    given = speakers or [str(n) for n in range(len(paths))]
    of_usable = [name for name, found in zip(given, read, strict=True) if isinstance(found, Recording)]

    # All other steps.
    def some(places: Sequence[int]) -> list[Hypothesis]:
        return transcribe([usable[n] for n in places], [of_usable[n] for n in places], parts)

    decoded = iter(decoded_or_errors(names, some))
    found = [next(decoded) if isinstance(one, Recording) else one for one in read]
    for path, one in zip(paths, found, strict=True):
        if isinstance(one, Hypothesis):
            tell_of_no_speech(path, one)
    return found


def transcribe(recordings: Sequence[Recording], speakers: Sequence[str], parts: Parts) -> list[Hypothesis]:
    """Return the words of recordings as people write them; those of one speaker are normalised together.

    Where nothing is spoken there are no words, and ``no_speech`` says why.
    """
    # Only what may be speech by its energy goes on.
    silences = [why_no_speech(r.powers, r.config.shift_ms / 1000) for r in recordings]
    sounding = [n for n, why in enumerate(silences) if not why]

    # Cut long recordings; the frames and scores of all stretches are computed when a pass asks for them.
    cut = cut_speech([recordings[n] for n in sounding], [speakers[n] for n in sounding], parts.model)

    # First pass, adaptation of the frames to each speaker, scores anew; for models that adapt.
    speech = cut.speech
    if parts.first_pass is not None:
        speech = adapted(speech, parts.model, parts.first_pass, parts.lexicon)

    # Second pass; words are judged by the scores of their stretch.
    stretches = decode_all(speech.scores, parts.decoder, parts.judge.spoken)
    decoded = cut.joined(stretches, parts.model.front_end.frame_shift_s, parts.decoder.config.n_best)

    # Write.
    whole = dict(zip(sounding, decoded, strict=True))
    silent = (Hypothesis((), 0.0, complete=True, no_speech=why) for why in silences)
    return [as_written(whole.get(n, nothing), parts.spelling) for n, nothing in enumerate(silent)]


# Reading.


def read_recording(recording: str | Path | Singles, model: AcousticModel) -> Recording:
    """Return a recording, given as a path or as samples (T,) at the model's rate, as a model hears it."""
    config = model.front_end.config.mfcc
    if isinstance(recording, np.ndarray):
        return Recording.of(recording, config)
    return Recording.of_blocks(audio_blocks(as_path(recording, AudioError), config.sample_rate), config)


def _read_or_error(path: str | Path, model: AcousticModel) -> Recording | AsrError:
    try:
        return read_recording(path, model)
    except AsrError as error:
        return error if str(path) in str(error) else type(error)(f"{path}: {error}")
    except MemoryError:
        return AudioError(f"{path}: needs more memory than there is; cut it into pieces")


# Frames and scores, of the cepstra of a corpus or of recordings that are cut.


@dataclass(frozen=True)
class ScoredSpeech:
    """Recordings ready to be decoded.

    Attributes
    ----------
    frames : frames (T, D) of each recording
    speakers : speaker of each recording
    scores : emission scores (T, S) of each recording
    names : what errors call each recording; if there are none, errors name no recording
    """

    frames: Sequence[Singles]
    speakers: Sequence[str]
    scores: Scores
    names: Sequence[str] = ()


def scored_speech(
    cepstra: Sequence[Singles], speakers: Sequence[str], model: AcousticModel, names: Sequence[str] = ()
) -> ScoredSpeech:
    """Return the frames and scores of recordings, given as the front end's cepstra (T, 39)."""
    frames = kept(model.front_end.transformed(cepstra, speakers))
    return ScoredSpeech(frames, speakers, emission_scores(frames, model), names)


class Span(NamedTuple):
    """Frames [start, stop) of a recording, given by its place among all recordings."""

    recording: int
    start: int
    stop: int


@dataclass(frozen=True)
class CutSpeech:
    """Recordings cut into stretches, each of which is decoded as if it were a recording.

    Attributes
    ----------
    spans : where the stretches lie
    speech : their frames and scores, computed when they are needed
    """

    spans: Sequence[Span]
    speech: ScoredSpeech

    def joined(self, decoded: Sequence[Hypothesis], frame_shift_s: float, n_best: int) -> list[Hypothesis]:
        """Return the hypothesis of each recording from those of its stretches."""
        pairs = zip(self.spans, decoded, strict=True)
        found = []
        for _, group in groupby(pairs, key=lambda pair: pair[0].recording):
            spans, hypotheses = zip(*group, strict=True)
            found.append(joined(hypotheses, [span.start for span in spans], frame_shift_s, n_best))
        return found


def cut_speech(recordings: Sequence[Recording], speakers: Sequence[str], model: AcousticModel) -> CutSpeech:
    """Return the stretches of recordings by some speakers, normalised as whole recordings or speakers."""
    front_end = model.front_end
    spans = [Span(n, *bounds) for n, recording in enumerate(recordings) for bounds in recording.stretches()]
    groups = front_end.groups(len(recordings), speakers)

    def cepstra() -> Iterator[tuple[str, Singles]]:
        for place, start, stop in spans:
            yield groups[place], recordings[place].cepstra(start, stop)

    scales = front_end.scales(cepstra())

    def frames_of(n: int) -> Singles:
        place, start, stop = spans[n]
        return front_end.frames(recordings[place], scales[groups[place]], start, stop)

    frames = Computed(frames_of, len(spans))
    of_spans = [speakers[span.recording] for span in spans]
    return CutSpeech(spans, ScoredSpeech(frames, of_spans, emission_scores(frames, model)))


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
        _BLOCK_RECORDINGS,
        label="scores",
        names=_number,
    )
    return kept(progress_bar(found, len(frames), "scores"))


# First pass and adaptation.


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

    found = _each(states, speech.scores, "first pass", speech.names)
    n_without = sum(not np.any(states >= 0) for states in found)
    if n_without:
        logger.info("%d of %d recordings: the first pass hears nothing to adapt by", n_without, len(found))
    frames = adapted_frames(speech.frames, found, speech.speakers, model.adaptation)
    return replace(speech, frames=frames, scores=emission_scores(frames, model))


def heard_states(scores: Singles, words: Sequence[str], lexicon: Lexicon, model: AcousticModel) -> Ints:
    """Return the state of each frame (T,) on the best path through some words; −1 where there is none."""
    nothing = np.full(len(scores), -1, dtype=np.int32)
    if not words:
        return nothing
    spoken = [lexicon.pronunciations(w) for w in words]
    graph = utterance_graph(spoken, model.topology, lexicon.spoken_usage(words))
    try:
        return align(scores, graph, model.topology).states
    except AlignmentError:
        return nothing


# Second pass.


def decode_all(
    scores: Scores,
    decoder: Decoder,
    judged: Callable[[Hypothesis, Singles], Hypothesis] | None = None,
    names: Sequence[str] = (),
) -> list[Hypothesis]:
    """Return the hypothesis of each recording, or what becomes of it if it is judged by its scores.

    An error begins with the name of the recording, if there are any.
    """
    if judged is None:
        return _each(decoder.decode, scores, "decoding", names)
    return _each(lambda of_one: judged(decoder.decode(of_one), of_one), scores, "decoding", names)


def _each(
    function: Callable[[Singles], Found], scores: Scores, label: str, names: Sequence[str]
) -> list[Found]:
    """Return what a function finds in the scores of each recording, which may be computed only then."""

    def one(n: int) -> Found:
        try:
            return function(scores[n])
        except AsrError as error:
            raise type(error)(f"{names[n]}: {error}" if names else str(error)) from error

    called = names.__getitem__ if names else _number
    found = block_map(one, range(len(scores)), _BLOCK_RECORDINGS, label=label, names=called)
    return list(progress_bar(found, len(scores), label))


def _number(n: int) -> str:
    return f"recording {n + 1}"


def decoded_or_errors(
    names: Sequence[str], decode: Callable[[Sequence[int]], Sequence[Hypothesis]]
) -> list[Hypothesis | AsrError]:
    """Return for each recording its hypothesis, or the error that kept it from being decoded.

    All are decoded together. If that fails each is tried by itself, and those that can be decoded are decoded
    together once more: what one recording raises costs no others.

    Parameters
    ----------
    names : what errors call each recording
    decode : returns the hypotheses of the recordings at some places
    """
    try:
        return list(decode(range(len(names))))
    except _OF_ONE:
        errors = [_error_of(n, name, decode) for n, name in enumerate(names)]
        if not any(errors):
            raise
    again = iter(decode([n for n, error in enumerate(errors) if error is None]))
    return [next(again) if error is None else error for error in errors]


def _error_of(
    place: int, name: str, decode: Callable[[Sequence[int]], Sequence[Hypothesis]]
) -> AsrError | None:
    """Return why a recording cannot be decoded by itself, None if it can."""
    try:
        decode([place])
    except AsrError as error:
        return type(error)(f"{name}: {error}")
    except _OF_ONE as error:
        what = f"{type(error).__name__}: {error}; expected a recording that can be scored; leave it out"
        return ModelError(f"{name}: {what}")
    return None


# Writing.


def as_written(hypothesis: Hypothesis, spelling: Mapping[str, str]) -> Hypothesis:
    """Return a hypothesis with the words as people write them, where there is one way to."""
    if not spelling:
        return hypothesis
    words = tuple(replace(w, word=spelling.get(w.word, w.word)) for w in hypothesis.words)
    others = tuple(as_written(other, spelling) for other in hypothesis.alternatives)
    rejected = tuple(replace(w, word=spelling.get(w.word, w.word)) for w in hypothesis.rejected)
    return replace(hypothesis, words=words, rejected=rejected, alternatives=others)


def tell_of_no_speech(name: str | Path, found: Hypothesis) -> None:
    """Log that a recording has no words because nothing is spoken in it."""
    if found.no_speech:
        logger.warning("%s: no speech in it, so no words: %s", name, found.no_speech)
