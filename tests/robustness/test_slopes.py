"""Operations and memory of every reader grow with the bytes that it reads, whatever is large in them."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from types import FrameType

import pytest
import slopes
from fuzz import Inputs
from fuzz_targets import Target, targets
from slope_shapes import Shape, legal_shapes, repeated, stretches
from slopes import Slope, ending, exponent, measured, peak, row, said

from acoustic.hmm.mmf import parse_mmf
from asr.formats.captions import read_srt, read_vtt
from asr.formats.htk import read_dictionary
from asr.formats.mlf import from_mlf
from asr.formats.praat_elan import content_and_speaker, read_textgrid
from decoder.grammars.finite_state import read_slf
from decoder.grammars.jsgf import parse_jsgf
from decoder.lexicon import Lexicon
from foundation.errors import AsrError, suggestion
from foundation.files import composed

SMALL, GROWTH = 1000, 4
STEEPEST = 1.35
_LEAST_CALLS, _LEAST_BYTES = 3000, 8 << 20  # less is of caches, and tells no growth
# What these say is as large as they make it: half the square of the words, or as much as is let through.
GROWING = {("jsgf", "a row of options"), ("jsgf", "a row of the same option"), ("jsgf", "a row of choices")}
GROWING |= {("cluster", "dotted keys")}  # in TOML's reader; files of a few kB at most are read
READERS = [name for name in sorted(targets()) if legal_shapes(name)]


def _calls(inputs: Inputs) -> tuple[int, str]:
    """Return how many functions are called, of Python's own too, when the files are read, and their end."""
    n_calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        end = ending(inputs)
    finally:
        sys.setprofile(None)
    return n_calls, end


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.filterwarnings("ignore")
def test_operations_and_memory_grow_with_the_bytes(reader: str, tmp_path: Path) -> None:
    inputs = Inputs(reader, 0, tmp_path)
    ending(inputs)
    composed("\u00e9" * 1000)  # makes a table that is kept for good
    few = Random(reader).sample(list(stretches(reader, 0, 20)), 2)
    for shape in (s for s in [*legal_shapes(reader), *few] if (reader, s.name) not in GROWING):
        valid = targets()[reader].seeds[shape.file][0]
        sizes, calls, peaks = (GROWTH * SMALL, SMALL), [], []
        for size in sizes:  # the larger first: what is imported or kept for good does not grow
            (tmp_path / shape.file).write_bytes(shape.make(size))
            n_calls, end = _calls(inputs)
            assert not end.startswith("crash"), f"{shape.name}: {end}"
            calls.append(n_calls)
            peaks.append(peak(inputs))
        (tmp_path / shape.file).write_bytes(valid)
        assert exponent(sizes[::-1], calls[::-1], _LEAST_CALLS) < STEEPEST, f"{shape.name}: {calls} calls"
        assert exponent(sizes[::-1], peaks[::-1], _LEAST_BYTES) < STEEPEST, f"{shape.name}: {peaks} bytes"


N = 300_000
_CAPTION = "1\n00:00:00,000 --> 00:00:01,000\n"
_VTT = "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n"
_MLF = '#!MLF!#\n"*/u1.lab"\n0 1 '
_TIERS = '"ooTextFile" "TextGrid" 0 1 <exists> 1 '
LONG_LINES: dict[str, Callable[[], object]] = {
    "tags of SubRip": lambda: read_srt(_CAPTION + "<i " * N, "a"),
    "braces of SubRip": lambda: read_srt(_CAPTION + "{\\" * N, "a"),
    "voices": lambda: read_vtt(_VTT + "<v " * N, "a"),
    "spaces in a voice": lambda: read_vtt(f"{_VTT}<v{' ' * N}<", "a"),
    "a number of a character": lambda: read_vtt(f"{_VTT}&#{'1' * N};", "a"),
    "digits of a master label file": lambda: from_mlf(f"{_MLF}{'1' * N}x\n.\n"),
    "digits of a dictionary": lambda: read_dictionary(f"w {'1' * N}x A\n", "d"),
    "brackets of a dictionary": lambda: read_dictionary(f"w A {'[ ' * N}\n", "d"),
    "quotations of a macro file": lambda: parse_mmf('~h "' + '\\"' * N),
    "spaces in the name of a tier": lambda: content_and_speaker(f"a{' ' * N}b"),
    "quotes of a TextGrid": lambda: read_textgrid(_TIERS + '"' * N, "a"),
    "comments of a grammar": lambda: parse_jsgf("#JSGF V1.0;\n/*" + ")/*" * N, "g"),
    "a word of a lexicon": lambda: Lexicon({"a" * N: [("A",)]}).nearest("a" * N),
    "names": lambda: suggestion("a" * N, ["a" * N + "b"]),
}


def _reads_in_time(read: Callable[[], object], seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with suppress(AsrError):
        read()


@pytest.mark.parametrize("name", LONG_LINES)
def test_a_line_of_many_marks_is_gone_through_once(name: str) -> None:
    """The square of so many steps takes minutes; the limit is twenty seconds."""
    worker = multiprocessing.get_context("fork").Process(target=_reads_in_time, args=(LONG_LINES[name], 20))
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def test_a_line_of_a_lattice_without_a_field_is_gone_through_once(tmp_path: Path) -> None:
    (tmp_path / "a.slf").write_text("a" * N)
    read = multiprocessing.get_context("fork").Process(
        target=_reads_in_time, args=(lambda: read_slf(tmp_path / "a.slf"), 20)
    )
    read.start()
    read.join()
    assert read.exitcode == 0


def _fake(folder: Path) -> None:
    """Take the square of the bytes in steps and in memory, or forever, by the first byte."""
    content = (folder / "a").read_bytes()
    if content.startswith(b"square"):
        held = [bytes(len(content)) for _ in range(len(content) // 100)]
        deadline = time.process_time() + (len(content) / 40_000) ** 2
        while time.process_time() < deadline:
            held[0] += b""
    while content.startswith(b"forever"):
        pass
    if content.startswith(b"wrong"):
        raise ValueError("a bug")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"fake": Target(_fake, {"a": [b"ok"]})}
    monkeypatch.setattr(slopes, "targets", lambda: found)
    monkeypatch.setattr("fuzz.targets", lambda: found)


@pytest.mark.usefixtures("fake")
def test_squares_hangs_and_crashes_are_told() -> None:
    shapes = [
        Shape(head, "a", repeated(b"x", head.encode())) for head in ("square", "forever", "wrong", "good")
    ]
    square, forever, wrong, good = (measured("fake", shape, 4000, 1) for shape in shapes)
    assert square.end == "result"
    assert 1.5 < square.time_exponent < 2.5
    assert 1.5 < square.memory_exponent < 2.5
    assert (forever.end, forever.seconds_per_mb) == ("hang", float("inf"))
    assert wrong.end == "crash: ValueError: a bug"
    assert (good.end, good.time_exponent, good.memory_exponent) == ("result", 0.0, 0.0)
    name, n_shapes, n_hangs, *_, worst = row("fake", [square, good])
    assert (name, n_shapes, n_hangs, worst) == ("fake", 2, 0, "square")
    assert said(good).startswith("good: result, 0.00")


def test_the_exponent_is_that_of_the_growth() -> None:
    assert exponent((10, 40), (5, 80), 1) == pytest.approx(2.0)
    assert exponent((10, 40), (5, 20), 100) == 0.0
    slope = Slope("a", (10, 20, 40), (1.0, 2.0, 4.0), (1 << 20, 4 << 20), "result")
    assert slope.time_exponent == pytest.approx(1.0)
    assert slope.memory_exponent == pytest.approx(1.0)
    assert slope.seconds_per_mb == pytest.approx(1e5)


def test_shapes_have_the_bytes_that_they_are_asked_for() -> None:
    for reader in READERS:
        for shape in legal_shapes(reader):
            size = len(shape.make(20_000))
            assert 7000 < size < 60_000 or (size < 20_000 and reader == "arpa.gz"), shape.name
            assert shape.file in targets()[reader].seeds
