"""ELAN's files, also such as attack their reader."""

import pytest

from asr.errors import CorpusError
from asr.formats.praat_elan import read_elan, text_of_tiers

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
