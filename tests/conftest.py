"""Fixtures every package's tests may use."""

import os
from collections.abc import Generator
from pathlib import Path

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
