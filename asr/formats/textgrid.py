"""Praat TextGrid: long text format written, long and short read; times to the microsecond."""

import re
from collections.abc import Iterator, Sequence

from asr.errors import CorpusError
from asr.formats.intervals import MICROSECONDS, Interval, Tiers, fill_gaps

# Like Praat, heed only strings, flags and numbers that stand alone: this reads the long and the short format.
_VALUE = re.compile(r'"((?:[^"]|"")*)"|(?<!\S)(<\w+>|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\S)')


def to_textgrid(tiers: Tiers, duration_s: float) -> str:
    """Return a TextGrid in Praat's long text format; every tier is filled to cover 0 to the duration."""
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {_seconds(duration_s)}",
        "tiers? <exists>",
        f"size = {len(tiers)}",
        "item []:",
    ]
    for number, (name, intervals) in enumerate(tiers.items(), 1):
        lines += _tier(number, name, fill_gaps(intervals, duration_s), duration_s)
    return "".join(f"{line}\n" for line in lines)


def from_textgrid(text: str) -> dict[str, tuple[Interval, ...]]:
    """Return the interval tiers of a TextGrid in Praat's long or short text format, gaps included."""
    values = _values(text.removeprefix("\ufeff"))
    try:
        header = [next(values) for _ in range(6)]
        if header[:2] != ["ooTextFile", "TextGrid"] or header[4] != "<exists>":
            raise CorpusError(
                "TextGrid: expected the header of a Praat text file, got another; export it anew"
            )
        tiers = [_read_tier(values) for _ in range(int(header[5]))]
    except (StopIteration, ValueError) as error:
        raise CorpusError(
            "TextGrid: expected more values, or numbers in place of text; export it anew"
        ) from error
    if len(dict(tiers)) < len(tiers):
        raise CorpusError(f"TextGrid: expected tiers of different names, got {[name for name, _ in tiers]}")
    return dict(tiers)


def _seconds(time_s: float) -> str:
    return f"{time_s:.{MICROSECONDS}f}".rstrip("0").rstrip(".")


def _tier(number: int, name: str, intervals: Sequence[Interval], duration_s: float) -> Iterator[str]:
    yield f"    item [{number}]:"
    yield '        class = "IntervalTier"'
    yield f"        name = {_praat_string(name)}"
    yield "        xmin = 0"
    yield f"        xmax = {_seconds(duration_s)}"
    yield f"        intervals: size = {len(intervals)}"
    for position, interval in enumerate(intervals, 1):
        yield f"        intervals [{position}]:"
        yield f"            xmin = {_seconds(interval.start_s)}"
        yield f"            xmax = {_seconds(interval.end_s)}"
        yield f"            text = {_praat_string(interval.label)}"


def _praat_string(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _values(text: str) -> Iterator[str]:
    for match in _VALUE.finditer(text):
        string, other = match.groups()
        yield string.replace('""', '"') if other is None else other


def _read_tier(values: Iterator[str]) -> tuple[str, tuple[Interval, ...]]:
    kind, name, _, _ = [next(values) for _ in range(4)]
    if kind != "IntervalTier":
        raise CorpusError(f'TextGrid: expected interval tiers only, got {kind} "{name}"; remove that tier')
    n_intervals = int(next(values))
    return name, tuple(
        [Interval(float(next(values)), float(next(values)), next(values)) for _ in range(n_intervals)]
    )
