"""Word accuracies as people and programs read them: ``results.json``, tables in plain text, JSON.

``results.json`` has one row for each model, split and grammar of an experiment. All its rows are of the same
recordings, transcripts and lexicon, which ``inputs`` stands for: models that were trained one after the other
stand beside each other. A single word accuracy, as ``asr score`` finds it, is shown with its speakers and its
most frequent errors.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from asr.scoring.edit_distance import Confusion, ErrorCounts
from asr.scoring.scoring import Comparison, SpeakerAccuracy, WordAccuracy, too_few
from asr.systems import GrammarName
from foundation.errors import listed
from foundation.records import record_of

RESULTS = "results.json"
_N_NAMED = 5  # by feel

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """One row; accuracies in percent, ``interval`` the 95 % interval of the word accuracy."""

    model: str
    preset: str
    split: str
    grammar: GrammarName
    word_accuracy: float
    substitutions: int
    deletions: int
    insertions: int
    words: int
    interval: tuple[float, float]
    sentence_accuracy: float
    utterances: int
    incomplete: int

    @classmethod
    def of(
        cls,
        accuracy: WordAccuracy,
        *,
        model: str,
        preset: str,
        split: str,
        grammar: GrammarName,
        incomplete: int,
    ) -> Result:
        """Return the row of a word accuracy."""
        return cls(
            model=model,
            preset=preset,
            split=split,
            grammar=grammar,
            word_accuracy=round(accuracy.word_accuracy, 3),
            substitutions=accuracy.substitutions,
            deletions=accuracy.deletions,
            insertions=accuracy.insertions,
            words=accuracy.words,
            interval=(round(accuracy.interval[0], 3), round(accuracy.interval[1], 3)),
            sentence_accuracy=round(accuracy.sentence_accuracy, 3),
            utterances=len(accuracy.utterances),
            incomplete=incomplete,
        )


def write_results(
    results: Sequence[Result],
    directory: Path,
    *,
    synthetic: bool,
    inputs: str = "",
    keywords: Sequence[object] = (),
) -> None:
    """Write ``results.json``, with rows of keywords if any have been chosen.

    ``inputs`` stands for the recordings, transcripts and lexicon that all rows are of.
    """
    chosen = {"keywords": list(keywords)} if keywords else {}
    rows = [asdict(r) for r in results]
    write_json(directory / RESULTS, {"results": rows, "inputs": inputs, "synthetic": synthetic, **chosen})


def read_results(directory: Path) -> tuple[Result, ...]:
    """Return the rows of ``results.json``."""
    record = read_object(directory / RESULTS)
    with as_train_wrote(directory / RESULTS):
        return tuple(record_of(Result, row, ExperimentError, "results.") for row in record["results"])


def rows_before(directory: Path) -> tuple[tuple[Result, ...], str]:
    """Return the rows of earlier runs, and what stands for their inputs; none where they cannot be read."""
    if not (directory / RESULTS).is_file():
        return (), ""
    try:
        return read_results(directory), str(read_object(directory / RESULTS).get("inputs", ""))
    except ExperimentError as error:
        logger.warning("%s; its rows are replaced", error)
        return (), ""


def best_model(
    results: Sequence[Result], models: Sequence[str], now: str = ""
) -> tuple[str, dict[str, float]]:
    """Return the model that is best on dev (on test without dev), and the accuracies that say so.

    They are means over the grammars that all models were decoded with. Of equals one of discriminants is
    taken before mixtures, which make more errors with voices they do not know; of such equals the one that is
    the best ``now``, else the first.
    """
    split = "dev" if any(r.split == "dev" for r in results) else "test"
    rows = [row for row in results if row.split == split]
    found = {m: {row.grammar: row.word_accuracy for row in rows if row.model == m} for m in models}
    shared = set.intersection(*map(set, found.values()))
    means = {
        model: sum(own[grammar] for grammar in shared or own) / max(len(shared or own), 1)
        for model, own in found.items()
    }
    is_mixtures = {model: model.startswith("gmm") for model in models}
    return max(models, key=lambda model: (means[model], not is_mixtures[model], model == now)), means


def is_synthetic(directory: Path) -> bool:
    """Return whether ``results.json`` says that the speech is not of people."""
    return bool(read_object(directory / RESULTS).get("synthetic"))


def format_results(results: Sequence[Result], *, synthetic: bool = False) -> str:
    """Return the rows as a table in plain text."""
    head = (
        "model",
        "grammar",
        "split",
        "words",
        "word acc %",
        "95 % interval",
        "sub",
        "del",
        "ins",
        "sent acc %",
    )
    rows = [
        (
            r.model,
            r.grammar,
            r.split,
            str(r.words),
            f"{r.word_accuracy:.2f}",
            f"{r.interval[0]:.1f}–{r.interval[1]:.1f}",
            str(r.substitutions),
            str(r.deletions),
            str(r.insertions),
            f"{r.sentence_accuracy:.1f}",
        )
        for r in results
    ]
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(w) if c < 3 else cell.rjust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, tuple("-" * w for w in widths), *rows]
    ]
    if synthetic:
        lines.append(
            "SYNTHETIC speech (espeak-ng), not recordings of people: not comparable with any other figure."
        )
    cautions = dict.fromkeys((r.split, too_few(r.interval, r.utterances)) for r in results)
    lines += [f"{split}: {caution}" for split, caution in cautions if caution]
    incomplete = sum(r.incomplete for r in results)
    if incomplete:
        lines.append(
            f"{incomplete} decoding(s) ended without a complete sentence; the best partial words were scored."
        )
    return "\n".join(line.rstrip() for line in lines)


def format_accuracy(accuracy: WordAccuracy, *, n_confusions: int = 10) -> str:
    """Return the summary line, what is missing, the speakers and the most frequent errors.

    Examples
    --------
    >>> from asr.scoring.scoring import score
    >>> print(format_accuracy(score({"u1": ["go", "left"]}, {"u1": ["go", "lift"]})))
    word accuracy 50.00 %, 95 % interval over utterances [0.89, 99.11]
    1 sentence: too few to tell
    2 words, 1 substituted, 0 deleted, 0 inserted
    sentence accuracy 0.00 %, 1 utterances
    <BLANKLINE>
    errors  reference  recognised
         1  left       lift
    """
    low, high = accuracy.interval
    blocks = [
        [
            f"word accuracy {accuracy.word_accuracy:.2f} %, "
            f"95 % interval over utterances [{low:.2f}, {high:.2f}]",
            *([caution] if (caution := too_few(accuracy.interval, len(accuracy.utterances))) else []),
            f"{accuracy.words} words, {accuracy.substitutions} substituted, {accuracy.deletions} deleted, "
            f"{accuracy.insertions} inserted",
            f"sentence accuracy {accuracy.sentence_accuracy:.2f} %, {len(accuracy.utterances)} utterances",
            *_missing_lines("hypothesis", accuracy.missing),
            *_not_decoded_lines(accuracy.not_decoded),
        ],
        _speaker_lines(accuracy.speakers),
        _confusion_lines(accuracy.confusions, n_confusions),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def hresults_lines(accuracy: WordAccuracy) -> tuple[str, str]:
    """Return the two lines of figures that HTK's HResults prints of all files.

    HResults leaves out an utterance without any recognised word; here its words are deleted.
    """
    counts, n_sentences = accuracy.counts, len(accuracy.utterances)
    n_right = sum(u.is_correct for u in accuracy.utterances)
    return (
        f"SENT: %Correct={accuracy.sentence_accuracy:.2f} "
        f"[H={n_right}, S={n_sentences - n_right}, N={n_sentences}]",
        f"WORD: %Corr={100 * counts.correct / counts.words:.2f}, Acc={counts.word_accuracy:.2f} "
        f"[H={counts.correct}, D={counts.deletions}, S={counts.substitutions}, I={counts.insertions}, "
        f"N={counts.words}]",
    )


def format_comparison(comparison: Comparison) -> str:
    """Return the difference of two recognisers in three lines, and what is missing."""
    low, high = comparison.interval
    lines = [
        f"word accuracy A {comparison.accuracy_a:.2f} %, B {comparison.accuracy_b:.2f} %",
        f"B − A {comparison.difference:+.2f} points [{low:+.2f}, {high:+.2f}], p = {comparison.p_value:.2g} "
        "(in pairs, over utterances)",
        f"fewer errors in {comparison.n_better_a} utterances with A, {comparison.n_better_b} with B, "
        f"as many in {comparison.n_equal}, p = {comparison.sign_test_p_value:.2g} (sign test)",
        *_missing_lines("hypothesis of A", comparison.missing_a),
        *_missing_lines("hypothesis of B", comparison.missing_b),
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Contestant:
    """One of several models that were evaluated on the same utterances.

    Attributes
    ----------
    experiment, model, grammar : which it is
    accuracy : its word accuracy
    comparison : with the first of them, which is A; None of the first
    """

    experiment: str
    model: str
    grammar: str
    accuracy: WordAccuracy
    comparison: Comparison | None


def format_contest(contestants: Sequence[Contestant], left_out: Mapping[str, str]) -> str:
    """Return a table with a line for each model, and what its last columns are."""
    head = ["", "experiment", "model", "grammar", "word acc %", "95 % interval", "sent acc %"]
    head += ["over 1", "95 % interval", "p"]
    rows = [
        [
            str(n),
            each.experiment,
            each.model,
            each.grammar,
            f"{each.accuracy.word_accuracy:.2f}",
            "{:.1f}–{:.1f}".format(*each.accuracy.interval),
            f"{each.accuracy.sentence_accuracy:.1f}",
            *(
                ["", "", ""]
                if each.comparison is None
                else [
                    f"{each.comparison.difference:+.2f}",
                    "{:+.1f} to {:+.1f}".format(*each.comparison.interval),
                    f"{each.comparison.p_value:.2g}",
                ]
            ),
        ]
        for n, each in enumerate(contestants, 1)
    ]
    accuracy = contestants[0].accuracy
    lines = [
        *columns([head, *rows], "><<<>>>>>>"),
        "",
        f"{_count(len(accuracy.utterances), 'utterance')} with {_count(accuracy.words, 'word')}, "
        "the same for all. Over 1: points more than the first, with interval and p in pairs, over "
        "utterances; they say nothing of other speakers or of another training.",
    ]
    if left_out:
        named = listed([f"{name} ({why})" for name, why in left_out.items()], _N_NAMED)
        lines.append(f"left out: {_count(len(left_out), 'utterance')}: {named}")
    return "\n".join(lines)


def contest_record(contestants: Sequence[Contestant], left_out: Mapping[str, str]) -> dict[str, Any]:
    """Return the same as JSON can hold it."""
    return {
        "systems": [
            {
                "experiment": each.experiment,
                "model": each.model,
                "grammar": each.grammar,
                **_counts_json(each.accuracy.counts),
                "interval": list(each.accuracy.interval),
                "sentence_accuracy": each.accuracy.sentence_accuracy,
                "difference": None
                if each.comparison is None
                else {
                    "points": each.comparison.difference,
                    "interval": list(each.comparison.interval),
                    "p_value": each.comparison.p_value,
                    "sign_test_p_value": each.comparison.sign_test_p_value,
                },
            }
            for each in contestants
        ],
        "utterances": len(contestants[0].accuracy.utterances),
        "left_out": dict(left_out),
    }


def accuracy_record(accuracy: WordAccuracy) -> dict[str, Any]:
    """Return what `json.dumps` accepts; the word accuracy of a speaker without words is None."""
    return {
        **_counts_json(accuracy.counts),
        "interval": list(accuracy.interval),
        "sentence_accuracy": accuracy.sentence_accuracy,
        "utterances": len(accuracy.utterances),
        "missing": list(accuracy.missing),
        "speakers": {
            s.speaker: {
                **_counts_json(s.counts),
                "utterances": s.n_utterances,
                "correct_utterances": s.n_correct_utterances,
            }
            for s in accuracy.speakers
        },
        "confusions": [
            {"reference": c.reference, "hypothesis": c.hypothesis, "count": c.count}
            for c in accuracy.confusions
        ],
    }


def _counts_json(counts: ErrorCounts) -> dict[str, float | int | None]:
    return {
        "word_accuracy": counts.word_accuracy if counts.words else None,
        "substitutions": counts.substitutions,
        "deletions": counts.deletions,
        "insertions": counts.insertions,
        "words": counts.words,
    }


def _missing_lines(what: str, missing: Sequence[str]) -> list[str]:
    if not missing:
        return []
    return [f"no {what} for {len(missing)} utterances, counted as deleted: {listed(missing, _N_NAMED)}"]


def _not_decoded_lines(n_words: Mapping[str, int]) -> list[str]:
    if not n_words:
        return []
    total = sum(n_words.values())
    what = f"not decoded, in no count: {_count(len(n_words), 'utterance')} with {_count(total, 'word')}"
    return [f"{what}: {listed([*n_words], _N_NAMED)}"]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _speaker_lines(speakers: Iterable[SpeakerAccuracy]) -> list[str]:
    rows = [
        [
            s.speaker,
            f"{s.counts.word_accuracy:.2f}" if s.counts.words else "-",
            *map(str, (s.counts.words, s.counts.substitutions, s.counts.deletions, s.counts.insertions)),
            f"{s.n_correct_utterances}/{s.n_utterances}",
        ]
        for s in speakers
    ]
    header = ["speaker", "accuracy", "words", "sub", "del", "ins", "correct utterances"]
    return columns([header, *rows], "<>>>>>>") if rows else []


def _confusion_lines(confusions: Sequence[Confusion], n_shown: int) -> list[str]:
    rows = [
        [str(c.count), c.reference or "(inserted)", c.hypothesis or "(deleted)"] for c in confusions[:n_shown]
    ]
    n_hidden = len(confusions) - len(rows)
    hidden = [f"({n_hidden} more kinds of error)"] if rows and n_hidden else []
    return [*columns([["errors", "reference", "recognised"], *rows], "><<"), *hidden] if rows else []


def columns(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Return one line per row, each cell padded to the width of its column; a side is "<" or ">"."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = [f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True)]
    return ["  ".join(map(str.format, forms, row)).rstrip() for row in rows]
