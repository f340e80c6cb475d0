"""Rules of rejection and thresholds, learned from words that a search has found, right and wrong ones.

The log odds that a word was spoken are a linear function of the evidence, fitted by logistic regression with
a term for each word. Thresholds must not be chosen by odds of the words that the function was fitted to; so
each group of words, such as those of a speaker, is judged by a function fitted to the others, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from acoustic.hmm.graph import UtteranceGraph
from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData
from asr.recognizer import Recognizer
from asr.spotting.detection import OperatingPoint, Wanted, detection_curve, operating_point
from asr.spotting.evidence import CommandEvidence, Evidence, HeardCommand, ScoredSound, heard_command
from asr.spotting.pieces import N_GROUPS, Candidate, SearchedPiece, find_words, pieces_of_speech, withheld
from asr.spotting.rejection import USUAL, CommandRule, Keywords, Rejection
from foundation.arrays import Flags, Floats
from foundation.threads import single_threaded_libraries

LEAST_OF_A_KIND = 10  # right and wrong words to learn from; by feel
KEPT = 99.0  # percent of the words recognised right that a rule keeps at least; docs/results/keywords.md
# Words of dev, about, from which training learns a rule. Each utterance is searched four times: as it was
# said, backwards, and twice with words withheld; by feel.
N_LEARNED_FROM = 500
COMMAND_TEMPO = 1.6  # by which a command may be faster or slower than in all its takes; by feel
COMMAND_THRESHOLD = 0.0  # benchmarks/commands.py: docs/results/keywords.md
_FAR = 200.0  # nats, below the worst score of a sound that is not there; by feel
_STRENGTH = 1.0  # of the penalty on weights of evidence of variance 1; by feel


def learn_rejection(
    candidates: Sequence[Candidate], words: Sequence[str], fallback: Rejection
) -> tuple[Rejection, Floats]:
    """Return the rule learned, with threshold 0, and each candidate's log odds (N,) as if it were new.

    Where there are too few candidates of a kind, the rule is the one to fall back to.

    Parameters
    ----------
    candidates : right and wrong words
    words : those that get a term of their own
    fallback : the rule of who has too few
    """
    usable = [c for c in candidates if c.evidence is not None]
    targets = np.array([c.is_spoken for c in usable], dtype=bool)
    groups = np.array([c.group for c in usable])
    if not _are_enough(targets) or len(set(groups)) < N_GROUPS:
        return fallback, log_odds_of(fallback, candidates)
    odds = np.full(len(candidates), -np.inf)
    places = np.flatnonzero([c.evidence is not None for c in candidates])
    for inner, outer in GroupKFold(N_GROUPS).split(targets, groups=groups):
        rule = fallback
        if _are_enough(targets[inner]):
            rule = _fitted([usable[n] for n in inner], targets[inner], words)
        odds[places[outer]] = log_odds_of(rule, [usable[n] for n in outer])
    return _fitted(usable, targets, words), odds


def log_odds_of(rule: Rejection, candidates: Sequence[Candidate]) -> Floats:
    """Return the log odds (N,) that a rule gives to each candidate."""
    return np.array([rule.log_odds(c.word, c.evidence) for c in candidates], dtype=np.float64)


def _are_enough(targets: Flags) -> bool:
    return min(int(targets.sum()), int((~targets).sum())) >= LEAST_OF_A_KIND


def _fitted(usable: Sequence[Candidate], targets: Flags, words: Sequence[str]) -> Rejection:
    """Return the rule that fits candidates best, each of which has evidence."""
    evidence = np.array([c.evidence for c in usable], dtype=np.float64)
    is_word = np.array([[c.word == word for word in words] for c in usable], dtype=np.float64)
    mean, scale = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), 1e-9)
    model = LogisticRegression(C=1 / _STRENGTH, max_iter=5000)
    with single_threaded_libraries():  # the last digits must not depend on the number of cores
        model.fit(np.hstack([(evidence - mean) / scale, is_word]), targets)
    weights, of_words = np.split(model.coef_[0], [evidence.shape[1]])
    weights = weights / scale
    offset = float(model.intercept_[0] - weights @ mean)
    return Rejection(
        0.0, Evidence(*weights.tolist()), offset, dict(zip(words, of_words.tolist(), strict=True))
    )


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
    model: str, untried: Keywords, place: int, searched: Sequence[SearchedPiece], wanted: Wanted
) -> ChosenKeywords:
    """Return the keywords with a rule and threshold learned for one of the decoders, and what they reach.

    Without a wish, a rule for the words of a grammar keeps nearly all of those that are right, and whatever
    is more probably right than wrong.
    """
    usual = not untried.words and wanted == Wanted()
    if usual:
        wanted = Wanted(detection=KEPT)
    hours = sum(piece.seconds for piece in searched) / 3600
    candidates = [candidate for piece in searched for candidate in piece.found[place]]
    rule, odds = learn_rejection(candidates, untried.words, untried.rejection)
    counted = np.array([c.is_counted for c in candidates], dtype=bool)
    is_hit, odds = np.array([c.is_spoken for c in candidates], dtype=bool)[counted], odds[counted]
    n_spoken = sum(piece.n_spoken for piece in searched) if untried.words else int(is_hit.sum())
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


# Commands: which sentences are one of them, learned from takes that were left out of a training.


class HeardTake(NamedTuple):
    """A take of a command, as a model hears it that was not trained on it.

    Attributes
    ----------
    utterance_id : its id
    said : place of its command in the list; None of a take of something else
    heard : what is heard; None where it is too short for any command
    impostors : what is heard where that command is not in the grammar, nor its sounds, and backwards
    """

    utterance_id: str
    said: int | None
    heard: HeardCommand | None
    impostors: tuple[HeardCommand, ...]


def hear_take(
    utterance_id: str, said: int | None, sound: ScoredSound, graphs: Sequence[UtteranceGraph]
) -> HeardTake:
    """Return what is heard in a take.

    Parameters
    ----------
    utterance_id, said : of the take
    sound : its emission scores
    graphs : of each command, with silence around it
    """
    heard = heard_command(sound, graphs)
    if said is None:
        return HeardTake(utterance_id, said, None, () if heard is None else (heard,))
    elsewhere = {s for n, graph in enumerate(graphs) if n != said for s in graph.states.tolist()}
    own = sorted(set(graphs[said].states.tolist()) - elsewhere)
    unlisted = sound.scores.copy()
    unlisted[:, own] = unlisted.min() - _FAR
    backwards = ScoredSound(np.ascontiguousarray(sound.scores[::-1]), sound.model)
    impostors = (
        heard_command(ScoredSound(unlisted, sound.model), graphs, said),
        heard_command(backwards, graphs),
    )
    found = tuple(one for one in impostors if one is not None)
    return HeardTake(utterance_id, said, heard, found)


def learn_commands(
    takes: Sequence[HeardTake], commands: Sequence[tuple[str, ...]], frame_shift_s: float
) -> CommandRule | None:
    """Return which sentences count as one of some commands; None where the takes are too few to tell."""
    right = [take.heard for take in takes if take.heard is not None and take.heard.place == take.said]
    wrong = [one for take in takes for one in take.impostors]
    if min(len(right), len(wrong)) < LEAST_OF_A_KIND:
        return None
    evidence = np.array([one.evidence for one in (*right, *wrong)], dtype=np.float64)
    targets = np.arange(len(evidence)) < len(right)
    mean, scale = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), 1e-9)
    model = LogisticRegression(C=1 / _STRENGTH, class_weight="balanced", max_iter=5000)
    with single_threaded_libraries():  # the last digits must not depend on the number of cores
        model.fit((evidence - mean) / scale, targets)
    weights = model.coef_[0] / scale
    offset = float(model.intercept_[0] - weights @ mean)
    lasting = [
        [one.n_frames * frame_shift_s for one in right if one.place == place]
        for place in range(len(commands))
    ]
    every = [seconds for of_one in lasting for seconds in of_one]
    seconds = tuple(
        (min(of_one or every) / COMMAND_TEMPO, max(of_one or every) * COMMAND_TEMPO) for of_one in lasting
    )
    return CommandRule(
        tuple(commands), seconds, CommandEvidence(*weights.tolist()), offset, COMMAND_THRESHOLD
    )


def fallback_of(recognizer: Recognizer) -> Rejection:
    """Return the rough rule of a recogniser for which there is too little to learn from."""
    return Rejection.of_curve(recognizer.word_curve or USUAL)


def is_learned(found: ChosenKeywords, recognizer: Recognizer) -> bool:
    """Return whether there was enough to learn from: otherwise the rule is the rough one."""
    return found.keywords.rejection.weights != fallback_of(recognizer).weights


def learned_rule(recognizer: Recognizer, data: SpeechData) -> Keywords | None:
    """Return the rule for the grammar's words, learned from transcribed speech; None if that is too little.

    It is learned from some of the speech, the same backwards, and the same with words withheld.

    Parameters
    ----------
    recognizer : tuned, and not trained by the speech
    data : transcribed speech
    """
    data = data.without(_more_than_enough(data.corpus))
    pieces = pieces_of_speech(recognizer, data, "dev", with_backwards=True)
    searched = find_words(
        recognizer,
        [*pieces, *withheld(recognizer, pieces)],
        recognizer.lexicon.words,
        [recognizer.decoder],
    )
    rough = Keywords((), 0.0, fallback_of(recognizer))
    found = chosen_by(recognizer.name, rough, 0, searched, Wanted())
    return found.keywords if is_learned(found, recognizer) else None


def _more_than_enough(corpus: Corpus) -> set[str]:
    """Return the ids of utterances beyond those that have enough words, drawn at random."""
    order = np.random.default_rng(0).permutation(len(corpus))
    before = np.cumsum([0, *(len(corpus.utterances[n].spoken) for n in order)])[:-1]
    return {corpus.utterances[n].utterance_id for n in order[before >= N_LEARNED_FROM]}
