"""Small corpora: recordings of a second of noise, and files of any content."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

RATE = 8000


def write_audio(directory: Path, *names: str, duration_s: float = 1.0) -> Path:
    """Write recordings; the suffix tells the format."""
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        samples = 0.1 * np.random.default_rng(0).standard_normal(round(duration_s * RATE))
        soundfile.write(path, samples.clip(-1, 1), RATE)
    return directory


def write_files(directory: Path, files: dict[str, str | bytes]) -> Path:
    """Write files as they are given: text in UTF-8, lines ended as they are."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return directory


@pytest.fixture(scope="session", name="write_audio")
def write_audio_fixture() -> Callable[..., Path]:
    return write_audio


@pytest.fixture(scope="session", name="write_files")
def write_files_fixture() -> Callable[..., Path]:
    return write_files
