"""NIST's CTM: lines ``recording channel start duration word``, joined to utterances at pauses."""

from __future__ import annotations

from dataclasses import replace

from asr.corpora.layouts.pauses import joined_at_pauses
from asr.corpora.layouts.scan import Stretch, backwards
from asr.corpora.layouts.stm import several_channels
from asr.corpora.tables import lines_of
from asr.errors import Problem


def read_ctm(text: str, where: str) -> tuple[list[Stretch], list[Problem]]:
    """Return the utterances of a CTM, and the problems of its lines; comments begin with ``;;``."""
    words: dict[str, list[Stretch]] = {}
    problems: list[Problem] = []
    channels: list[tuple[str, str]] = []
    for number, line in enumerate(lines_of(text), 1):
        fields = line.split()
        if not fields or fields[0].startswith(";;"):
            continue
        place = f"{where}:{number}"
        try:
            recording, channel, word = fields[0], fields[1], fields[4]
            start_s = float(fields[2])
            stretch = Stretch(start_s, start_s + float(fields[3]), word, place, None, recording)
        except (IndexError, ValueError):
            what = f'"{line[:50]}" is malformed, expected "recording channel start duration word"'
            problems.append(Problem(place, f"{what}; correct the line"))
            continue
        channels.append((recording, channel))
        if problem := backwards(stretch):
            problems.append(problem)
        else:
            words.setdefault(recording, []).append(stretch)
    stretches = [
        replace(utterance, recording=recording)
        for recording, some in words.items()
        for utterance in joined_at_pauses(sorted(some, key=lambda w: w.start_s))
    ]
    return stretches, problems + several_channels(channels, where)
