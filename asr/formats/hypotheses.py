"""Recognised words as text: what ``asr decode`` prints, one row of the table for each of its formats.

To add a format: a module beside this one that makes its text, a short function here that hands it the words,
and a row of `DECODE_FORMATS`. The names are the choices of ``asr decode --format``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asr.files import file_stem, write_text
from asr.formats.captions import to_srt, to_vtt
from asr.formats.ctm import to_ctm
from asr.formats.intervals import Interval
from asr.formats.transcripts import write_transcripts
from foundation.errors import AsrError

if TYPE_CHECKING:  # the command line reads the names of the formats, and should not wait for the search
    from decoder.decoder import Hypothesis

Decoded = Sequence[tuple[Path, "Hypothesis"]]


class Prefix(NamedTuple):
    """What stands before the words on a line of plain text."""

    path: bool
    rank: bool  # with the score; then the next best sentences follow on lines of their own


def decoded(pairs: Decoded, file_format: str, *, with_path: bool = True, with_rank: bool = False) -> str:
    """Return hypotheses as ``text`` (the words, on request after path, rank and score) or another format."""
    return DECODE_FORMATS[file_format](pairs, Prefix(with_path, with_rank))


def _as_text(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(_lines(path, h, prefix) for path, h in pairs)


def _as_json(pairs: Decoded, prefix: Prefix) -> str:
    return json.dumps([_json_hypothesis(path, h) for path, h in pairs], indent=1, ensure_ascii=False) + "\n"


def _as_ctm(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(_ctm(name, h) for name, h in _named(pairs))


def _as_trn(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(f"{' '.join([*h.text, f'({name})'])}\n" for name, h in _named(pairs))


def _as_srt(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(to_srt(_intervals(h)) for _, h in pairs)


def _as_vtt(pairs: Decoded, prefix: Prefix) -> str:
    return "".join(to_vtt(_intervals(h)) for _, h in pairs)


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
    for (path, hypothesis), (name, _) in zip(pairs, _named(pairs), strict=True):
        text = decoded([(path, hypothesis)], file_format, with_path=False)
        write_text(out / f"{file_stem(name)}.{file_format}", text)


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


def _lines(path: Path, hypothesis: Hypothesis, shown: Prefix) -> str:
    """Return one line; with ranks one line a hypothesis."""
    prefix = f"{path}\t" if shown.path else ""
    mark = "" if hypothesis.complete else "\t[incomplete]"
    if not shown.rank:
        return f"{prefix}{' '.join(hypothesis.text)}{mark}\n"
    ranked = [hypothesis, *hypothesis.alternatives]
    return "".join(
        f"{prefix}{n}\t{h.log_score:.2f}\t{' '.join(h.text)}{mark}\n" for n, h in enumerate(ranked, 1)
    )


def _ctm(name: str, hypothesis: Hypothesis) -> str:
    confidences = [1.0 if w.confidence is None else w.confidence for w in hypothesis.words]
    return to_ctm(name, _intervals(hypothesis), confidences=confidences)


def _intervals(hypothesis: Hypothesis) -> list[Interval]:
    return [Interval(w.start_s, w.end_s, w.word) for w in hypothesis.words]


def _json_hypothesis(path: Path, hypothesis: Hypothesis) -> dict[str, Any]:
    return {"recording": str(path), **json_words(hypothesis), "no_speech": hypothesis.no_speech} | (
        {"alternatives": [json_words(h) for h in hypothesis.alternatives]} if hypothesis.alternatives else {}
    )


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
