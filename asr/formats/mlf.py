"""HTK master label files: the alignments of many utterances in one file; times in units of 100 ns."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from asr.errors import CorpusError
from asr.formats.intervals import Interval, Tiers, check_text

_UNITS_PER_S = 10_000_000
_TOKEN = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(\S+)""")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")

_CONTROL = re.compile(r"[\x01-\x1f\x7f]")

_Row = tuple[int, int, list[str]]


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
        "".join(f"{line}\n" for line in (_in_quotes(f"*/{utterance_id}.lab"), *_rows(tiers, tier_names), "."))
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
    rows: dict[str, list[_Row]] = {}
    utterance_id = None
    for number, line in enumerate(lines, 2):
        if line == ".":
            utterance_id = None
        elif line and utterance_id is not None:
            rows[utterance_id].append(_read_row(number, line))
        elif line:
            labels = _labels(line)
            if len(labels) != 1:
                raise CorpusError(f'MLF:{number}: expected the name of a label file, got "{line}"')
            path = labels[0]
            utterance_id = path[2:].rpartition(".")[0] if path.startswith("*/") else PurePosixPath(path).stem
            if utterance_id in rows:
                raise CorpusError(
                    f'MLF:{number}: utterance "{utterance_id}" is there already; keep one of them'
                )
            rows[utterance_id] = []
    if utterance_id is not None:
        raise CorpusError(f'MLF: expected "." after the rows of "{utterance_id}", got the end of the text')
    return {key: _tiers_of_rows(its_rows, tier_names) for key, its_rows in rows.items()}


def _units(time_s: float) -> int:
    return round(time_s * _UNITS_PER_S)


def _rows(tiers: Tiers, tier_names: Sequence[str]) -> Iterator[str]:
    rows = [interval for interval in tiers[tier_names[0]] if interval.label]
    columns: list[list[str | None]] = [[row.label for row in rows]]
    for name in tier_names[1:]:
        columns.append(_labels_on_rows(rows, columns[-1], name, tiers[name]))
    for row, labels in zip(rows, zip(*columns, strict=True), strict=True):
        written = [_quoted(label) for label in labels if label is not None]
        yield " ".join([str(_units(row.start_s)), str(_units(row.end_s)), *written])


def _labels_on_rows(
    rows: Iterable[Interval], finer: Iterable[str | None], name: str, intervals: Iterable[Interval]
) -> list[str | None]:
    """Return for each row the label that begins on it, or in a gap that of the next finer tier, or None."""
    beginning = {_units(i.start_s): i for i in intervals if i.label}
    end = 0
    labels: list[str | None] = []
    for row, finer_label in zip(rows, finer, strict=True):
        start = _units(row.start_s)
        interval = beginning.pop(start, None) if finer_label is not None else None
        if interval is not None:
            end = _units(interval.end_s)
        labels.append(interval.label if interval is not None else None if start < end else finer_label)
    for start, interval in beginning.items():
        raise CorpusError(
            f'MLF: expected a label of the next finer tier to begin with "{interval.label}" of tier "{name}" '
            f"at {start / _UNITS_PER_S:g} s, got none"
        )
    return labels


def _quoted(label: str) -> str:
    """Return a label as HTK reads it: quoted where it would pass for a number or end early."""
    if re.fullmatch(r"""[^\s"'\\.+\d-][^\s"'\\]*""", label):
        return label
    return _in_quotes(label)


def _in_quotes(text: str) -> str:
    check_text(text, "MLF")
    escaped = re.sub(r'["\\]', r"\\\g<0>", text)
    return '"' + _CONTROL.sub(lambda match: f"\\{ord(match[0]):03o}", escaped) + '"'


def _labels(text: str) -> list[str]:
    """Return the strings of a row without its scores; a quoted number is a string."""
    labels = []
    for match in _TOKEN.finditer(text):
        double, single, bare = match.groups()
        if bare is None or not _NUMBER.fullmatch(bare):
            labels.append(_unescaped(next(s for s in (double, single, bare) if s is not None)))
    return labels


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        octals = match.group()[1:].split("\\")
        return match.group(1) or bytes(int(octal, 8) for octal in octals).decode("utf-8", "replace")

    return re.sub(r"(?:\\[0-3][0-7]{2})+|\\(.)", character, text)


def _read_row(number: int, line: str) -> _Row:
    match = re.fullmatch(r"([0-9]{1,18})\s+([0-9]{1,18})\s+(.+)", line)
    labels = _labels(match.group(3)) if match else []
    if match is None or not labels:
        raise CorpusError(f'MLF:{number}: expected "start end label …" in 100 ns, got "{line}"')
    return int(match.group(1)), int(match.group(2)), labels


def _tiers_of_rows(rows: Sequence[_Row], tier_names: Sequence[str]) -> dict[str, tuple[Interval, ...]]:
    tiers = {tier_names[0]: [(start, end, labels[0]) for start, end, labels in rows]}
    for level, name in enumerate(tier_names[1:], 1):
        begins = [(start, labels[level]) for start, _, labels in rows if len(labels) > level]
        ends = [*(start for start, _ in begins[1:]), *(end for _, end, _ in rows[-1:])]
        tiers[name] = [(start, end, label) for (start, label), end in zip(begins, ends, strict=False)]
    return {
        name: tuple(Interval(s / _UNITS_PER_S, e / _UNITS_PER_S, label) for s, e, label in tier)
        for name, tier in tiers.items()
    }
