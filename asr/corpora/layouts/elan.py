"""ELAN's annotation files (``.eaf``): the tiers that are aligned in time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

from asr.corpora.layouts.scan import Stretch
from asr.corpora.layouts.tiers import Tier, holds_words
from asr.errors import CorpusError

# Files of strangers: a document type may define entities that grow without bound or read other files.
_FORBIDDEN = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def read_elan(text: str, where: str) -> list[Tier]:
    """Return the tiers with annotations of their own times; tiers that refer to others' are left aside."""
    if _FORBIDDEN.search(text):
        raise CorpusError("a document type or entity, expected a plain ELAN file; save it anew with ELAN")
    try:
        # Entities, by which XML can attack, have been refused.
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml.*?\?>", "", text))  # noqa: S314
    except (ElementTree.ParseError, ValueError) as error:
        raise CorpusError(f"no XML ({error}), expected an ELAN file; save it anew with ELAN") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise CorpusError(f"XML of {root.tag}, expected ANNOTATION_DOCUMENT; save it anew with ELAN")
    times = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    return [_tier(element, times, where) for element in root.iter("TIER") if _may_hold_words(element)]


def _may_hold_words(element: ElementTree.Element) -> bool:
    """Return whether a tier stands for itself, or is called after words: others comment on their parents."""
    return element.get("PARENT_REF") is None or holds_words(element.get("TIER_ID", ""))


def _tier(element: ElementTree.Element, times: Mapping[str | None, str | None], where: str) -> Tier:
    name = element.get("TIER_ID", "")
    stretches = []
    for annotation in element.iter("ALIGNABLE_ANNOTATION"):
        place = f'{where} tier "{name}" {annotation.get("ANNOTATION_ID", "")}'.strip()
        start, end = (times.get(annotation.get(f"TIME_SLOT_REF{n}")) for n in (1, 2))
        value = annotation.findtext("ANNOTATION_VALUE") or ""
        if value.strip():
            stretches.append(Stretch(_seconds(start, place), _seconds(end, place), value, place))
    participant = (element.get("PARTICIPANT") or "").strip() or None
    return Tier(name, tuple(sorted(stretches, key=lambda s: s.start_s)), participant)


def _seconds(milliseconds: str | None, place: str) -> float:
    try:
        return int(milliseconds or "") / 1000
    except ValueError:
        what = f"{place}: an annotation without times, expected both ends on the time line"
        raise CorpusError(f"{what}; align it in ELAN") from None
