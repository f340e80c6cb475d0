"""Rejection: which words were spoken, and which are only the best that a search found for other sounds.

A search always finds words. A `Judge` leaves those out that count as not spoken:

- All, where the best path through any phones and silences has fewer frames of speech than the shortest word
  takes. That is far from any speech (docs/results/keywords.md).
- By a list of commands, where a model has learned one: a whole sentence is one of them or nothing
  (`CommandRule`).
- By a rule, if that is asked for: a `Rejection` weighs the evidence of each word (`asr.spotting.evidence`) to
  the log odds that it was spoken, and keeps those that reach a threshold. Keywords are judged so, too; the
  fillers between them are in no lexicon and are dropped.

Rules, and keywords with theirs, are kept in files beside the model: ``keywords.json`` and ``rejection.json``
by ``asr keywords``, ``usual_rejection.json`` and ``commands.json`` by ``asr train``.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acoustic.alignment import FitCurve
from acoustic.hmm.graph import utterance_graph
from acoustic.hmm.topology import Topology
from acoustic.model import AcousticModel
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object
from asr.spotting.evidence import (
    CommandEvidence,
    Evidence,
    HeardCommand,
    ScoredSound,
    evidence_of,
    heard_command,
)
from decoder.decoder import Decoder, DecoderConfig, Hypothesis, HypothesisWord
from decoder.lexicon import Lexicon
from foundation.arrays import Singles
from foundation.records import record_of

KEYWORDS = "keywords.json"
REJECTION = "rejection.json"  # the rule for the words of any grammar, in the same form without keywords
COMMAND_RULE = "commands.json"
USUAL_REJECTION = "usual_rejection.json"  # the one that training learns, if no other has been learned since
USUAL = FitCurve(slope=1.5, offset=5.0)  # of margins, for corpora that are too small for a curve of their own


@dataclass(frozen=True)
class Rejection:
    """A rule that keeps the words of a hypothesis that were spoken.

    Attributes
    ----------
    threshold : least log odds of a word that is kept
    weights : by how much each kind of evidence counts
    offset : log odds of a word without any evidence
    of_words : what is added for some words, which are confused with other sounds more or less than others
    """

    threshold: float
    weights: Evidence
    offset: float = 0.0
    of_words: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_curve(cls, curve: FitCurve, threshold: float = 0.0) -> Rejection:
        """Return the rough rule of a model that could learn none, from its curve of how well words fit.

        The curve tells words of other transcripts, put where they do not belong. A search finds better ones:
        a word is kept if it is at most half as far from the best states as those that the curve is unsure of.
        """
        return cls(threshold, Evidence(best_margin=curve.slope), curve.offset / 2)

    def log_odds(self, word: str, evidence: Evidence | None) -> float:
        """Return the log odds that a word was spoken; -inf where it has too few frames to be."""
        if evidence is None:
            return -np.inf
        return float(np.dot(self.weights, evidence)) + self.offset + self.of_words.get(word, 0.0)

    def kept(self, hypothesis: Hypothesis, sound: ScoredSound, lexicon: Lexicon) -> Hypothesis:
        """Return the hypothesis without the words that were probably not spoken, and without fillers.

        The confidence of a kept word is the probability that it was spoken. Alternatives are left out: they
        are of the search, which knows nothing of other sounds.

        Parameters
        ----------
        hypothesis : words as the lexicon has them, in seconds from the first frame of the sound
        sound : emission scores of just these frames
        lexicon : pronunciations; what is not in it is a filler
        """
        from scipy.special import expit  # slow to import; only who rejects words needs it

        words = [word for word in hypothesis.words if word.word in lexicon]
        found = evidence_of(words, sound, lexicon)
        odds = [self.log_odds(word.word, e) for word, e in zip(words, found, strict=True)]
        judged = [replace(word, confidence=float(expit(x))) for word, x in zip(words, odds, strict=True)]
        kept, rejected = (
            tuple(word for word, x in zip(judged, odds, strict=True) if (x >= self.threshold) == wanted)
            for wanted in (True, False)
        )
        return replace(hypothesis, words=kept, rejected=rejected, alternatives=())


@dataclass(frozen=True)
class CommandRule:
    """A rule that keeps a sentence that is one of some commands, as a whole, and nothing else.

    Attributes
    ----------
    commands : the words of each
    seconds : the shortest and the longest that each may last
    weights : by how much each kind of evidence counts
    offset : log odds of a sentence without any evidence
    threshold : least log odds of a sentence that is kept
    """

    commands: tuple[tuple[str, ...], ...]
    seconds: tuple[tuple[float, float], ...]
    weights: CommandEvidence
    offset: float
    threshold: float

    def lenient(self) -> CommandRule:
        """Return the rule that takes every sentence for the command that it is nearest to."""
        return replace(self, threshold=-np.inf)

    def log_odds(self, heard: HeardCommand, frame_shift_s: float) -> float:
        """Return the log odds that a sentence is the command that was heard; -inf if it lasts too long."""
        shortest, longest = self.seconds[heard.place]
        if not shortest <= heard.n_frames * frame_shift_s <= longest:
            return -np.inf
        return float(np.dot(self.weights, heard.evidence)) + self.offset

    def kept(self, hypothesis: Hypothesis, sound: ScoredSound, lexicon: Lexicon) -> Hypothesis:
        """Return the sentence if it is a command, else nothing; parameters as of `Rejection.kept`.

        Its confidence is the probability that it was spoken.
        """
        from scipy.special import expit  # slow to import; only who rejects words needs it

        topology, shift_s = sound.model.topology, sound.model.front_end.frame_shift_s
        graphs = [utterance_graph(lexicon.spoken(words), topology) for words in self.commands]
        heard = heard_command(sound, graphs) if hypothesis.words else None
        if heard is None:
            return replace(hypothesis, words=(), alternatives=())
        odds = self.log_odds(heard, shift_s)
        words = tuple(
            HypothesisWord(word, at.start * shift_s, at.end * shift_s, score, float(expit(odds)))
            for word, at, score in zip(self.commands[heard.place], heard.words, heard.log_scores, strict=True)
        )
        is_kept = odds >= self.threshold
        return replace(
            hypothesis,
            words=words if is_kept else (),
            rejected=() if is_kept else words,
            alternatives=(),
        )


@dataclass(frozen=True)
class Judge:
    """Judges the hypotheses of a recogniser by their emission scores (T, S).

    Attributes
    ----------
    model, lexicon : those of the recogniser
    rejection : which words count as spoken; None keeps all
    """

    model: AcousticModel
    lexicon: Lexicon
    rejection: Rejection | CommandRule | None

    def kept(self, found: Hypothesis, scores: Singles) -> Hypothesis:
        """Return a hypothesis with the words that count as spoken."""
        return self._kept(found, ScoredSound(scores, self.model))

    def spoken(self, found: Hypothesis, scores: Singles) -> Hypothesis:
        """Return a hypothesis with the words that count as spoken; none, and why, where nothing is spoken."""
        sound = ScoredSound(scores, self.model)
        if found.words and (why := why_no_words(sound, self._shortest_word)):
            return replace(found, words=(), alternatives=(), no_speech=why)
        return self._kept(found, sound)

    def _kept(self, found: Hypothesis, sound: ScoredSound) -> Hypothesis:
        return found if self.rejection is None else self.rejection.kept(found, sound, self.lexicon)

    @cached_property
    def _shortest_word(self) -> int:
        return shortest_word(self.lexicon, self.model.topology)


def why_no_words(sound: ScoredSound, n_least: int) -> str:
    """Return why a sound has no room for a word, empty if it has.

    Parameters
    ----------
    sound : emission scores of a recording
    n_least : frames that the shortest word takes, `shortest_word`
    """
    n_speech = int(sound.is_speech.sum())
    if n_speech >= n_least:
        return ""
    return f"{n_speech} of its {len(sound.scores)} frames sound like speech, a word takes {n_least}"


def shortest_word(lexicon: Lexicon, topology: Topology) -> int:
    """Return the least number of frames that a word of a lexicon takes: one for each of its states."""

    def n_states(pronunciation: tuple[str, ...]) -> int:
        units = topology.units(pronunciation)
        return sum(len(topology.phone_states[topology.phone_id(unit)]) for unit in units)

    return min(n_states(p) for word in lexicon for p in lexicon.pronunciations(word))


# Files of rules and keywords.


@dataclass(frozen=True)
class Keywords:
    """Words to be found among any other sounds.

    Attributes
    ----------
    words : the keywords, in the lexicon
    filler_cost : what the search's fillers cost (`decoder.fillers`)
    rejection : which of the words found count as spoken
    """

    words: tuple[str, ...]
    filler_cost: float
    rejection: Rejection

    def decoder(self, lexicon: Lexicon, topology: Topology, config: DecoderConfig) -> Decoder:
        """Return the decoder of the keywords, with fillers for all other sounds."""
        from decoder.fillers import keyword_decoder

        return keyword_decoder(self.words, self.filler_cost, lexicon, topology, config)


class _Kept(NamedTuple):
    """What the file holds, but for the weights of evidence."""

    words: Sequence[str]
    filler_cost: float
    threshold: float
    offset: float
    of_words: Sequence[tuple[str, float]]


def as_kept(chosen: Keywords) -> dict[str, Any]:
    """Return keywords, or a rule without any, as the JSON of their file."""
    rule = chosen.rejection
    return {
        "words": list(chosen.words),
        "filler_cost": chosen.filler_cost,
        "rejection": {**asdict(rule), "weights": rule.weights._asdict()},
    }


def read_keywords(directory: Path, name: str = KEYWORDS) -> Keywords | None:
    """Return the keywords of a model's directory; None where none have been chosen."""
    path = directory / name
    if not path.is_file():
        return None
    verb = "train" if name == USUAL_REJECTION else "keywords"  # that writes the file
    record, cure = read_object(path, verb), f"run asr {verb} again or restore the file"
    with as_train_wrote(path, verb):
        rule = record["rejection"]
        plain = {name: record[name] for name in ("words", "filler_cost")}
        plain |= {name: rule[name] for name in ("threshold", "offset")}
        of_words = list(rule["of_words"].items())
        found = record_of(_Kept, plain | {"of_words": of_words}, ExperimentError, cure=cure)
        weights = record_of(Evidence, rule["weights"], ExperimentError, "weights.", cure)
        rejection = Rejection(found.threshold, weights, found.offset, dict(found.of_words))
        return Keywords(tuple(found.words), found.filler_cost, rejection)


def read_rule(directory: Path) -> Rejection | None:
    """Return the rule for the words of any grammar; None where none has been learned."""
    found = read_keywords(directory, REJECTION) or read_keywords(directory, USUAL_REJECTION)
    return None if found is None else found.rejection


class _KeptCommands(NamedTuple):
    """What the file of a command rule holds, but for the weights and what was heard in takes."""

    commands: Sequence[str]
    seconds: Sequence[tuple[float, float]]
    offset: float
    threshold: float


def command_rule_as_kept(rule: CommandRule) -> dict[str, Any]:
    """Return a rule of commands as the JSON of its file."""
    texts = [" ".join(words) for words in rule.commands]
    return {**asdict(rule), "commands": texts, "weights": rule.weights._asdict()}


def read_command_rule(directory: Path) -> CommandRule | None:
    """Return the rule of the commands in a model's directory; None where none was learned."""
    path, cure = directory / COMMAND_RULE, "run asr train again or restore the file"
    if not path.is_file():
        return None
    record = read_object(path)
    if "weights" not in record:  # too few takes to tell
        return None
    with as_train_wrote(path):
        plain = {name: record[name] for name in _KeptCommands._fields}
        found = record_of(_KeptCommands, plain, ExperimentError, cure=cure)
        weights = record_of(CommandEvidence, record["weights"], ExperimentError, "weights.", cure)
        commands = tuple(tuple(text.split()) for text in found.commands)
        seconds = tuple((float(low), float(high)) for low, high in found.seconds)
        return CommandRule(commands, seconds, weights, found.offset, found.threshold)


def copy_chosen(source: Path, target: Path) -> None:
    """Copy what was chosen for a model to another directory of the same model."""
    for name in (KEYWORDS, REJECTION):
        if (source / name).is_file():
            shutil.copy2(source / name, target / name)


def rows_of_chosen(results: Path, models: Path) -> list[Any]:
    """Return those rows of ``results.json`` about keywords and rules whose models still have them."""
    if not results.is_file():
        return []
    with suppress(ExperimentError):  # a damaged file is about to be replaced
        rows = read_object(results).get("keywords", [])
        return [row for row in rows if _is_kept(row, models)] if isinstance(rows, list) else []
    return []


def _is_kept(row: object, models: Path) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        return False
    place: Path = models / row["model"]
    return (place / (KEYWORDS if row.get("words") else REJECTION)).is_file()
