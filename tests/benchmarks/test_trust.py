"""The page says what was measured, and what was not."""

import json
from pathlib import Path

import pytest
from trust import PAGE, SECTIONS, load, main, section

COUNTS = {"inputs": 10, "results": 4, "errors": 5, "crashes": 1, "hangs": 0}
FAULTS = dict.fromkeys(
    ("faults", "reached", "same_bytes", "finished_kept", "nothing_half", "clean_endings"), 7
)
REPORTS = {
    "fuzz": {"seed": 3, "readers": {"wav": COUNTS}, "all": COUNTS},
    "faults": {
        "models": ["gmm"],
        "seed": 1,
        "wrong": [],
        **{kind: {**FAULTS, "stages": {"task": 7}} for kind in ("kills", "failures", "changes")},
    },
    "load": {"command": "x", "streams": 20, "latency": {"p50": 0.1}, "dropped": 0, "machine": {"cores": 2}},
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
    assert "| latency p50 | 0.1 |" in text
    assert "| gmm | stream | 24 | 9 | 280.5 | 281.5 | 0.05 |" in text


def test_values_within_values_have_both_names() -> None:
    assert load({"memory": {"mb_per_hour": 0.5}, "wav": ["a"]}).splitlines()[2:] == [
        "| memory mb per hour | 0.5 |"
    ]


def test_the_page_is_as_the_script_writes_it(tmp_path: Path) -> None:
    (tmp_path / "trust.md").write_bytes(PAGE.read_bytes())
    main(["--page", str(tmp_path / "trust.md")])
    assert (tmp_path / "trust.md").read_text() == PAGE.read_text()
