"""The page says what was measured, and what was not."""

import json
from pathlib import Path

import pytest
from trust import PAGE, SECTIONS, main, section

COUNTS = {"inputs": 10, "results": 4, "errors": 5, "crashes": 1, "hangs": 0}
FAULTS = dict.fromkeys(
    ("faults", "reached", "same_bytes", "finished_kept", "nothing_half", "clean_endings"), 7
)
SERVED = dict.fromkeys(
    ("faults", "reached", "whole", "before_or_after", "nothing_left", "same_files", "clean_answers"), 8
)
REPORTS = {
    "fuzz": {"seed": 3, "readers": {"wav": COUNTS}, "all": COUNTS},
    "faults": {
        "models": ["gmm"],
        "seed": 1,
        "wrong": [],
        **{kind: {**FAULTS, "stages": {"task": 7}} for kind in ("kills", "failures", "changes")},
    },
    "faults_serving": {
        "deeds": ["take", "take deleted"],
        "calls": 17,
        "rounds": 100,
        "wrong": [],
        **{kind: {**SERVED, "deeds": {"take": 8}} for kind in ("kills", "failures")},
    },
    "load": {
        "command": "tests/robustness/load.py",
        "rows": [
            {
                "streams": 20,
                "seconds": 60.0,
                "dropped": 0,
                "unheard_s": 0.0,
                "partial_latency_s": {"50": 0.1, "95": 0.3},
                "final_latency_s": {"50": 0.7, "95": 0.9},
                "memory_mb": 300.0,
                "memory_slope_mb_per_minute": 0.5,
                "cores": 0.25,
            }
        ],
    },
    "connections": {
        "handles": 64,
        "seconds": 5.0,
        "load": 2.5,
        "crowds": {
            "send nothing": {
                "connections": 90,
                "addresses": 2,
                "asked": 11,
                "unanswered": 1,
                "instead": {"503": 1},
                "slowest_s": 0.25,
                "handles": 40,
                "handles_after": 7,
                "memory_mb": 200.5,
                "said_bytes": 17,
            }
        },
    },
    "long_stream": {
        "model": "gmm",
        "rows": [
            {
                "way": "stream",
                "hours": 24.0,
                "words": 9,
                "first_mb": 280.5,
                "last_mb": 281.5,
                "mb_per_hour": 0.05,
            }
        ],
    },
    "environments": {
        "environments": {
            "no home": {"says": "no home folder", "runs": 7, "same": 5, "refused": 2, "wrong": 0}
        },
        "wrong": [],
    },
    "many_files": {
        "rows": [
            {"verb": "validate", "files": 9, "cpu_s": 3.5, "peak_mb": 90.5, "n_lines": 4},
            {"verb": "at a terminal", "files": 9, "cpu_s": 3.5, "peak_mb": 90.5, "n_lines": 14},
        ],
        "slopes": {verb: {"ms_a_file": 0.75, "kb_a_file": 2.5} for verb in ("validate", "at a terminal")},
    },
    "slopes": {
        "seed": 0,
        "bytes": 25_000,
        "rows": [
            ["lexicon", 9, 0, 0.75, 1.25, 90.5, 1.5, "words"],
            ["jsgf", 20, 1, None, 0.5, 1.0, 0.0, "a"],
        ],
    },
}


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_missing_is_said_to_be(name: str, tmp_path: Path) -> None:
    assert section(name, tmp_path).startswith("Missing: not measured yet")


def test_all_sections_are_written_and_the_rest_stays(tmp_path: Path) -> None:
    for name, report in REPORTS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    page = tmp_path / "trust.md"
    page.write_text("# By hand\n")
    main(["--measured", str(tmp_path), "--page", str(page)])
    text = page.read_text()
    assert text.startswith("# By hand\n")
    assert "| wav | 10 | 4 | 5 | 1 | 0 |" in text
    assert "| a corpus that changes while it is read | 7 | 7 | 7 | 7 | 7 | 7 |" in text
    assert "Nothing went wrong in any of them." in text
    assert "| 20 | 60 | 0 | 0 | 0.1 | 0.3 | 0.7 | 0.9 | 300 | 0.5 | 0.25 |" in text
    assert "The server may open 64 files; each crowd stays for 5 s." in text
    assert "| send nothing | 90 | 2 | 11 | 1 | 0.25 | 40 | 7 | 200.5 | 17 |" in text
    assert "| at a terminal | 9 | 3.5 | 90.5 | 0.75 | 2.5 | 14 |" in text
    assert "| no home folder | 7 | 5 | 2 | 0 |\n\nNothing ended otherwise." in text
    assert "| gmm | stream | 24 | 9 | 280.5 | 281.5 | 0.05 |" in text
    assert "Seed 0, files of 25 to 100 kB." in text
    assert "| lexicon | 9 | 0 | 0.75 | 1.25 | 90.5 | 1.5 |" in text
    assert "| jsgf | 20 | 1 | – | 0.5 | 1 | 0 |" in text


def test_the_page_is_as_the_script_writes_it(tmp_path: Path) -> None:
    (tmp_path / "trust.md").write_bytes(PAGE.read_bytes())
    main(["--page", str(tmp_path / "trust.md")])
    assert (tmp_path / "trust.md").read_text() == PAGE.read_text()


def test_the_page_has_each_section_once() -> None:
    text = PAGE.read_text(encoding="utf-8")
    marks = [f"<!-- {end} {name} -->" for name in SECTIONS for end in ("begin", "end")]
    assert {mark: text.count(mark) for mark in marks} == dict.fromkeys(marks, 1)
