"""The layouts of corpora, which of them a directory or file has, and what may be meant where it has none.

To add one: a `Layout` in a module beside this one, an entry below, a row in ``docs/corpora.md``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from asr.corpora.layouts.beside import BESIDE, is_transcript
from asr.corpora.layouts.kaldi import KALDI
from asr.corpora.layouts.layout import Layout
from asr.corpora.layouts.lhotse import LHOTSE
from asr.corpora.layouts.lists import LIBRISPEECH, LISTS
from asr.corpora.layouts.metadata import COMMON_VOICE, LJSPEECH, METADATA
from asr.corpora.layouts.recordings import is_audio, visible_files
from asr.corpora.layouts.sphinx import SPHINX
from asr.errors import CorpusError, Problem
from foundation.errors import listed

Source = tuple[Layout, Path]

# Those in which files at the top list the recordings.
LISTING_LAYOUTS = (KALDI, LHOTSE, SPHINX, COMMON_VOICE, LJSPEECH, METADATA)
LAYOUTS = (*LISTING_LAYOUTS, LIBRISPEECH, BESIDE)
# How far, and into how many folders, corpora are looked for below a directory; how many of them are named.
_DEPTH, _N_FOLDERS, _N_NAMED = 2, 200, 5


def layout_of(path: Path, layouts: tuple[Layout, ...] = LAYOUTS) -> Source | None:
    """Return the layout that a directory or file has and where it is read from, None if it has none.

    A Kaldi data directory is one whatever else is in it: the names of its files are unmistakable. Lists of
    transcripts are only looked for where nothing else fits: any text may be one.

    Raises
    ------
    CorpusError
        It has several.
    """
    if kaldi := KALDI.sources(path):
        return KALDI, kaldi[0]
    found = [(layout, source) for layout in layouts for source in layout.sources(path)]
    if len(found) > 1:
        names = [
            layout.name if source == path else f"{layout.name} ({source.relative_to(path)})"
            for layout, source in found
        ]
        named = listed(names, _N_NAMED)
        raise CorpusError(
            f"{path}: fits {len(found)} layouts: {named}; expected one; give the path of the table that is "
            "meant, or of the folder with the transcripts that are meant, as the corpus, or move the others "
            "to another folder"
        )
    if not found and layouts is LAYOUTS and LISTS.sources(path):
        return LISTS, path
    return found[0] if found else None


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
        below = [p for p in below if os.access(p, os.R_OK | os.X_OK)]
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
