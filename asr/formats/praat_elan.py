"""Praat's TextGrid and ELAN's annotation files (``.eaf``): tiers of intervals, written and read.

A TextGrid is written in the long text format, times to the microsecond, and read in the long one or the
short one. ELAN has milliseconds. Of a transcript that is read, `text_of_tiers` tells which tiers hold the
words, and whose they are:

1. the tiers that the corpus names in its ``tiers.txt``, one name a line; else
2. tiers that are called after what they hold, utterances before words, alone (``words``) or after a speaker
   (``anna - words``, as the Montreal Forced Aligner writes them); else
3. the only tier with labels, but for phones; else
4. tiers of speakers: of different participants (ELAN), or whose labels take turns rather than lie above
   each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as Xml

from asr.errors import CorpusError
from asr.formats.intervals import (
    MICROSECONDS,
    Interval,
    Passage,
    Tiers,
    check_text,
    fill_gaps,
    joined_at_pauses,
)

UTTERANCE_TIERS = (
    *("utterance", "utterances", "sentence", "sentences", "transcript", "transcripts", "transcription"),
    *("text", "orthography"),
)
WORD_TIERS = ("words", "word", "ort-mau")
OTHER_TIERS = ("phones", "phone", "phonemes", "phoneme", "segments", "states", "mau", "kan-mau")
# Labels of a tier of words, or of speakers, that stand for silence.
SILENCES = frozenset({"", "sil", "sp", "<sil>", "<eps>", "<p:>"})
_LARGEST_OVERLAP = 0.5  # of tiers of speakers that take turns; by feel
# "anna - words" of the Montreal Forced Aligner, "words@anna" of many ELAN files
_SPEAKER_TIER = re.compile(
    r"(?P<speaker>.+?) - (?P<content>\S+)|(?P<content_before>[^@]+)@(?P<speaker_after>.+)"
)

# Like Praat, heed only strings, flags and numbers that stand alone: this reads the long and the short format.
_PRAAT_VALUE = re.compile(r'"((?:[^"]|"")*)"|(?<!\S)(<\w+>|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\S)')

_ELAN_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_ELAN_VERSION = "3.0"
_ELAN_DATE = "1970-01-01T00:00:00+00:00"  # the same alignment gives the same bytes
_ELAN_TYPE = "intervals"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Files of strangers: a document type may define entities that grow without bound or read other files.
_FORBIDDEN_XML = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def to_textgrid(tiers: Tiers, duration_s: float) -> str:
    """Return a TextGrid in Praat's long text format; every tier is filled to cover 0 to the duration."""
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {_praat_time(duration_s)}",
        "tiers? <exists>",
        f"size = {len(tiers)}",
        "item []:",
    ]
    for number, (name, labelled) in enumerate(tiers.items(), 1):
        intervals = fill_gaps(labelled, duration_s)
        lines += [
            f"    item [{number}]:",
            '        class = "IntervalTier"',
            f"        name = {_praat_string(name)}",
            "        xmin = 0",
            f"        xmax = {_praat_time(duration_s)}",
            f"        intervals: size = {len(intervals)}",
        ]
        for position, interval in enumerate(intervals, 1):
            lines += [
                f"        intervals [{position}]:",
                f"            xmin = {_praat_time(interval.start_s)}",
                f"            xmax = {_praat_time(interval.end_s)}",
                f"            text = {_praat_string(interval.label)}",
            ]
    return "".join(f"{line}\n" for line in lines)


def _praat_time(time_s: float) -> str:
    return f"{time_s:.{MICROSECONDS}f}".rstrip("0").rstrip(".")


def _praat_string(text: str) -> str:
    check_text(text, "TextGrid")
    return '"' + text.replace('"', '""') + '"'


@dataclass(frozen=True)
class Tier:
    """A tier as it is in the file.

    Attributes
    ----------
    name, participant : as the file calls them; None where it names nobody
    passages : its labels in order of time, empty ones too
    end_s : the end of the recording as far as the file knows it
    """

    name: str
    passages: tuple[Passage, ...]
    participant: str | None = None
    end_s: float | None = None


def read_textgrid(text: str, where: str) -> list[Tier]:
    """Return the tiers of intervals, empty intervals included; tiers of points are left aside."""
    values = _praat_values(text.removeprefix("\ufeff"))
    try:
        kind, content, _, end_s, has_tiers = [next(values) for _ in range(5)]
        if kind not in ("ooTextFile", "ooTextFile short") or content != "TextGrid":
            raise CorpusError("no TextGrid, expected the header of a Praat text file; export it anew as text")
        n_tiers = int(next(values)) if has_tiers == "<exists>" else 0
        tiers = [_praat_tier(values, where, float(end_s)) for _ in range(n_tiers)]
    except (StopIteration, ValueError) as error:
        what = "a damaged TextGrid, expected more values, or numbers in place of text; export it anew"
        raise CorpusError(what) from error
    return [tier for tier in tiers if tier is not None]


def _praat_values(text: str) -> Iterator[str]:
    for match in _PRAAT_VALUE.finditer(text):
        string, other = match.groups()
        yield string.replace('""', '"') if other is None else other


def _praat_tier(values: Iterator[str], where: str, end_s: float) -> Tier | None:
    kind, name, _, _, n_labels = [next(values) for _ in range(5)]
    if kind == "TextTier":
        for _ in range(2 * int(n_labels)):
            next(values)
        return None
    if kind != "IntervalTier":
        # The end of a string may be lost: it then lasts to the next quotation mark.
        named, found = (" ".join(text.split())[:50] for text in (name, kind))
        raise CorpusError(f'tier "{named}" is a {found}, expected an IntervalTier; export the TextGrid anew')
    # A list: in a generator the end of the values would be another error.
    passages = [
        Passage(float(next(values)), float(next(values)), next(values), f'{where} tier "{name}" [{number}]')
        for number in range(1, int(n_labels) + 1)
    ]
    return Tier(name, tuple(passages), end_s=end_s)


def to_eaf(tiers: Tiers, recording: Path | None = None, origin_s: float = 0.0) -> str:
    """Return an ELAN file; intervals with empty labels are gaps and are left out.

    Parameters
    ----------
    tiers : intervals of each tier in order of time
    recording : what ELAN plays; without it, ELAN asks
    origin_s : where in the recording the time 0 of the intervals lies
    """
    Xml.register_namespace("xsi", _ELAN_SCHEMA)
    root = Xml.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "",
            "DATE": _ELAN_DATE,
            "FORMAT": _ELAN_VERSION,
            "VERSION": _ELAN_VERSION,
            f"{{{_ELAN_SCHEMA}}}noNamespaceSchemaLocation": "http://www.mpi.nl/tools/elan/EAFv3.0.xsd",
        },
    )
    header = Xml.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    if recording is not None:
        suffix = recording.suffix.lower().removeprefix(".")
        media = {"MEDIA_URL": recording.absolute().as_uri()}
        media["MIME_TYPE"] = "audio/x-wav" if suffix == "wav" else f"audio/{suffix or '*'}"
        origin = {"TIME_ORIGIN": str(round(origin_s * 1000))} if origin_s else {}
        Xml.SubElement(header, "MEDIA_DESCRIPTOR", media | origin)
    slots = Xml.SubElement(root, "TIME_ORDER")
    times = sorted({time for tier in tiers.values() for i in tier if i.label for time in _milliseconds(i)})
    names = {time: f"ts{number}" for number, time in enumerate(times, 1)}
    for time, name in names.items():
        Xml.SubElement(slots, "TIME_SLOT", TIME_SLOT_ID=name, TIME_VALUE=str(time))
    number = 0
    for tier_name, intervals in tiers.items():
        tier = Xml.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_ELAN_TYPE, TIER_ID=_xml_text(tier_name))
        for interval in (i for i in intervals if i.label):
            number += 1
            start, end = (names[time] for time in _milliseconds(interval))
            alignable = {"ANNOTATION_ID": f"a{number}", "TIME_SLOT_REF1": start, "TIME_SLOT_REF2": end}
            holder = Xml.SubElement(Xml.SubElement(tier, "ANNOTATION"), "ALIGNABLE_ANNOTATION", alignable)
            # Readers of XML take any end of a line for one; the words are the same.
            label = _xml_text(interval.label).replace("\r\n", "\n").replace("\r", "\n")
            Xml.SubElement(holder, "ANNOTATION_VALUE").text = label
    described = {"LINGUISTIC_TYPE_ID": _ELAN_TYPE, "TIME_ALIGNABLE": "true", "GRAPHIC_REFERENCES": "false"}
    Xml.SubElement(root, "LINGUISTIC_TYPE", described)
    Xml.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _milliseconds(interval: Interval) -> tuple[int, int]:
    """Return start and end in milliseconds."""
    start, end = round(interval.start_s * 1000), round(interval.end_s * 1000)
    if not 0 <= start < end:
        raise CorpusError(
            f'ELAN: "{interval.label}": expected a millisecond or more from 0 s on, got {interval.start_s:g} '
            f"to {interval.end_s:g} s; write a TextGrid, or correct the times"
        )
    return start, end


def _xml_text(label: str) -> str:
    if found := _NOT_XML.search(label):
        raise CorpusError(
            f"ELAN: expected characters that XML can hold, got U+{ord(found[0]):04X} in {label!r}; remove it"
        )
    return label


def read_elan(text: str, where: str) -> list[Tier]:
    """Return the tiers with annotations of their own times; tiers that refer to others' are left aside."""
    if _FORBIDDEN_XML.search(text):
        raise CorpusError("a document type or entity, expected a plain ELAN file; save it anew with ELAN")
    try:
        # Entities, by which XML can attack, have been refused.
        root = Xml.fromstring(re.sub(r"^\s*<\?xml.*?\?>", "", text))  # noqa: S314
    except (Xml.ParseError, ValueError) as error:
        raise CorpusError(f"no XML ({error}), expected an ELAN file; save it anew with ELAN") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise CorpusError(f"XML of {root.tag}, expected ANNOTATION_DOCUMENT; save it anew with ELAN")
    times = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    # A tier with a parent comments on it, unless it is called after words.
    return [
        _elan_tier(element, times, where)
        for element in root.iter("TIER")
        if element.get("PARENT_REF") is None or holds_words(element.get("TIER_ID", ""))
    ]


def _elan_tier(element: Xml.Element, times: Mapping[str | None, str | None], where: str) -> Tier:
    name = element.get("TIER_ID", "")
    passages = []
    for annotation in element.iter("ALIGNABLE_ANNOTATION"):
        place = f'{where} tier "{name}" {annotation.get("ANNOTATION_ID", "")}'.strip()
        start, end = (times.get(annotation.get(f"TIME_SLOT_REF{n}")) for n in (1, 2))
        value = annotation.findtext("ANNOTATION_VALUE") or ""
        if value.strip():
            passages.append(Passage(_elan_time(start, place), _elan_time(end, place), value, place))
    participant = (element.get("PARTICIPANT") or "").strip() or None
    return Tier(name, tuple(sorted(passages, key=lambda p: p.start_s)), participant)


def _elan_time(milliseconds: str | None, place: str) -> float:
    try:
        return int(milliseconds or "") / 1000
    except ValueError:
        what = f"{place}: an annotation without times, expected both ends on the time line"
        raise CorpusError(f"{what}; align it in ELAN") from None


@dataclass(frozen=True)
class TierText:
    """What is said by the tiers that hold the words.

    Attributes
    ----------
    passages : the utterances
    only_tier : name of the tier if it is called neither after its content nor after somebody known: it may
        be its speaker
    """

    passages: tuple[Passage, ...]
    only_tier: str | None = None


def text_of_tiers(tiers: Sequence[Tier], wanted: Sequence[str] = ()) -> TierText:
    """Return the utterances of the tiers that hold the words.

    Raises
    ------
    CorpusError
        Which tiers these are cannot be told.
    """
    full = [tier for tier in map(_without_silence, tiers) if tier.passages]
    if not full:
        return TierText(())
    if chosen := [tier for tier in full if tier.name in wanted]:
        return TierText(_utterances(chosen, speakers=len(chosen) > 1))
    for names in (*((name,) for name in UTTERANCE_TIERS), WORD_TIERS):
        if chosen := [tier for tier in full if content_and_speaker(tier.name)[0] in names]:
            return TierText(_utterances(chosen))
    rest = [tier for tier in full if content_and_speaker(tier.name)[0] not in OTHER_TIERS]
    if len(rest) == 1:
        return TierText(_utterances(rest), rest[0].name if rest[0].participant is None else None)
    participants = [tier.participant for tier in rest]
    are_speakers = None not in participants and len(set(participants)) == len(rest)
    if rest and (are_speakers or _take_turns(rest)):
        return TierText(_utterances(rest, speakers=True))
    listed = ", ".join(f'"{tier.name}"' for tier in full)
    raise CorpusError(
        f"tiers {listed}: cannot tell which hold the words, expected one called {WORD_TIERS[0]} or "
        f"{UTTERANCE_TIERS[1]}, or one a speaker; rename them, or name those meant in tiers.txt at the top "
        "of the corpus, one a line"
    )


def _without_silence(tier: Tier) -> Tier:
    heard = tuple(p for p in tier.passages if p.text.strip().casefold() not in SILENCES)
    return replace(tier, passages=heard)


def content_and_speaker(name: str) -> tuple[str, str | None]:
    """Return what a tier's name says of its content, and of its speaker if it has one in it.

    >>> content_and_speaker("anna - words"), content_and_speaker("Text@ben"), content_and_speaker("Words")
    (('words', 'anna'), ('text', 'ben'), ('words', None))
    """
    name = " ".join(name.split())
    match = _SPEAKER_TIER.fullmatch(name)
    if match is None:
        return name.casefold(), None
    content, speaker = match["content"] or match["content_before"], match["speaker"] or match["speaker_after"]
    return content.strip().casefold(), speaker.strip()


def holds_words(name: str) -> bool:
    """Return whether a tier's name says that it holds utterances or words."""
    return content_and_speaker(name)[0] in (*UTTERANCE_TIERS, *WORD_TIERS)


def _utterances(tiers: Sequence[Tier], *, speakers: bool = False) -> tuple[Passage, ...]:
    """Return the utterances of tiers; ``speakers`` says that tiers are called after these."""
    found: list[Passage] = []
    for tier in tiers:
        content, speaker = content_and_speaker(tier.name)
        called = speaker or (tier.name if speakers else None)
        passages: Sequence[Passage] = tier.passages
        if content in WORD_TIERS:
            passages = joined_at_pauses(passages, tier.end_s)
        found += [replace(p, speaker=tier.participant or called) for p in passages]
    return tuple(sorted(found, key=lambda p: p.start_s))


def _take_turns(tiers: Sequence[Tier]) -> bool:
    """Return whether no two tiers have labels at the same time, for the most part."""
    return all(
        _common_s(a, b) <= _LARGEST_OVERLAP * min(_labelled_s(a), _labelled_s(b))
        for a, b in combinations(tiers, 2)
    )


def _labelled_s(tier: Tier) -> float:
    return sum((p.end_s or p.start_s) - p.start_s for p in tier.passages)


def _common_s(first: Tier, second: Tier) -> float:
    """Return for how long both tiers have labels; both are walked in order of time."""
    total, i, j = 0.0, 0, 0
    a, b = first.passages, second.passages
    while i < len(a) and j < len(b):
        end_a, end_b = a[i].end_s or a[i].start_s, b[j].end_s or b[j].start_s
        total += max(0.0, min(end_a, end_b) - max(a[i].start_s, b[j].start_s))
        i, j = (i + 1, j) if end_a <= end_b else (i, j + 1)
    return total
