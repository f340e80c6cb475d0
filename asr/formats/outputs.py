"""The formats of ``asr decode``, ``asr align`` and ``asr export``: one table each, with a row a format.

To add a format of words that were decoded or aligned: a module beside this one that makes its text, a short
function here that hands it the words, and a row of `DECODE_FORMATS` or `ALIGN_FORMATS`. The names are the
choices of ``--format``; what is exported in which formats is said here; `asr.commands.exchange` writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asr.errors import ConfigError
from asr.files import FilesOfIds, write_text
from asr.formats.captions import to_srt, to_vtt
from asr.formats.intervals import Interval
from asr.formats.mlf import to_mlf
from asr.formats.nist import to_ctm
from asr.formats.praat_elan import to_eaf, to_textgrid
from asr.formats.transcripts import format_transcripts, write_transcripts
from foundation.errors import AsrError, whole_letters

if TYPE_CHECKING:  # the command line reads the names of the formats, and should not wait for the recogniser
    from asr.formats.aligned import AlignedUtterance
    from decoder.decoder import Hypothesis

Decoded = Sequence[tuple[Path, "Hypothesis"]]
Aligned = Sequence["AlignedUtterance"]


class Prefix(NamedTuple):
    """What stands before the words on a line of plain text."""

    path: bool
    rank: bool  # with the score; then the next best sentences follow on lines of their own


def decoded(pairs: Decoded, file_format: str, *, with_path: bool = True, with_rank: bool = False) -> str:
    """Return hypotheses as ``text`` (the words, on request after path, rank and score) or another format."""
    return DECODE_FORMATS[file_format](pairs, Prefix(with_path, with_rank))


def _as_text(pairs: Decoded, prefix: Prefix) -> str:
    """Return a line for each recording; with ranks a line for each hypothesis."""
    lines = []
    for path, hypothesis in pairs:
        before = f"{_in_a_line(path)}\t" if prefix.path else ""
        is_whole = hypothesis.complete or (hypothesis.rejected and not hypothesis.words)
        mark = "" if is_whole else "\t[incomplete]"
        if prefix.rank:
            ranked = enumerate([hypothesis, *hypothesis.alternatives], 1)
            lines += [f"{before}{n}\t{h.log_score:.2f}\t{' '.join(h.text)}{mark}\n" for n, h in ranked]
        else:
            lines.append(f"{before}{' '.join(hypothesis.text)}{mark}\n")
    return "".join(lines)


def _in_a_line(path: Path) -> str:
    """Return a path with its line breaks and tabs written as in Python.

    >>> _in_a_line(Path("a\\nb.wav"))
    'a\\\\nb.wav'
    """
    return "".join(c if c not in "\t\n\r" else repr(c)[1:-1] for c in str(path))


def _as_json(pairs: Decoded, prefix: Prefix) -> str:
    records = []
    for path, h in pairs:
        rejected = json_words(replace(h, words=h.rejected))["words"]
        record = {"recording": str(path), **json_words(h), "no_speech": h.no_speech, "rejected": rejected}
        if h.alternatives:
            record["alternatives"] = [json_words(other) for other in h.alternatives]
        records.append(record)
    text = whole_letters(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    # Bytes of a file name that are no UTF-8: JSON writes them as it writes halves of characters.
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def json_words(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return the words of a hypothesis with times and confidences as JSON can hold them."""
    words = [
        {
            "word": w.word,
            "start_s": round(w.start_s, 3),
            "end_s": round(w.end_s, 3),
            "confidence": None if w.confidence is None else round(w.confidence, 4),
        }
        for w in hypothesis.words
    ]
    return {
        "text": " ".join(hypothesis.text),
        "words": words,
        "log_score": round(hypothesis.log_score, 3),
        "complete": hypothesis.complete,
    }


def _as_ctm(pairs: Decoded, prefix: Prefix) -> str:
    sure = [[1.0 if w.confidence is None else w.confidence for w in h.words] for _, h in pairs]
    return "".join(
        to_ctm(name, _intervals(h), confidences=confidences)
        for (name, h), confidences in zip(_named(pairs), sure, strict=True)
    )


def _as_trn(pairs: Decoded, prefix: Prefix) -> str:
    brackets = str.maketrans("()", "[]")  # those of a name would end it
    named = [(name.translate(brackets), h.text) for name, h in _named(pairs)]
    if len(dict(named)) < len(named):
        raise ConfigError("trn: several recordings of one name, expected a name for each; rename one")
    return format_transcripts(dict(named), "trn")


def _as_srt(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(to_srt(_intervals(h)) for _, h in pairs)


def _as_vtt(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(to_vtt(_intervals(h)) for _, h in pairs)


def _intervals(hypothesis: Hypothesis) -> list[Interval]:
    return [Interval(w.start_s, w.end_s, w.word) for w in hypothesis.words]


DECODE_FORMATS: Mapping[str, Callable[[Decoded, Prefix], str]] = {
    "text": _as_text,
    "json": _as_json,
    "ctm": _as_ctm,
    "trn": _as_trn,
    "srt": _as_srt,
    "vtt": _as_vtt,
}
CAPTIONS = ("srt", "vtt")  # one file a recording


def write_decoded(pairs: Decoded, file_format: str, out: Path) -> None:
    """Write one file a recording into a directory; names are those of `recording_names`."""
    out.mkdir(parents=True, exist_ok=True)
    files = FilesOfIds(out, f".{file_format}")
    for (path, hypothesis), (name, _) in zip(pairs, _named(pairs), strict=True):
        text = decoded([(path, hypothesis)], file_format, with_path=False)
        write_text(files.path(name), text)


def write_hypotheses(found: Mapping[str, Hypothesis | AsrError], path: Path) -> None:
    """Write words as a Kaldi text file, without a line of what could not be decoded."""
    write_transcripts(path, {i: h.text for i, h in found.items() if not isinstance(h, AsrError)})


def _named(pairs: Decoded) -> list[tuple[str, Hypothesis]]:
    """Return the hypotheses with names for formats that have ids in place of paths."""
    return list(zip(recording_names([path for path, _ in pairs]), (h for _, h in pairs), strict=True))


def recording_names(paths: Sequence[Path]) -> list[str]:
    """Return for each recording its name without suffix and white space, with folders where others share it.

    >>> recording_names([Path("anna/1.wav"), Path("ben/1.wav")])
    ['anna-1', 'ben-1']
    """
    parts = [["_".join(part.split()) for part in path.with_suffix("").parts] for path in paths]
    for depth in range(1, max(map(len, parts), default=0)):
        names = ["-".join(some[-depth:]) for some in parts]
        if len(set(names)) == len(set(paths)):
            return names
    return ["-".join(all_parts) for all_parts in parts]


# Suffix and text of the formats of alignments that have one file an utterance.
ONE_EACH: Mapping[str, tuple[str, Callable[[AlignedUtterance], str]]] = {
    "textgrid": (".TextGrid", lambda one: to_textgrid(one.tiers, one.duration_s)),
    "eaf": (".eaf", lambda one: to_eaf(one.tiers, one.recording, one.origin_s)),
    "srt": (".srt", lambda one: to_srt(one.tiers["words"])),
    "vtt": (".vtt", lambda one: to_vtt(one.tiers["words"])),
}
ALIGN_FORMATS = ("textgrid", "ctm", "mlf", "eaf", "srt", "vtt")
# The tiers of a master label file by what its rows are, finest first: coarser labels stand where they begin.
MLF_ROWS: Mapping[str, tuple[str, ...]] = {
    "states": ("states", "phones", "words"),
    "phones": ("phones", "words"),
    "words": ("words",),
}


def write_aligned(
    aligned: Aligned,
    file_format: str,
    out: Path | None,
    *,
    rows: str | None = None,
    of_recording: bool = False,
) -> str:
    """Return alignments as text for standard output, or write them to ``out`` and return nothing.

    ``out`` is a directory if the format has one file an utterance; of one recording (``of_recording``) it is
    the file itself where it has the format's suffix. ``rows`` says what the rows of a master label file are
    (``MLF_ROWS``; states by default).
    """
    if rows is not None and file_format != "mlf":
        raise ConfigError(f"align: --rows is of mlf, got {file_format}; leave it out, or take --format mlf")
    if file_format in ONE_EACH:
        suffix, text_of = ONE_EACH[file_format]
        texts = {a.utterance_id: text_of(a) for a in aligned}
        if out is None:
            return "".join(texts.values())
        if of_recording and out.suffix.lower() == suffix.lower() and not out.is_dir():
            out.parent.mkdir(parents=True, exist_ok=True)
            write_text(out, "".join(texts.values()))
            return ""
        out.mkdir(parents=True, exist_ok=True)
        files = FilesOfIds(out, suffix)
        for utterance_id, text in texts.items():
            write_text(files.path(utterance_id), text)
        return ""
    if file_format == "mlf":
        text = to_mlf({a.utterance_id: a.tiers for a in aligned}, MLF_ROWS[rows or "states"])
    else:
        lines = (to_ctm(a.utterance_id, a.tiers["words"], confidences=a.confidences) for a in aligned)
        text = "".join(lines)
    if out is None:
        return text
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    return ""


# What `asr export` writes, and the formats of each; the first is the default.
_ARRAYS = ("kaldi", "htk", "npz")
EXPORTS: Mapping[str, tuple[str, ...]] = {
    "features": _ARRAYS,
    "scores": _ARRAYS,
    "posteriors": _ARRAYS,
    "alignments": ("kaldi", "npz"),
    "transcripts": ("kaldi", "sphinx", "stm", "trn"),
    "model": ("htk",),
}
EXPORT_FORMATS = tuple(dict.fromkeys(name for formats in EXPORTS.values() for name in formats))
