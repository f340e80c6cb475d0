"""Tiers of a transcript in time (Praat's, ELAN's): which of them hold the words, and whose they are.

1. the tiers that the corpus names in its ``tiers.txt``, one name a line; else
2. tiers that are called after what they hold, utterances before words, alone (``words``) or after a speaker
   (``anna - words``, as the Montreal Forced Aligner writes them); else
3. the only tier with labels, but for phones; else
4. tiers of speakers: of different participants (ELAN), or whose labels take turns rather than lie above
   each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from asr.corpora.layouts.pauses import joined_at_pauses
from asr.corpora.layouts.scan import Stretch
from asr.errors import CorpusError

UTTERANCE_TIERS = (
    *("utterance", "utterances", "sentence", "sentences", "transcript", "transcripts", "transcription"),
    *("text", "orthography"),
)
WORD_TIERS = ("words", "word", "ort-mau")
OTHER_TIERS = ("phones", "phone", "phonemes", "phoneme", "segments", "states", "mau", "kan-mau")
# Labels of a tier of words, or of speakers, that stand for silence.
SILENCES = frozenset({"", "sil", "sp", "<sil>", "<eps>", "<p:>"})
_LARGEST_OVERLAP = 0.5
# "anna - words" of the Montreal Forced Aligner, "words@anna" of many ELAN files
_SPEAKER_TIER = re.compile(
    r"(?P<speaker>.+?)\s+-\s+(?P<kind>\S+)|(?P<kind_before>[^@]+)@(?P<speaker_after>.+)"
)


@dataclass(frozen=True)
class Tier:
    """A tier as it is in the file.

    Attributes
    ----------
    name, participant : as the file calls them; None where it names nobody
    stretches : its labels in order of time, empty ones too
    end_s : the end of the recording as far as the file knows it
    """

    name: str
    stretches: tuple[Stretch, ...]
    participant: str | None = None
    end_s: float | None = None


@dataclass(frozen=True)
class TierText:
    """What is said by the tiers that hold the words.

    Attributes
    ----------
    stretches : the utterances
    only_tier : name of the tier if it is called neither after its content nor after somebody known: it may
        be its speaker
    """

    stretches: tuple[Stretch, ...]
    only_tier: str | None = None


def text_of_tiers(tiers: Sequence[Tier], wanted: Sequence[str] = ()) -> TierText:
    """Return the utterances of the tiers that hold the words.

    Raises
    ------
    CorpusError
        Which tiers these are cannot be told.
    """
    full = [tier for tier in map(_without_silence, tiers) if tier.stretches]
    if not full:
        return TierText(())
    if chosen := [tier for tier in full if tier.name in wanted]:
        return TierText(_utterances(chosen, speakers=len(chosen) > 1))
    for names in (*((name,) for name in UTTERANCE_TIERS), WORD_TIERS):
        if chosen := [tier for tier in full if _kind(tier) in names]:
            return TierText(_utterances(chosen))
    rest = [tier for tier in full if _kind(tier) not in OTHER_TIERS]
    if len(rest) == 1:
        return TierText(_utterances(rest), rest[0].name if rest[0].participant is None else None)
    if rest and (_have_participants(rest) or _take_turns(rest)):
        return TierText(_utterances(rest, speakers=True))
    listed = ", ".join(f'"{tier.name}"' for tier in full)
    raise CorpusError(
        f"tiers {listed}: cannot tell which hold the words, expected one called {WORD_TIERS[0]} or "
        f"{UTTERANCE_TIERS[1]}, or one a speaker; rename them, or name those meant in tiers.txt at the top "
        "of the corpus, one a line"
    )


def _without_silence(tier: Tier) -> Tier:
    heard = tuple(s for s in tier.stretches if s.text.strip().casefold() not in SILENCES)
    return replace(tier, stretches=heard)


def _kind(tier: Tier) -> str:
    """Return what a tier is called after, without its speaker."""
    return kind_and_speaker(tier.name)[0]


def kind_and_speaker(name: str) -> tuple[str, str | None]:
    """Return what a tier's name says of its content, and of its speaker if it has one in it.

    >>> kind_and_speaker("anna - words"), kind_and_speaker("Text@ben"), kind_and_speaker("Words")
    (('words', 'anna'), ('text', 'ben'), ('words', None))
    """
    match = _SPEAKER_TIER.fullmatch(name.strip())
    if match is None:
        return name.strip().casefold(), None
    kind, speaker = match["kind"] or match["kind_before"], match["speaker"] or match["speaker_after"]
    return kind.strip().casefold(), speaker.strip()


def holds_words(name: str) -> bool:
    """Return whether a tier's name says that it holds utterances or words."""
    return kind_and_speaker(name)[0] in (*UTTERANCE_TIERS, *WORD_TIERS)


def _utterances(tiers: Sequence[Tier], *, speakers: bool = False) -> tuple[Stretch, ...]:
    """Return the utterances of tiers; ``speakers`` says that tiers are called after these."""
    found: list[Stretch] = []
    for tier in tiers:
        called = kind_and_speaker(tier.name)[1] or (tier.name if speakers else None)
        stretches: Sequence[Stretch] = tier.stretches
        if _kind(tier) in WORD_TIERS:
            stretches = joined_at_pauses(stretches, tier.end_s)
        found += [replace(s, speaker=tier.participant or called) for s in stretches]
    return tuple(sorted(found, key=lambda s: s.start_s))


def _have_participants(tiers: Sequence[Tier]) -> bool:
    """Return whether every tier names its speaker, another one each."""
    participants = [tier.participant for tier in tiers]
    return None not in participants and len(set(participants)) == len(tiers)


def _take_turns(tiers: Sequence[Tier]) -> bool:
    """Return whether no two tiers have labels at the same time, for the most part."""
    return all(
        _common_s(a, b) <= _LARGEST_OVERLAP * min(_labelled_s(a), _labelled_s(b))
        for a, b in combinations(tiers, 2)
    )


def _labelled_s(tier: Tier) -> float:
    return sum((s.end_s or s.start_s) - s.start_s for s in tier.stretches)


def _common_s(first: Tier, second: Tier) -> float:
    """Return for how long both tiers have labels; both are walked in order of time."""
    total, i, j = 0.0, 0, 0
    a, b = first.stretches, second.stretches
    while i < len(a) and j < len(b):
        end_a, end_b = a[i].end_s or a[i].start_s, b[j].end_s or b[j].start_s
        total += max(0.0, min(end_a, end_b) - max(a[i].start_s, b[j].start_s))
        i, j = (i + 1, j) if end_a <= end_b else (i, j + 1)
    return total
