"""ELAN files, read by pympi and by our own reader."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pympi
import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval
from asr.formats.praat_elan import read_elan, text_of_tiers, to_eaf


def labels(intervals: list[Interval]) -> list[tuple[int, int, str]]:
    return [(round(i.start_s * 1000), round(i.end_s * 1000), i.label) for i in intervals if i.label]


@pytest.mark.parametrize("seed", range(4))
def test_pympi_and_our_own_reader_find_the_same(spoken: SimpleNamespace, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    tiers = {name: spoken.random_tier(rng)[0] for name in ("words", "phones & <more>")}
    path = tmp_path / "ä.eaf"
    path.write_text(to_eaf(tiers), encoding="utf-8")
    found = pympi.Eaf(str(path))
    assert set(found.get_tier_names()) == set(tiers)
    for name, intervals in tiers.items():
        assert sorted(found.get_annotation_data_for_tier(name)) == labels(intervals)
    own = read_elan(path.read_text(encoding="utf-8"), "x.eaf")
    assert [tier.name for tier in own] == list(tiers)
    for tier, intervals in zip(own, tiers.values(), strict=True):
        passages = [Interval(s.start_s, s.end_s or 0.0, s.text) for s in tier.passages]
        assert labels(passages) == labels(list(intervals))


def test_neighbours_share_a_time_and_the_recording_is_named(spoken: SimpleNamespace, tmp_path: Path) -> None:
    recording = tmp_path / "a b.wav"
    path = tmp_path / "x.eaf"
    path.write_text(to_eaf(spoken.tiers, recording, 1.25), encoding="utf-8")
    found = pympi.Eaf(str(path))
    assert found.timeslots == {f"ts{n}": t for n, t in enumerate([0, 100, 150, 200, 300, 500, 550, 600], 1)}
    (media,) = found.media_descriptors
    assert media == {
        "MEDIA_URL": recording.as_uri(),
        "MIME_TYPE": "audio/x-wav",
        "TIME_ORIGIN": "1250",
    }
    assert list(found.get_linguistic_type_names()) == ["intervals"]


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (Interval(0, 1, "a\x07"), r"ELAN: .* U\+0007 in 'a\\x07'; remove it"),
        (Interval(0.5, 0.5002, "a"), 'ELAN: "a": expected a millisecond or more .* 0.5 to 0.5002 s'),
        (Interval(-1, 1, "a"), 'ELAN: "a": expected .* got -1 to 1 s'),
    ],
)
def test_what_cannot_be_written(interval: Interval, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        to_eaf({"words": [interval]})


EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" FORMAT="3.0">
  <TIME_ORDER>
    <TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1500"/>
    <TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="2750"/>
    <TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="500"/>
    <TIME_SLOT TIME_SLOT_ID="ts4"/>
  </TIME_ORDER>
  <TIER TIER_ID="A" PARTICIPANT="Anna B">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
      <ANNOTATION_VALUE>caf\u00e9 &amp; go</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts3" TIME_SLOT_REF2="ts1">
      <ANNOTATION_VALUE>yes</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER TIER_ID="A gloss" PARENT_REF="A">
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1">
      <ANNOTATION_VALUE>note</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER TIER_ID="B" PARTICIPANT="Ben">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a4" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts4">
      <ANNOTATION_VALUE> </ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
</ANNOTATION_DOCUMENT>
"""


def test_tiers_with_times_of_their_own() -> None:
    first, second = read_elan(EAF, "a.eaf")
    assert (first.name, first.participant, second.name, second.passages) == ("A", "Anna B", "B", ())
    assert [(s.start_s, s.end_s, s.text, s.where) for s in first.passages] == [
        (0.5, 1.5, "yes", 'a.eaf tier "A" a2'),
        (1.5, 2.75, "café & go", 'a.eaf tier "A" a1'),
    ]
    assert [s.speaker for s in text_of_tiers([first, second]).passages] == ["Anna B", "Anna B"]


def test_a_dependent_tier_is_read_if_it_is_called_after_words() -> None:
    assert [t.name for t in read_elan(EAF.replace("A gloss", "words"), "a")] == ["A", "words", "B"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("> </ANN", ">no</ANN"), 'a.eaf tier "B" a4: an annotation without times'),
        (('TIME_VALUE="2750"', 'TIME_VALUE="x"'), 'tier "A" a1: an annotation without times'),
        (("ANNOTATION_DOCUMENT", "OTHER"), "XML of OTHER, expected ANNOTATION_DOCUMENT"),
        (("</TIME_ORDER>", ""), r"no XML \(mismatched tag"),
        (("\u00e9", "\x00"), r"no XML \("),
        (("<ANNOTATION_DOCUMENT", '<!DOCTYPE a [<!ENTITY b "c">]><ANNOTATION_DOCUMENT'), "a document type"),
        (
            ("<ANNOTATION_DOCUMENT", "<!doctype a SYSTEM 'file:///etc/passwd'><ANNOTATION_DOCUMENT"),
            "a document",
        ),
    ],
)
def test_files_that_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_elan(EAF.replace(*change), "a.eaf")
