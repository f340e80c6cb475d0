"""Compiled code on disk: counted where it is of this source, and not where the source has changed."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from asr.compiled_code import PACKAGES, compiled_code, is_current, kernels_of, modules_with_kernels

SOURCE = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_of_another_source_nothing_is_current(tmp_path: Path) -> None:
    path = tmp_path / "compiled_code_example.py"
    path.write_text(SOURCE)
    kernel = loaded(path).twice
    assert not is_current(kernel)
    assert kernel(3) == 6
    assert is_current(kernel)
    assert kernels_of(path.stem) == [kernel]
    path.write_text(SOURCE.replace("2 *", "20 *"))
    os.utime(path, (1, 1))
    assert not is_current(loaded(path).twice)


def test_all_kernels_are_counted() -> None:
    names = list(modules_with_kernels())
    assert {name.partition(".")[0] for name in names} <= set(PACKAGES)
    assert "acoustic.hmm.forward_backward" in names
    state = compiled_code()
    assert 50 < state.n_functions == sum(len(kernels_of(name)) for name in names)
    assert 0 <= state.n_current <= state.n_functions


def test_directories_that_cannot_be_written_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert compiled_code().unwritable
    monkeypatch.setattr(os, "access", lambda place, mode: True)
    assert compiled_code().unwritable == ()
