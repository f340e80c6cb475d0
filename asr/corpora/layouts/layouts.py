"""The layouts of corpora, and which of them a directory or file has.

To add one: a module beside this one with a `Layout`, an entry below, a row in ``docs/corpora.md``.
"""

from __future__ import annotations

from pathlib import Path

from asr.corpora.layouts.beside import BESIDE
from asr.corpora.layouts.common_voice import COMMON_VOICE
from asr.corpora.layouts.kaldi import KALDI
from asr.corpora.layouts.lhotse import LHOTSE
from asr.corpora.layouts.librispeech import LIBRISPEECH
from asr.corpora.layouts.lists import LISTS
from asr.corpora.layouts.ljspeech import LJSPEECH
from asr.corpora.layouts.metadata import METADATA
from asr.corpora.layouts.scan import Layout
from asr.corpora.layouts.sphinx import SPHINX
from asr.errors import CorpusError

Source = tuple[Layout, Path]

# Those in which files at the top list the recordings.
LISTING_LAYOUTS = (KALDI, LHOTSE, SPHINX, COMMON_VOICE, LJSPEECH, METADATA)
LAYOUTS = (*LISTING_LAYOUTS, LIBRISPEECH, BESIDE)


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
        raise CorpusError(f"{path}: fits {len(found)} layouts: {_listed(found, path)}; {_ADVICE}")
    if not found and layouts is LAYOUTS and LISTS.sources(path):
        return LISTS, path
    return found[0] if found else None


_ADVICE = (
    "expected one; give the path of the table that is meant, or of the folder with the transcripts that are "
    "meant, as the corpus, or move the others to another folder"
)


def _listed(found: list[Source], path: Path) -> str:
    return ", ".join(
        layout.name if source == path else f"{layout.name} ({source.relative_to(path)})"
        for layout, source in found
    )
