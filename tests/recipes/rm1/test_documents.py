"""The formats of the documents on the discs."""

import re
from pathlib import Path

import numpy as np
import pytest

from asr.errors import CorpusError
from recipes.rm1 import read_index, read_sentences, read_word_pairs


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "document.txt"
    path.write_text(text, encoding="latin-1", newline="")
    return path


def test_sentences(tmp_path):
    text = "; comment (X1)\r\nSHOW  GRIDLEY+S TRACK   (SR009)\r\n\r\nLIST SHIPS (st0001)\r\n"
    found = read_sentences(written(tmp_path, text))
    assert found == {"SR009": ("SHOW", "GRIDLEY'S", "TRACK"), "ST0001": ("LIST", "SHIPS")}


def test_sentence_without_name(tmp_path):
    path = written(tmp_path, "SHOW SHIPS (A)\nLIST SHIPS\n")
    with pytest.raises(
        CorpusError, match=re.escape('document.txt:2: expected "WORD … (NAME)", got "LIST SHIPS"')
    ):
        read_sentences(path)


def test_word_pairs_allow_what_they_list(tmp_path):
    text = "a header with > inside\n> SENTENCE-END\n GO\n>GO\n ON\n SENTENCE-END\n>ON\n SENTENCE-END\n"
    tables = read_word_pairs(written(tmp_path, text)).compile({"GO", "ON"})
    np.testing.assert_allclose(np.exp(tables.sentence_log_prob(["GO"])), 0.5, rtol=1e-12, atol=0)
    np.testing.assert_allclose(np.exp(tables.sentence_log_prob(["GO", "ON"])), 0.5, rtol=1e-12, atol=0)
    assert tables.sentence_log_prob(["ON"]) == -np.inf


def test_word_pairs_without_start(tmp_path):
    with pytest.raises(CorpusError, match=r'no line ">SENTENCE-END", expected one above the first words'):
        read_word_pairs(written(tmp_path, ">GO\n SENTENCE-END\n"))


def test_index(tmp_path):
    assert read_index(written(tmp_path, ";; head\n/rm1/a/st01.wav \n\nrm1/b/st02\n")) == [
        "/rm1/a/st01.wav",
        "rm1/b/st02",
    ]
