"""The preparation of recordings of one's own."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import soundfile

from asr.corpora.corpus import SPLITS, Corpus, Utterance, read_corpus, write_corpus
from asr.errors import CorpusError
from decoder.lexicon import Lexicon
from recipes import folder


def prepared(output_dir: Path) -> dict[str, Corpus]:
    return {name: read_corpus(output_dir / name) for name in SPLITS}


def write_folder(directory: Path, *stems: str, text: str = "yes no") -> Path:
    for stem in stems:
        path = directory / f"{stem}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.full(800, 0.1), 8000)
        path.with_suffix(".txt").write_text(text)
    return directory


def test_by_utterance(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", *(f"s{i % 2}/{i:02d}" for i in range(24)))
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    # s0-00, s0-02, …, s0-22, s1-01, …, s1-23: positions 0, 10, 20 and 5, 15.
    assert parts["test"].ids == ("s0-00", "s0-20", "s1-17")
    assert parts["dev"].ids == ("s0-10", "s1-07")
    assert len(parts["train"]) == 19
    assert not (tmp_path / "out" / "lexicon.txt").exists()


@pytest.mark.parametrize(
    ("n_speakers", "n_test", "n_dev"), [(5, 1, 1), (9, 1, 1), (10, 1, 1), (11, 2, 1), (26, 3, 3)]
)
def test_by_speaker(tmp_path: Path, n_speakers: int, n_test: int, n_dev: int) -> None:
    write_folder(tmp_path / "in", *(f"s{i:02d}/{j}" for i in range(n_speakers) for j in range(2)))
    folder.prepare(tmp_path / "in", tmp_path / "out")
    speakers = {name: set(part.speakers) for name, part in prepared(tmp_path / "out").items()}
    sizes = {name: len(found) for name, found in speakers.items()}
    assert sizes == {"train": n_speakers - n_test - n_dev, "dev": n_dev, "test": n_test}
    assert set().union(*speakers.values()) == {f"s{i:02d}" for i in range(n_speakers)}


@pytest.mark.parametrize("told", ["auto", "one", "recordings"])
def test_a_flat_folder_is_cut_by_recordings(
    tmp_path: Path, told: Literal["auto", "one", "recordings"], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    folder.prepare(write_folder(tmp_path / "in", *(f"u{i:02d}" for i in range(20))), tmp_path / "out", told)
    parts = prepared(tmp_path / "out")
    assert {name: part.ids for name, part in parts.items() if name != "train"} == {
        "test": ("u00", "u10"),
        "dev": ("u05", "u15"),
    }
    (said,) = [line for line in caplog.messages if line.startswith("dev and test")]
    certain = "the same voices as train, figures say nothing of other people"
    perhaps = "perhaps the same voices as train, figures need not hold for other people"
    assert said == f"dev and test: {certain if told == 'one' else perhaps}"
    assert {name: part.speakers for name, part in parts.items()}["test"] == (
        ("one",) if told == "one" else ("u00", "u10")
    )


def test_recordings_of_unknown_speakers_are_not_cut_apart(tmp_path: Path) -> None:
    long = tmp_path / "in"
    for n in range(6):
        write_folder(long, f"u{n}", text="")
        (long / f"u{n}.txt").unlink()
        captions = [f"{k}\n00:00:00,0{2 * k}0 --> 00:00:00,0{2 * k + 2}0\nyes\n" for k in range(1, 4)]
        (long / f"u{n}.srt").write_text("\n".join(captions))
    folder.prepare(long, tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert {name: part.speakers for name, part in parts.items()} == {
        "train": ("u1", "u2", "u4", "u5"),
        "dev": ("u3",),
        "test": ("u0",),
    }
    assert [len(parts[name]) for name in SPLITS] == [12, 3, 3]


def test_dev_and_test_are_cut_from_what_can_be_used(tmp_path: Path) -> None:
    """What cannot be used stays in train, where it is named and left out, and moves no other one."""
    write_folder(tmp_path / "in", *(f"{i:02d}" for i in range(30)))
    (tmp_path / "in/00.wav").write_bytes(b"")
    soundfile.write(tmp_path / "in/10.wav", np.zeros(800), 8000)
    soundfile.write(tmp_path / "in/15.wav", np.full(3, 0.1), 8000)
    (tmp_path / "in/20.txt").write_text("")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    # Of 01 … 09, 11 … 14, 16 … 19, 21 … 29 those at 0, 10, 20 and 5, 15, 25.
    assert parts["test"].ids == ("01", "12", "24")
    assert parts["dev"].ids == ("06", "18", "29")
    assert {"00", "10", "15", "20"} < set(parts["train"].ids)
    assert len(parts["train"]) == 24


def test_a_speaker_whose_recordings_cannot_be_used_is_no_test(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", *(f"s{i}/{j}" for i in range(6) for j in range(3)))
    for name in ("s0/0", "s0/1", "s0/2", "s1/1"):
        (tmp_path / f"in/{name}.wav").write_bytes(b"")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert (parts["test"].ids, parts["dev"].speakers) == (("s1-0", "s1-2"), ("s3",))
    assert "s1-1" in parts["train"].ids


def test_one_of_the_fewest_cannot_be_used(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", *map(str, range(10)))
    (tmp_path / "in/0.wav").write_bytes(b"")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert (parts["test"].ids, parts["dev"].ids) == (("1",), ("5",))
    assert parts["train"].ids == ("0", "2", "3", "4", "6", "7", "8", "9")


def test_given_parts_are_kept_and_only_missing_ones_cut(tmp_path: Path) -> None:
    write_folder(tmp_path / "in/train", *map(str, range(10, 30)))
    write_folder(tmp_path / "in/test", "t", text="maybe")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert parts["test"].ids == ("t",)
    assert parts["dev"].ids == ("15", "25")
    assert len(parts["train"]) == 18


def test_splits_of_a_layout_are_kept_and_only_missing_ones_cut(tmp_path: Path) -> None:
    write_folder(tmp_path / "in/wav", *(f"s{i % 2}/{i:02d}" for i in range(20)), "t/t", text="")
    for path in (tmp_path / "in").rglob("*.txt"):
        path.unlink()
    names = {"train": [f"s{i % 2}/{i:02d}" for i in range(20)], "test": ["t/t"]}
    (tmp_path / "in/etc").mkdir()
    for split, ids in names.items():
        (tmp_path / f"in/etc/x_{split}.fileids").write_text("\n".join(ids))
        lines = [f"<s> yes no </s> ({name})" for name in ids]
        (tmp_path / f"in/etc/x_{split}.transcription").write_text("\n".join(lines))
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert {name: len(part) for name, part in parts.items()} == {"train": 18, "dev": 2, "test": 1}
    assert (parts["test"].ids, parts["dev"].ids) == (("t",), ("05", "15"))
    assert parts["train"].vocabulary == ("no", "yes")


def test_a_table_by_its_path_with_a_lexicon_beside_it(tmp_path: Path) -> None:
    write_folder(tmp_path / "in/wavs", *(f"{i:02d}" for i in range(12)))
    (tmp_path / "in/one.csv").write_text("".join(["file,text\n", *(f"{i:02d}.wav,yes\n" for i in range(11))]))
    (tmp_path / "in/two.csv").write_text("file,text\n11.wav,no\n")
    (tmp_path / "in/lexicon.txt").write_text("yes Y\n")
    folder.prepare(tmp_path / "in/one.csv", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert {name: len(part) for name, part in parts.items()} == {"train": 8, "dev": 1, "test": 2}
    assert Lexicon.read(tmp_path / "out" / "lexicon.txt").phones == ("Y",)


def test_kaldi_directory_with_segments(tmp_path: Path) -> None:
    write_folder(tmp_path, "long")
    spans = [
        Utterance(f"u{i:02d}", tmp_path / "long.wav", ("yes",), "s", i * 0.01, i * 0.01 + 0.01)
        for i in range(10)
    ]
    write_corpus(Corpus(tuple(spans)), tmp_path / "in")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    parts = prepared(tmp_path / "out")
    assert (parts["test"].utterances, parts["dev"].utterances) == ((spans[0],), (spans[5],))


def test_own_lexicon_and_grammars_are_taken(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", *map(str, range(10)))
    (tmp_path / "in/lexicon.txt").write_text("yes Y\nno N\n")
    (tmp_path / "in/word_pairs.txt").write_text("yes no\n")
    (tmp_path / "in/two.arpa").write_text("\\data\\\n")
    folder.prepare(tmp_path / "in", tmp_path / "out")
    assert Lexicon.read(tmp_path / "out" / "lexicon.txt").phones == ("N", "Y")
    assert (tmp_path / "out/word_pairs.txt").read_text() == "yes no\n"
    assert (tmp_path / "out/two.arpa").exists()


@pytest.mark.parametrize("n", [1, 9])
def test_too_few_utterances_to_cut(tmp_path: Path, n: int) -> None:
    write_folder(tmp_path / "in", *map(str, range(n)))
    with pytest.raises(
        CorpusError, match=rf"train has {n} utterance\(s\), expected at least 10 .* to cut dev and test"
    ):
        folder.prepare(tmp_path / "in", tmp_path / "out")


def test_one_utterance_to_train_on(tmp_path: Path) -> None:
    for name in SPLITS:
        write_folder(tmp_path / "in" / name, f"{name}1")
    with pytest.raises(
        CorpusError, match=r"train has 1 utterance\(s\), expected at least 2 to train on; record"
    ):
        folder.prepare(tmp_path / "in", tmp_path / "out")


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", *(f"s{i % 7}/{i}" for i in range(30)))
    for out in ("one", "two"):
        folder.prepare(tmp_path / "in", tmp_path / out)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert len(files) == 9
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
