"""Aligned utterances as files: what ``asr align`` writes, one row of the table for each of its formats.

To add a format: a module beside this one that makes its text from intervals, a short function here that
writes it, and a row of `ALIGN_FORMATS`. The names are the choices of ``asr align --format``. Formats of one
file an utterance are a row of `ONE_EACH`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from asr.errors import ConfigError
from asr.files import file_stem, write_text
from asr.formats.captions import to_srt, to_vtt
from asr.formats.ctm import to_ctm
from asr.formats.elan import to_eaf
from asr.formats.mlf import to_mlf
from asr.formats.textgrid import to_textgrid

if TYPE_CHECKING:  # the command line reads the names of the formats, and should not wait for the recogniser
    from asr.formats.tiers import AlignedUtterance

Aligned = Sequence["AlignedUtterance"]


# The tiers of a master label file by what its rows are, finest first: coarser labels stand where they begin.
MLF_ROWS: Mapping[str, tuple[str, ...]] = {
    "states": ("states", "phones", "words"),
    "phones": ("phones", "words"),
    "words": ("words",),
}


def write_aligned(aligned: Aligned, file_format: str, out: Path | None, *, rows: str | None = None) -> str:
    """Return alignments as text for standard output, or write them to ``out`` and return nothing.

    ``rows`` says what the rows of a master label file are (``MLF_ROWS``; states by default).
    """
    if rows is not None and file_format != "mlf":
        raise ConfigError(f"align: --rows is of mlf, got {file_format}; leave it out, or take --format mlf")
    if file_format in ONE_EACH:
        return _write_each(aligned, *ONE_EACH[file_format], out)
    if file_format == "mlf":
        return _write_one(to_mlf({a.utterance_id: a.tiers for a in aligned}, MLF_ROWS[rows or "states"]), out)
    lines = (to_ctm(a.utterance_id, a.tiers["words"], confidences=a.confidences) for a in aligned)
    return _write_one("".join(lines), out)


def _write_each(
    aligned: Aligned, suffix: str, text_of: Callable[[AlignedUtterance], str], out: Path | None
) -> str:
    """Write one file an utterance into a directory, or return all of them as one text."""
    texts = {a.utterance_id: text_of(a) for a in aligned}
    if out is None:
        return "".join(texts.values())
    out.mkdir(parents=True, exist_ok=True)
    for utterance_id, text in texts.items():
        write_text(out / f"{file_stem(utterance_id)}{suffix}", text)
    return ""


def _textgrid(one: AlignedUtterance) -> str:
    return to_textgrid(one.tiers, one.duration_s)


def _elan(one: AlignedUtterance) -> str:
    return to_eaf(one.tiers, one.recording, one.origin_s)


def _srt(one: AlignedUtterance) -> str:
    return to_srt(one.tiers["words"])


def _vtt(one: AlignedUtterance) -> str:
    return to_vtt(one.tiers["words"])


# Suffix and text of the formats that have one file an utterance.
ONE_EACH: Mapping[str, tuple[str, Callable[[AlignedUtterance], str]]] = {
    "textgrid": (".TextGrid", _textgrid),
    "eaf": (".eaf", _elan),
    "srt": (".srt", _srt),
    "vtt": (".vtt", _vtt),
}
ALIGN_FORMATS = ("textgrid", "ctm", "mlf", "eaf", "srt", "vtt")


def _write_one(text: str, out: Path | None) -> str:
    """Write one file for all utterances, or return its text."""
    if out is None:
        return text
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    return ""
