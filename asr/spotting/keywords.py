"""Choosing keywords of a model: words that are found among other sounds, at a wanted rate of false alarms."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from asr.errors import CorpusError
from asr.files import read_object, write_json
from asr.formats.model_directories import model_directory
from asr.recognizer import Recognizer
from asr.scoring.results import RESULTS
from asr.spotting.detection import RULE_OF_THREE, OperatingPoint, Wanted
from asr.spotting.learning import (
    LEAST_OF_A_KIND,
    ChosenKeywords,
    chosen_by,
    fallback_of,
    is_learned,
)
from asr.spotting.pieces import N_GROUPS, find_words, pieces_of_corpus, pieces_of_others, withheld
from asr.spotting.rejection import KEYWORDS, REJECTION, Keywords, as_kept
from foundation.errors import listed

FILLER_COSTS = (5.0, 10.0, 15.0, 20.0, 30.0)  # of which the best on dev is taken; by feel

logger = logging.getLogger(__name__)


def keywords(
    experiment: str | Path,
    words: Sequence[str] = (),
    *,
    corpus: str | Path,
    other: Sequence[str | Path] = (),
    false_alarms: float | None = None,
    detection: float | None = None,
    model: str | None = None,
) -> ChosenKeywords:
    """Choose keywords of a model and the threshold of their odds, and write ``keywords.json`` beside it.

    What decides is learned from words found in the corpus, in the corpus played backwards, and in the other
    recordings; the threshold and the curve are of odds by rules that were learned from other speakers
    (`asr.spotting.learning`), and of recordings played forwards.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    words : the keywords, in the model's lexicon; without any, what is learned is a rule for the words of the
        grammar (``rejection.json``, for ``decode --reject``), and detection is the share of the words
        recognised right that are kept, 99 % or more by default
    corpus : transcribed speech with the keywords, that did not train the model
    other : directories of recordings, or single ones, without any keyword: other speech, and noise; of a
        Kaldi directory the transcripts say where keywords are
    false_alarms : wanted rate, an hour; 1 by default
    detection : wanted share of keywords that are found, in percent, instead of a rate of false alarms
    model : name; by default the one that was best on dev
    """
    wanted, directory = Wanted(false_alarms, detection), model_directory(Path(experiment), model)
    # What is about to be replaced may be damaged.
    recognizer = Recognizer.load(experiment, model, with_chosen=False)
    fallback = fallback_of(recognizer)
    chosen = tuple(dict.fromkeys(word.word for text in words for word in recognizer.read(text)))
    if chosen:
        recognizer = replace(recognizer, first_pass=None)  # other people may speak
        untried = [Keywords(chosen, cost, fallback) for cost in FILLER_COSTS]
        lexicon, topology, config = recognizer.lexicon, recognizer.model.topology, recognizer.decoder.config
        decoders = [each.decoder(lexicon, topology, config) for each in untried]
    else:
        untried, decoders = [Keywords((), 0.0, fallback)], [recognizer.decoder]
    pieces = [*pieces_of_corpus(recognizer, corpus, directory, with_backwards=True)]
    if not chosen:
        pieces += withheld(recognizer, pieces)
    for place in other:
        pieces += pieces_of_others(recognizer, Path(place), directory)
    searched = find_words(recognizer, pieces, chosen or recognizer.lexicon.words, decoders)
    if not any(piece.n_spoken for piece in searched):
        raise CorpusError(
            f"{corpus}: none of these words is in its transcripts, expected some: "
            f"{listed(chosen or recognizer.lexicon.words)}; give a corpus in which they are said"
        )
    trials = [chosen_by(recognizer.name, each, n, searched, wanted) for n, each in enumerate(untried)]
    best = min(trials, key=lambda trial: (wanted.shortfall(trial.point), trial.keywords.filler_cost))
    if not chosen and not is_learned(best, recognizer):
        raise CorpusError(
            f"{corpus}: too little to learn from, expected {LEAST_OF_A_KIND} words recognised right and as "
            f"many wrong ones, by {N_GROUPS} speakers or in as many utterances; give more speech"
        )
    if chosen or wanted != Wanted():
        _tell_what_is_uncertain(best, wanted)
    _write(best, directory, Path(experiment))
    return best


def _tell_what_is_uncertain(found: ChosenKeywords, wanted: Wanted) -> None:
    """Log what the recordings are too short to tell, and what was wanted and is not reached."""
    rate = wanted.rate
    if rate is not None and rate * found.hours < RULE_OF_THREE:
        needed = f"; it takes {RULE_OF_THREE / rate:.1f} hours: give more with --other" if rate else ""
        logger.warning(
            "%.2f hours cannot tell %g false alarms an hour: even without a single one there may be up to "
            "%.1f an hour%s",
            found.hours,
            rate,
            RULE_OF_THREE / found.hours,
            needed,
        )
    if wanted.detection is not None and found.point.detection < wanted.detection:
        logger.warning(
            "%.1f %% of the keywords are found at most, expected %g %%: the search has no more of them",
            found.point.detection,
            wanted.detection,
        )


def as_record(found: ChosenKeywords) -> dict[str, Any]:
    """Return what was chosen and measured as JSON can hold it."""
    return {
        "model": found.model,
        **as_kept(found.keywords),
        "spoken": found.n_spoken,
        "hours": round(found.hours, 4),
        **asdict(found.point),
        "curve": [asdict(point) for point in found.curve],
    }


def _write(found: ChosenKeywords, directory: Path, experiment: Path) -> None:
    """Write ``keywords.json`` or ``rejection.json``, and a row of ``results.json`` where there is one."""
    record = as_record(found)
    write_json(directory / (KEYWORDS if found.keywords.words else REJECTION), record)
    path = experiment / RESULTS
    if path.is_file():
        results = read_object(path)
        row = {name: value for name, value in record.items() if name not in ("rejection", "curve")}
        write_json(path, {**results, "keywords": [*results.get("keywords", []), row]})


def format_keywords(found: ChosenKeywords) -> str:
    """Return what was chosen and the curve as plain text for people."""
    words = ", ".join(found.keywords.words) or "words recognised right"
    head = ("threshold", "detected", "%", "95 % interval", "false alarms", "an hour", "95 % interval")
    points = sorted({*found.curve, found.point}, key=lambda point: -point.threshold)
    rows = [head, *map(_cells, points)]
    widths = [max(len(row[c]) for row in rows) for c in range(len(head))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    chosen = 1 + points.index(found.point)
    lines[chosen] += "  <- chosen"
    return "\n".join([f"{found.model}: {words}: {found.n_spoken} in {found.hours:.2f} hours", *lines])


def _cells(point: OperatingPoint) -> tuple[str, ...]:
    low, high = point.detection_interval
    least, most = point.false_alarms_interval
    return (
        f"{point.threshold:.2f}",
        str(point.detected),
        f"{point.detection:.1f}",
        f"{low:.1f}–{high:.1f}",
        str(point.false_alarms),
        f"{point.false_alarms_per_hour:.1f}",
        f"{least:.1f}–{most:.1f}",
    )
