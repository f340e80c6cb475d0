"""Our counts on an experiment's real decodes are those of NIST sclite, utterance by utterance; exit 1 if not.

    sudo apt install sctk
    python benchmarks/sclite.py exp/an4

Compared are all decodes kept in the experiment: of test for each model and grammar, and of dev from the
tuning. The rows of ``results.json`` must have the same sums.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import argument_parser, print_table, write_report

from asr.files import read_json
from asr.formats.transcripts import read_transcripts, write_transcripts
from asr.scoring.results import read_results
from asr.scoring.scoring import score

STAGE_SPLITS = {"test": "test", "tuning": "dev"}
COMMAND = "sctk sclite -s -r ref.trn trn -h hyp.trn trn -i rm -o pra stdout"
SCORES = re.compile(r"id: \((\S+)\)\nScores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)")

Transcripts = Mapping[str, Sequence[str]]
Counts = tuple[int, int, int, int]  # correct, substituted, deleted, inserted


@dataclass(frozen=True)
class Decoded:
    """One file of hypotheses with its reference."""

    model: str
    split: str
    grammar: str
    reference: Path
    hypothesis: Path


def find_decodes(experiment: Path) -> Iterator[Decoded]:
    """Yield all hypotheses in an experiment's stages, each with the text of the task it was decoded from."""
    stages = {path.parent: read_json(path) for path in sorted((experiment / "stages").glob("*/stage.json"))}
    tasks = {record["digest"]: path for path, record in stages.items() if record["stage"] == "task"}
    for path, record in stages.items():
        kind, _, model = record["stage"].partition("-")
        if kind in STAGE_SPLITS and model:
            split = STAGE_SPLITS[kind]
            reference = tasks[record["inputs"]["task"]] / split / "text"
            for hypothesis in sorted(path.glob("*.txt")):
                yield Decoded(model, split, hypothesis.stem, reference, hypothesis)


def our_counts(reference: Transcripts, hypothesis: Transcripts) -> dict[str, Counts]:
    """Return our counts of each utterance."""
    return {
        u.utterance_id: (
            u.counts.correct,
            u.counts.substitutions,
            u.counts.deletions,
            u.counts.insertions,
        )
        for u in score(reference, hypothesis, n_resamples=1).utterances
    }


def sclite_counts(reference: Transcripts, hypothesis: Transcripts) -> dict[str, Counts]:
    """Return sclite's counts of each utterance; the ids it sees are plain numbers, as it takes ids apart."""
    names = {utterance_id: f"s-u{i:06d}" for i, utterance_id in enumerate(reference)}
    with tempfile.TemporaryDirectory() as directory:
        for file, transcripts in (("ref.trn", reference), ("hyp.trn", hypothesis)):
            renamed = {names[i]: words for i, words in transcripts.items()}
            write_transcripts(Path(directory) / file, renamed, "trn")
        output = subprocess.run(COMMAND.split(), cwd=directory, capture_output=True, text=True, check=True)
    found = {m[1]: (int(m[2]), int(m[3]), int(m[4]), int(m[5])) for m in SCORES.finditer(output.stdout)}
    return {utterance_id: found[name] for utterance_id, name in names.items()}


def sclite_version() -> str:
    """Return what sclite says of itself."""
    help_text = subprocess.run(["sctk", "sclite"], capture_output=True, text=True, check=False)
    found = re.search(r"sclite Version.*", help_text.stdout + help_text.stderr)
    return found[0].strip() if found else "unknown"


def sums(counts: Mapping[str, Counts]) -> Counts:
    correct, substituted, deleted, inserted = (sum(column) for column in zip(*counts.values(), strict=True))
    return correct, substituted, deleted, inserted


def check(decoded: Decoded) -> dict[str, Any]:
    """Return both sums of one decode, the utterances that differ, and the row of ``results.json``."""
    reference, hypothesis = read_transcripts(decoded.reference), read_transcripts(decoded.hypothesis)
    ours, theirs = our_counts(reference, hypothesis), sclite_counts(reference, hypothesis)
    return {
        "model": decoded.model,
        "split": decoded.split,
        "grammar": decoded.grammar,
        "utterances": len(ours),
        "ours": sums(ours),
        "sclite": sums(theirs),
        "utterances_that_differ": [i for i in ours if ours[i] != theirs[i]],
        "key": (decoded.model, decoded.split, decoded.grammar, *sums(theirs)[1:]),
    }


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path)
    arguments = parser.parse_args()
    if shutil.which("sctk") is None:
        sys.exit("sctk: not found, expected NIST's scoring toolkit; install the Debian package sctk")
    published: set[tuple[object, ...]] = {
        (r.model, r.split, r.grammar, r.substitutions, r.deletions, r.insertions)
        for r in read_results(arguments.experiment)
    }
    rows = [check(decoded) for decoded in find_decodes(arguments.experiment)]
    if not rows:
        sys.exit(f"{arguments.experiment}: no decodes in it, expected a finished asr train; check the path")
    print_table(
        ("decode", "utterances", "ours C/S/D/I", "sclite C/S/D/I", "differ", "in results.json"),
        [
            (
                f"{row['model']}, {row['split']}, {row['grammar']}",
                row["utterances"],
                "/".join(map(str, row["ours"])),
                "/".join(map(str, row["sclite"])),
                len(row["utterances_that_differ"]),
                "yes" if row["key"] in published else "older",
            )
            for row in rows
        ],
    )
    differing = sum(len(row["utterances_that_differ"]) for row in rows)
    unconfirmed = sorted(published - {row["key"] for row in rows})
    print(f"{sum(row['utterances'] for row in rows)} utterances, {differing} with other counts than sclite's")
    print(f"{len(published)} rows of results.json, {len(unconfirmed)} that sclite does not confirm")
    report = {"sclite": sclite_version(), "decodes": rows, "utterances_that_differ": differing}
    report["results_not_confirmed"] = unconfirmed
    write_report(arguments.out, report)
    sys.exit(1 if differing or unconfirmed else 0)


if __name__ == "__main__":
    main()
