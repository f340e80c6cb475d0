"""Transcribed speech and other recordings cut into pieces, and the words that decoders find in them.

What is found is right or wrong by the transcripts, and comes with its evidence: from it rules and thresholds
are learned (`asr.spotting.learning`). Wrong words are found in other recordings, in speech played backwards,
and where words are withheld from the search: a word that is not in the grammar is heard as one that is. What
that sounds like, in each voice and room of a corpus, its own utterances show if the search is not given one
of their words, or none of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from acoustic.alignment import align
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import utterance_graph
from asr.corpora.corpus import Corpus, Utterance, is_kaldi_directory, read_corpus
from asr.corpora.layouts.recordings import folder_speaker, id_of, recordings
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.corpora.wording import worded
from asr.errors import CorpusError
from asr.formats.model_directories import speakers_as_trained, trained_by
from asr.progress import progress_bar
from asr.recognizer import Recognizer
from asr.spotting.detection import Spoken, hits
from asr.spotting.evidence import Evidence, ScoredSound, evidence_of
from asr.transcribe import cut_speech, read_recording, scored_speech
from decoder.decoder import Decoder, Hypothesis
from decoder.grammars.grammar import WordLoop
from decoder.lexicon import Lexicon
from features.audio import read_audio
from features.frontend import FrontEnd
from foundation.arrays import Singles
from foundation.blocks import local_map
from foundation.errors import AsrError

logger = logging.getLogger(__name__)

N_GROUPS = 5  # of pieces at least, of which each is judged by rules learned from the others; by feel
_N_NAMED = 10  # of recordings that cannot be used; by feel
# That a search without some words is given at most: it is made anew for each utterance; by feel.
_N_WORDS = 200


@dataclass(frozen=True)
class Piece:
    """A recording, or a stretch of one.

    Attributes
    ----------
    scores : computes its emission scores (T, S)
    group : its speaker, where that is known, and one of many
    words : what is said in it; none of other recordings
    is_backwards : whether it is speech played backwards
    is_counted : whether thresholds are chosen by it, too, beside rules that are learned from it
    decoder : makes the decoder that it is heard by; None takes those that all are heard by
    """

    scores: Callable[[], Singles]
    group: str
    words: tuple[str, ...] = ()
    is_backwards: bool = False
    is_counted: bool = True
    decoder: Callable[[], Decoder] | None = None


@dataclass(frozen=True)
class Candidate:
    """A word that a search has found.

    Attributes
    ----------
    word : the word
    evidence : how well it fits; None where it has too few frames
    is_spoken : whether it was spoken there
    group : speaker, or the recording of an unknown one
    is_counted : whether thresholds are chosen by it, too
    """

    word: str
    evidence: Evidence | None
    is_spoken: bool
    group: str
    is_counted: bool = True


@dataclass(frozen=True)
class SearchedPiece:
    """A piece with what was found in it.

    Attributes
    ----------
    found : of each decoder the words that it finds
    n_spoken : number of words that are said in it; 0 of what is not counted
    seconds : its duration, 0 of what is not counted
    """

    found: tuple[tuple[Candidate, ...], ...]
    n_spoken: int
    seconds: float


def pieces_of_corpus(
    recognizer: Recognizer, corpus: str | Path, directory: Path, *, with_backwards: bool = False
) -> list[Piece]:
    """Return the utterances of a transcribed corpus, on request once more played backwards."""
    speech, _ = worded(read_corpus(corpus, before=speakers_as_trained(directory)), recognizer.forms)
    data, errors = usable_cepstra(speech, recognizer.model.front_end.config)
    if errors and not len(data.corpus):
        head = f"{corpus}: none of {len(errors)} recording(s) can be used, expected some; correct them"
        raise CorpusError("\n".join([head, *map(str, islice(errors.values(), _N_NAMED))]))
    for n, error in enumerate(errors.values()):
        logger.log(logging.WARNING if n < _N_NAMED else logging.INFO, "left out: %s", error)
    if len(errors) > _N_NAMED:
        logger.warning("left out: %d more recordings", len(errors) - _N_NAMED)
    if known := trained_by(directory, data.corpus.ids):
        logger.warning(
            "%d of the %d utterances of %s trained this model (by their ids): with new speech fewer keywords "
            "will be found; train with --set retrain_with_dev=false, or give a corpus of its own",
            len(known),
            len(data.corpus),
            corpus,
        )
    return pieces_of_speech(recognizer, data, str(corpus), with_backwards=with_backwards)


def pieces_of_speech(
    recognizer: Recognizer, data: SpeechData, name: str, *, with_backwards: bool = False
) -> list[Piece]:
    """Return the utterances of a data set called ``name``, on request once more played backwards."""
    found = [(data, False)]
    if with_backwards:
        found.append((_backwards(data.corpus, recognizer.model.front_end), True))
    return [piece for each, is_back in found for piece in _utterances(recognizer, each, name, is_back)]


def _backwards(corpus: Corpus, front_end: FrontEnd) -> SpeechData:
    """Return speech played backwards: the same voices and rooms, and hardly any words."""

    def one(utterance: Utterance) -> Singles:
        rate = front_end.config.mfcc.sample_rate
        samples = read_audio(utterance.audio_path, rate, utterance.start_s, utterance.end_s)
        return front_end.cepstra(np.ascontiguousarray(samples[::-1]))

    return SpeechData(corpus, tuple(local_map(one, corpus.utterances)))


def _utterances(recognizer: Recognizer, data: SpeechData, name: str, is_backwards: bool) -> list[Piece]:
    """Return the utterances of a corpus, adapted if the recogniser does that."""
    scored = recognizer.adapted(scored_speech(data.cepstra, data.speakers, recognizer.model))
    n_speakers = len(set(data.speakers))

    def piece(n: int) -> Piece:
        utterance = data.corpus.utterances[n]
        words = () if is_backwards else utterance.words
        group = utterance.speaker if n_speakers >= N_GROUPS else utterance.utterance_id
        return Piece(lambda: scored.scores[n], f"{name}/{group}", words, is_backwards, not is_backwards)

    return [piece(n) for n in range(len(data.corpus))]


def pieces_of_others(recognizer: Recognizer, place: Path, directory: Path) -> list[Piece]:
    """Return the stretches of other recordings, or the utterances of a Kaldi directory."""
    if is_kaldi_directory(place):
        return pieces_of_corpus(recognizer, place, directory)
    if not place.exists():
        raise CorpusError(f"{place}: no such file or directory; expected other recordings; check the path")
    files = [place / name for name in recordings(place)] if place.is_dir() else [place]
    if not files:
        raise CorpusError(f"{place}: no recordings in it, expected some; check the path")
    root = place if place.is_dir() else place.parent
    return [piece for file in files for piece in _stretches(recognizer, file, root)]


def _stretches(recognizer: Recognizer, file: Path, root: Path) -> Iterator[Piece]:
    """Yield the stretches of a recording whose speaker its folder tells."""
    model, name = recognizer.model, file.relative_to(root)
    try:
        recording = read_recording(file, model)
    except AsrError as error:
        logger.warning("%s: left out: %s", file, error)
        return
    scores = recognizer.adapted(cut_speech([recording], [""], model).speech).scores
    for n in range(len(scores)):
        yield Piece(lambda n=n: scores[n], f"{root}/{folder_speaker(name, id_of(name))}")  # type: ignore[misc]


def find_words(
    recognizer: Recognizer, pieces: Sequence[Piece], chosen: Sequence[str], decoders: Sequence[Decoder]
) -> list[SearchedPiece]:
    """Return which of the chosen words each decoder finds in each piece."""
    wanted = frozenset(chosen)

    def one(piece: Piece) -> SearchedPiece:
        scores = piece.scores()
        spoken = _spoken(recognizer, scores, piece.words, wanted)
        own = decoders if piece.decoder is None else [piece.decoder()] * len(decoders)
        sound = ScoredSound(scores, recognizer.model)
        found = tuple(
            tuple(_candidates(recognizer, sound, decoder.decode(scores), spoken, piece)) for decoder in own
        )
        if not piece.is_counted:
            return SearchedPiece(found, 0, 0.0)
        n_spoken = sum(word in wanted for word in piece.words)
        return SearchedPiece(found, n_spoken, len(scores) * recognizer.model.front_end.frame_shift_s)

    return list(progress_bar(local_map(one, pieces), len(pieces), "words found"))


def _spoken(
    recognizer: Recognizer, scores: Singles, words: Sequence[str], chosen: frozenset[str]
) -> list[Spoken]:
    """Return when the keywords of a transcript are spoken; none if it cannot be aligned."""
    if chosen.isdisjoint(words):
        return []
    topology, shift = recognizer.model.topology, recognizer.model.front_end.frame_shift_s
    graph = utterance_graph(recognizer.lexicon.spoken(words), topology)
    try:
        segments = align(scores, graph, topology).words
    except AlignmentError:
        return []
    times = [Spoken(words[s.index], s.start * shift, s.end * shift) for s in segments]
    return [time for time in times if time.word in chosen]


def _candidates(
    recognizer: Recognizer, sound: ScoredSound, found: Hypothesis, spoken: Sequence[Spoken], piece: Piece
) -> Iterator[Candidate]:
    """Yield the keywords that were found, with their evidence; of speech backwards those it may not hold."""
    words = [word for word in found.words if word.word in recognizer.lexicon]
    if piece.is_backwards:
        words = [word for word in words if not _is_palindrome(recognizer.lexicon, word.word)]
    evidence = evidence_of(words, sound, recognizer.lexicon)
    is_spoken = hits([Spoken(w.word, w.start_s, w.end_s) for w in words], spoken)
    for word, of_word, hit in zip(words, evidence, is_spoken, strict=True):
        yield Candidate(word.word, of_word, hit, piece.group, is_counted=piece.is_counted)


def _is_palindrome(lexicon: Lexicon, word: str) -> bool:
    """Return whether a word sounds much the same backwards."""
    return any(p == p[::-1] for p in lexicon.pronunciations(word))


def withheld(recognizer: Recognizer, pieces: Sequence[Piece], *, without_one: bool = True) -> list[Piece]:
    """Return two more pieces of each utterance, whose search lacks one of its words, or all of them.

    With a word go those that sound the same. Beside the one that is withheld, the search finds words that
    are right all the same.
    """
    lexicon = recognizer.lexicon
    of_sound: dict[tuple[str, ...], set[str]] = {}
    for word in lexicon:
        for pronunciation in lexicon.pronunciations(word):
            of_sound.setdefault(pronunciation, set()).add(word)

    def alike(words: Iterable[str]) -> set[str]:
        return {other for word in words for p in lexicon.pronunciations(word) for other in of_sound[p]}

    def both(piece: Piece, place: int) -> Iterator[Piece]:
        known = sorted({word for word in piece.words if word in lexicon})
        one = [[known[place % len(known)]]] if without_one and len(known) > 1 else []
        for missing in (*one, known) if known else ():
            if words := _words_without(lexicon.words, alike(missing), known, place):
                yield replace(piece, decoder=partial(_loop, recognizer, words), is_counted=False)

    return [other for n, piece in enumerate(pieces) if piece.is_counted for other in both(piece, n)]


def _words_without(
    all_words: Sequence[str], missing: set[str], own: Sequence[str], seed: int
) -> tuple[str, ...]:
    """Return words of a lexicon, not too many: the utterance's own but for those missing, and others."""
    words = [word for word in all_words if word not in missing]
    if len(words) > _N_WORDS:
        drawn = np.random.default_rng(seed).choice(len(words), _N_WORDS, replace=False)
        words = sorted({words[n] for n in drawn} | (set(own) - missing))
    return tuple(words)


def _loop(recognizer: Recognizer, words: tuple[str, ...]) -> Decoder:
    """Return a decoder of any sequence of some words."""
    config = replace(recognizer.decoder.config, n_best=1, confidence=False)
    lexicon = recognizer.lexicon.restricted_to(words)
    return Decoder(lexicon, WordLoop(words), recognizer.model.topology, config)
