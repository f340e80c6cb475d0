"""What a person may have meant who gave a directory in which nothing can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from asr.corpora.layouts.audio_files import is_audio, visible_files
from asr.corpora.layouts.beside import is_transcript
from asr.corpora.layouts.layouts import layout_of
from asr.errors import CorpusError, Problem
from foundation.errors import listed

_DEPTH, _N_FOLDERS, _N_NAMED = 2, 200, 5


def hints(directory: Path) -> list[Problem]:
    """Return notes on what could be read instead: folders below that are corpora, texts of another name."""
    return [*corpora_below(directory), *_texts_beside(directory)]


def corpora_below(directory: Path) -> Iterator[Problem]:
    """Yield a note on the folders below that are corpora, if there are any."""
    found: list[Path] = []
    for folder in _folders(directory):
        if any(outer in folder.parents for outer in found):
            continue
        if _is_corpus(folder) or _is_corpus(folder / "train"):
            found.append(folder)
    if found:
        names = listed([str(folder.relative_to(directory)) for folder in found], _N_NAMED)
        yield Problem(".", f"corpora that can be read are in {names}: give one of these", "note")


def _folders(directory: Path) -> list[Path]:
    """Return some folders below a directory, those further up first."""
    found: list[Path] = []
    level = [directory]
    for _ in range(_DEPTH):
        below = [p for d in level for p in sorted(d.iterdir()) if p.is_dir() and not p.name.startswith(".")]
        found += (level := below)
    return found[:_N_FOLDERS]


def _is_corpus(folder: Path) -> bool:
    try:
        return bool(folder.is_dir() and (layout_of(folder)))
    except CorpusError:  # it fits several, and says so once it is given
        return True


def _texts_beside(directory: Path) -> Iterator[Problem]:
    """Yield a note on files that lie beside all recordings and have their names, but other suffixes."""
    files = visible_files(directory)
    audio = {file.with_suffix("") for file in files if is_audio(file)}
    suffixes: Counter[str] = Counter()
    for file in files:
        name, dot, suffix = file.name.partition(".")
        if dot and file.with_name(name) in audio and not is_audio(file) and not is_transcript(file):
            suffixes[f".{suffix}"] += 1
    always = sorted(suffix for suffix, n in suffixes.items() if n == len(audio))
    if always:
        what = f"each recording has files of its name with {' '.join(always[:_N_NAMED])} beside it"
        yield Problem(".", f"{what}: if one of these is what is said, copy it to .txt", "note")
