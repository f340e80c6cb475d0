"""Pronunciations in TIMIT's phones become those of HTK's models of Resource Management."""

from pathlib import Path

import pytest

from asr.errors import CorpusError
from recipes.rm1 import PHONES, read_pronunciations, rewritten

# The models but sil and sp of monophones.mmf, HTK models of this corpus, as Onyx (Johns Hopkins University,
# 2009) lists them in py/onyx/htkfiles/htkscoring.py.
HTK = """aa ae ah ao aw ax ay b ch d dd dh dx eh el en er ey f g hh ih iy jh k kd l m n ng ow oy p pd r s sh
t td th ts uh uw v w y z"""


def test_phones():
    assert set(HTK.split()) == PHONES
    assert len(PHONES) + 1 == 48  # with silence, thesis 4.4.1


@pytest.mark.parametrize(
    ("timit", "expected"),
    [
        ("kcl k ae tcl", "k ae td"),
        ("kcl k ae tcl t", "k ae t"),
        ("bcl b ae dcl", "b ae dd"),
        ("bcl ae gcl", "b ae g"),
        ("s tcl t aa pcl s", "s t aa pd s"),
        ("tcl t s ih t s s", "ts ih ts s"),
        ("q axr zh eng hv em ix q", "er sh ng hh m ih"),
        ("l ih dx el", "l ih dx el"),
    ],
)
def test_rewriting(timit, expected):
    assert rewritten(timit.split()) == tuple(expected.split())


def test_file(tmp_path: Path):
    path = tmp_path / "pcdsril.txt"
    path.write_text("; comment\nHEADING\na       ax\na       ey+1\nadd+s   ae+1 dcl d z\n")
    lexicon = read_pronunciations(path)
    assert dict(lexicon.entries) == {"A": (("ax",), ("ey",)), "ADD'S": (("ae", "d", "z"),)}


def test_unknown_phones(tmp_path: Path):
    path = tmp_path / "pcdsril.txt"
    path.write_text("a ax\nbad b xx yy\n")
    with pytest.raises(CorpusError, match=r'pcdsril\.txt:2: word "bad" has xx, yy, expected phones of TIMIT'):
        read_pronunciations(path)
    path.write_text("a q\n")
    with pytest.raises(CorpusError, match=r'word "a" has nothing, expected phones'):
        read_pronunciations(path)
