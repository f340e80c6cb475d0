"""What a layout finds in a corpus, and what a layout is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr.corpora.utterances import Utterance
from asr.errors import Problem

WHOLE = ""  # the part of a corpus that has no splits
# What files and folders of splits are called.
SPLIT_NAMES = {
    **{name: name for name in ("train", "dev", "test")},
    **dict.fromkeys(("validation", "valid", "val"), "dev"),
}


@dataclass(frozen=True)
class Scan:
    """What is in a corpus.

    Attributes
    ----------
    parts : the usable utterances by split (``train``, ``dev``, ``test``), or under ``WHOLE``
    problems : what is wrong with the others
    kinds : suffixes of the transcripts, where the layout has several kinds of them
    """

    parts: Mapping[str, Sequence[Utterance]]
    problems: Sequence[Problem] = ()
    kinds: tuple[str, ...] = ()


_LONGEST_S = 1e9  # thirty years: what is later is no time in a recording


@dataclass(frozen=True)
class Layout:
    """One form in which people keep recordings and transcripts.

    Attributes
    ----------
    name : as it is called in messages
    sources : the paths in a directory (or the file itself) that have this form: several tables are several
    scan : reads one source
    """

    name: str
    sources: Callable[[Path], Sequence[Path]]
    scan: Callable[[Path], Scan]


@dataclass(frozen=True)
class Stretch:
    """What a transcript says of a stretch of a recording.

    Attributes
    ----------
    start_s, end_s : the stretch in seconds; ``end_s`` None is the end of the recording
    text : the words
    speaker : who speaks, None if the transcript does not say
    recording : the recording's name, None if it is that of the transcript
    where : place in the transcript
    """

    start_s: float
    end_s: float | None
    text: str
    where: str
    speaker: str | None = None
    recording: str | None = None


def backwards(stretch: Stretch) -> Problem | None:
    """Return the problem of a stretch that ends before it starts, or starts before the recording."""
    end_s = stretch.end_s
    if stretch.start_s >= 0 and (end_s is None or stretch.start_s < end_s < _LONGEST_S):
        return None
    what = f"goes from {stretch.start_s:g} s to {end_s:g} s, expected 0 <= start < end; correct the times"
    return Problem(stretch.where, what)
