"""Words while one speaks, from files, pipes and microphones."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

import asr
from asr.cli import main
from asr.errors import ConfigError
from asr.live.listen import microphone, piped, recorded


@pytest.fixture
def spoken(tones: Path) -> Path:
    return tones / "speaker 0" / "0.wav"


@pytest.fixture
def text(spoken: Path) -> str:
    return spoken.with_suffix(".txt").read_text().strip()


def test_a_recording_is_heard_word_by_word(trained: Path, spoken: Path, text: str) -> None:
    found = list(asr.listen(trained, source=spoken))
    partial = [[w.word for w in heard.words] for heard in found if heard.kind == "partial"]
    assert partial[-1] in (text.split(), [])
    assert any(words == text.split()[:1] for words in partial)
    final = [word for heard in found if heard.kind == "final" for word in heard.words]
    assert " ".join(word.word for word in final) == text
    assert all(0 <= word.confidence <= 1 for word in final)  # type: ignore[union-attr, operator]
    assert [heard.heard_s for heard in found] == sorted(heard.heard_s for heard in found)


def test_samples_of_a_pipe(trained: Path, spoken: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, rate = soundfile.read(spoken, dtype="int16")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(samples.tobytes() + b"\x01")))
    found = list(asr.listen(trained, source="-", sample_rate=rate))
    assert " ".join(w.word for heard in found if heard.kind == "final" for w in heard.words) == text


def test_pieces_are_all_there(spoken: Path) -> None:
    samples, rate = soundfile.read(spoken, dtype="float32")
    np.testing.assert_array_equal(np.concatenate(list(recorded(spoken))), samples)
    raw = io.BytesIO(np.array([1, -32768], "<i2").tobytes() + b"\x01")
    np.testing.assert_array_equal(np.concatenate(list(piped(raw, rate))), [1 / 32768, -1])


class Device:
    """A sound card that speaks as soon as it is opened."""

    PortAudioError = RuntimeError

    def __init__(self, samples: Any) -> None:
        self.samples, self.given, self.is_open = samples, {}, False

    def InputStream(self, callback: Callable[..., None], **options: Any) -> Any:
        if options["device"] == "none":
            raise RuntimeError("no such device")
        self.given, self.callback = options, callback
        return self

    def __enter__(self) -> None:
        self.is_open = True
        for piece in np.array_split(self.samples, 10):
            self.callback(piece[:, None], len(piece), None, None)

    def __exit__(self, *_: object) -> None:
        self.is_open = False


@pytest.fixture
def device(spoken: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device(soundfile.read(spoken, dtype="float32")[0])
    monkeypatch.setitem(sys.modules, "sounddevice", found)  # type: ignore[arg-type]
    monkeypatch.setattr(sys.modules["asr.live.listen"], "find_spec", lambda name: object())
    return found


def test_a_microphone_is_heard_until_the_interrupt(
    device: Device, trained: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = microphone(16000, "3")
    pieces = [next(given) for _ in range(10)]
    assert device.given["device"] == 3
    given.close()
    assert not device.is_open

    def interrupted(rate: int, name: str | None) -> Any:
        yield from pieces
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["asr.live.listen"], "microphone", interrupted)
    found = list(asr.listen(trained, reject=True))
    assert " ".join(w.word for heard in found if heard.kind == "final" for w in heard.words) == text


def test_a_microphone_that_is_not_there(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="microphone: no such device; expected one"):
        next(microphone(16000, "none"))
    monkeypatch.setattr(sys.modules["asr.live.listen"], "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs sounddevice.*\[listen\]"):
        next(microphone(16000))


def test_the_command_prints_sentences(
    trained: Path, spoken: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["listen", str(trained), "--input", str(spoken)]) == 0
    assert capsys.readouterr().out.split() == text.split()
    assert main(["listen", str(trained), "--input", "nowhere.wav"]) == 2
    assert "nowhere.wav: no such file" in capsys.readouterr().err
