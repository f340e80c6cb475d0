"""Kaldi data directories: read with every fault named, written so that Kaldi takes them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from asr.corpora.corpus import Corpus, Utterance, read_corpus, read_parts, scan_corpus, write_corpus
from asr.corpora.layouts.kaldi import is_kaldi_directory
from asr.errors import CorpusError

Write = Callable[..., Path]


def problems_of(directory: Path) -> list[str]:
    return [str(problem) for problem in scan_corpus(directory)[1]]


def test_read(tmp_path: Path, write_kaldi: Write) -> None:
    corpus = read_corpus(write_kaldi(tmp_path / "data"))
    assert corpus.utterances == (
        Utterance("a1", tmp_path / "data/audio/a1.wav", ("YES",), "anna"),
        Utterance("b1", tmp_path / "data/audio/b1.wav", ("NO", "GO"), "ben"),
    )
    assert corpus.speakers == ("anna", "ben")
    assert corpus.vocabulary == ("GO", "NO", "YES")
    assert corpus.text == {"a1": ("YES",), "b1": ("NO", "GO")}


def test_bom_crlf_tabs_blank_lines_and_paths_with_spaces(tmp_path: Path, write_kaldi: Write) -> None:
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


@pytest.mark.parametrize("layout", ["kaldi", "beside"])
def test_a_speaker_of_two_words_is_named_once_and_keeps_the_utterance(
    tmp_path: Path, write_kaldi: Write, layout: str
) -> None:
    if layout == "kaldi":
        directory, table = write_kaldi(tmp_path, utt2spk="a1 anna\nb1 b c\n"), "utt2spk"
    else:
        directory, table = tmp_path, "speakers.txt"
        for name in ("a1", "b1"):
            soundfile.write(tmp_path / f"{name}.wav", np.zeros(4000, np.float32), 16000)
            (tmp_path / f"{name}.txt").write_text("YES")
        (tmp_path / table).write_text("a1 anna\nb1 b c\n")
    corpus, problems = scan_corpus(directory)
    assert {u.utterance_id: u.speaker for u in corpus} == {"a1": "anna", "b1": "b_c"}
    assert [str(p) for p in problems if p.severity == "error"] == [
        f'{table}:2: speaker "b c" has white space, expected one name; join it with "_"'
    ]


def test_data_directory_comes_before_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_kaldi: Write
) -> None:
    directory = write_kaldi(tmp_path / "data")
    write_kaldi(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert read_corpus(directory).utterances[0].audio_path == directory / "audio/a1.wav"
    (directory / "audio/a1.wav").unlink()
    assert read_corpus(directory).utterances[0].audio_path == tmp_path / "here/audio/a1.wav"


def test_segments(tmp_path: Path, write_kaldi: Write) -> None:
    directory = write_kaldi(
        tmp_path,
        text="u1 A\nu2 B\nu3 C\n",
        utt2spk="u1 s\nu2 s\nu3 s\n",
        segments="u1 a1 0 1.5\nu2 a1 1.5 2.25\nu3 b1 2 -1\n",
    )
    spans = [(u.audio_path.stem, u.start_s, u.end_s) for u in read_corpus(directory)]
    assert spans == [("a1", 0.0, 1.5), ("a1", 1.5, 2.25), ("b1", 2.0, None)]


def test_empty_transcript_is_no_words(tmp_path: Path, write_kaldi: Write) -> None:
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
def test_one_problem_is_one_line(
    tmp_path: Path, files: dict[str, str], message: str, write_kaldi: Write
) -> None:
    directory = write_kaldi(tmp_path, **files)
    with pytest.raises(CorpusError, match=message) as caught:
        read_corpus(directory)
    found = problems_of(directory)
    assert str(caught.value).startswith(f"{directory}: ")
    assert len(str(caught.value).splitlines()) == (1 if len(found) == 1 else 1 + len(found))


def test_all_problems_at_once_in_the_order_of_the_files(tmp_path: Path, write_kaldi: Write) -> None:
    directory = write_kaldi(
        tmp_path,
        wav_scp="z1 none.wav\na1 audio/a1.wav\nz1 none.wav\n",
        text="a1 A\nq1 Q\nz1 Z\n",
        utt2spk="a1 anna\nz1 zoe\n",
    )
    lines = problems_of(directory)
    assert [line.split(": ")[0] for line in lines] == ["wav.scp:3", "wav.scp:1", "text:2", "text:2"]
    with pytest.raises(CorpusError, match="4 problems, expected none") as caught:
        read_corpus(directory)
    assert (
        str(caught.value).splitlines()[0]
        == f"{directory}: 4 problems, expected none; correct them and run again"
    )
    assert str(caught.value).splitlines()[1:] == lines
    assert scan_corpus(directory)[0].ids == ("a1",)


def test_missing_file_is_named_once_and_alone(tmp_path: Path, write_kaldi: Write) -> None:
    directory = write_kaldi(tmp_path)
    (directory / "utt2spk").unlink()
    assert problems_of(directory) == [
        'utt2spk: cannot be read (No such file or directory), expected lines "utterance-id speaker"; '
        "write the file"
    ]


def test_latin_1_is_named_with_its_line(tmp_path: Path, write_kaldi: Write) -> None:
    directory = write_kaldi(tmp_path)
    (directory / "text").write_bytes("a1 A\nb1 été\n".encode("latin-1"))
    assert problems_of(directory)[0].startswith("text:2: not UTF-8")


def test_long_lists_are_cut_and_counted(tmp_path: Path, write_kaldi: Write) -> None:
    numbers = range(200)
    directory = write_kaldi(
        tmp_path,
        wav_scp="".join(f"u{i} none.wav\n" for i in numbers),
        text="".join(f"u{i} A\n" for i in numbers),
        utt2spk="".join(f"u{i} s\n" for i in numbers),
    )
    with pytest.raises(
        CorpusError, match="and 190 more of this kind\n190 of them are not listed here, see: asr validate"
    ):
        read_corpus(directory)
    assert len(problems_of(directory)) == 200


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


def test_disk_full_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("foundation.files.os.fsync", full)
    with pytest.raises(CorpusError, match=r"cannot write the corpus \(No space left on device\); make room"):
        write_corpus(Corpus(()), tmp_path / "data")


@pytest.mark.parametrize("name", ["wav.scp", "text", "segments", "utt2spk"])
def test_files_only_a_kaldi_directory_has(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert is_kaldi_directory(tmp_path) == (name != "utt2spk")  # speakers may stand beside plain recordings


def test_files_with_a_prefix(tmp_path: Path, write_kaldi: Write) -> None:
    directory = write_kaldi(tmp_path / "data")
    for name in ("wav.scp", "text", "utt2spk"):
        (directory / name).rename(directory / f"train_{name}")
    assert is_kaldi_directory(directory)
    assert read_corpus(directory).text == {"a1": ("YES",), "b1": ("NO", "GO")}
    for name, content in {"wav.scp": "c audio/b1.wav", "text": "c GO", "utt2spk": "c carl"}.items():
        (directory / f"test_{name}").write_text(content)
    parts = {name: part.ids for name, part in read_parts(directory).items()}
    assert parts == {"test": ("c",), "train": ("a1", "b1")}
    (directory / "more_wav.scp").touch()
    (directory / "more_text").touch()
    with pytest.raises(
        CorpusError, match=r"more_wav\.scp, test_wav\.scp, train_wav\.scp, expected one wav\.scp"
    ):
        read_corpus(directory)


def test_a_path_that_is_too_long_is_of_no_file(tmp_path: Path) -> None:
    files = {"wav.scp": f"a {'z' * 5000}.wav\n", "text": "a GO\n", "utt2spk": "a s\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    _, problems = scan_corpus(tmp_path)
    assert "does not exist, expected it" in problems[0].what


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"utterance_id": "a b"}, 'the id "a b" has white space'),
        ({"utterance_id": "\ufeffa"}, r'the id "\\ufeffa" has white space or characters that cannot be seen'),
        ({"speaker": "anna\nb"}, r'the speaker "anna\\nb" has white space'),
        ({"words": ("YES", "NO GO")}, 'the word "NO GO" is empty or has white space'),
        ({"words": ("",)}, 'the word "" is empty'),
        ({"audio_path": Path("/x\n.wav")}, "has a line break"),
        ({"audio_path": Path("/x.wav ")}, 'ends with " ", which lists cannot hold'),
        ({"audio_path": Path("/sox x.wav |")}, r'ends with "\|", which lists cannot hold'),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    corpus = Corpus((replace(Utterance("a", Path("/x.wav"), ("YES",), "anna"), **change),))
    with pytest.raises(CorpusError, match=said):
        write_corpus(corpus, tmp_path / "data")
    assert not (tmp_path / "data").exists()
