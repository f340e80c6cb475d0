"""Fixtures every package's tests may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of data and golden files beside the checkout, or skip."""
    beside_checkout = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("ASR_SHARED", beside_checkout))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set ASR_SHARED to its folder")
    return folder
