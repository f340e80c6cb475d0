"""Praat's TextGrid, the long text format and the short one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asr.corpora.layouts.scan import Stretch
from asr.corpora.layouts.tiers import Tier
from asr.errors import CorpusError

# Like Praat, heed only strings, flags and numbers that stand alone: this reads the long and the short format.
_VALUE = re.compile(r'"((?:[^"]|"")*)"|(?<!\S)(<\w+>|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\S)')


def read_textgrid(text: str, where: str) -> list[Tier]:
    """Return the tiers of intervals, empty intervals included; tiers of points are left aside."""
    values = _values(text.removeprefix("\ufeff"))
    try:
        kind, content, _, end_s, has_tiers = [next(values) for _ in range(5)]
        if kind not in ("ooTextFile", "ooTextFile short") or content != "TextGrid":
            raise CorpusError("no TextGrid, expected the header of a Praat text file; export it anew as text")
        n_tiers = int(next(values)) if has_tiers == "<exists>" else 0
        tiers = [_read_tier(values, where, float(end_s)) for _ in range(n_tiers)]
    except (StopIteration, ValueError) as error:
        what = "a damaged TextGrid, expected more values, or numbers in place of text; export it anew"
        raise CorpusError(what) from error
    return [tier for tier in tiers if tier is not None]


def _values(text: str) -> Iterator[str]:
    for match in _VALUE.finditer(text):
        string, other = match.groups()
        yield string.replace('""', '"') if other is None else other


def _read_tier(values: Iterator[str], where: str, end_s: float) -> Tier | None:
    kind, name, _, _, n_labels = [next(values) for _ in range(5)]
    if kind == "TextTier":
        for _ in range(2 * int(n_labels)):
            next(values)
        return None
    if kind != "IntervalTier":
        named, found = (
            " ".join(text.split())[:50] for text in (name, kind)
        )  # the end of a string may be lost
        raise CorpusError(f'tier "{named}" is a {found}, expected an IntervalTier; export the TextGrid anew')
    # A list: in a generator the end of the values would be another error.
    stretches = [
        Stretch(float(next(values)), float(next(values)), next(values), f'{where} tier "{name}" [{number}]')
        for number in range(1, int(n_labels) + 1)
    ]
    return Tier(name, tuple(stretches), end_s=end_s)
