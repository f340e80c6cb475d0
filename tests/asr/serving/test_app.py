"""Errors are one line, without a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asr.errors import CorpusError


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (CorpusError("{folder}/x.txt: broken\nand more"), 422, "the folder of takes/x.txt: broken and more"),
        (
            OSError(28, "No space left on device", "{folder}/x"),
            500,
            "the server's disk: No space left on device",
        ),
        (RuntimeError("{folder} secret"), 500, "an error of the server; its terminal says more"),
    ],
)
def test_errors_while_answering(
    started: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, line: str
) -> None:
    folder = started.server.takes.folder
    error.args = tuple(a.format(folder=folder) if isinstance(a, str) else a for a in error.args)

    def fail() -> None:
        raise error

    monkeypatch.setattr(started.server.takes, "all", fail)
    said = started.ask("GET", "/api/takes")
    assert said.status == status
    assert said.error.startswith(line)
    assert str(folder) not in said.error


def test_unknown_places_and_ways(started: Any) -> None:
    assert started.ask("GET", "/nowhere").error == ("Not Found; expected an address that /openapi.json names")
    assert started.ask("DELETE", "/api/model").status == 405
    assert started.ask("PUT", "/api/prompts", b"{", {"content-type": "application/json"}).status == 422
    deep = started.ask("PUT", "/api/prompts", b"[" * 100_000, {"content-type": "application/json"})
    assert deep.status in (400, 422, 500)


def test_there_is_no_page_that_loads_scripts_from_elsewhere(started: Any) -> None:
    assert [started.ask("GET", path).status for path in ("/docs", "/redoc")] == [404, 404]


def test_json_bodies_are_bounded(started: Any, tmp_path: Path) -> None:
    word = {"word": "x", "start_s": 0, "end_s": 1}
    said = started.ask("POST", "/api/words", {"duration_s": 1, "words": [word] * 20_001})
    assert said.status == 422
