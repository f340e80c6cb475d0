"""``results.json``: one row for each model, split and grammar; and the table a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from asr.config import GrammarName
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from asr.scoring.scoring import WordAccuracy
from foundation.records import record_of

RESULTS = "results.json"


@dataclass(frozen=True)
class Result:
    """One row; accuracies in percent, ``interval`` the 95 % bootstrap interval of the word accuracy."""

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
    results: Sequence[Result], directory: Path, *, synthetic: bool, keywords: Sequence[object] = ()
) -> None:
    """Write ``results.json``, with rows of keywords if any have been chosen."""
    chosen = {"keywords": list(keywords)} if keywords else {}
    rows = [asdict(r) for r in results]
    write_json(directory / RESULTS, {"results": rows, "synthetic": synthetic, **chosen})


def read_results(directory: Path) -> tuple[Result, ...]:
    """Return the rows of ``results.json``."""
    record = read_object(directory / RESULTS)
    with as_train_wrote(directory / RESULTS):
        return tuple(record_of(Result, row, ExperimentError, "results.") for row in record["results"])


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
    incomplete = sum(r.incomplete for r in results)
    if incomplete:
        lines.append(
            f"{incomplete} decoding(s) ended without a complete sentence; the best partial words were scored."
        )
    return "\n".join(line.rstrip() for line in lines)
