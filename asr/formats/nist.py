"""NIST's CTM and STM: words with their times, and utterances with theirs, a line each.

CTM: ``recording channel start duration word [confidence]``; words are read as utterances, joined at pauses.
STM: ``recording channel speaker start end [<labels>] words``. Comments begin with ``;;``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from asr.errors import CorpusError, Problem
from asr.formats.intervals import Interval, Passage, check_text, joined_at_pauses, rounded, time_problem
from asr.formats.tables import lines_of

CHANNEL = "1"
_DECIMALS = 3  # of the times of a CTM
_COMMENT, _BOM = ";;", "\ufeff"
_N_FIELDS = 5  # of an STM before the words
_NOT_SCORED = "ignore_time_segment_in_scoring"  # the words of what no system is asked to recognise


def to_ctm(
    utterance_id: str,
    intervals: Iterable[Interval],
    *,
    channel: str = CHANNEL,
    confidences: Sequence[float] | None = None,
) -> str:
    """Return the CTM lines `utterance channel start duration label [confidence]` of one tier.

    `confidences` belong to `intervals` one by one. Intervals with empty labels are gaps and get no line.
    """
    check_text(utterance_id, "CTM")
    if utterance_id.startswith((_COMMENT, _BOM)):
        raise CorpusError(f'CTM: expected an id that is no comment, got "{utterance_id}"; rename it')
    intervals = list(intervals)
    if confidences is not None and len(confidences) != len(intervals):
        raise CorpusError(f"expected {len(intervals)} confidences, one per interval, got {len(confidences)}")
    lines = []
    for number, interval in enumerate(intervals):
        if not interval.label:
            continue
        kept = rounded(interval, _DECIMALS)
        # The end is rounded, not the duration: neighbours still touch.
        times = f"{kept.start_s:.{_DECIMALS}f}", f"{kept.end_s - kept.start_s:.{_DECIMALS}f}"
        fields = [utterance_id, channel, *times, interval.label]
        if confidences is not None:
            fields.append(f"{confidences[number]:.3f}")
        for field in fields:
            check_text(field, "CTM")
            if field.split() != [field]:
                raise CorpusError(
                    f'CTM: expected ids and labels without white space, got "{field}"; replace it'
                )
        lines.append(" ".join(fields))
    return "".join(f"{line}\n" for line in lines)


def read_ctm(text: str, where: str) -> tuple[list[Passage], list[Problem]]:
    """Return the utterances of a CTM, and the problems of its lines."""
    words: dict[str, list[Passage]] = {}
    problems: list[Problem] = []
    channels: list[tuple[str, str]] = []
    for number, line in enumerate(lines_of(text), 1):
        fields = line.split()
        if not fields or fields[0].startswith(_COMMENT):
            continue
        place = f"{where}:{number}"
        try:
            recording, channel, word = fields[0], fields[1], fields[4]
            start_s = float(fields[2])
            passage = Passage(start_s, start_s + float(fields[3]), word, place, None, recording)
        except (IndexError, ValueError):
            what = f'"{line[:50]}" is malformed, expected "recording channel start duration word"'
            problems.append(Problem(place, f"{what}; correct the line"))
            continue
        channels.append((recording, channel))
        if problem := time_problem(passage):
            problems.append(problem)
        else:
            words.setdefault(recording, []).append(passage)
    utterances = [
        replace(utterance, recording=recording)
        for recording, some in words.items()
        for utterance in joined_at_pauses(sorted(some, key=lambda w: w.start_s))
    ]
    return utterances, problems + several_channels(channels, where)


def to_stm(utterances: Iterable[Passage]) -> str:
    """Return the lines of utterances that name their recording, their speaker and their end."""
    lines = []
    for each in utterances:
        for name in (each.recording or "", each.speaker or ""):
            if name.split() != [name] or name.startswith((_COMMENT, _BOM)):
                expected = "recordings and speakers without white space in their names"
                raise CorpusError(f'STM: expected {expected}, got "{name}"; rename it')
        check_text(" ".join([each.recording or "", each.speaker or "", each.text]), "STM")
        times, words = f"{each.start_s:.3f} {each.end_s:.3f}", each.text.split()
        # What begins with "<" would be read as the labels of the utterance: it gets some that say nothing.
        labels = ["<o>"] if words and words[0].startswith("<") else []
        line = " ".join([each.speaker or "", times, *labels, *words])
        lines.append((each.recording or "", each.start_s, line))
    return "".join(f"{name} {CHANNEL} {rest}\n" for name, _, rest in sorted(lines))


def read_stm(text: str, where: str) -> tuple[list[Passage], list[Problem]]:
    """Return the utterances of an STM, and the problems of its other lines."""
    utterances: list[Passage] = []
    problems: list[Problem] = []
    channels: list[tuple[str, str]] = []
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.lstrip().startswith(_COMMENT):
            continue
        place = f"{where}:{number}"
        fields = line.split(maxsplit=_N_FIELDS)
        try:
            start_s, end_s = float(fields[3]), float(fields[4])
        except (IndexError, ValueError):
            what = f'"{line[:50]}" is malformed, expected "recording channel speaker start end words"'
            problems.append(Problem(place, f"{what}; correct the line"))
            continue
        words = fields[_N_FIELDS] if len(fields) > _N_FIELDS else ""
        if words.startswith("<"):
            words = words.partition(">")[2]
        channels.append((fields[0], fields[1]))
        if words.strip().casefold() != _NOT_SCORED:
            utterances.append(Passage(start_s, end_s, words, place, fields[2], fields[0]))
    return utterances, problems + several_channels(channels, where)


def several_channels(channels: Iterable[tuple[str, str]], where: str) -> list[Problem]:
    """Return a problem for each recording of which several channels are transcribed."""
    by_recording: dict[str, set[str]] = defaultdict(set)
    for recording, channel in channels:
        by_recording[recording].add(channel)
    return [
        Problem(
            where,
            f'"{recording}" has the channels {" ".join(sorted(names))}, expected one: recordings are read as '
            "the mean of their channels; make a recording of each channel, with a transcript of its own",
        )
        for recording, names in by_recording.items()
        if len(names) > 1
    ]
