"""What a layout is, and what it finds in a corpus."""

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
