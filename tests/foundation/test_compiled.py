"""Compiled code on disk may be damaged, outdated or impossible to write: functions work all the same."""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numba
import pytest

from foundation import compiled

SOURCE = """
from typing import NamedTuple
from foundation.compiled import njit

class Weights(NamedTuple):
    scale: float

@njit(cache=True, nogil=True)
def scaled(weights, x):
    return weights.scale * x
"""
_names = itertools.count()


def loaded(path: Path) -> ModuleType:
    """Return a module read anew, as a new process reads it."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "_told", [])
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(compiled, "cache_directory", lambda: tmp_path / "cache")
    path = tmp_path / f"compiled_example_{next(_names)}.py"
    path.write_text(SOURCE)
    return path


def called(path: Path, factor: float = 1.0) -> tuple[int, int]:
    """Call the function of a module read anew and return how often its code was found and compiled."""
    found = loaded(path)
    assert found.scaled(found.Weights(3.0), 2.0) == 6.0 * factor
    stats = found.scaled.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


def kept(path: Path, suffix: str) -> Path:
    (found,) = (path.parent / "cache" / "compiled").glob(f"{path.stem}-*/*{suffix}")
    return found


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def of_zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def removed(file: Path) -> None:
    file.unlink()


def test_code_is_found_again(module: Path) -> None:
    assert called(module) == (0, 1)
    assert called(module) == (1, 0)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [cut, emptied, flipped, of_zeros, removed])
def test_damaged_code_is_compiled_again(module: Path, suffix: str, damage: Callable[[Path], None]) -> None:
    called(module)
    damage(kept(module, suffix))
    assert called(module) == (0, 1)
    assert called(module) == (1, 0)


def test_an_upgrade_in_place_that_renames_a_record(module: Path) -> None:
    called(module)
    before = module.stat()
    text = SOURCE.replace("Weights", "Factors").replace("weights.scale * x", "x + weights.scale + 1 ")
    module.write_text(text + "Weights = Factors\n")
    assert called(module) == (0, 1)
    module.write_text(text + "Weights = Factors\n")
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert called(module) == (1, 0)


def test_code_is_found_by_the_content_of_the_source_and_not_by_its_time(module: Path) -> None:
    called(module)
    before = module.stat()
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert called(module) == (1, 0)
    module.write_text(SOURCE.replace("* x", "+ 3"))
    assert called(module) == (0, 1)


def test_a_change_in_a_module_that_the_kernel_calls_is_seen(module: Path) -> None:
    """Directly or by another one, and without regard to modules that compile nothing."""
    first, second, plain = (module.with_name(f"{module.stem}_{name}.py") for name in ("a", "b", "plain"))
    head = "from foundation.compiled import njit\n"
    twice = "@njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    four = f"from {second.stem} import (\n    twice,\n)\n"
    four += "@njit(cache=True)\ndef four(x):\n    return 2 * twice(x)\n"
    text = f"from {first.stem} import four\nimport {plain.stem}\n" + SOURCE.replace("* x", "* four(x)")
    plain.write_text("")
    second.write_text(head + twice)
    first.write_text(head + four)
    module.write_text(text)

    def run(factor: float) -> tuple[int, int]:
        for path in (plain, second, first):
            loaded(path)
        return called(module, factor)

    assert run(4.0) == (0, 1)
    assert run(4.0) == (1, 0)
    plain.write_text("NEW = 1\n")
    assert run(4.0) == (1, 0)
    second.write_text(head + twice.replace("2 * x", "30 * x"))
    assert run(60.0) == (0, 1)
    first.write_text(head + four.replace("2 * twice", "5 * twice"))
    assert run(150.0) == (0, 1)
    assert run(150.0) == (1, 0)
    for path in (plain, second, first):
        del sys.modules[path.stem]


def test_the_code_of_two_signatures_does_not_meet_in_one_file(module: Path) -> None:
    called(module)
    found = loaded(module)
    assert found.scaled(found.Weights(3.0), 2) == 6
    assert len(list((module.parent / "cache").rglob("*.nbc"))) == 2
    assert called(module) == (1, 0)


def test_nothing_lies_beside_the_module(module: Path) -> None:
    called(module)
    assert not [path for path in module.parent.rglob("*.nb?") if "cache/compiled" not in path.as_posix()]


def test_each_source_has_a_folder_and_what_is_long_unused_goes(module: Path) -> None:
    called(module)
    first = kept(module, ".nbi").parent
    module.write_text(SOURCE.replace("* x", "+ 3"))
    assert called(module) == (0, 1)
    module.write_text(SOURCE)
    assert called(module) == (1, 0)  # the other version has not taken its place
    (second,) = set(first.parent.iterdir()) - {first}
    for folder, days in ((first, 20), (second, 40)):
        then = time.time() - days * 86400
        os.utime(folder, (then, then))
    module.write_text(SOURCE.replace("* x", "+ 1"))
    called(module, 4 / 6)
    assert first.is_dir()
    assert not second.exists()
    os.utime(first, (then, then))
    module.write_text(SOURCE)
    assert called(module) == (1, 0)
    assert first.stat().st_mtime > time.time() - 3600  # using it is noted


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="other systems tell users otherwise")
def test_a_directory_of_another_user_is_not_taken(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345678)
    called(module)
    assert list((module.parent / "cache").rglob("*.nbi")) == []
    assert len(list((module.parent / "__pycache__").glob("*.nbi"))) == 1


def test_a_home_that_cannot_be_written(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another place is found, or none: the function works."""
    (module.parent / "file").write_text("")
    monkeypatch.setattr(compiled, "cache_directory", lambda: module.parent / "file" / "cache")
    assert called(module) == (0, 1)
    assert called(module) == (1, 0)
    monkeypatch.setattr(compiled, "cache_directory", lambda: None)
    assert called(module) == (1, 0)


@pytest.mark.parametrize(
    ("platform", "environment", "place"),
    [
        ("linux", {}, "/home/a/.cache"),
        ("linux", {"XDG_CACHE_HOME": "/var/c"}, "/var/c"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/a/.cache"),
        ("darwin", {"XDG_CACHE_HOME": "/var/c"}, "/home/a/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local"),
        ("win32", {}, "/home/a/AppData/Local"),
    ],
)
def test_where_users_keep_such_things(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], place: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/a"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert compiled.cache_directory() == Path(place) / "asr-sparse-kernel"


def test_without_a_place_one_line_says_so(
    module: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled._Compiled, "_locator_classes", [])
    with caplog.at_level(logging.WARNING):
        found = loaded(module)
        assert not caplog.messages
        assert found.scaled(found.Weights(3.0), 2.0) == 6.0
        assert found.scaled(found.Weights(3.0), 2) == 6
    (said,) = caplog.messages
    assert said.startswith("compiled code cannot be kept (no directory for it can be written): every run")
    assert said.endswith("set NUMBA_CACHE_DIR to a directory that can be written")


def test_a_full_disk_is_one_line(
    module: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled._CodeFiles, "_write", full)
    with caplog.at_level(logging.WARNING):
        assert called(module) == (0, 1)
    (said,) = caplog.messages
    assert "No space left on device): every run will compile" in said


def test_functions_stay_functions_where_numba_is_switched_off(module: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(module.parent)!r}); from {module.stem} import *; "
        "print(scaled(Weights(3.0), 2.0), type(scaled).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "6.0 function\n"


@pytest.mark.parametrize("value", ["0", "x"])
def test_a_number_of_threads_that_numba_cannot_start_with_is_one_line(module: Path, value: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(module.parent)!r}); from {module.stem} import *; "
        "print(scaled(Weights(3.0), 2.0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_NUM_THREADS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    said = f"NUMBA_NUM_THREADS is '{value}', expected a whole number from 1 on; unset it: it is passed over\n"
    assert (done.stdout, done.stderr) == ("6.0\n", said)


def test_all_kernels_of_the_package_are_kept_this_way() -> None:
    root = Path(compiled.__file__).parents[1]
    rooms = ("acoustic", "asr", "decoder", "features", "foundation", "recipes")
    sources = [path for room in rooms for path in (root / room).rglob("*.py")]
    direct = [path for path in sources if "from numba import" in path.read_text(encoding="utf-8")]
    assert direct == []
