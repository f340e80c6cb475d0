"""The verb: what it refuses, and what it hands on."""

from pathlib import Path

import pytest

import asr
from asr.errors import ConfigError
from asr.reports import report as module


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "PIL" else object())
    with pytest.raises(
        ConfigError, match=r"report: needs pillow, not installed; run: pip install .*\[report\]"
    ):
        asr.report(tmp_path)


def test_a_number_of_utterances(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="utterances: expected 0 or more, got -1"):
        asr.report(tmp_path, utterances=-1)


def test_a_directory_is_no_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("asr.reports.building.build", None)  # nothing is begun
    for out in (tmp_path, str(tmp_path)):
        with pytest.raises(ConfigError, match=f"^--out: {tmp_path} is a directory, expected a file; [^\n]*$"):
            asr.report("exp", out=out)
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ConfigError, match=r"report\.html is a directory"):
        asr.report(tmp_path)


def test_the_page_lies_in_the_experiment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def build(*arguments: object) -> Path:
        calls.append(arguments)
        return tmp_path

    monkeypatch.setattr("asr.reports.building.build", build)
    assert asr.report(tmp_path) == tmp_path
    asr.report(str(tmp_path), model="m", out="x.html", split="dev", utterances=3, audio="none")
    assert calls == [
        (tmp_path, tmp_path / "report.html", None, None, None, None),
        (tmp_path, Path("x.html"), "m", "dev", 3, "none"),
    ]
