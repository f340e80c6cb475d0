"""The interface for programs, as they use it, and recordings that are too large, too slow, or none."""

from __future__ import annotations

import io
import pydoc
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import soundfile

from asr import Recognizer, align, decode
from asr.serving.limits import Limits, Refusal
from asr.serving.recognition import checked
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


def test_too_few_samples_a_second_are_told(started: Any, spoken: Path) -> None:
    samples, rate = soundfile.read(spoken, dtype="float32")
    low = io.BytesIO()
    soundfile.write(low, samples[::2], rate // 2, format="WAV")
    for place in ("/api/transcribe", "/api/align?text=ASA"):
        assert started.ask("POST", place, spoken.read_bytes()).json["warning"] == ""
        assert started.ask("POST", place, low.getvalue()).json["warning"] == (
            "8000 Hz, fewer samples a second than the front end expects (16000 Hz): nothing is heard above "
            "half of that; train with --set sample_rate=8000"
        )


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
    rows = started.ask("POST", f"{place}&format=ctm&name=u", spoken.read_bytes()).body.decode().splitlines()
    assert [row.split()[4] for row in rows] == text.split()


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


def test_a_recording_that_is_still_read_goes_with_the_server_on_windows(
    start: Any, spoken: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foundation.files.shutil.rmtree", lambda folder, ignore_errors: None)
    later: list[Path] = []
    monkeypatch.setattr("atexit.register", lambda remove, folder, ignore_errors: later.append(folder))
    monkeypatch.setattr(Recognizer, "transcribe", lambda recognizer, path: time.sleep(0.5))
    said = start(Limits(answer_s=0.01)).ask("POST", "/api/transcribe", spoken.read_bytes())
    assert (said.status, later) == (408, list(temporary.iterdir()))
    assert len(later) == 1


def test_an_answer_that_takes_too_long(
    start: Any, spoken: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recognizer, "transcribe", lambda recognizer, path: time.sleep(0.5))
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


@pytest.fixture
def small(start: Any, temporary: Path) -> Any:
    return start(Limits(upload_bytes=200_000, arrival_s=0.5, audio_s=2, channels=2, uploads=2))


def is_clean(temporary: Path) -> bool:
    """Return whether no temporary file is left, a moment after the answer."""
    return comes(lambda: not list(temporary.iterdir()))


def comes(condition: Callable[[], bool]) -> bool:
    """Return whether a condition comes true within some seconds."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_too_large(small: Any, temporary: Path) -> None:
    said = small.ask("POST", "/api/transcribe", None, {"content-length": "300000000"})
    assert (said.status, said.error) == (
        413,
        "the recording is too large, expected at most 0.2 MB; send a part of it",
    )
    # Without a length that is said before, it is counted.
    pieces = (bytes(1000) for _ in range(250))
    said = small.ask("POST", "/api/transcribe", pieces)
    assert said.status == 413
    assert is_clean(temporary)


def test_too_slow(small: Any, temporary: Path) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as raw:
        raw.sendall(b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nRIFF")
        raw.settimeout(60)
        answer = b"".join(iter(lambda: raw.recv(4000), b""))  # up to the end of the connection
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive within 0.5 s" in answer
    assert is_clean(temporary)


def test_gone_away(small: Any, temporary: Path) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as raw:
        raw.sendall(b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nRIFF")
        assert comes(lambda: small.server.uploads.taken == 1)
    assert comes(lambda: small.server.uploads.taken == 0)
    assert is_clean(temporary)


def test_too_many_at_once(small: Any) -> None:
    begun = b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
    sockets = [socket.create_connection(("127.0.0.1", small.port)) for _ in range(2)]
    try:
        for each in sockets:
            each.sendall(begun)
        assert comes(lambda: small.server.uploads.taken == 2)
        said = small.ask("POST", "/api/transcribe", b"x")
        assert (said.status, "busy with 2 recordings" in said.error) == (503, True)
        assert small.ask("GET", "/api/model").status == 200
    finally:
        for each in sockets:
            each.close()


def test_too_long_and_too_many_channels(small: Any, sound_file: Any, temporary: Path) -> None:
    long = small.ask("POST", "/api/transcribe", sound_file(np.zeros(3 * 8000), 8000))
    assert (long.status, long.error) == (413, "3 s of sound, expected at most 2 s; send a part of it")
    wide = small.ask("POST", "/api/transcribe", sound_file(np.zeros((8000, 3)), 8000))
    assert wide.error == "3 channels, expected at most 2; mix them down"
    assert is_clean(temporary)


@pytest.mark.parametrize("body", [b"", b"hello", b"RIFF" + bytes(50), bytes(1000)])
def test_no_recording(small: Any, temporary: Path, body: bytes) -> None:
    said = small.ask("POST", "/api/transcribe", body)
    assert said.status == 415
    assert said.error.startswith("the recording: ")
    assert str(temporary) not in said.error
    assert is_clean(temporary)


@pytest.mark.parametrize(
    "path", ["/api/transcribe", "/api/align?text=ASA", "/api/takes?prompt=light%20on"], ids=lambda p: p[5:10]
)
def test_samples_that_are_no_numbers_name_the_recording_alone(
    started: Any, temporary: Path, path: str
) -> None:
    file, samples = io.BytesIO(), np.full(16000, 0.1, dtype=np.float32)
    samples[7] = np.nan
    soundfile.write(file, samples, 16000, format="WAV", subtype="FLOAT")
    said = started.ask("POST", path, file.getvalue())
    assert said.status == 422
    assert said.error.startswith("the recording: sample 7; expected a finite number; got nan; ")
    assert is_clean(temporary)


@pytest.mark.parametrize(
    "path", ["/api/transcribe", "/api/align?text=ASA", "/api/takes?prompt=light%20on"], ids=lambda p: p[5:10]
)
def test_the_loop_of_events_opens_no_recording(
    started: Any, spoken: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Every file below the folder of uploads is opened, written and removed by a thread of its own."""
    threads: dict[str, set[str]] = {}

    def seen(module: str, name: str) -> None:
        target, function = pydoc.locate(module), getattr(pydoc.locate(module), name)

        def called(*arguments: Any, **options: Any) -> Any:
            threads.setdefault(name, set()).add(threading.current_thread().name)
            return function(*arguments, **options)

        monkeypatch.setattr(target, name, called)

    seen("asr.serving.recognition", "is_for_ffmpeg")
    seen("asr.serving.recognition", "audio_info")
    seen("asr.serving.recognition", "_write")
    seen("foundation.files.TemporaryFolder", "remove")
    seen("soundfile", "SoundFile")
    started.ask("POST", path, spoken.read_bytes())
    assert threads.keys() == {"is_for_ffmpeg", "audio_info", "_write", "remove", "SoundFile"}
    assert all(
        name.startswith(("asr-serving", "asyncio_")) for names in threads.values() for name in names
    ), threads


def test_forms_and_what_a_second_program_would_read_are_refused(small: Any, tmp_path: Path) -> None:
    for kind in ("multipart/form-data; boundary=x", "Multipart/Form-Data; boundary=x", "MULTIPART/mixed"):
        form = small.ask("POST", "/api/transcribe", b"--x--", {"content-type": kind})
        assert (form.status, "--data-binary" in form.error) == (415, True), kind
    path = tmp_path / "recording"
    path.write_bytes(b"\x00\x00\x00\x20ftypM4A " + bytes(50))
    with pytest.raises(Refusal, match="m4a, mp4, webm or wma; expected wav"):
        checked(path, Limits())
