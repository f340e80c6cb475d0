"""Time alignments as text: Praat TextGrid, NIST CTM and HTK master label files.

An alignment is a mapping from tier names ("words", "phones", "states") to intervals in order of time. Gaps
are allowed; an interval with an empty label is a gap. Times are kept to the microsecond (TextGrid), the
millisecond (CTM) or HTK's 100 ns (MLF); neighbours that touch still touch after rounding.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from asr.errors import CorpusError

_TEXTGRID_DECIMALS = 6
_CTM_DECIMALS = 3
_HTK_UNITS_PER_S = 10_000_000

# Like Praat, heed only strings, flags and numbers that stand alone: this reads the long and the short format.
_TEXTGRID_VALUE = re.compile(r'"((?:[^"]|"")*)"|(?<!\S)(<\w+>|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\S)')
_MLF_TOKEN = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(\S+)""")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

_MlfRow = tuple[int, int, list[str]]


@dataclass(frozen=True)
class Interval:
    """A stretch of a recording and what is said in it."""

    start_s: float
    end_s: float
    label: str


Tiers = Mapping[str, Sequence[Interval]]


@dataclass(frozen=True)
class CtmEntry:
    """One line of a CTM file."""

    utterance_id: str
    channel: str
    interval: Interval
    confidence: float | None


def fill_gaps(intervals: Iterable[Interval], duration_s: float) -> tuple[Interval, ...]:
    """Return contiguous intervals from 0 to the duration, gaps with empty labels, to the microsecond.

    Raises
    ------
    CorpusError
        An interval is empty, overlaps the one before it, or lies outside the recording.
    """
    filled: list[Interval] = []
    end_s = 0.0
    for interval in (_rounded(i, _TEXTGRID_DECIMALS) for i in intervals):
        if not end_s <= interval.start_s < interval.end_s:
            raise CorpusError(
                f'interval "{interval.label}": expected a start at or after {end_s:g} s and before its end, '
                f"got {interval.start_s:g} to {interval.end_s:g} s; put the intervals in order"
            )
        if interval.start_s > end_s:
            filled.append(Interval(end_s, interval.start_s, ""))
        filled.append(interval)
        end_s = interval.end_s
    duration_s = round(duration_s, _TEXTGRID_DECIMALS)
    if end_s > duration_s:
        raise CorpusError(f"expected intervals within {duration_s:g} s, got an end at {end_s:g} s")
    if end_s < duration_s:
        filled.append(Interval(end_s, duration_s, ""))
    return tuple(filled)


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
        lines += _textgrid_tier(number, name, fill_gaps(intervals, duration_s), duration_s)
    return "".join(f"{line}\n" for line in lines)


def from_textgrid(text: str) -> dict[str, tuple[Interval, ...]]:
    """Return the interval tiers of a TextGrid in Praat's long or short text format, gaps included."""
    values = _textgrid_values(text.removeprefix("\ufeff"))
    try:
        header = [next(values) for _ in range(6)]
        if header[:2] != ["ooTextFile", "TextGrid"] or header[4] != "<exists>":
            raise CorpusError(
                "TextGrid: expected the header of a Praat text file, got another; export it anew"
            )
        tiers = [_read_textgrid_tier(values) for _ in range(int(header[5]))]
    except (StopIteration, ValueError) as error:
        raise CorpusError(
            "TextGrid: expected more values, or numbers in place of text; export it anew"
        ) from error
    if len(dict(tiers)) < len(tiers):
        raise CorpusError(f"TextGrid: expected tiers of different names, got {[name for name, _ in tiers]}")
    return dict(tiers)


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
        fields = [utterance_id, channel, *_ctm_times(interval), interval.label]
        if confidences is not None:
            fields.append(f"{confidences[number]:.3f}")
        if interval.label:
            lines.append(_joined(fields))
    return "".join(f"{line}\n" for line in lines)


def from_ctm(text: str) -> tuple[CtmEntry, ...]:
    """Return the entries of a CTM file; lines that begin with ";;" are comments."""
    return tuple(
        _read_ctm_line(number, line)
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)
        if line.strip() and not line.startswith(";;")
    )


def to_mlf(alignments: Mapping[str, Tiers], tier_names: Sequence[str] = ("phones", "words")) -> str:
    """Return an HTK master label file, times in units of 100 ns.

    Parameters
    ----------
    alignments : mapping of utterance id to tiers
    tier_names : sequence of str
        The finest tier first: it gives the rows. The label of a coarser tier stands on the row where it
        begins, as `HVite -m` writes words; with ("states", "phones", "words") the state level of `HVite -f`.
        HTK cannot mark where a coarser label ends: a gap in such a tier gets the label of the next finer
        one, as HTK itself has silence for a word. Rows with empty labels are left out.
    """
    blocks = [
        "".join(f"{line}\n" for line in (f'"*/{utterance_id}.lab"', *_mlf_rows(tiers, tier_names), "."))
        for utterance_id, tiers in alignments.items()
    ]
    return "#!MLF!#\n" + "".join(blocks)


def from_mlf(
    text: str, tier_names: Sequence[str] = ("phones", "words")
) -> dict[str, dict[str, tuple[Interval, ...]]]:
    """Return the tiers of each utterance of a master label file; scores are passed over.

    A coarser label lasts until the next one of its tier, or to the end of the last row.
    """
    first, *lines = [line.strip() for line in text.removeprefix("\ufeff").split("\n")]
    if first != "#!MLF!#":
        raise CorpusError(f'MLF:1: expected "#!MLF!#", got "{first}"')
    rows: dict[str, list[_MlfRow]] = {}
    utterance_id = None
    for number, line in enumerate(lines, 2):
        if line == ".":
            utterance_id = None
        elif line and utterance_id is not None:
            rows[utterance_id].append(_read_mlf_row(number, line))
        elif line:
            utterance_id = _read_mlf_name(number, line)
            if utterance_id in rows:
                raise CorpusError(
                    f'MLF:{number}: utterance "{utterance_id}" is there already; keep one of them'
                )
            rows[utterance_id] = []
    if utterance_id is not None:
        raise CorpusError(f'MLF: expected "." after the rows of "{utterance_id}", got the end of the text')
    return {key: _tiers_of_rows(its_rows, tier_names) for key, its_rows in rows.items()}


def _rounded(interval: Interval, decimals: int) -> Interval:
    return replace(interval, start_s=round(interval.start_s, decimals), end_s=round(interval.end_s, decimals))


def _seconds(time_s: float) -> str:
    return f"{time_s:.{_TEXTGRID_DECIMALS}f}".rstrip("0").rstrip(".")


def _textgrid_tier(number: int, name: str, intervals: Sequence[Interval], duration_s: float) -> Iterator[str]:
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


def _textgrid_values(text: str) -> Iterator[str]:
    for match in _TEXTGRID_VALUE.finditer(text):
        string, other = match.groups()
        yield string.replace('""', '"') if other is None else other


def _read_textgrid_tier(values: Iterator[str]) -> tuple[str, tuple[Interval, ...]]:
    kind, name, _, _ = [next(values) for _ in range(4)]
    if kind != "IntervalTier":
        raise CorpusError(f'TextGrid: expected interval tiers only, got {kind} "{name}"; remove that tier')
    n_intervals = int(next(values))
    return name, tuple(
        [Interval(float(next(values)), float(next(values)), next(values)) for _ in range(n_intervals)]
    )


def _ctm_times(interval: Interval) -> tuple[str, str]:
    """Return start and duration; rounding the end, not the duration, keeps neighbours touching."""
    rounded = _rounded(interval, _CTM_DECIMALS)
    duration_s = rounded.end_s - rounded.start_s
    return f"{rounded.start_s:.{_CTM_DECIMALS}f}", f"{duration_s:.{_CTM_DECIMALS}f}"


def _joined(fields: Sequence[str]) -> str:
    for field in fields:
        if field.split() != [field]:
            raise CorpusError(f'CTM: expected ids and labels without white space, got "{field}"; replace it')
    return " ".join(fields)


def _read_ctm_line(number: int, line: str) -> CtmEntry:
    try:
        utterance_id, channel, start, duration, label, *rest = line.split()
        (confidence,) = map(float, rest) if rest else (None,)
        start_s = float(start)
        end_s = round(start_s + float(duration), _TEXTGRID_DECIMALS)
    except ValueError as error:
        raise CorpusError(
            f'CTM:{number}: expected "utterance channel start duration label [confidence]", got "{line}"'
        ) from error
    return CtmEntry(utterance_id, channel, Interval(start_s, end_s, label), confidence)


def _htk_time(time_s: float) -> int:
    return round(time_s * _HTK_UNITS_PER_S)


def _mlf_rows(tiers: Tiers, tier_names: Sequence[str]) -> Iterator[str]:
    rows = [interval for interval in tiers[tier_names[0]] if interval.label]
    columns: list[list[str | None]] = [[row.label for row in rows]]
    for name in tier_names[1:]:
        columns.append(_labels_on_rows(rows, columns[-1], name, tiers[name]))
    for row, labels in zip(rows, zip(*columns, strict=True), strict=True):
        written = [_htk_string(label) for label in labels if label is not None]
        yield " ".join([str(_htk_time(row.start_s)), str(_htk_time(row.end_s)), *written])


def _labels_on_rows(
    rows: Iterable[Interval], finer: Iterable[str | None], name: str, intervals: Iterable[Interval]
) -> list[str | None]:
    """Return for each row the label that begins on it, or in a gap that of the next finer tier, or None."""
    beginning = {_htk_time(i.start_s): i for i in intervals if i.label}
    end = 0
    labels: list[str | None] = []
    for row, finer_label in zip(rows, finer, strict=True):
        start = _htk_time(row.start_s)
        interval = beginning.pop(start, None) if finer_label is not None else None
        if interval is not None:
            end = _htk_time(interval.end_s)
        labels.append(interval.label if interval is not None else None if start < end else finer_label)
    for start, interval in beginning.items():
        raise CorpusError(
            f'MLF: expected a label of the next finer tier to begin with "{interval.label}" of tier "{name}" '
            f"at {start / _HTK_UNITS_PER_S:g} s, got none"
        )
    return labels


def _htk_string(label: str) -> str:
    """Return a label as HTK reads it: quoted where it would pass for a number or end early."""
    if re.fullmatch(r"""[^\s"'\\.+\d-][^\s"'\\]*""", label):
        return label
    return '"' + re.sub(r'["\\]', r"\\\g<0>", label).replace("\n", r"\012") + '"'


def _mlf_labels(text: str) -> list[str]:
    """Return the strings of a row without its scores; a quoted number is a string."""
    labels = []
    for match in _MLF_TOKEN.finditer(text):
        double, single, bare = match.groups()
        if bare is None or not _NUMBER.fullmatch(bare):
            labels.append(_htk_unescaped(next(s for s in (double, single, bare) if s is not None)))
    return labels


def _htk_unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        octals = match.group()[1:].split("\\")
        return match.group(1) or bytes(int(octal, 8) for octal in octals).decode("utf-8", "replace")

    return re.sub(r"(?:\\[0-3][0-7]{2})+|\\(.)", character, text)


def _read_mlf_name(number: int, line: str) -> str:
    labels = _mlf_labels(line)
    if len(labels) != 1:
        raise CorpusError(f'MLF:{number}: expected the name of a label file, got "{line}"')
    return PurePosixPath(labels[0]).stem


def _read_mlf_row(number: int, line: str) -> _MlfRow:
    match = re.fullmatch(r"(\d+)\s+(\d+)\s+(.+)", line)
    labels = _mlf_labels(match.group(3)) if match else []
    if match is None or not labels:
        raise CorpusError(f'MLF:{number}: expected "start end label …" in 100 ns, got "{line}"')
    return int(match.group(1)), int(match.group(2)), labels


def _tiers_of_rows(rows: Sequence[_MlfRow], tier_names: Sequence[str]) -> dict[str, tuple[Interval, ...]]:
    tiers = {tier_names[0]: [(start, end, labels[0]) for start, end, labels in rows]}
    for level, name in enumerate(tier_names[1:], 1):
        begins = [(start, labels[level]) for start, _, labels in rows if len(labels) > level]
        ends = [*(start for start, _ in begins[1:]), *(end for _, end, _ in rows[-1:])]
        tiers[name] = [(start, end, label) for (start, label), end in zip(begins, ends, strict=False)]
    return {
        name: tuple(Interval(s / _HTK_UNITS_PER_S, e / _HTK_UNITS_PER_S, label) for s, e, label in tier)
        for name, tier in tiers.items()
    }
