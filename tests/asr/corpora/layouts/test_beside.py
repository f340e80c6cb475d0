"""Plain folders of recordings with their texts, whatever the locale or the file system."""

import locale
import os
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from asr.corpora.corpus import read_corpus, scan_corpus
from asr.corpora.layouts.recordings import find_audio
from asr.errors import CorpusError
from features import read_audio

Write = Callable[..., Path]


def problems_of(directory: Path) -> list[str]:
    return [str(problem) for problem in scan_corpus(directory)[1]]


def test_flat_files_are_speakers_of_their_own(tmp_path: Path, write_folder: Write) -> None:
    corpus = read_corpus(write_folder(tmp_path, "two", "one take"))
    assert [(u.utterance_id, u.speaker) for u in corpus] == [("one_take", "one_take"), ("two", "two")]
    assert corpus.text["two"] == ("say", "two")
    assert corpus.utterances[0].audio_path == tmp_path / "one take.wav"


def test_the_topmost_subfolder_is_the_speaker(tmp_path: Path, write_folder: Write) -> None:
    corpus = read_corpus(write_folder(tmp_path, "ben/1", "anna/day 1/1", "anna/2", "0"))
    assert [(u.utterance_id, u.speaker) for u in corpus] == [
        ("0", "0"),
        ("anna-2", "anna"),
        ("anna-day_1-1", "anna"),
        ("ben-1", "ben"),
    ]


@pytest.mark.parametrize("name", ["utt2spk", "speakers.txt"])
def test_speaker_file_overrules(tmp_path: Path, name: str, write_folder: Write) -> None:
    write_folder(tmp_path, "x/1", "2")
    (tmp_path / name).write_text("x-1 anna\n2 anna\n")
    assert read_corpus(tmp_path).speakers == ("anna",)
    (tmp_path / name).write_text("x-1 anna\n")
    with pytest.raises(CorpusError, match=rf'2\.wav: its id "2" is not in {name}.*name its speaker'):
        read_corpus(tmp_path)


def test_any_letter_case_and_format_of_name_counts(tmp_path: Path) -> None:
    for name in ("a.WAV", "b.flac", "c.mp3", "d.ogg", "e.sph"):
        (tmp_path / name).touch()
        (tmp_path / f"{name[0]}.TXT").write_text("hello")
    assert read_corpus(tmp_path).ids == ("a", "b", "c", "d", "e")


def test_hidden_and_other_files_are_left_aside(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a", "._b", ".git/c")
    for name in ("lexicon.txt", "word_pairs.txt", "README.txt", "photo.jpg"):
        (tmp_path / name).touch()
    assert read_corpus(tmp_path).ids == ("a",)


def test_problems(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a", "b", "c", "d", "e-1", "e/1")
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.wav").unlink()
    (tmp_path / "c.flac").touch()
    (tmp_path / "d.txt").write_bytes(b"caf\xe9")
    assert [line.split(",")[0].split(";")[0] for line in problems_of(tmp_path)] == [
        "d.txt:1: not UTF-8",
        "a.wav: no transcript",
        'c.wav: duplicate id "c" (that of c.flac too)',
        'e-1.wav: duplicate id "e-1" (that of 1.wav too)',
        "b.txt: no recording",
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("b.caf", {}),
        ("b.caf", {"subtype": "ALAC_16"}),
        ("b.voc", {}),
        ("b.VOC", {}),
        ("b.nist", {"format": "NIST", "subtype": "PCM_16"}),
    ],
)
def test_recordings_of_other_formats(
    tmp_path: Path, write_folder: Write, name: str, options: dict[str, str]
) -> None:
    write_folder(tmp_path, "a", "b")
    samples = np.arange(-800, 800) / 2**15
    (tmp_path / "b.wav").unlink()
    soundfile.write(tmp_path / name, samples, 16000, **options)
    corpus = read_corpus(tmp_path)
    assert [u.audio_path.name for u in corpus] == ["a.wav", name]
    assert_array_equal(read_audio(corpus.utterances[1].audio_path, None), samples)
    assert find_audio("b", [tmp_path]) == tmp_path / name


def test_a_folder_that_is_called_like_a_recording(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a", "b")
    (tmp_path / "b.wav").unlink()
    (tmp_path / "b.wav").mkdir()
    assert problems_of(tmp_path) == [
        "b.txt: no recording, expected one of the same name beside it, got a folder b.wav; add it or remove "
        "the text"
    ]


def test_order_depends_on_neither_locale_nor_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_folder: Write
) -> None:
    write_folder(tmp_path, "a", "B", "_c", "é", "z", "10", "9", "x/1", "X/1", "x-2")
    expected = read_corpus(tmp_path).ids
    assert expected == ("10", "9", "B", "X-1", "_c", "a", "x-1", "x-2", "z", "é")

    scandir = os.scandir

    class Backwards:
        def __init__(self, path: object) -> None:
            with scandir(path) as entries:  # type: ignore[call-overload]
                self.entries = iter(sorted(entries, key=lambda e: e.name, reverse=True))

        def __enter__(self):  # type: ignore[no-untyped-def]
            return self.entries

        def __next__(self):  # type: ignore[no-untyped-def]
            return next(self.entries)

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


def test_links_to_files_are_followed_others_are_named(tmp_path: Path, write_folder: Write) -> None:
    elsewhere = write_folder(tmp_path / "elsewhere", "b", "x/1")
    corpus = write_folder(tmp_path / "corpus", "a")
    for name in ("b.wav", "b.txt", "x", "gone.wav"):
        (corpus / name).symlink_to(elsewhere / name)
    found, problems = scan_corpus(corpus)
    assert found.ids == ("a", "b")
    assert [p.where for p in problems] == ["gone.wav", "x"]
    assert all("a link to a folder (not followed) or to nothing" in p.what for p in problems)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes among files")
def test_pipes_and_sockets_are_named_and_never_opened(tmp_path: Path, write_folder: Write) -> None:
    corpus = write_folder(tmp_path, "a")
    for name in ("b.wav", "b.txt", "lexicon.txt", "editor.fifo"):
        os.mkfifo(corpus / name)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(corpus / "c.wav"))  # such a name is short
    (corpus / "d.wav").symlink_to("/dev/zero")
    (corpus / "loop").symlink_to(".")
    found, problems = scan_corpus(corpus)
    assert found.ids == ("a",)
    special = {p.where: p.severity for p in problems if "a pipe, socket or device" in p.what}
    assert special == {
        "b.txt": "error",
        "b.wav": "error",
        "c.wav": "error",
        "editor.fifo": "warning",
        "lexicon.txt": "error",
    }
    assert {p.where for p in problems if "a link to a folder" in p.what} == {"d.wav", "loop"}


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, write_folder: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_folder(tmp_path, "a", "ben/1", "secret/1")
    (corpus / "table.csv").write_text("no table of recordings\n")
    real, hidden = os.access, ["secret", "table.csv"]  # root may read everything
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name not in hidden and real(path, mode))
    _, problems = scan_corpus(corpus)
    assert [p.where for p in problems] == ["secret", "table.csv"]
    assert "cannot be read, expected a folder of recordings" in problems[0].what
    hidden += [corpus.name]
    with pytest.raises(CorpusError, match="cannot be read, expected a corpus; change its permissions"):
        scan_corpus(corpus)


def test_a_name_of_many_recordings_is_not_told_with_all_their_places(
    tmp_path: Path, write_folder: Write
) -> None:
    n, stm = 60, "1 1 anna 0.0 0.5 one\nb 1 anna 0.0 0.5 two\n"
    corpus = write_folder(tmp_path, *(f"d{k:03d}/1" for k in range(n)))
    for k in range(n):
        (corpus / f"d{k:03d}" / "1.txt").unlink()
        (corpus / f"d{k:03d}" / f"t{k}.stm").write_text(stm)
    problems = problems_of(corpus)
    wrong = [line for line in problems if 'called "1"' in line]
    assert len(wrong) == n
    assert "recordings d000/1.wav, d001/1.wav, d002/1.wav and 57 more called" in wrong[0]
    assert max(map(len, problems)) < 250


def textgrid(*tiers: tuple[str, list[tuple[float, float, str]]], end_s: float = 60.0) -> str:
    """Return a TextGrid in the short format."""
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", f"{end_s}", "<exists>"]
    lines.append(str(len(tiers)))
    for name, intervals in tiers:
        lines += ['"IntervalTier"', f'"{name}"', "0", f"{end_s}", str(len(intervals))]
        lines += [f'{start}\n{end}\n"{label}"' for start, end, label in intervals]
    return "\n".join(lines)


ANNA_AND_BEN = textgrid(
    ("anna", [(0, 1, ""), (1, 2.5, "go left"), (2.5, 60, "")]),
    ("ben", [(0, 3, ""), (3, 4, "where"), (4, 60, "")]),
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_textgrid_of_several_speakers(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "day 1").mkdir()
    (tmp_path / "day 1/x.wav").touch()
    text = ("\ufeff" if encoding == "utf-16-be" else "") + ANNA_AND_BEN
    (tmp_path / "day 1/x.TextGrid").write_bytes(text.encode(encoding))
    corpus = read_corpus(tmp_path)
    assert [(u.utterance_id, u.speaker, u.words, u.start_s, u.end_s) for u in corpus] == [
        ("day_1-x-0000100-0000250", "anna", ("go", "left"), 1.0, 2.5),
        ("day_1-x-0000300-0000400", "ben", ("where",), 3.0, 4.0),
    ]


def test_a_short_recording_with_words_is_one_utterance(tmp_path: Path) -> None:
    (tmp_path / "x.wav").touch()
    words = [(0.0, 1.0, ""), (1.0, 1.5, "go"), (1.5, 2.0, "left")]
    (tmp_path / "x.TextGrid").write_text(textgrid(("words", words), ("phones", words), end_s=2.0))
    (utterance,) = read_corpus(tmp_path)
    assert (utterance.utterance_id, utterance.words, utterance.is_whole_file) == ("x", ("go", "left"), True)


def test_only_tiers_of_different_names_are_speakers(tmp_path: Path) -> None:
    for name, tier in (("x", "anna"), ("y", "anna"), ("z", "ben")):
        (tmp_path / f"{name}.wav").touch()
        (tmp_path / f"{name}.TextGrid").write_text(textgrid((tier, [(0.0, 1.0, "go")])))
    assert [u.speaker for u in read_corpus(tmp_path)] == ["anna", "anna", "ben"]
    (tmp_path / "z.TextGrid").write_text(textgrid(("anna", [(0.0, 1.0, "go")])))
    assert [u.speaker for u in read_corpus(tmp_path)] == ["x", "y", "z"]


def test_tiers_named_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.wav").touch()
    tiers = [(name, [(0.0, 1.0, name)]) for name in ("orth", "gloss")]
    (tmp_path / "x.TextGrid").write_text(textgrid(*tiers))
    assert [line.partition(",")[0] for line in problems_of(tmp_path)] == ['x.TextGrid: tiers "orth"']
    (tmp_path / "tiers.txt").write_text("\ngloss\r\n")
    assert read_corpus(tmp_path).vocabulary == ("gloss",)


def test_one_timed_transcript_by_its_path(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "x", "y")
    (tmp_path / "x.TextGrid").write_text(ANNA_AND_BEN)
    assert [line.partition(";")[0] for line in problems_of(tmp_path)] == [
        "x.wav: has the transcripts x.TextGrid and x.txt, expected one"
    ]
    assert read_corpus(tmp_path / "x.TextGrid").speakers == ("anna", "ben")


def test_problems_of_times(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.wav").touch()
    late = [(1.0, 0.5, "back"), (2.0, 3.0, "one"), (2.5, 4.0, "two"), (2.0, 3.0, "three")]
    (tmp_path / "a.TextGrid").write_text(textgrid(("text", late)))
    (tmp_path / "b.TextGrid").write_text(textgrid(("text", [(0.0, 1.0, " ")])))
    (tmp_path / "c.TextGrid").write_text("nonsense")
    corpus, problems = scan_corpus(tmp_path)
    assert [u.utterance_id for u in corpus] == [
        "a-0000200-0000300",
        "a-0000200-0000300-2",
        "a-0000250-0000400",
        "b",
    ]
    assert corpus.text["b"] == ()  # silence
    assert [f"{p.severity}: {p}".split(",")[0] for p in problems] == [
        'error: a.TextGrid tier "text" [1]: goes from 1 s to 0.5 s',
        "warning: a.TextGrid: 2 utterance(s) begin before another has ended",
        "error: c.TextGrid: a damaged TextGrid",
        "error: d.wav: no transcript",
    ]


def test_speaker_file_overrules_by_utterance_or_by_recording(tmp_path: Path) -> None:
    (tmp_path / "x.wav").touch()
    (tmp_path / "x.TextGrid").write_text(ANNA_AND_BEN)
    (tmp_path / "speakers.txt").write_text("x carl\nx-0000300-0000400 dora\n")
    assert [u.speaker for u in read_corpus(tmp_path)] == ["carl", "dora"]
    (tmp_path / "speakers.txt").write_text("x-0000300-0000400 dora\n")
    with pytest.raises(CorpusError, match=r'x\.wav: its id "x-0000100-0000250" is not in speakers\.txt'):
        read_corpus(tmp_path)


def test_a_list_of_several_recordings(tmp_path: Path) -> None:
    for name in ("a", "sub/b", "one/c", "two/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.wav").touch()
    lines = ["a 1 anna 0 1 yes", "b.wav 1 ben 1 2 no", "b.wav 1 ben 3 4", "c 1 x 0 1 go", "d 1 x 0 1 go"]
    (tmp_path / "all.stm").write_text("\n".join(lines))
    corpus, problems = scan_corpus(tmp_path)
    assert [(u.utterance_id, u.speaker, u.words) for u in corpus] == [
        ("a-0000000-0000100", "anna", ("yes",)),
        ("sub-b-0000100-0000200", "ben", ("no",)),
        ("sub-b-0000300-0000400", "ben", ()),
    ]
    assert [str(p).split(",")[0] for p in problems] == [
        "one/c.wav: no transcript",
        "two/c.wav: no transcript",
        "all.stm:4: recordings one/c.wav",
        'all.stm:5: no recording called "d"',
    ]


def test_transcripts_in_another_folder_by_names_that_are_unique(tmp_path: Path) -> None:
    for name in (
        "wav/p1/a.wav",
        "wav/p2/b.wav",
        "wav/p1/c.wav",
        "wav/p2/c.wav",
        "txt/a.txt",
        "txt/p2/b.txt",
        "txt/c.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("yes")
    corpus, problems = scan_corpus(tmp_path)
    assert [(u.utterance_id, u.speaker, u.words) for u in corpus] == [
        ("wav-p1-a", "p1", ("yes",)),
        ("wav-p2-b", "p2", ("yes",)),
    ]
    assert [str(p).split(",")[0] for p in problems] == [
        "wav/p1/c.wav: no transcript",
        "wav/p2/c.wav: no transcript",
        "txt/c.txt: no recording",
    ]


def test_lab_files_of_words_but_not_of_times(tmp_path: Path) -> None:
    for name, text in (("a", "yes no"), ("b", "0 1500000 sil\n1500000 3000000 yes\n")):
        (tmp_path / f"{name}.wav").touch()
        (tmp_path / f"{name}.lab").write_text(text)
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.text == {"a": ("yes", "no")}
    assert [str(p).split(",")[0] for p in problems] == ["b.lab: labels of HTK with times"]
    (tmp_path / "b.txt").write_text("go")
    assert read_corpus(tmp_path).text == {"a": ("yes", "no"), "b": ("go",)}
