"""The figures of docs/trust.md, from what the harnesses wrote; what is missing is said to be missing.

    python tests/robustness/trust.py

Read are ``fuzz.json`` (`fuzz.py`), ``faults.json`` (`faults.py`), ``faults_serving.json``
(`faults_serving.py`), ``load.json`` (`load.py`), ``connections.json`` (`connections.py`),
``long_stream.json`` (`long_stream.py`), ``many_files.json`` (`many_files.py`) and ``slopes.json``
(`slopes.py`) in ``tests/robustness/measured``, or in the folder of --measured. What stands outside the marks
of the page is written by hand and stays.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.layout import write_section
from benchmarks.report import markdown_table

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/trust.md"
FUZZ_COLUMNS = ("inputs", "results", "errors", "crashes", "hangs")
FAULT_COLUMNS = {
    "faults": "faults",
    "reached": "took effect",
    "same_bytes": "same bytes in the end",
    "finished_kept": "nothing finished made again",
    "nothing_half": "nothing half-written visible",
    "clean_endings": "exit code and line as they should be",
}
KINDS = {
    "kills": "killed (SIGKILL, SIGTERM, SIGINT in turn)",
    "failures": "a file system that refuses, fills up, fails or delays",
    "changes": "a corpus that changes while it is read",
}

SERVING_COLUMNS = {
    "faults": "faults",
    "reached": "took effect",
    "whole": "takes whole or not at all, a training stops at nothing",
    "before_or_after": "state that of before or after, as answered",
    "nothing_left": "nothing left after a restart",
    "same_files": "same files in the end",
    "clean_answers": "answers, exit code and line as they should be",
}
SERVING_KINDS = {
    "kills": "killed (SIGKILL, SIGTERM) at every call",
    "failures": "a file system that refuses a call, fills up, or fails to flush",
}

SLOPES = ("ms_a_file", "kb_a_file")

Report = Mapping[str, Any]


def fuzz(report: Report) -> str:
    """Return the counts of damaged inputs, a row for each reader, the sum last."""
    rows = [[name, *(row[key] for key in FUZZ_COLUMNS)] for name, row in sorted(report["readers"].items())]
    total = ["all", *(report["all"][key] for key in FUZZ_COLUMNS)]
    return f"Seed {report['seed']}.\n\n{markdown_table(('reader', *FUZZ_COLUMNS), [*rows, total])}"


def faults(report: Report) -> str:
    """Return the counts of trainings that met a fault, a row for each kind of fault."""
    rows = [[said, *(report[kind][key] for key in FAULT_COLUMNS)] for kind, said in KINDS.items()]
    stages = {stage for kind in KINDS for stage in report[kind]["stages"] if stage != "any"}
    wrong = [f"- {line}" for line in report["wrong"]] or ["Nothing went wrong in any of them."]
    return "\n".join(
        [
            f"Models {' and '.join(report['models'])}, seed {report['seed']}, {len(stages)} stages.",
            "",
            markdown_table(("a training", *FAULT_COLUMNS.values()), rows),
            "",
            *wrong,
        ]
    )


def faults_serving(report: Report) -> str:
    """Return the counts of servers that met a fault, a row for each kind of fault."""
    rows = [[said, *(report[kind][key] for key in SERVING_COLUMNS)] for kind, said in SERVING_KINDS.items()]
    wrong = [f"- {line}" for line in report["wrong"]] or ["Nothing went wrong in any of them."]
    deeds, n_calls = ", ".join(report["deeds"]), report["calls"]
    return "\n".join(
        [
            f"What was done: {deeds}; {n_calls} calls that change files. Each server after a SIGKILL was "
            f"killed at each of its calls, too. Two servers at once: {report['rounds']} takes by one, the "
            "other one killed again and again.",
            "",
            markdown_table(("a server", *SERVING_COLUMNS.values()), rows),
            "",
            *wrong,
        ]
    )


def load(report: Report) -> str:
    """Return what was measured of many streams at once, a row for each number of streams."""
    head = ("streams", "seconds", "lost", "sound unheard, s", "partial words, median", "95 %")
    head += ("end of sentences, median", "95 %", "MB", "MB more a minute", "cores")
    rows = [
        [
            *(row[key] for key in ("streams", "seconds", "dropped", "unheard_s")),
            *(row[key][share] for key in ("partial_latency_s", "final_latency_s") for share in ("50", "95")),
            *(row[key] for key in ("memory_mb", "memory_slope_mb_per_minute", "cores")),
        ]
        for row in report["rows"]
    ]
    return f"`{report['command']}`\n\n{markdown_table(head, rows)}"


def connections(report: Report) -> str:
    """Return what a client saw beside crowds of connections, a row for each kind of crowd."""
    head = (
        "connections that",
        "at a time",
        "addresses",
        "questions beside",
        "unanswered",
        "slowest answer, s",
    )
    head += ("open files", "afterwards", "MB", "bytes on standard error")
    keys = ("connections", "addresses", "asked", "unanswered", "slowest_s", "handles", "handles_after")
    keys += ("memory_mb", "said_bytes")
    rows = [[name, *(row[key] for key in keys)] for name, row in report["crowds"].items()]
    lead = f"The server may open {report['handles']} files; each crowd stays for {report['seconds']:g} s. "
    lead += f"Load of the machine meanwhile: {report['load']:g}."
    return f"{lead}\n\n{markdown_table(head, rows)}"


def long_stream(report: Report) -> str:
    """Return the memory of hours of speech in one process, a row for each way of giving it."""
    head = ("model", "speech as", "hours", "words", "MB at first", "MB in the end", "MB more an hour")
    keys = ("way", "hours", "words", "first_mb", "last_mb", "mb_per_hour")
    return markdown_table(head, [[report["model"], *(row[key] for key in keys)] for row in report["rows"]])


def many_files(report: Report) -> str:
    """Return what folders of many recordings cost, a row for each verb, with the slope for a further file."""
    head = ("verb", "recordings", "CPU s", "MB", "ms more a recording", "kB more a recording", "lines shown")
    last = max(row["files"] for row in report["rows"])
    rows = [
        [
            *(row[key] for key in ("verb", "files", "cpu_s", "peak_mb")),
            *(report["slopes"][row["verb"]][key] if row["files"] == last else None for key in SLOPES),
            row["n_lines"] if "terminal" in row["verb"] else None,
        ]
        for row in report["rows"]
    ]
    return markdown_table(head, rows)


def slopes(report: Report) -> str:
    """Return how time and memory grow with the bytes of files, the worst of each reader's shapes."""
    head = ("reader", "shapes", "not read in time", "CPU s a MB", "time grows as n to the")
    head += ("MB a MB", "memory grows as n to the")
    sizes = f"{report['bytes'] // 1000} to {report['bytes'] * 4 // 1000} kB"
    table = markdown_table(head, [row[:7] for row in report["rows"]])
    return f"Seed {report['seed']}, files of {sizes}.\n\n{table}"


def environments(report: Report) -> str:
    """Return how verbs end where something is missing, a row for each environment."""
    head = ("environment", "runs", "as usual", "one line, exit code 2", "otherwise")
    keys = ("says", "runs", "same", "refused", "wrong")
    table = markdown_table(head, [[row[key] for key in keys] for row in report["environments"].values()])
    wrong = [f"- {line.splitlines()[0]}" for line in report["wrong"]] or ["Nothing ended otherwise."]
    return "\n".join([table, "", *wrong])


# Section of the page, which is the name of the JSON and of the script that writes it, too.
SECTIONS: Mapping[str, Callable[[Report], str]] = {
    "fuzz": fuzz,
    "faults": faults,
    "faults_serving": faults_serving,
    "load": load,
    "connections": connections,
    "long_stream": long_stream,
    "many_files": many_files,
    "slopes": slopes,
    "environments": environments,
}


def section(name: str, measured: Path) -> str:
    """Return the text of a section, with what it was measured on."""
    path = measured / f"{name}.json"
    if not path.is_file():
        return f"Missing: not measured yet for this version (`python tests/robustness/{name}.py`)."
    report = json.loads(path.read_text(encoding="utf-8"))
    machine = report.get("machine", {})
    place = f"{machine.get('processor')}, {machine.get('cores')} cores, Python {machine.get('python')}"
    measured_at = f"revision {machine.get('revision')}, {str(machine.get('date'))[:10]}"
    return f"{SECTIONS[name](report)}\n\nMeasured by `tests/robustness/{name}.py` on {place}; {measured_at}."


def main(arguments: Sequence[str] | None = None) -> None:
    """Write all sections into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measured", type=Path, default=HERE / "measured", help="folder of the JSON files")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args(arguments)
    for name in SECTIONS:
        write_section(options.page, name, section(name, options.measured))


if __name__ == "__main__":
    main()
