"""Words with times, joined to utterances at the pauses between them."""

from __future__ import annotations

from collections.abc import Sequence

from asr.corpora.layouts.scan import Stretch

# A recording no longer than this is one utterance, whatever pauses are in it.
SHORT_S = 15.0
PAUSE_S = 0.5
# Of the pause, this much at most is left on either side of an utterance.
MARGIN_S = 0.2


def joined_at_pauses(words: Sequence[Stretch], end_s: float | None = None) -> tuple[Stretch, ...]:
    """Return utterances made of the words of one speaker.

    Parameters
    ----------
    words : in order of time, each with an end
    end_s : the recording's end, None if it is not known
    """
    if not words:
        return ()
    if end_s is not None and end_s <= SHORT_S:
        return (Stretch(0.0, None, " ".join(w.text for w in words), words[0].where, words[0].speaker),)
    groups = [[words[0]]]
    for word in words[1:]:
        if word.start_s - _end_s(groups[-1][-1]) >= PAUSE_S:
            groups.append([])
        groups[-1].append(word)
    starts = [group[0].start_s for group in groups]
    ends = [max(map(_end_s, group)) for group in groups]
    before = [0.0, *ends[:-1]]
    after = [*starts[1:], ends[-1] if end_s is None else max(end_s, ends[-1])]
    return tuple(
        Stretch(
            round(start - min(MARGIN_S, max(0.0, start - previous) / 2), 6),
            round(end + min(MARGIN_S, max(0.0, following - end) / 2), 6),
            " ".join(word.text for word in group),
            group[0].where,
            group[0].speaker,
        )
        for group, start, end, previous, following in zip(groups, starts, ends, before, after, strict=True)
    )


def _end_s(word: Stretch) -> float:
    return word.start_s if word.end_s is None else word.end_s
