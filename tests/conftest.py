"""Fixtures every package's tests may use."""

import os
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape what is no UTF-8 in captured output: pytest-xdist cannot send it from one process to another."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of data and golden files beside the checkout, or skip."""
    beside_checkout = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("ASR_SHARED", beside_checkout))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set ASR_SHARED to its folder")
    return folder


class _Slow:
    """Stands for a part of an object: the first call of one of its methods waits until it may go on."""

    def __init__(self, real: object, method: str) -> None:
        self._real, self._method = real, method
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name != self._method:
            return found

        def slow(*arguments: object, **options: object) -> object:
            if not self.entered.is_set():
                self.entered.set()
                assert self.go_on.wait(60)
            return found(*arguments, **options)

        return slow


@pytest.fixture
def under_way() -> Callable[..., AbstractContextManager["Future[Any]"]]:
    """Return a context in which another thread is within a call: the result of the call, once it has ended.

    It waits where the object's part of a name is asked to do something.
    """

    @contextmanager
    def held(stateful: object, part: str, method: str, call: Callable[[], object]) -> Iterator["Future[Any]"]:
        slow = _Slow(getattr(stateful, part), method)
        setattr(stateful, part, slow)
        with ThreadPoolExecutor(1) as other:
            result = other.submit(call)
            try:
                assert slow.entered.wait(60)
                yield result
            finally:
                slow.go_on.set()
            result.exception(60)

    return held
