"""Praat TextGrid in the long text format, times to the microsecond (`asr.corpora.layouts` reads it)."""

from collections.abc import Iterator, Sequence

from asr.formats.intervals import MICROSECONDS, Interval, Tiers, fill_gaps


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
