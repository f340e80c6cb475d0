"""Corpora written by hand; what is in the recordings does not matter."""

from collections.abc import Callable
from pathlib import Path

import pytest


def write_kaldi(directory: Path, **files: str) -> Path:
    """Write a good data directory of two utterances; files named replace its own (wav_scp for wav.scp)."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {
        "wav_scp": "b1 audio/b1.wav\na1 audio/a1.wav\n",
        "text": "a1 YES\nb1 NO GO\n",
        "utt2spk": "a1 anna\nb1 ben\n",
    } | files
    for name, text in content.items():
        (directory / name.replace("_", ".")).write_bytes(text.encode())
    (directory / "audio").mkdir(exist_ok=True)
    for name in ("a1", "b1"):
        (directory / "audio" / f"{name}.wav").write_bytes(b"not looked into")
    return directory


def write_folder(directory: Path, *stems: str) -> Path:
    for stem in stems:
        path = directory / f"{stem}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not looked into")
        path.with_suffix(".txt").write_text(f"say {path.stem}\n")
    return directory


@pytest.fixture(scope="session", name="write_kaldi")
def write_kaldi_fixture() -> Callable[..., Path]:
    return write_kaldi


@pytest.fixture(scope="session", name="write_folder")
def write_folder_fixture() -> Callable[..., Path]:
    return write_folder
