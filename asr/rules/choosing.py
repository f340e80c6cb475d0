"""Rules and thresholds, chosen by what was heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData
from asr.decoding.keywords import Keywords
from asr.decoding.rejection import USUAL, Rejection
from asr.recognizer import Recognizer
from asr.rules.hearing import HeardPiece, hear, pieces_of_speech
from asr.rules.withheld import withheld
from asr.scoring.detection import OperatingPoint, Wanted, detection_curve, operating_point
from asr.training.rejection import learn_rejection

KEPT = 99.0  # percent of the words recognised right, by the rule for the words of a grammar; at least
N_LEARNED_FROM = 500  # words, about, for what training learns; their utterances are heard four times


@dataclass(frozen=True)
class ChosenKeywords:
    """Keywords of a model, and what was measured when their threshold was chosen.

    Attributes
    ----------
    model : name
    keywords : what the model needs to find them
    point : what the threshold does
    curve : what others do, from the strictest to the most lenient
    n_spoken : keywords in the transcripts
    hours : duration of all recordings
    """

    model: str
    keywords: Keywords
    point: OperatingPoint
    curve: tuple[OperatingPoint, ...]
    n_spoken: int
    hours: float


def chosen_by(
    model: str, untried: Keywords, place: int, heard: Sequence[HeardPiece], wanted: Wanted
) -> ChosenKeywords:
    """Return what one of the decoders, given by its place, reaches with a rule of its own.

    Without a wish, a rule for the words of a grammar keeps nearly all of those that are right, and whatever
    is more probably right than wrong.
    """
    usual = not untried.words and wanted == Wanted()
    if usual:
        wanted = Wanted(detection=KEPT)
    hours = sum(h.seconds for h in heard) / 3600
    candidates = [candidate for h in heard for candidate in h.found[place]]
    rule, odds = learn_rejection(candidates, untried.words, untried.rejection)
    counted = np.array([c.is_counted for c in candidates], dtype=bool)
    is_hit, odds = np.array([c.is_spoken for c in candidates], dtype=bool)[counted], odds[counted]
    n_spoken = sum(h.n_spoken for h in heard) if untried.words else int(is_hit.sum())
    threshold = wanted.threshold(odds, is_hit, n_spoken, hours)
    if usual:
        threshold = min(threshold, 0.0)
    return ChosenKeywords(
        model,
        replace(untried, rejection=replace(rule, threshold=threshold)),
        operating_point(threshold, odds, is_hit, n_spoken, hours),
        tuple(detection_curve(odds, is_hit, n_spoken, hours)),
        n_spoken,
        hours,
    )


def fallback_of(recognizer: Recognizer) -> Rejection:
    """Return the rough rule of a recogniser for which there is too little to learn from."""
    return Rejection.of_curve(recognizer.word_curve or USUAL)


def _more_than_enough(corpus: Corpus) -> set[str]:
    """Return the ids of utterances beyond those that have enough words, drawn at random."""
    order = np.random.default_rng(0).permutation(len(corpus))
    before = np.cumsum([0, *(len(corpus.utterances[n].spoken) for n in order)])[:-1]
    return {corpus.utterances[n].utterance_id for n in order[before >= N_LEARNED_FROM]}


def learned_rule(recognizer: Recognizer, data: SpeechData) -> Keywords | None:
    """Return the rule for the words of the grammar that transcribed speech teaches; None of too little.

    It is learned from some of the speech, the same backwards, and the same with words withheld.

    Parameters
    ----------
    recognizer : tuned, and not trained by the speech
    data : transcribed speech
    """
    data = data.without(_more_than_enough(data.corpus))
    pieces = pieces_of_speech(recognizer, data, "dev", with_backwards=True)
    heard = hear(
        recognizer,
        [*pieces, *withheld(recognizer, pieces)],
        recognizer.lexicon.words,
        [recognizer.decoder],
    )
    rough = Keywords((), 0.0, fallback_of(recognizer))
    found = chosen_by(recognizer.name, rough, 0, heard, Wanted())
    return found.keywords if is_learned(found, recognizer) else None


def is_learned(found: ChosenKeywords, recognizer: Recognizer) -> bool:
    """Return whether there was enough to learn from: otherwise the rule is the rough one."""
    return found.keywords.rejection.weights != fallback_of(recognizer).weights
