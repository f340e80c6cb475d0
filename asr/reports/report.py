"""The verb ``asr report``: one page of an experiment, for a browser, without a network."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from asr.errors import ConfigError
from foundation.version import how_to_install

Audio = Literal["beside", "embed", "none"]
_PACKAGES = {"jinja2": "jinja2", "PIL": "pillow"}


def report(
    experiment: str | Path,
    *,
    model: str | None = None,
    out: str | Path | None = None,
    split: str | None = None,
    utterances: int | None = None,
    audio: Audio | None = None,
) -> Path:
    """Return the path of a page that shows what the models of an experiment hear, and where they go wrong.

    The page is one HTML file that needs no network. Results and words are those of the experiment; what the
    model hears in single utterances is computed anew, which takes at most as long as the evaluation did.

    Parameters
    ----------
    experiment : experiment directory that ``asr train`` has finished, or a point of a sweep
    model : the model that is looked into; by default the one that was best on dev
    out : the page; ``EXP/report.html`` by default
    split : test or dev; test by default, where there is one
    utterances : how many, from the worst on, are shown with pictures and sound; by default as many as make
        a page of at most some two megabytes, 100 at most
    audio : sounds are in the page (``embed``, the default), lie ``beside`` it in ``FILE_audio``, those of all
        utterances, or nowhere (``none``)
    """
    missing = [package for name, package in _PACKAGES.items() if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"report: needs {', '.join(missing)}, not installed; run: {how_to_install('report')}"
        )
    if utterances is not None and utterances < 0:
        raise ConfigError(f"report: utterances: expected 0 or more, got {utterances}; 100 is usual")
    directory = Path(experiment)
    page = Path(out) if out is not None else directory / "report.html"
    if page.is_dir():
        raise ConfigError(f"--out: {page} is a directory, expected a file; choose another, such as page.html")
    building = import_module("asr.reports.building")  # it imports what the extra brings
    found: Path = building.build(directory, page, model, split, utterances, audio)
    return found
