"""Aligned utterances as files: what ``asr align`` writes, one row of the table for each of its formats.

To add a format: a module beside this one that makes its text from intervals, a short function here that
writes it, and a row of `ALIGN_FORMATS`. The names are the choices of ``asr align --format``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from asr.files import write_text
from asr.formats.ctm import to_ctm
from asr.formats.mlf import to_mlf
from asr.formats.textgrid import to_textgrid

if TYPE_CHECKING:  # the command line reads the names of the formats, and should not wait for the recogniser
    from asr.formats.tiers import AlignedUtterance

Aligned = Sequence["AlignedUtterance"]


def write_aligned(aligned: Aligned, file_format: str, out: Path | None) -> str:
    """Return alignments as text for standard output, or write them to ``out`` and return nothing."""
    return ALIGN_FORMATS[file_format](aligned, out)


def _write_textgrids(aligned: Aligned, out: Path | None) -> str:
    """Write one file an utterance into a directory."""
    texts = {a.utterance_id: to_textgrid(a.tiers, a.duration_s) for a in aligned}
    if out is None:
        return "".join(texts.values())
    out.mkdir(parents=True, exist_ok=True)
    for utterance_id, text in texts.items():
        write_text(out / f"{utterance_id}.TextGrid", text)
    return ""


def _write_ctm(aligned: Aligned, out: Path | None) -> str:
    lines = (to_ctm(a.utterance_id, a.tiers["words"], confidences=a.confidences) for a in aligned)
    return _write_one("".join(lines), out)


def _write_mlf(aligned: Aligned, out: Path | None) -> str:
    return _write_one(to_mlf({a.utterance_id: a.tiers for a in aligned}, ("states", "phones", "words")), out)


ALIGN_FORMATS: Mapping[str, Callable[[Aligned, Path | None], str]] = {
    "textgrid": _write_textgrids,
    "ctm": _write_ctm,
    "mlf": _write_mlf,
}


def _write_one(text: str, out: Path | None) -> str:
    """Write one file for all utterances, or return its text."""
    if out is None:
        return text
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    return ""
