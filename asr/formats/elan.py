"""ELAN annotation files (``.eaf``): a tier of intervals each, times in milliseconds.

`asr.corpora.layouts.elan` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as Xml

from asr.errors import CorpusError
from asr.formats.intervals import Interval, Tiers

_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_VERSION = "3.0"
_DATE = "1970-01-01T00:00:00+00:00"  # the same alignment gives the same bytes
_TYPE = "intervals"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_eaf(tiers: Tiers, recording: Path | None = None, origin_s: float = 0.0) -> str:
    """Return an ELAN file; intervals with empty labels are gaps and are left out.

    Parameters
    ----------
    tiers : intervals of each tier in order of time
    recording : what ELAN plays; without it, ELAN asks
    origin_s : where in the recording the time 0 of the intervals lies
    """
    Xml.register_namespace("xsi", _SCHEMA)
    root = Xml.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "",
            "DATE": _DATE,
            "FORMAT": _VERSION,
            "VERSION": _VERSION,
            f"{{{_SCHEMA}}}noNamespaceSchemaLocation": "http://www.mpi.nl/tools/elan/EAFv3.0.xsd",
        },
    )
    header = Xml.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    if recording is not None:
        Xml.SubElement(header, "MEDIA_DESCRIPTOR", _media(recording, origin_s))
    slots = Xml.SubElement(root, "TIME_ORDER")
    times = sorted({time for tier in tiers.values() for i in tier if i.label for time in _times(i)})
    names = {time: f"ts{number}" for number, time in enumerate(times, 1)}
    for time, name in names.items():
        Xml.SubElement(slots, "TIME_SLOT", TIME_SLOT_ID=name, TIME_VALUE=str(time))
    number = 0
    for tier_name, intervals in tiers.items():
        tier = Xml.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_TYPE, TIER_ID=tier_name)
        for interval in (i for i in intervals if i.label):
            number += 1
            start, end = (names[time] for time in _times(interval))
            alignable = {"ANNOTATION_ID": f"a{number}", "TIME_SLOT_REF1": start, "TIME_SLOT_REF2": end}
            holder = Xml.SubElement(Xml.SubElement(tier, "ANNOTATION"), "ALIGNABLE_ANNOTATION", alignable)
            Xml.SubElement(holder, "ANNOTATION_VALUE").text = _text(interval.label)
    described = {"LINGUISTIC_TYPE_ID": _TYPE, "TIME_ALIGNABLE": "true", "GRAPHIC_REFERENCES": "false"}
    Xml.SubElement(root, "LINGUISTIC_TYPE", described)
    Xml.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _media(recording: Path, origin_s: float) -> dict[str, str]:
    """Return what ELAN is told of the recording."""
    suffix = recording.suffix.lower().removeprefix(".")
    described = {"MEDIA_URL": recording.absolute().as_uri()}
    described["MIME_TYPE"] = "audio/x-wav" if suffix == "wav" else f"audio/{suffix or '*'}"
    return described | ({"TIME_ORIGIN": str(round(origin_s * 1000))} if origin_s else {})


def _times(interval: Interval) -> Iterable[int]:
    """Return start and end in milliseconds."""
    start, end = round(interval.start_s * 1000), round(interval.end_s * 1000)
    if not 0 <= start < end:
        raise CorpusError(
            f'ELAN: "{interval.label}": expected a millisecond or more from 0 s on, got {interval.start_s:g} '
            f"to {interval.end_s:g} s; write a TextGrid, or correct the times"
        )
    return start, end


def _text(label: str) -> str:
    if found := _NOT_XML.search(label):
        raise CorpusError(
            f"ELAN: expected characters that XML can hold, got U+{ord(found[0]):04X} in {label!r}; remove it"
        )
    return label
