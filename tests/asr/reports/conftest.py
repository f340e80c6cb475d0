"""Experiments on the tone language of which pages are made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from asr import train
from asr.reports.finished import Choice, Finished


@pytest.fixture(scope="session")
def compared(trained: Path, tones: Path, settings: tuple[str, ...]) -> Path:
    """Return a finished experiment with gmm1 and gmm2 and errors in the test set; not to be changed."""
    out = trained.parent / "compared"
    shutil.copytree(trained, out)
    train("folder", corpus=tones, out=out, models=["gmm1", "gmm2"], settings=settings)
    (wording,) = (out / "stages").glob("words-*/test.json")
    wording.write_text(json.dumps(with_wrong_transcripts(json.loads(wording.read_text()))))
    return out


def with_wrong_transcripts(wording: dict[str, dict[str, list[str]]]) -> dict[str, dict[str, list[str]]]:
    """Return what was said with a word too few, one too many, and another one: models make no errors here."""
    first, second, third = sorted(wording)[:3]
    wording[first]["words"] = wording[first]["words"][1:]
    wording[second]["words"] = [*wording[second]["words"], "MAUI"]
    place = wording[third]["words"]
    wording[third]["words"] = ["IMI" if place[0] != "IMI" else "SUS", *place[1:]]
    return wording


@pytest.fixture(scope="session")
def finished(compared: Path) -> Finished:
    """Return what that experiment holds."""
    return Finished.read(compared)


@pytest.fixture(scope="session")
def chosen(finished: Finished) -> Choice:
    """Return its first model on test."""
    return Choice.of(finished, "gmm1", "test")
