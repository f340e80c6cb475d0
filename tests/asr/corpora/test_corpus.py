"""Corpora read from directories written by hand, and written back."""

import locale
import os
from pathlib import Path

import numpy as np
import pytest

from asr.corpora.corpus import Corpus, Utterance, read_corpus, scan_corpus, write_corpus
from asr.errors import CorpusError


def write_kaldi(directory: Path, **files: str) -> Path:
    """Write a good data directory of two utterances; files named replace its own (wav_scp for wav.scp)."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {
        "wav_scp": "b1 audio/b1.wav\na1 audio/a1.wav\n",
        "text": "a1 YES\nb1 NO GO\n",
        "utt2spk": "a1 anna\nb1 ben\n",
    } | files
    for name, text in content.items():
        (directory / name.replace("_", ".")).write_bytes(text.encode())
    (directory / "audio").mkdir(exist_ok=True)
    for name in ("a1", "b1"):
        (directory / "audio" / f"{name}.wav").write_bytes(b"not looked into")
    return directory


def write_folder(directory: Path, *stems: str) -> Path:
    for stem in stems:
        path = directory / f"{stem}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not looked into")
        path.with_suffix(".txt").write_text(f"say {path.stem}\n")
    return directory


def problems_of(directory: Path) -> list[str]:
    return [str(problem) for problem in scan_corpus(directory)[1]]


class TestKaldi:
    def test_read(self, tmp_path: Path) -> None:
        corpus = read_corpus(write_kaldi(tmp_path / "data"))
        assert corpus.utterances == (
            Utterance("a1", tmp_path / "data/audio/a1.wav", ("YES",), "anna"),
            Utterance("b1", tmp_path / "data/audio/b1.wav", ("NO", "GO"), "ben"),
        )
        assert corpus.speakers == ("anna", "ben")
        assert corpus.vocabulary == ("GO", "NO", "YES")
        assert corpus.text == {"a1": ("YES",), "b1": ("NO", "GO")}

    def test_bom_crlf_tabs_blank_lines_and_paths_with_spaces(self, tmp_path: Path) -> None:
        (tmp_path / "my audio.wav").touch()
        directory = write_kaldi(
            tmp_path,
            wav_scp="\ufeffa1\tmy audio.wav\r\n\r\n",
            text="\ufeffa1  e\u0301te\u0301\tNO\r\n",
            utt2spk="a1 anna \r\n",
        )
        (utterance,) = read_corpus(directory)
        assert utterance.words == ("été", "NO")
        assert (utterance.audio_path.name, utterance.speaker) == ("my audio.wav", "anna")

    def test_data_directory_comes_before_the_current_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory = write_kaldi(tmp_path / "data")
        write_kaldi(tmp_path / "here")
        monkeypatch.chdir(tmp_path / "here")
        assert read_corpus(directory).utterances[0].audio_path == directory / "audio/a1.wav"
        (directory / "audio/a1.wav").unlink()
        assert read_corpus(directory).utterances[0].audio_path == tmp_path / "here/audio/a1.wav"

    def test_segments(self, tmp_path: Path) -> None:
        directory = write_kaldi(
            tmp_path,
            text="u1 A\nu2 B\nu3 C\n",
            utt2spk="u1 s\nu2 s\nu3 s\n",
            segments="u1 a1 0 1.5\nu2 a1 1.5 2.25\nu3 b1 2 -1\n",
        )
        spans = [(u.audio_path.stem, u.start_s, u.end_s) for u in read_corpus(directory)]
        assert spans == [("a1", 0.0, 1.5), ("a1", 1.5, 2.25), ("b1", 2.0, None)]

    def test_empty_transcript_is_no_words(self, tmp_path: Path) -> None:
        assert read_corpus(write_kaldi(tmp_path, text="a1\nb1 NO\n")).utterances[0].words == ()

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"wav_scp": "a1 x.wav\nb1 audio/b1.wav\n"}, r'wav\.scp:1: audio file "x\.wav" does not exist'),
            (
                {"wav_scp": "a1 sph2pipe -f wav a.sph |\nb1 audio/b1.wav\n"},
                r'wav\.scp:1: "sph2pipe -f wav a\.sph \|" is a command, expected an audio file; run it once',
            ),
            ({"text": "a1 A\nb1 B\na1 C\n"}, r'text:3: duplicate id "a1" \(first in line 1\)'),
            ({"wav_scp": "a1 audio/a1.wav\n"}, r'text:2: "b1" is not in wav\.scp.*add its recording'),
            ({"text": "a1 A\n"}, r'wav\.scp:1: "b1" is not in text.*give it a transcript'),
            ({"utt2spk": "a1 anna\n"}, r'text:2: "b1" is not in utt2spk.*name its speaker'),
            ({"utt2spk": "a1 anna\nb1\n"}, r'utt2spk:2: "b1" stands alone, expected "utterance-id speaker"'),
            ({"utt2spk": "a1 anna\nb1 b c\n"}, r'utt2spk:2: speaker "b c" has white space'),
            ({"segments": "a1 a1 0\nb1 b1 0 1\n"}, r'segments:1: "a1 0" is malformed'),
            ({"segments": "a1 a1 0 x\nb1 b1 0 1\n"}, r'segments:1: "a1 0 x" is malformed'),
            ({"segments": "a1 a1 nan 1\nb1 b1 0 1\n"}, r"segments:1: .* is malformed"),
            ({"segments": "a1 a1 0 1 2\nb1 b1 0 1\n"}, r"segments:1: .* is malformed"),
            (
                {"segments": "a1 a1 1 1\nb1 b1 0 1\n"},
                r"segments:1: goes from 1 s to 1 s, expected 0 <= start < end",
            ),
            ({"segments": "a1 a1 -2 -1\nb1 b1 0 1\n"}, r"segments:1: goes from -2 s"),
            ({"segments": "a1 c1 0 1\nb1 b1 0 1\n"}, r'segments:1: recording "c1" is not in wav\.scp'),
            ({"wav_scp": "", "text": "", "utt2spk": ""}, r"no utterances, expected wav\.scp"),
        ],
    )
    def test_one_problem_is_one_line(self, tmp_path: Path, files: dict[str, str], message: str) -> None:
        directory = write_kaldi(tmp_path, **files)
        with pytest.raises(CorpusError, match=message) as caught:
            read_corpus(directory)
        found = problems_of(directory)
        assert str(caught.value).startswith(f"{directory}: ")
        assert len(str(caught.value).splitlines()) == (1 if len(found) == 1 else 1 + len(found))

    def test_all_problems_at_once_in_the_order_of_the_files(self, tmp_path: Path) -> None:
        directory = write_kaldi(
            tmp_path,
            wav_scp="z1 none.wav\na1 audio/a1.wav\nz1 none.wav\n",
            text="a1 A\nq1 Q\nz1 Z\n",
            utt2spk="a1 anna\nz1 zoe\n",
        )
        lines = problems_of(directory)
        assert [line.split(": ")[0] for line in lines] == ["wav.scp:3", "wav.scp:1", "text:2", "text:2"]
        with pytest.raises(CorpusError) as caught:
            read_corpus(directory)
        assert (
            str(caught.value).splitlines()[0]
            == f"{directory}: 4 problems, expected none; correct them and run again"
        )
        assert str(caught.value).splitlines()[1:] == lines
        assert scan_corpus(directory)[0].ids == ("a1",)

    def test_missing_file_is_named_once_and_alone(self, tmp_path: Path) -> None:
        directory = write_kaldi(tmp_path)
        (directory / "utt2spk").unlink()
        assert problems_of(directory) == [
            'utt2spk: cannot be read (No such file or directory), expected lines "utterance-id speaker"; '
            "write the file"
        ]

    def test_latin_1_is_named_with_its_line(self, tmp_path: Path) -> None:
        directory = write_kaldi(tmp_path)
        (directory / "text").write_bytes("a1 A\nb1 été\n".encode("latin-1"))
        assert problems_of(directory)[0].startswith("text:2: not UTF-8")

    def test_long_lists_are_cut_and_counted(self, tmp_path: Path) -> None:
        numbers = range(200)
        directory = write_kaldi(
            tmp_path,
            wav_scp="".join(f"u{i} none.wav\n" for i in numbers),
            text="".join(f"u{i} A\n" for i in numbers),
            utt2spk="".join(f"u{i} s\n" for i in numbers),
        )
        with pytest.raises(CorpusError, match="and 150 more, see: asr validate"):
            read_corpus(directory)
        assert len(problems_of(directory)) == 200


class TestFolder:
    def test_flat_files_are_speakers_of_their_own(self, tmp_path: Path) -> None:
        corpus = read_corpus(write_folder(tmp_path, "two", "one take"))
        assert [(u.utterance_id, u.speaker) for u in corpus] == [("one_take", "one_take"), ("two", "two")]
        assert corpus.text["two"] == ("say", "two")
        assert corpus.utterances[0].audio_path == tmp_path / "one take.wav"

    def test_the_topmost_subfolder_is_the_speaker(self, tmp_path: Path) -> None:
        corpus = read_corpus(write_folder(tmp_path, "ben/1", "anna/day 1/1", "anna/2", "0"))
        assert [(u.utterance_id, u.speaker) for u in corpus] == [
            ("0", "0"),
            ("anna-2", "anna"),
            ("anna-day_1-1", "anna"),
            ("ben-1", "ben"),
        ]

    @pytest.mark.parametrize("name", ["utt2spk", "speakers.txt"])
    def test_speaker_file_overrules(self, tmp_path: Path, name: str) -> None:
        write_folder(tmp_path, "x/1", "2")
        (tmp_path / name).write_text("x-1 anna\n2 anna\n")
        assert read_corpus(tmp_path).speakers == ("anna",)
        (tmp_path / name).write_text("x-1 anna\n")
        with pytest.raises(CorpusError, match=rf'2\.wav: its id "2" is not in {name}.*name its speaker'):
            read_corpus(tmp_path)

    def test_any_letter_case_and_format_of_name_counts(self, tmp_path: Path) -> None:
        for name in ("a.WAV", "b.flac", "c.mp3", "d.ogg", "e.sph"):
            (tmp_path / name).touch()
            (tmp_path / f"{name[0]}.TXT").write_text("hello")
        assert read_corpus(tmp_path).ids == ("a", "b", "c", "d", "e")

    def test_hidden_and_other_files_are_left_aside(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "a", "._b", ".git/c")
        for name in ("lexicon.txt", "word_pairs.txt", "README.txt", "photo.jpg"):
            (tmp_path / name).touch()
        assert read_corpus(tmp_path).ids == ("a",)

    def test_problems(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "a", "b", "c", "d", "e-1", "e/1")
        (tmp_path / "a.txt").unlink()
        (tmp_path / "b.wav").unlink()
        (tmp_path / "c.flac").touch()
        (tmp_path / "d.txt").write_bytes(b"caf\xe9")
        assert [line.split(",")[0].split(";")[0] for line in problems_of(tmp_path)] == [
            "a.wav: no transcript",
            'c.wav: duplicate id "c" (that of c.flac too)',
            "d.txt:1: not UTF-8",
            'e-1.wav: duplicate id "e-1" (that of 1.wav too)',
            "b.txt: no recording",
        ]

    def test_no_utterances(self, tmp_path: Path) -> None:
        with pytest.raises(
            CorpusError, match=r"no utterances, expected wav\.scp, text and utt2spk, or recordings"
        ):
            read_corpus(tmp_path)

    def test_root_of_a_corpus_is_not_taken_for_speakers_called_train_and_test(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "train/a", "test/b")
        with pytest.raises(CorpusError, match="has a subdirectory train, expected one data directory"):
            read_corpus(tmp_path)


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such directory"):
        read_corpus(tmp_path / "none")


def test_duplicate_id_in_memory() -> None:
    utterance = Utterance("a", Path("/a.wav"), (), "s")
    with pytest.raises(CorpusError, match='duplicate utterance id "a"'):
        Corpus((utterance, utterance))


def test_subsets() -> None:
    corpus = Corpus(tuple(Utterance(f"u{i}", Path("/a.wav"), (), f"s{i % 2}") for i in range(4)))
    assert corpus.subset(["u3", "u0"]).ids == ("u0", "u3")
    assert corpus.of_speakers(["s1"]).ids == ("u1", "u3")
    with pytest.raises(CorpusError, match=r'1 unknown utterance id\(s\): "u9"; expected some of the 4'):
        corpus.subset(["u9"])
    with pytest.raises(CorpusError, match=r'1 unknown speaker\(s\): "x"'):
        corpus.of_speakers(["s0", "x"])


def test_random_corpora_survive_writing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for trial in range(30):
        files = [tmp_path / f"r {i}.wav" for i in range(3)]
        utterances = []
        for i in rng.permutation(rng.integers(1, 12)):
            start_s = round(float(rng.uniform(0, 1e4)), int(rng.integers(1, 7))) if trial % 2 else 0.0
            end_s = start_s + float(rng.uniform(1e-3, 9)) if trial % 2 and rng.random() < 0.7 else None
            words = tuple(rng.choice(["A", "é", "<s>", "#"], rng.integers(0, 4)).tolist())
            path = files[rng.integers(3)]
            path.touch()
            utterances.append(Utterance(f"ü-{i}", path, words, f"s{rng.integers(3)}", start_s, end_s))
        corpus = Corpus(tuple(utterances))
        write_corpus(corpus, tmp_path / "data")
        assert read_corpus(tmp_path / "data") == corpus
        assert (tmp_path / "data/segments").exists() == any(not u.is_whole_file for u in corpus)


def test_written_files_are_sorted_as_kaldi_wants_them(tmp_path: Path) -> None:
    ids = ["a-1", "a1", "A1", "é", "z", "a-10", "a-2", "_", "\U0001d400", "\uffee"]
    (tmp_path / "x.wav").touch()
    write_corpus(Corpus(tuple(Utterance(i, tmp_path / "x.wav", (), i) for i in ids)), tmp_path / "data")
    for name in ("wav.scp", "text", "utt2spk"):
        written = [line.split()[0] for line in (tmp_path / "data" / name).read_bytes().splitlines()]
        assert written == sorted(i.encode() for i in ids), name  # what LC_ALL=C sort does


def test_order_depends_on_neither_locale_nor_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, "a", "B", "_c", "é", "z", "10", "9", "x/1", "X/1", "x-2")
    expected = read_corpus(tmp_path).ids
    assert expected == ("10", "9", "B", "X-1", "_c", "a", "x-1", "x-2", "z", "é")

    scandir = os.scandir

    class Backwards:
        def __init__(self, path: object) -> None:
            with scandir(path) as entries:  # type: ignore[call-overload]
                self.entries = sorted(entries, key=lambda e: e.name, reverse=True)

        def __enter__(self):  # type: ignore[no-untyped-def]
            return iter(self.entries)

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(os, "scandir", Backwards)
    assert read_corpus(tmp_path).ids == expected
    monkeypatch.undo()
    before = locale.setlocale(locale.LC_ALL)
    for name in ("C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert read_corpus(tmp_path).ids == expected
        finally:
            locale.setlocale(locale.LC_ALL, before)


def test_links_to_files_are_followed_others_are_named(tmp_path: Path) -> None:
    elsewhere = write_folder(tmp_path / "elsewhere", "b", "x/1")
    corpus = write_folder(tmp_path / "corpus", "a")
    for name in ("b.wav", "b.txt", "x", "gone.wav"):
        (corpus / name).symlink_to(elsewhere / name)
    found, problems = scan_corpus(corpus)
    assert found.ids == ("a", "b")
    assert [p.where for p in problems] == ["gone.wav", "x"]
    assert all("a link to a folder (not followed) or to nothing" in p.what for p in problems)


def test_disk_full_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(CorpusError, match=r"cannot write the corpus \(No space left on device\); make room"):
        write_corpus(Corpus(()), tmp_path / "data")
