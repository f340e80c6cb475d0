"""The interface for programs, as they use it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from asr import align, decode
from asr.formats.nist import from_ctm
from asr.serving import recognition
from asr.serving.limits import Limits
from foundation.errors import AsrError


def test_words_are_those_of_the_command_line(started: Any, trained: Path, spoken: Path) -> None:
    (expected,) = decode(trained, [spoken])
    assert not isinstance(expected, AsrError)
    found = started.ask("POST", "/api/transcribe", spoken.read_bytes()).json
    assert [(w["word"], w["start_s"], w["end_s"]) for w in found["words"]] == [
        (w.word, round(w.start_s, 3), round(w.end_s, 3)) for w in expected.words
    ]
    assert found["text"].split() == spoken.with_suffix(".txt").read_text().split()
    assert found["duration_s"] == pytest.approx(found["words"][-1]["end_s"], abs=0.5)
    assert found["complete"] is True


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("ctm", "my_u 1 "),
        ("textgrid", 'File type = "ooTextFile"'),
        ("trn", "ASA IMI (my_u)"),
        ("srt", "1\n00:"),
        ("vtt", "WEBVTT"),
    ],
)
def test_formats(started: Any, spoken: Path, form: str, begin: str) -> None:
    answer = started.ask(
        "POST", f"/api/transcribe?format={form}&name={quote('../secret/my u.wav')}", spoken.read_bytes()
    )
    assert answer.body.decode().startswith(begin)
    assert 'filename="my_u.' in answer.headers["content-disposition"]
    sent = {"name": "my u.wav", "duration_s": 1.5, "words": [{"word": "ASA", "start_s": 0.1, "end_s": 0.4}]}
    kept = started.ask("POST", f"/api/words?format={form}", sent)
    assert "ASA" in kept.body.decode()


def test_alignment_is_that_of_the_command_line(started: Any, trained: Path, spoken: Path) -> None:
    text = spoken.with_suffix(".txt").read_text().strip()
    expected = align(trained, spoken, text)
    place = f"/api/align?text={quote(text)}"
    found = started.ask("POST", place, spoken.read_bytes()).json
    assert [w["word"] for w in found["words"]] == text.split()
    assert [(p["phone"], p["start_s"]) for p in found["phones"]] == [
        (i.label, round(i.start_s, 3)) for i in expected.tiers["phones"]
    ]
    grid = started.ask("POST", f"{place}&format=textgrid", spoken.read_bytes()).body.decode()
    assert 'name = "phones"' in grid
    rows = from_ctm(started.ask("POST", f"{place}&format=ctm&name=u", spoken.read_bytes()).body.decode())
    assert [row.interval.label for row in rows] == text.split()


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/api/align?text=", 400, "empty transcript"),
        ("/api/align?text=NOBODY", 422, "not in the model's lexicon"),
        ("/api/align", 422, "query.text"),
        ("/api/align?text=" + "x" * 4001, 422, "query.text"),
        ("/api/transcribe?format=eaf", 422, "query.format"),
        ("/api/transcribe?name=" + "x" * 101, 422, "query.name"),
    ],
)
def test_mistakes(started: Any, trained: Path, spoken: Path, path: str, status: int, reason: str) -> None:
    said = started.ask("POST", path, spoken.read_bytes())
    assert said.status == status
    assert reason in said.error
    assert "\n" not in said.error
    assert str(trained.parent) not in said.error


def test_silence_has_no_words_or_says_so(started: Any, sound_file: Any) -> None:
    said = started.ask("POST", "/api/transcribe", sound_file([0.0] * 16000))
    assert (said.status, "digital silence" in said.error) == (422, True)


def test_words_that_no_file_can_hold(started: Any) -> None:
    sent = {"duration_s": 1, "words": [{"word": "a b", "start_s": 0, "end_s": 1}]}
    said = started.ask("POST", "/api/words?format=ctm", sent)
    assert (said.status, "without white space" in said.error) == (400, True)
    overlapping = {"duration_s": 1, "words": [{"word": w, "start_s": 0, "end_s": 1} for w in "ab"]}
    said = started.ask("POST", "/api/words?format=textgrid", overlapping)
    assert (said.status, "put the intervals in order" in said.error) == (400, True)
    empty = started.ask("POST", "/api/words?format=textgrid", {"duration_s": 0, "words": []})
    assert empty.status == 200


def test_without_a_model_there_is_nothing_to_ask(start: Any, spoken: Path) -> None:
    running = start(ready=False)
    assert running.ask("GET", "/api/model").json["ready"] is False
    said = running.ask("POST", "/api/transcribe", spoken.read_bytes())
    assert (said.status, "there is no model yet" in said.error) == (409, True)


def test_an_answer_that_takes_too_long(
    start: Any, spoken: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "_heard", lambda recognizer, path: time.sleep(0.5))
    said = start(Limits(answer_s=0.01)).ask("POST", "/api/transcribe", spoken.read_bytes())
    assert (said.status, "not done within 0.01 s" in said.error) == (408, True)
    assert list(temporary.iterdir()) == []


def test_the_description_names_every_route_and_the_body(started: Any) -> None:
    described = started.ask("GET", "/openapi.json").json
    assert set(described["paths"]) == {
        "/api/model",
        "/api/transcribe",
        "/api/align",
        "/api/words",
        "/api/takes",
        "/api/takes/{name}",
        "/api/prompts",
        "/api/training",
    }
    body = described["paths"]["/api/transcribe"]["post"]["requestBody"]["content"]
    assert body == {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
