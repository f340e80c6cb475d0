"""The folder of takes, as the training and other people's names find it, and how loud a take is."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from asr import read_corpus
from asr.corpora.layouts.beside import coming_text
from asr.corpora.wording import worded
from asr.language.grammars import read_commands
from asr.serving import takes as takes_module
from asr.serving.limits import Refusal
from asr.serving.studio import write_task
from asr.serving.takes import (
    PROMPTS,
    Takes,
    checked_prompt,
    counts,
    fault_of,
    levels_of,
    plain_words,
)
from asr.text.forms import WordForms
from decoder.lexicon import Lexicon


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


def test_numbers_that_are_none_of_ours_are_passed_over(takes: Takes, word_sound: Any) -> None:
    takes.folder.mkdir()
    (takes.folder / f"on-{'9' * 245}.wav").touch()
    assert takes.add("on", word_sound(), 16000).name == "on-001"


def test_prompts_that_some_systems_take_for_one_name_are_counted_together(
    takes: Takes, word_sound: Any
) -> None:
    names = [takes.add(prompt, word_sound(), 16000).name for prompt in ("On", "on", "\u00e9", "e\u0301")]
    assert names == ["On-001", "on-002", "\u00e9-001", "\u00e9-002"]


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


@pytest.mark.parametrize(
    "prompt", ["../../etc/passwd", "/etc/passwd", "a\\b:c", ".hidden", "con|x", "con", "x. ."]
)
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
        ("a\u200bb\x07", "cannot be seen"),
    ],
)
def test_what_is_no_prompt(prompt: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        checked_prompt(prompt)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("<s>", "read as a remark"),
        ("!SIL", "read as a remark"),
        ("<unk>", "read as a remark"),
        ("light [noise]", "read as a remark"),
        ("(laughs)", "read as a remark"),
        ("../../x", "expected words with spaces between them"),
        ("a/b", "expected words with spaces between them"),
        ("light_on", "expected words with spaces between them"),
        ("light,on", "expected words with spaces between them"),
        ("light\u200bon", r"\(U\+200B zero width space\)"),
        ("\u200flight", r"\(U\+200F right-to-left mark\)"),
        ("light\u00ad", r"\(U\+00AD soft hyphen\)"),
        ("a\x07", r"\(U\+0007 control character\)"),
        ("a\u200cb", r"\(U\+200C zero width non-joiner\)"),
        ("می\u200c", r"\(U\+200C zero width non-joiner\)"),
        ("خِ\u200dما", r"\(U\+200D zero width joiner\)"),
        ("क \u200d\u094d", r"\(U\+200D zero width joiner\)"),
        ("\ud800x", "U\\+D800"),
        ("\u0301", "expected words"),
        ("…!?", "expected words"),
        ("\N{GRINNING FACE}", "expected words"),
        ("x" * 10_000, "a command of 10000 characters, expected 1 to 60"),
    ],
)
def test_what_a_training_would_read_otherwise_is_no_prompt(prompt: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as error:
        checked_prompt(prompt)
    assert (str(error.value).isprintable(), ";" in str(error.value)) == (True, True)


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("Stop!", "Stop!"),
        ("con", "con"),
        ("wi-fi’s on", "wi-fi’s on"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("র\u200d্যাব", "র\u200d্যাব"),
        ("ರ\u200d್ಯ", "ರ\u200d್ಯ"),
        ("അവന്\u200d വന്നു", "അവന്\u200d വന്നു"),
        ("അവന്\u200d", "അവന്\u200d"),
        ("خانهِ\u200cما", "خانهِ\u200cما"),
        ("light\u00a0\u2028on", "light on"),
    ],
)
def test_prompts_are_read_by_a_training_as_they_are_kept(
    tmp_path: Path, word_sound: Any, prompt: str, kept: str
) -> None:
    """The transcripts of takes and the list of commands are found in the lexicon of the page."""
    takes = Takes(tmp_path / "takes", 10)
    takes.add(prompt, word_sound(), 16000)
    assert [take.prompt for take in takes.all()] == [kept]
    write_task(takes.folder, [kept])
    lexicon = Lexicon.read(takes.folder / "lexicon.txt")
    (utterance,), _ = worded(read_corpus(takes.folder, "one"), WordForms(lexicon.words))
    assert set(utterance.words) <= set(lexicon.words)
    (command,) = read_commands(takes.folder)
    forms = WordForms(lexicon.words)
    assert tuple(filter(None, map(forms.find, command))) == utterance.words


def test_any_text_is_refused_in_one_line_or_read_as_it_is_kept() -> None:
    """What is accepted has a lexicon, which is read back, with all its words, and stays as it is."""
    rng, n_kept, refused = random.Random(5), 0, list[str]()
    for _ in range(3000):
        text = "".join(rng.choice(_PIECES) for _ in range(rng.randrange(1, 6)))
        try:
            kept = checked_prompt(text)
        except Refusal as refusal:
            refused.append(str(refusal))
            continue
        n_kept += 1
        lexicon = Lexicon({word: [(f"{word}~1",)] for word in plain_words(kept)})
        read = [word.word for word in WordForms(lexicon.words).read(kept)]
        assert (checked_prompt(kept), read) == (kept, plain_words(kept)), ascii(text)
        assert set(read) <= set(lexicon.words), ascii(text)
    assert n_kept > 300
    assert all(len(line.splitlines()) == 1 and line.isprintable() for line in refused)


_PIECES = [
    *(
        "on",
        "off ",
        " ",
        "<s>",
        "!SIL",
        "../",
        "/",
        "(2)",
        "[x]",
        "#",
        "-",
        "’",
        "…",
        "7",
        "½",
        "€",
        "con",
        "İ",
        "ß",
    ),
    *(
        "é",
        "e\u0301",
        "\u05bc",
        "\u0613",
        "\u2f3d",
        "\u200b",
        "\u200c",
        "\u200f",
        "क्",
        "ष",
        "می",
        "한",
        "\ud800",
        "\x07",
    ),
]


def test_prompts_that_are_the_same_words_are_refused(takes: Takes) -> None:
    with pytest.raises(Refusal, match='"On" and "on!" are the same words'):
        takes.set_prompts(["On", "off", "on!"])
    takes.set_prompts(["\u00e9t\u00e9", "e\u0301te\u0301", "off"])
    assert takes.prompts() == ["\u00e9t\u00e9", "off"]


@pytest.mark.parametrize("prompts", [["ja", "ja"], ["caf\u00e9", "cafe\u0301"], ["ja", " ja ", "ja"]])
def test_a_command_that_is_written_twice_is_not_too_few(takes: Takes, prompts: list[str]) -> None:
    with pytest.raises(Refusal, match=r"are the same words, .*; remove one"):
        takes.set_prompts(prompts)
    with pytest.raises(Refusal, match=r"^1 command, expected at least two"):
        takes.set_prompts(prompts[:1])


def test_lists_of_prompts(takes: Takes) -> None:
    takes.set_prompts([" on ", "off", "on", "été", "开灯"])
    assert takes.prompts() == ["on", "off", "été", "开灯"]
    with pytest.raises(Refusal, match="write at least two commands"):
        takes.set_prompts(["on"])
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_what_lies_among_takes_is_named_and_why(takes: Takes, word_sound: Any) -> None:
    kept = takes.add("on", word_sound(), 16000)
    folder = takes.folder
    soundfile.write(folder / "alone.wav", word_sound(), 16000)
    (folder / "notes.txt").write_text("no recording of mine")
    (folder / "lexicon.txt").write_text("on on~1\n")
    (folder / "folder.wav").mkdir()
    (folder / "gone.wav").symlink_to(folder / "nowhere.wav")
    (folder / "broken.wav").write_bytes(b"RIFF")
    os.mkfifo(folder / "pipe.wav")
    os.mkfifo(folder / "speech.txt")
    soundfile.write(folder / "speech.wav", word_sound(), 16000)
    soundfile.write(folder / "spoken.flac", word_sound(), 16000)
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9.wav")).write_bytes(b"RIFF")
    for name, text in {
        "broken": "x",
        "gone": "x",
        "long": "x " * 20_000,
        "mute": " ",
        "spoken": "on",
    }.items():
        (folder / f"{name}.txt").write_text(text)
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    for name in ("latin", "long", "mute"):
        soundfile.write(folder / f"{name}.wav", word_sound(), 16000)
    contents = takes.contents()
    assert contents.takes == [kept] or [take.name for take in contents.takes] == ["on-001"]
    reasons = dict(line.split(": ", 1) for line in contents.aside)
    assert {name: reason.split(",")[0] for name, reason in reasons.items()} == {
        "alone.wav": "no text",
        "broken.wav": reasons["broken.wav"].split(",")[0],
        "caf\\udce9.wav": "a name that cannot be written as text",
        "folder.wav": "a folder",
        "gone.wav": "a link to nothing",
        "latin.wav": "its text: not UTF-8",
        "long.wav": "its text: 40000 bytes",
        "mute.wav": "its text is empty",
        "notes.txt": "no recording",
        "pipe.wav": "a pipe",
        "speech.wav": "its text: a pipe",
    }
    assert all(str(folder) not in line and ";" in line for line in contents.aside)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('["on", "\\ud800x", 7, "<s>", "off"]', ["a character that cannot be seen", "empty", "a remark"]),
        ("[" * 100_000, ["too deep in each other"]),
        ('"' + "x" * 1_100_000, ["1100001 bytes, expected at most 1000000"]),
        ("{}", ["a dict, expected the list"]),
        (b"\xff\xfe", ["not UTF-8"]),
        (None, ["Is a directory"]),
    ],
)
def test_odd_files_of_prompts_are_passed_over_and_named(
    takes: Takes, word_sound: Any, content: Any, said: list[str]
) -> None:
    takes.add("on", word_sound(), 16000)
    path = takes.folder / PROMPTS
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = takes.contents()
    assert list(found.prompts) == (["on", "off"] if len(said) > 1 else ["on"])
    assert len(found.aside) == len(said)
    assert all(what in line for what, line in zip(said, found.aside, strict=True))


def test_prompts_are_refused_where_they_cannot_be_written(takes: Takes) -> None:
    (takes.folder / PROMPTS).mkdir(parents=True)
    with pytest.raises(Refusal, match=r"\.prompts\.json cannot be written: Is a directory") as refusal:
        takes.set_prompts(["on", "off"])
    assert refusal.value.status == 507


def test_a_server_finishes_what_a_killed_one_has_left(takes: Takes, word_sound: Any) -> None:
    """Sound in place and the text still hidden: the take; all that is only begun: nothing."""
    fcntl = pytest.importorskip("fcntl", reason="this system has no such locks")
    first, second = (takes.add("on", word_sound(n), 16000).name for n in (1, 2))
    folder = takes.folder
    (folder / f"{first}.txt").rename(coming_text(folder / f"{first}.wav"))
    coming_text(folder / "off-001.wav").write_text("off\n")
    (folder / ".off-002.wav.partial").write_bytes(b"RIFF")
    (folder / ".off-002.txt.partial").write_text("o")
    (folder / f".off-003.wav.{'a' * 16}.partial").write_bytes(b"RIFF")
    (folder / "..prompts.json.partial").write_text("[")
    (folder / ".mine.partial").write_text("a user's own")
    with open(folder / ".up-001.wav.partial", "xb") as written:
        fcntl.flock(written, fcntl.LOCK_EX)
        assert [u.utterance_id for u in read_corpus(folder, "one")] == [second]
        Takes(folder, 9).finish()
    assert [take.name for take in takes.all()] == [first, second]
    assert {path.name for path in folder.iterdir() if path.name.startswith(".")} == {
        ".mine.partial",
        ".up-001.wav.partial",
    }
    assert takes.contents().aside == []


@pytest.mark.parametrize("number", ["ENOLCK", "EBADF"])
def test_takes_on_a_disk_without_locks(
    takes: Takes, word_sound: Any, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """They are added, deleted and, after a minute, finished there as elsewhere."""
    pytest.importorskip("fcntl", reason="this system has no such locks")

    def refuse(descriptor: object, operation: int) -> None:
        raise OSError(getattr(errno, number), "no locks")

    monkeypatch.setattr("fcntl.flock", refuse)
    first, second = (takes.add("on", word_sound(n), 16000).name for n in (1, 2))
    takes.delete(first)
    assert [take.name for take in takes.all()] == [second]
    text = takes.folder / f"{second}.txt"
    text.rename(coming_text(text.with_suffix(".wav")))
    takes.finish()  # another server may be writing it
    assert takes.all() == []
    now = time.time()
    monkeypatch.setattr("foundation.files.time.time", lambda: now + 61)
    takes.finish()
    assert [take.name for take in takes.all()] == [second]


def test_takes_that_earlier_versions_left_half_done(takes: Takes, word_sound: Any) -> None:
    takes.add("on", word_sound(), 16000)
    sound, folder = takes.folder / "on-001.wav", takes.folder
    sound.rename(folder / ".on-001.partial")
    (folder / ".off-001.partial").write_bytes(b"RIFF")
    (folder / ".off-002.partial").write_bytes(b"RIFF")
    for name in ("on-001", "off-001"):
        os.utime(folder / f".{name}.partial", (1e9, 1e9))
    takes.finish()
    assert [take.name for take in takes.all()] == ["on-001"]
    assert sorted(path.name for path in folder.glob(".*")) == [".off-002.partial"]  # somebody may write it


def test_two_servers_never_take_the_same_name(tmp_path: Path, word_sound: Any) -> None:
    one, other = Takes(tmp_path / "takes", 99), Takes(tmp_path / "takes", 99)
    ready, names = threading.Barrier(2), list[str]()

    def add(takes: Takes) -> None:
        ready.wait()
        names.extend(takes.add("on", word_sound(n), 16000).name for n in range(10))

    threads = [threading.Thread(target=add, args=(takes,)) for takes in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 20
    assert sorted(names) == [take.name for take in one.all()] == [take.name for take in other.all()]


@pytest.mark.parametrize(
    "step", ["os.fsync", "asr.serving.takes.write_whole", "asr.serving.takes.put_in_place"]
)
def test_a_take_that_cannot_be_written_leaves_nothing(
    takes: Takes, word_sound: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    old = takes.add("on", word_sound(), 16000)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(step, full)
        with pytest.raises(Refusal, match="the take cannot be written: No space left on device") as refusal:
            takes.add("on", word_sound(1), 16000)
    assert refusal.value.status == 507
    assert {path.name for path in takes.folder.iterdir()} == {f"{old.name}.wav", f"{old.name}.txt"}


@pytest.mark.parametrize("reader", ["text_of", "audio_info", "read_audio"])
def test_what_goes_while_it_is_read_is_no_take_and_no_error(
    takes: Takes, word_sound: Any, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    kept = takes.add("on", word_sound(), 16000)
    gone = takes.add("off", word_sound(), 16000)
    read = getattr(takes_module, reader)

    def vanishing(path: Path, *rest: Any) -> Any:
        if path.stem == gone.name:
            path.unlink()
            open(path)  # noqa: SIM115
        return read(path, *rest)

    monkeypatch.setattr(takes_module, reader, vanishing)
    found = takes.contents()
    assert ([take.name for take in found.takes], list(found.aside)) == ([kept.name], [])


def test_a_name_of_any_length_can_be_deleted(takes: Takes, word_sound: Any) -> None:
    takes.folder.mkdir()
    name = "x" * 251
    soundfile.write(takes.folder / f"{name}.wav", word_sound(), 16000)
    (takes.folder / f"{name}.txt").write_text("on")
    takes.delete(name)
    assert list(takes.folder.iterdir()) == []


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
