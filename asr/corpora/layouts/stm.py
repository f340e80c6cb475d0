"""NIST's STM: lines ``recording channel speaker start end [<labels>] words``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from asr.corpora.layouts.scan import Stretch
from asr.corpora.tables import lines_of
from asr.errors import Problem

_N_FIELDS = 5
# What no system is asked to recognise.
_NOT_SCORED = "ignore_time_segment_in_scoring"


def read_stm(text: str, where: str) -> tuple[list[Stretch], list[Problem]]:
    """Return the utterances of an STM, and the problems of its other lines; comments begin with ``;;``."""
    stretches: list[Stretch] = []
    problems: list[Problem] = []
    channels: list[tuple[str, str]] = []
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.lstrip().startswith(";;"):
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
            stretches.append(Stretch(start_s, end_s, words, place, fields[2], fields[0]))
    return stretches, problems + several_channels(channels, where)


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
