"""Damaged files end in a result or an error of one line; the harness that tries more counts what does not."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import fuzz
import pytest
from fuzz import Inputs, Tally, Trial, said
from fuzz_mutations import LARGEST, damaged
from fuzz_targets import Target, targets

from features.pieces import Span
from foundation.errors import AsrError

FEW, MANY = 15, 200  # of each reader
LONGEST_S = 20.0


@pytest.mark.parametrize("n_inputs", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted(targets()))
def test_damaged_files_end_in_a_result_or_an_error(name: str, n_inputs: int, tmp_path: Path) -> None:
    inputs = Inputs(name, 0, tmp_path)
    for number in range(n_inputs):
        with inputs.laid_out(number):
            start_s, start_cpu_s = time.monotonic(), time.process_time()
            try:
                inputs.target.run(tmp_path)
            except AsrError as error:
                assert str(error).strip()  # noqa: PT017 (results are as good)
            except Exception as error:
                error.add_note(f"again: tests/robustness/fuzz.py --only {name!r} --first {number} --inputs 1")
                raise
            assert time.process_time() - start_cpu_s < LONGEST_S
            assert time.monotonic() - start_s < 10 * LONGEST_S  # on a busy machine


@pytest.mark.parametrize("name", sorted(set(targets()) - {"raw"}))
def test_files_are_sound_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    Inputs(name, 0, tmp_path)
    assert targets()[name].run(tmp_path) is not NotImplemented


def test_the_same_number_is_the_same_input(tmp_path: Path) -> None:
    inputs, other = Inputs("jsgf", 0, tmp_path), Inputs("jsgf", 1, tmp_path)
    first = [inputs.content(n) for n in range(50)]
    assert first == [inputs.content(n) for n in range(50)]
    assert first != [other.content(n) for n in range(50)]
    assert len({content for _, content in first}) > 45


@pytest.mark.parametrize("kind", ["ogg", "mp3", "flac"])
def test_a_recording_that_is_not_heard_is_a_defect(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = Inputs(f"{kind} put together", 0, tmp_path)
    monkeypatch.setattr("features.audio.recordings_in", lambda path: (Span(),))  # as if there were one alone

    def run() -> None:
        for number in range(50):
            with inputs.laid_out(number), suppress(AsrError):
                inputs.target.run(tmp_path)

    with pytest.raises(ArithmeticError, match=r"\d+ samples heard, not \[\d+"):
        run()


def test_damage_is_bounded() -> None:
    random = Random(0)
    found = [damaged(b"1 2\n", random, [bytes(LARGEST)]) for _ in range(500)]
    assert max(map(len, found)) <= LARGEST
    assert damaged(b"", random) is not None


def _reads(folder: Path) -> None:
    """Fail in the ways a reader may, by the first byte of its file."""
    content = (folder / "a").read_bytes()
    kind = content[0] % 5 if content else 0
    if kind == 1:
        raise AsrError("one line")
    if kind == 2:
        raise ValueError("a bug")
    if kind == 3 and len(content) > 40:
        time.sleep(60)
    if kind == 4 and len(content) > 40:
        os._exit(3)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tally:
    """Return what the harness counts of that reader."""
    target = Target(_reads, {"a": [bytes([kind]) * 50 for kind in range(5)]})
    monkeypatch.setattr(fuzz, "targets", lambda: {"reader": target})
    return Trial("reader", 0, 0.2, tmp_path / "saved").run(range(60))


def test_every_end_is_counted(counted: Tally, tmp_path: Path) -> None:
    assert counted.inputs == 60
    assert counted.results + counted.errors + counted.crashes + counted.hangs == 60
    assert min(counted.results, counted.errors, counted.crashes, counted.hangs) > 0
    places = [place.rpartition(":")[0] or place for place in sorted(counted.places)]
    assert places == ["ValueError: test_fuzz.py", "hang: test_fuzz.py", "process died (3)"]
    saved = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert [name for name in saved if name.startswith("reader_process_died__3_")]
    assert said("reader", counted).startswith("reader reader, inputs 60, results ")
