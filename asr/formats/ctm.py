"""NIST CTM: one line a word, with start and duration to the millisecond."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from asr.errors import CorpusError
from asr.formats.intervals import MICROSECONDS, Interval, rounded

_DECIMALS = 3


@dataclass(frozen=True)
class CtmEntry:
    """One line of a CTM file."""

    utterance_id: str
    channel: str
    interval: Interval
    confidence: float | None


def to_ctm(
    utterance_id: str,
    intervals: Iterable[Interval],
    *,
    channel: str = "1",
    confidences: Sequence[float] | None = None,
) -> str:
    """Return the CTM lines `utterance channel start duration label [confidence]` of one tier.

    `confidences` belong to `intervals` one by one. Intervals with empty labels are gaps and get no line.
    """
    intervals = list(intervals)
    if confidences is not None and len(confidences) != len(intervals):
        raise CorpusError(f"expected {len(intervals)} confidences, one per interval, got {len(confidences)}")
    lines = []
    for number, interval in enumerate(intervals):
        fields = [utterance_id, channel, *_times(interval), interval.label]
        if confidences is not None:
            fields.append(f"{confidences[number]:.3f}")
        if interval.label:
            lines.append(_joined(fields))
    return "".join(f"{line}\n" for line in lines)


def from_ctm(text: str) -> tuple[CtmEntry, ...]:
    """Return the entries of a CTM file; lines that begin with ";;" are comments."""
    return tuple(
        _read_line(number, line)
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)
        if line.strip() and not line.startswith(";;")
    )


def _times(interval: Interval) -> tuple[str, str]:
    """Return start and duration; rounding the end, not the duration, keeps neighbours touching."""
    kept = rounded(interval, _DECIMALS)
    duration_s = kept.end_s - kept.start_s
    return f"{kept.start_s:.{_DECIMALS}f}", f"{duration_s:.{_DECIMALS}f}"


def _joined(fields: Sequence[str]) -> str:
    for field in fields:
        if field.split() != [field]:
            raise CorpusError(f'CTM: expected ids and labels without white space, got "{field}"; replace it')
    return " ".join(fields)


def _read_line(number: int, line: str) -> CtmEntry:
    try:
        utterance_id, channel, start, duration, label, *rest = line.split()
        (confidence,) = map(float, rest) if rest else (None,)
        start_s = float(start)
        end_s = round(start_s + float(duration), MICROSECONDS)
    except ValueError as error:
        raise CorpusError(
            f'CTM:{number}: expected "utterance channel start duration label [confidence]", got "{line}"'
        ) from error
    return CtmEntry(utterance_id, channel, Interval(start_s, end_s, label), confidence)
