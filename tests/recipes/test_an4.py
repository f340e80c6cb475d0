"""The preparation of AN4 as published."""

import shutil
from pathlib import Path

import pytest

from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.errors import CorpusError
from decoder.lexicon import Lexicon
from recipes import an4


def prepared(output_dir: Path) -> tuple[dict[str, Corpus], Lexicon]:
    return {name: read_corpus(output_dir / name) for name in SPLITS}, Lexicon.read(output_dir / "lexicon.txt")


def test_official_split(shared: Path, tmp_path: Path) -> None:
    an4.prepare(shared / "data/an4", tmp_path)
    parts, lexicon = prepared(tmp_path)
    assert {name: len(part) for name, part in parts.items()} == {"train": 820, "dev": 128, "test": 130}
    assert sum(len(u.words) for u in parts["test"]) == 773
    assert [len(parts[name].speakers) for name in SPLITS] == [64, 10, 10]
    assert len({s for part in parts.values() for s in part.speakers}) == 84
    assert {speaker[0] for speaker in parts["dev"].speakers} == {"f", "m"}
    assert all(word in lexicon for part in parts.values() for word in part.vocabulary)
    assert lexicon == Lexicon.read(shared / "data/an4/etc/an4.dic")
    assert all(u.audio_path.is_absolute() for part in parts.values() for u in part)
    assert parts["test"].text["an406-fcaw-b"] == ("RUBOUT", "G", "M", "E", "F", "THREE", "NINE")
    assert (tmp_path / "train/text").read_text().startswith("an1-mblw-b X I SIXTY ONE\n")


def test_dev_rule_needs_no_audio() -> None:
    speakers = tuple(f"{i:02d}" for i in range(74))
    assert an4.dev_speakers(speakers) == ("03", "10", "17", "24", "31", "38", "45", "52", "59", "66")


def test_incomplete_copies(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"an4_train\.transcription: cannot be read.*give the directory"):
        an4.prepare(tmp_path, tmp_path / "out")
    shutil.copytree(shared / "data/an4/etc", tmp_path / "etc", copy_function=shutil.copyfile)
    (tmp_path / "etc").chmod(0o755)
    with pytest.raises(CorpusError, match=r"an251-fash-b: no \.wav or \.sph, expected the recording there"):
        an4.prepare(tmp_path, tmp_path / "out")


def test_sph_names_and_wrong_counts(tmp_path: Path) -> None:
    for part, audio in (
        ("train", "an4_clstk/fash/an1-fash-b"),
        ("test", "an4test_clstk/mmxg/an2-mmxg-b"),
    ):
        (tmp_path / "wav" / audio).parent.mkdir(parents=True)
        (tmp_path / "wav" / f"{audio}.sph").touch()
        (tmp_path / "etc").mkdir(exist_ok=True)
        (tmp_path / f"etc/an4_{part}.fileids").write_text(f"{audio}\n")
        (tmp_path / f"etc/an4_{part}.transcription").write_text(f"<s> YES NO </s> ({Path(audio).name})\n")
    (utterance,) = an4.read_part(tmp_path, "test")
    assert (utterance.audio_path.name, utterance.words) == ("an2-mmxg-b.sph", ("YES", "NO"))
    with pytest.raises(
        CorpusError, match="1 train and 1 test utterances of 2 words, expected 948 and 130 of 773"
    ):
        an4.prepare(tmp_path, tmp_path / "out")
