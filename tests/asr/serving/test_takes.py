"""The folder of takes, as the training and other people's names find it, and how loud a take is."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from asr import read_corpus
from asr.serving.limits import Refusal
from asr.serving.takes import PROMPTS, Takes, checked_prompt, counts, fault_of, levels_of


@pytest.fixture
def takes(tmp_path: Path) -> Takes:
    return Takes(tmp_path / "my takes", 4)


def test_a_take_is_a_recording_with_its_text(takes: Takes, word_sound: Any) -> None:
    takes.set_prompts(["light on", "off"])
    kept = takes.add("light  on", word_sound(rate=48000), 48000)
    assert (kept.name, kept.prompt) == ("light_on-001", "light on")
    samples, rate = soundfile.read(takes.folder / "light_on-001.wav")
    assert (rate, len(samples)) == (16000, pytest.approx(1.2 * 16000, abs=2))
    (utterance,) = read_corpus(takes.folder)
    assert utterance.words == ("light", "on")
    assert takes.all() == [kept] or takes.all()[0].prompt == "light on"
    assert takes.prompts() == ["light on", "off"]
    assert counts(takes.all(), takes.prompts()) == {"light on": 1, "off": 0}


def test_numbers_of_takes_go_on(takes: Takes, word_sound: Any) -> None:
    assert [takes.add("on", word_sound(n), 16000).name for n in range(2)] == ["on-001", "on-002"]
    takes.delete("on-001")
    assert takes.add("on", word_sound(3), 16000).name == "on-003"
    assert sorted(path.name for path in takes.folder.iterdir()) == [
        "on-002.txt",
        "on-002.wav",
        "on-003.txt",
        "on-003.wav",
    ]


def test_prompts_that_some_systems_take_for_one_name_are_counted_together(
    takes: Takes, word_sound: Any
) -> None:
    names = [takes.add(prompt, word_sound(), 16000).name for prompt in ("On", "on", "\u00e9", "e\u0301")]
    assert names == ["On-001", "on-002", "\u00e9-001", "e\u0301-002"]


def test_what_is_of_no_use_is_not_kept(takes: Takes) -> None:
    with pytest.raises(Refusal, match="nearly silent"):
        takes.add("on", np.zeros(16000, np.float32), 16000)
    assert not takes.folder.exists()


def test_there_are_so_many_takes_and_no_more(takes: Takes, word_sound: Any) -> None:
    for n in range(4):
        takes.add("on", word_sound(n), 16000)
    with pytest.raises(Refusal, match="there are 4 takes"):
        takes.add("on", word_sound(5), 16000)


def test_takes_of_several_clients_at_once_are_counted(tmp_path: Path, word_sound: Any) -> None:
    takes, ready, n_refused = Takes(tmp_path / "takes", 2), threading.Barrier(8), []

    def add(n: int) -> None:
        ready.wait()
        try:
            takes.add("on", word_sound(n), 16000)
        except Refusal:
            n_refused.append(n)

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(takes.all()), len(n_refused)) == (2, 6)


def test_a_text_that_was_changed_is_read_again(takes: Takes, word_sound: Any) -> None:
    name = takes.add("on", word_sound(), 16000).name
    assert [take.prompt for take in takes.all()] == ["on"]
    text = takes.folder / f"{name}.txt"
    text.write_text("off\n")
    os.utime(text, (1, 1))
    assert [take.prompt for take in takes.all()] == ["off"]


@pytest.mark.parametrize("prompt", ["../../etc/passwd", "/etc/passwd", "a\\b:c", ".hidden", "con|x", "a/b"])
def test_prompts_never_leave_the_folder(takes: Takes, word_sound: Any, prompt: str) -> None:
    try:
        kept = takes.add(prompt, word_sound(), 16000)
    except Refusal:
        assert not takes.folder.exists()
        return
    path = takes.path(kept.name)
    assert path.parent == takes.folder
    assert path.resolve().parent == takes.folder.resolve()
    assert not path.name.startswith(".")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "secret.wav", "", ".", "..", "a\x00b"])
def test_names_of_takes_never_become_paths(takes: Takes, word_sound: Any, name: str) -> None:
    takes.add("on", word_sound(), 16000)
    secret = takes.folder.parent / "secret.wav"
    soundfile.write(secret, word_sound(), 16000)
    secret.with_suffix(".txt").write_text("secret")
    for use in (takes.path, takes.delete):
        with pytest.raises(Refusal, match="no such take"):
            use(name)
    assert secret.is_file()


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("", "an empty command"),
        ("  ", "an empty command"),
        ("7", "write numbers"),
        ("100 %", "write numbers"),
        ("on -", "expected words"),
        ("x" * 61, "expected 1 to 60"),
        ("a\u200bb\x07", "expected 1 to 60"),
    ],
)
def test_what_is_no_prompt(prompt: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        checked_prompt(prompt)


def test_lists_of_prompts(takes: Takes) -> None:
    takes.set_prompts([" on ", "off", "on", "été", "开灯"])
    assert takes.prompts() == ["on", "off", "été", "开灯"]
    with pytest.raises(Refusal, match="write at least two commands"):
        takes.set_prompts(["on", " on"])
    with pytest.raises(Refusal, match="201 commands"):
        takes.set_prompts([f"{a}{b}" for a in "abcdefghijk" for b in "abcdefghijklmnopqrs"][:201])


def test_what_else_lies_in_the_folder_is_left_alone(takes: Takes, word_sound: Any) -> None:
    takes.folder.mkdir()
    (takes.folder / "broken.wav").write_bytes(b"RIFF")
    (takes.folder / "broken.txt").write_text("x")
    soundfile.write(takes.folder / "alone.wav", word_sound(), 16000)
    (takes.folder / PROMPTS).write_text('{"not": "a list"}')
    assert takes.all() == []
    assert takes.prompts() == []


def tone(level: float, noise: float = 1e-3, seconds: float = 1.2) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = np.arange(round(seconds * 16000)) / 16000
    inside = (t > 0.4 * seconds) & (t < 0.8 * seconds)
    return (level * np.sin(2 * np.pi * 300 * t) * inside + noise * rng.normal(size=t.size)).astype(np.float32)


def test_levels_of_a_tone_in_noise() -> None:
    levels = levels_of(tone(0.1), 16000)
    assert levels.duration_s == pytest.approx(1.2)
    assert levels.peak_db == pytest.approx(-20, abs=0.4)
    # Power of the tone 0.005, of the noise 1e-6; the quietest tenth of frames is a little below the mean.
    assert levels.snr_db == pytest.approx(37, abs=1)
    assert levels.spoken_s == pytest.approx(0.48, abs=0.05)
    assert levels.clipped == 0.0
    assert fault_of(levels) is None


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (tone(0.1, seconds=0.2), "too short: 0.20 s"),
        (tone(0.1, seconds=21.0), "too long: 21 s"),
        (np.zeros(16000, np.float32), "nearly silent"),
        (np.zeros(0, np.float32), "too short"),
        (tone(0.005), "nearly silent: peak -4"),
        (np.clip(tone(3.0), -1, 1), "clipped: "),
        (np.clip(tone(3.0), -0.99, 0.99), "clipped: "),
        (tone(0.0, noise=0.1), "no speech above the noise"),
        (np.full(16000, 0.5, np.float32), "no speech above the noise"),
    ],
)
def test_faults(samples: np.ndarray, reason: str) -> None:
    found = fault_of(levels_of(samples, 16000))
    assert str(found).startswith(reason)
    assert found.count(";") == 1


def test_flat_tops_below_full_scale_are_the_speakers_own() -> None:
    assert fault_of(levels_of(np.clip(tone(0.3), -0.2, 0.2), 16000)) is None
