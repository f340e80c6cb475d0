"""The preparation of Iban as published, on a generated tree of its form."""

from pathlib import Path

import pytest

from asr.corpora.corpus import SPLITS, read_corpus
from asr.errors import CorpusError
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon
from recipes import iban

SPEAKERS = {"train": [f"ib{'fm'[n % 2]}_{n:03d}" for n in range(6)], "test": ["ibf_101", "ibm_102"]}
LEXICON = "<sil>\tSIL\n<UNK>\tSIL\nke\tk @\nnya\tNJ a KK\niya\ti j a\n"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a corpus with paths of another machine, two utterances a speaker, and no language model."""
    for split, speakers in SPEAKERS.items():
        rows = [(speaker, f"{speaker}_{n:03d}") for speaker in speakers for n in (1, 2)]
        folder = tmp_path / "iban/data" / split
        folder.mkdir(parents=True)
        tables = {
            "text": [f"{name}  ke nya \n" for _, name in rows],
            "utt2spk": [f"{name}\t{speaker}\n" for speaker, name in rows],
            "wav.scp": [f"{name}\tasr_iban/data/wav/{speaker}/{name}.wav\n" for speaker, name in rows],
        }
        for table, lines in tables.items():
            (folder / f"{split}_{table}").write_text("".join(lines))
        for speaker, name in rows:
            recording = tmp_path / f"iban/data/wav/{speaker}/{name}.wav"
            recording.parent.mkdir(parents=True, exist_ok=True)
            recording.touch()
    (tmp_path / "iban/lang/dict").mkdir(parents=True)
    (tmp_path / "iban/lang/dict/lexicon.txt").write_text(LEXICON)
    (tmp_path / "iban/LM").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(iban, "SIZES", {"train": (12, 6), "test": (4, 2)})
    return tmp_path / "iban"


def test_splits_and_lexicon(corpus: Path, tmp_path: Path) -> None:
    iban.prepare(corpus, tmp_path / "out")
    parts = {name: read_corpus(tmp_path / "out" / name) for name in SPLITS}
    assert parts["dev"].speakers == ("ibm_003",)  # the fifth by code point
    assert parts["train"].speakers == ("ibf_000", "ibf_002", "ibf_004", "ibm_001", "ibm_005")
    assert parts["test"].speakers == ("ibf_101", "ibm_102")
    assert parts["test"].text["ibf_101_001"] == ("ke", "nya")
    assert all(u.audio_path.is_file() for part in parts.values() for u in part)
    assert Lexicon.read(tmp_path / "out/lexicon.txt").words == ("iya", "ke", "nya")
    assert not list((tmp_path / "out").glob("*.arpa"))


def test_dev_rule() -> None:
    assert iban.dev_speakers(tuple(f"{n:02d}" for n in range(17))) == ("04", "08", "12", "16")


def test_the_words_of_the_newspapers_make_a_trigram_of_the_lexicon(corpus: Path, tmp_path: Path) -> None:
    (corpus / iban.NEWSPAPERS).write_text("ke nya ke iya\nselamat ke nya\n")
    iban.prepare(corpus, tmp_path / "out")
    model = NGram.read(tmp_path / "out" / iban.MODEL)
    assert (model.order, model.words) == (3, ("iya", "ke", "nya"))


def test_the_published_model_is_preferred(corpus: Path, tmp_path: Path) -> None:
    (corpus / iban.NEWSPAPERS).write_text("ke nya\n")
    NGram.estimate([("iya",)], 1).write(corpus / "LM/iban-lm-o3.arpa")
    iban.prepare(corpus, tmp_path / "out")
    assert NGram.read(tmp_path / "out" / iban.MODEL).words == ("iya",)


def test_another_size(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(
        CorpusError, match="train 12 of 6, test 4 of 2; expected train 2659 of 17, test 473 of 6; get the"
    ):
        iban.prepare(corpus, tmp_path / "out")
