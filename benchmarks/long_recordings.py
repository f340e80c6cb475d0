"""Peak memory and CPU seconds of decoding and aligning recordings of hours, and how good it is.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm --model npd
    python benchmarks/long_recordings.py exp/an4 --corpus ../shared/data/an4 --hours 1 3

AN4's test recordings one behind the other, in random order again and again, are one recording of so many
hours. Each model decodes it in a process of its own (`asr decode`, with confidences). The errors are counted
against the transcripts, beside those of the same recordings decoded one by one. With ``--align`` the whole
transcript is aligned in its place (`asr align`), and the words are counted that do not lie in the recording
in which they were spoken. ``--checkout DIR`` runs the code of another checkout, to compare.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from report import argument_parser, print_table, write_report

from asr.scoring.scoring import score

RATE = 16000
_NEAR_S = 0.05  # beside a recording that still counts as within
_RUN = """
import resource, sys
from asr.cli import main
code = main()
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(code)
"""


def test_recordings(corpus: Path) -> list[tuple[Path, list[str]]]:
    """Return path and words of AN4's test recordings."""
    found = []
    ids = (corpus / "etc/an4_test.fileids").read_text().split()
    lines = (corpus / "etc/an4_test.transcription").read_text().splitlines()
    for name, line in zip(ids, lines, strict=True):
        words = line.rpartition("(")[0].replace("<s>", "").replace("</s>", "").split()
        found.append((corpus / "wav" / f"{name}.wav", words))
    return found


def write_long(path: Path, recordings: Sequence[tuple[Path, list[str]]], hours: float) -> list[int]:
    """Write some hours of recordings one behind the other; return which ones."""
    rng, order, n_samples = np.random.default_rng(0), [], 0
    samples = [soundfile.read(recording, dtype="int16")[0] for recording, _ in recordings]
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        while n_samples < hours * 3600 * RATE:
            for n in rng.permutation(len(samples)).tolist():
                file.write(samples[n])
                order.append(n)
                n_samples += len(samples[n])
                if n_samples >= hours * 3600 * RATE:
                    break
    return order


def decoded(checkout: Path, arguments: Sequence[str]) -> tuple[list[list[str]], float, float]:
    """Return the words of each recording, the peak in MB and the CPU seconds of one ``asr decode``."""
    lines, peak_mb, cpu_s = run(checkout, "decode", arguments)
    return [line.split("\t")[-1].split() for line in lines], peak_mb, cpu_s


def run(checkout: Path, verb: str, arguments: Sequence[str]) -> tuple[list[str], float, float]:
    """Return the lines that ``asr`` writes, its peak in MB and its CPU seconds."""
    command = [sys.executable, "-c", _RUN, verb, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=checkout, check=True)
    peak_mb, cpu_s = map(float, done.stderr.splitlines()[-1].split())
    return done.stdout.splitlines(), peak_mb, cpu_s


def measured(
    checkout: Path,
    experiment: Path,
    model: str,
    hours: float,
    recordings: Sequence[tuple[Path, list[str]]],
    single: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """Return the row of one model and length."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        order = write_long(path, recordings, hours)
        ((*words,),), peak_mb, cpu_s = decoded(checkout, [str(experiment), str(path), "--model", model])
    spoken = [word for n in order for word in recordings[n][1]]
    one_by_one = [word for n in order for word in single[n]]
    return {
        "model": model,
        "hours": hours,
        "peak_mb": round(peak_mb),
        "cpu_s_per_hour": round(cpu_s / hours, 1),
        "words": len(spoken),
        "errors": n_errors(spoken, words),
        "errors_one_by_one": n_errors(spoken, one_by_one),
        "other_words_than_one_by_one": n_errors(one_by_one, words),
    }


def aligned(
    checkout: Path, experiment: Path, model: str, hours: float, recordings: Sequence[tuple[Path, list[str]]]
) -> dict[str, Any]:
    """Return the row of one model and length whose whole transcript is aligned."""
    with tempfile.TemporaryDirectory() as folder:
        path, text = Path(folder) / "long.wav", Path(folder) / "long.txt"
        order = write_long(path, recordings, hours)
        spoken = [(word, n) for n, place in enumerate(order) for word in recordings[place][1]]
        text.write_text(" ".join(word for word, _ in spoken))
        lengths = [soundfile.info(recordings[place][0]).duration for place in order]
        options = [str(experiment), str(path), str(text), "--model", model, "--format", "ctm"]
        lines, peak_mb, cpu_s = run(checkout, "align", options)
    ends = np.cumsum(lengths)
    found = [
        (float(start), float(start) + float(length)) for _, _, start, length, *_ in map(str.split, lines)
    ]
    n_outside = sum(
        not ends[n] - lengths[n] - _NEAR_S <= (start + end) / 2 <= ends[n] + _NEAR_S
        for (start, end), (_, n) in zip(found, spoken, strict=True)
    )
    return {
        "model": model,
        "hours": hours,
        "peak_mb": round(peak_mb),
        "cpu_s_per_hour": round(cpu_s / hours, 1),
        "words": len(spoken),
        "words_elsewhere": n_outside,
    }


def n_errors(reference: Sequence[str], found: Sequence[str]) -> int:
    """Return the number of substitutions, deletions and insertions."""
    counts = score({"all": tuple(reference)}, {"all": tuple(found)}).counts
    return counts.substitutions + counts.deletions + counts.insertions


def main() -> None:
    """Measure and report."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path, help="experiment on AN4 with the models")
    parser.add_argument("--corpus", type=Path, required=True, help="AN4")
    parser.add_argument("--model", nargs="+", default=["gmm", "npd"], help="models to decode with")
    parser.add_argument("--hours", nargs="+", type=float, default=[1.0], help="lengths of the recordings")
    parser.add_argument(
        "--checkout", type=Path, default=Path(__file__).resolve().parents[1], help="code that decodes"
    )
    parser.add_argument("--align", action="store_true", help="align the transcript in place of decoding")
    options = parser.parse_args()
    recordings, experiment = test_recordings(options.corpus), options.experiment.resolve()
    rows = []
    for model in options.model:
        if options.align:
            rows += [
                aligned(options.checkout.resolve(), experiment, model, hours, recordings)
                for hours in options.hours
            ]
            continue
        paths = [str(path.resolve()) for path, _ in recordings]
        single, *_ = decoded(options.checkout, [str(experiment), *paths, "--model", model])
        rows += [
            measured(options.checkout, experiment, model, hours, recordings, single)
            for hours in options.hours
        ]
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    write_report(options.out, {"checkout": str(options.checkout), "rows": rows})


if __name__ == "__main__":
    main()
