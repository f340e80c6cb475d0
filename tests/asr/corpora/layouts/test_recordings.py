"""Recordings below a directory, and how tables name them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, read_parts, scan_corpus, write_corpus
from asr.corpora.layouts.recordings import (
    find_audio,
    folder_speaker,
    found_by_ends,
    guessed_speakers,
    id_of,
    moved_note,
    recordings,
    speakers_of_files,
)
from asr.corpora.utterances import Utterance, are_speakers_known
from asr.errors import CorpusError

TABLES = {
    "metadata.csv": "file_name,text\n{}.wav,yes\n",
    "transcripts": "{} yes\n",
    "wav.scp": "u {}.wav\n",
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("on_disk", "in_table"), [("e\u0301", "\u00e9"), ("\u00e9", "e\u0301")])
def test_accents_may_be_written_otherwise_on_the_disk(
    tmp_path: Path, write_audio: Callable[..., None], table: str, on_disk: str, in_table: str
) -> None:
    write_audio(tmp_path, f"{on_disk}.wav")
    (tmp_path / table).write_text(TABLES[table].format(in_table), encoding="utf-8")
    if table == "wav.scp":
        (tmp_path / "text").write_text("u yes\n")
        (tmp_path / "utt2spk").write_text("u s\n")
    (found,) = read_corpus(tmp_path)
    assert (found.words, found.audio_path.name) == (("yes",), f"{on_disk}.wav")


def test_recordings_of_any_case_but_no_hidden_ones(tmp_path: Path, write_files: Callable[..., Path]) -> None:
    names = ("b.WAV", "a.opus", "sub/c.flac", ".d.wav", ".git/e.wav", "f.txt")
    write_files(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / "folder.wav").mkdir()
    assert recordings(tmp_path) == [Path("a.opus"), Path("b.WAV"), Path("sub/c.flac")]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.wav", "a.wav"),
        ("a", "a.wav"),
        ("B", "sub/B.WAV"),
        ("sub\\B.WAV", "sub/B.WAV"),
        ("sub/../a.wav", "a.wav"),
        ("c", "sub/c.x.flac"),
        ("c.x", "sub/c.x.flac"),
        ("none", None),
        ("", None),
        ("a\0", None),
        ("x" * 5000, None),
        ("secret.txt", None),
    ],
)
def test_names_in_tables(
    tmp_path: Path, write_files: Callable[..., Path], name: str, found: str | None
) -> None:
    write_files(tmp_path, dict.fromkeys(("a.wav", "sub/B.WAV", "sub/c.x.flac", "secret.txt"), ""))
    expected = None if found is None or name == "c" else tmp_path / found
    assert find_audio(name, [tmp_path, tmp_path / "sub"]) == expected


def test_a_video_beside_its_sound_is_left_aside(tmp_path: Path, write_files: Callable[..., Path]) -> None:
    write_files(tmp_path, dict.fromkeys(("a.mp4", "a.wav", "b.webm", "c.M4A"), ""))
    assert recordings(tmp_path) == [Path("a.wav"), Path("b.webm"), Path("c.M4A")]


def test_ids_and_speakers() -> None:
    assert id_of(Path("../anna b/day 1/x")) == "anna_b-day_1-x"
    assert folder_speaker(Path("anna b/1/x.wav"), "key") == "anna_b"
    assert folder_speaker(Path("x.wav"), "key") == "key"
    assert folder_speaker(Path("Wavs/clips/x.wav"), "key") == "key"
    assert folder_speaker(Path("wav/ben/x.wav"), "key") == "ben"


Write = Callable[..., Path]


def test_the_longest_end_wins(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "corpus/anna/01.wav", "corpus/ben/01.wav", "corpus/deep/ben/01.wav")
    names = ["/Users/me/wavs/ben/01.wav", "D:\\all\\anna\\01.wav", "/Users/me/deep/ben/01.wav"]
    found = found_by_ends(names[1:], names, tmp_path / "corpus")
    assert found == {names[1]: tmp_path / "corpus/anna/01.wav", names[2]: tmp_path / "corpus/deep/ben/01.wav"}


def test_what_is_ambiguous_is_not_found(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "ben/01.wav", "x/02.wav", "y/02.wav")
    names = ["anna/01.wav", "ben/01.wav", "far/02.wav", "", "/"]
    assert found_by_ends(["anna/01.wav", "far/02.wav", "", "/"], names, tmp_path) == {}


def test_paths_relative_to_a_folder_above(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "repository/data/wav/a.wav", "repository/b.wav")
    directory = tmp_path / "repository/data/train"
    directory.mkdir()
    names = ["other/data/wav/a.wav", "./b.wav", "c.wav"]
    assert found_by_ends(names, names, directory) == {names[0]: tmp_path / "repository/data/wav/a.wav"}


def test_the_note_names_one() -> None:
    (note,) = moved_note({"/old/a.wav": Path("/new/a.wav"), "/old/b.wav": Path("/new/b.wav")}, "wav.scp")
    assert note.severity == "note"
    assert str(note).startswith('wav.scp: 2 recording(s) are not where "/old/a.wav" says')
    assert moved_note({}, "wav.scp") == []


def test_a_kaldi_directory_of_another_machine(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "data/wav/a.wav", "data/wav/b.wav")
    scp = "a ./egs/data/wav/a.wav\nb ./egs/data/wav/b.wav\nc ./egs/data/wav/c.wav\n"
    files = {"wav.scp": scp, "text": "a yes\nb no\nc go\n", "utt2spk": "a s\nb s\nc s\n"}
    write_files(tmp_path / "data/train", files)
    corpus, problems = scan_corpus(tmp_path / "data/train")
    assert [u.audio_path for u in corpus] == [tmp_path / "data/wav/a.wav", tmp_path / "data/wav/b.wav"]
    assert [p.severity for p in problems] == ["error", "note"]


def test_a_table_of_another_machine_with_more_rows(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "recordings/man_1/man_1_0.wav", "recordings/man_2/man_2_0.wav")
    rows = [
        f"{n},/Users/x/set/{name}.wav,{n}" for n, name in enumerate(("man_1_0", "more_man_1_0", "man_2_0"))
    ]
    (tmp_path / "data.csv").write_text("\n".join([",file_path,label", *rows]))
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.text == {"man_1-man_1_0": ("0",), "man_2-man_2_0": ("2",)}
    assert corpus.speakers == ("man_1", "man_2")
    assert [p.severity for p in problems] == ["warning", "note"]
    assert read_corpus(tmp_path).ids == corpus.ids
    (tmp_path / "recordings/man_3.wav").write_bytes((tmp_path / "recordings/man_1/man_1_0.wav").read_bytes())
    assert [p.severity for p in scan_corpus(tmp_path)[1]] == ["error", "note", "warning"]


def test_many_recordings_of_one_name_cost_no_more_than_others(tmp_path: Path) -> None:
    for n in range(3000):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}/audio.wav").touch()
    names = [f"/elsewhere/{n}/audio.wav" for n in range(3000)]
    started = time.process_time()
    found = found_by_ends(names, names, tmp_path)
    assert found == {f"/elsewhere/{n}/audio.wav": tmp_path / f"{n}/audio.wav" for n in range(3000)}
    assert time.process_time() - started < 5  # quadratic: half a minute


def guessed(*named: str) -> list[str] | None:
    """Return the speakers guessed of recordings, each given as its name and what is said in it."""
    files = [(Path("/c", f"{name}.wav"), text) for name, _, text in (each.partition(": ") for each in named)]
    utterances = [Utterance(path.stem, path, tuple(text.split()), "") for path, text in files]
    found = guessed_speakers(utterances)
    return None if found is None else [found[path] for path, _ in files]


def taken(names: str, texts: str = "yes no") -> list[str]:
    """Return recordings that say one of the texts after the other."""
    said = texts.split()
    return [f"{name}: {said[n % len(said)]}" for n, name in enumerate(names.split())]


@pytest.mark.parametrize(
    ("names", "speakers"),
    [
        ("aino_01 aino_02 ben_01 ben_02", ["aino", "aino", "ben", "ben"]),
        ("aino_01 aino-02 ben.01 ben-02", ["aino", "aino", "ben", "ben"]),
        ("Aino_01 aino_02 ben_01 ben_02", ["Aino", "Aino", "ben", "ben"]),
        ("f1_one f1_two m1_one m1_two", ["f1", "f1", "m1", "m1"]),
        ("p225_001 p225_002 p226_001 p226_002", ["p225", "p225", "p226", "p226"]),
        ("anna1 anna2 ben1 ben2", ["anna", "anna", "ben", "ben"]),
    ],
)
def test_speakers_that_names_show(names: str, speakers: list[str]) -> None:
    assert guessed(*taken(names)) == speakers


@pytest.mark.parametrize(
    "names",
    [
        "take_01 take_02 take_03 take_04",
        "take_01 take_02 rec_01 rec_02",
        "session1_01 session1_02 session2_01 session2_02",
        "u01 u02 u03 u04",
        "a1 a2 b1 b2",
        "one two three four",
        "aino_01 aino_02 aino_03 aino_04",
        "aino_01 aino_02 ben_01 carl",
        "aino_01 aino_02 ben_01",
        "7_jackson_3 7_jackson_4 8_jackson_3 8_jackson_4",
        "2021-01-03_1 2021-01-03_2 2022-05-01_1 2022-05-01_2",
        "20210103T10_1 20210103T10_2 20220501T10_1 20220501T10_2",
        "2021_1 2021_2 2022_1 2022_2",
    ],
)
def test_names_that_show_no_speakers(names: str) -> None:
    assert guessed(*taken(names)) is None


def test_what_is_said_is_no_speaker() -> None:
    of_words = [
        f"{word}_{who}_{n}: {word}" for word in ("yes", "no") for who in ("ann", "ben") for n in (1, 2)
    ]
    assert guessed(*of_words) is None
    assert guessed(*taken("yes_1 yes_2 no_1 no_2", "JA JA NEIN NEIN")) is None  # a text a beginning
    more = ["light_1: light on", "light_2: light off", "door_1: door on", "door_2: door off"]
    assert guessed(*more) is None  # a word of the text
    assert guessed(*[each.replace("light_", "ann_").replace("door_", "ben_") for each in more]) is not None


def test_commands_that_are_called_otherwise_are_no_speakers() -> None:
    said = {"light_on": "LICHT AN", "light_off": "LICHT AUS", "tv_on": "TV EIN", "tv_off": "FERNSEHER AUS"}
    said |= {"radio_on": "MUSIK AN", "radio_off": "MUSIK AUS"}
    assert guessed(*[f"{name}_{take}: {text}" for name, text in said.items() for take in (1, 2)]) is None
    # Sentences that are read once, and commands that all say, are no reason to doubt.
    once = ["ann_1: one", "ann_2: two", "ben_1: three", "ben_2: four"]
    assert guessed(*once) == ["ann", "ann", "ben", "ben"]
    assert guessed(*once, "ann_3: one", "ben_3: one") == ["ann", "ann", "ben", "ben", "ann", "ben"]
    assert guessed(*once, "ann_3: one", "ben_3: three") is None


class TestSpeakers:
    """Who speaks in a folder, as it is found, guessed, assumed or told."""

    def flat(self, folder: Path, write_audio: Callable[..., None], *names: str) -> Path:
        write_audio(folder, *(f"{name}.wav" for name in names))
        for n, name in enumerate(names):
            (folder / f"{name}.txt").write_text(("yes", "no")[n % 2])
        return folder

    def test_unknown_is_said_in_one_line(
        self, tmp_path: Path, write_audio: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        corpus = read_corpus(self.flat(tmp_path, write_audio, "u1", "u2", "u3"))
        assert (corpus.speakers, are_speakers_known(corpus)) == (("u1", "u2", "u3"), False)
        assert caplog.messages == [
            f"{tmp_path}: read as recordings with transcripts beside them (.txt): 3 recordings, 3 utterances",
            f"{tmp_path}: speakers are not known, each recording is taken by itself; if one person speaks in "
            "all of them: --speakers one; otherwise folders or prefix tell them apart",
        ]
        write_corpus(corpus, tmp_path / "kaldi")
        assert not are_speakers_known(read_corpus(tmp_path / "kaldi"))

    def test_a_guess_is_said_in_one_line(
        self, tmp_path: Path, write_audio: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        corpus = read_corpus(self.flat(tmp_path, write_audio, "aino_1", "aino_2", "ben_1", "ben_2"))
        assert [u.speaker for u in corpus] == ["aino", "aino", "ben", "ben"]
        assert are_speakers_known(corpus)
        (line,) = [line for line in caplog.messages if "by the names" in line]
        assert line == (
            f"{tmp_path}: 2 speakers by the names of the recordings (aino, ben); if that is wrong: "
            "--speakers one, recordings or folders"
        )

    def test_splits_are_guessed_together(self, tmp_path: Path, write_audio: Callable[..., None]) -> None:
        self.flat(tmp_path / "train", write_audio, "aino_1", "ben_2", "ben_3", "aino_4")
        self.flat(tmp_path / "test", write_audio, "ben_5")
        parts = read_parts(tmp_path)
        assert {name: part.speakers for name, part in parts.items()} == {
            "train": ("aino", "ben"),
            "test": ("ben",),
        }

    @pytest.mark.parametrize(
        ("told", "speakers"),
        [
            ("one", ["one", "one", "one"]),
            ("recordings", ["anna-a_1", "anna-b_1", "ben-a_2"]),
            ("folders", ["anna", "anna", "ben"]),
            ("prefix", ["a", "b", "a"]),
        ],
    )
    def test_what_is_told_overrules_what_is_known(
        self, tmp_path: Path, write_audio: Callable[..., None], told: str, speakers: list[str]
    ) -> None:
        folder = self.flat(tmp_path, write_audio, "anna/a_1", "anna/b_1", "ben/a_2")
        assert [u.speaker for u in read_corpus(folder, told)] == speakers
        assert [u.speaker for u in read_corpus(folder)] == ["anna", "anna", "ben"]
        # What was said of another corpus is no reason to doubt what this one says.
        assert [u.speaker for u in read_corpus(folder, before="one")] == ["anna", "anna", "ben"]

    def test_what_was_told_before_holds_where_nothing_is_known(
        self, tmp_path: Path, write_audio: Callable[..., None]
    ) -> None:
        folder = self.flat(tmp_path, write_audio, "aino_1", "aino_2", "ben_1", "ben_2")
        assert read_corpus(folder, before="one").speakers == ("one",)
        assert read_corpus(folder, "prefix", before="one").speakers == ("aino", "ben")
        assert read_corpus(folder, before="folders") == read_corpus(folder)  # which names do not allow

    @pytest.mark.parametrize(
        ("told", "message"),
        [
            (
                "folders",
                "2 of 3 recordings lie in no folder of a speaker below .*, such as x.wav, y.wav, exp",
            ),
            (
                "prefix",
                "2 of 3 recordings have a name without a first part, such as x.wav, y.wav, expected none",
            ),
        ],
    )
    def test_what_names_do_not_tell(
        self, tmp_path: Path, write_audio: Callable[..., None], told: str, message: str
    ) -> None:
        folder = self.flat(tmp_path, write_audio, "anna/a_1", "x", "wav/y")
        with pytest.raises(
            CorpusError, match=f"^--speakers {told}: {message}.*--speakers one or recordings$"
        ):
            read_corpus(folder, told)

    def test_some_are_known(
        self, tmp_path: Path, write_audio: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        folder = self.flat(tmp_path, write_audio, "anna/1", "anna/2", "x_1", "x_2", "y_1", "y_2")
        assert read_corpus(folder).speakers == ("anna", "x_1", "x_2", "y_1", "y_2")
        assert (
            f"{folder}: who speaks in 4 of 6 recordings is not known; each is taken by itself"
            in caplog.messages
        )


def test_speakers_of_files_that_are_no_corpus() -> None:
    files = [Path("ann/x_1.wav"), Path("ben/x_2.wav"), Path("ben/y_1.wav")]
    assert speakers_of_files(files, "one") == ["one", "one", "one"]
    assert speakers_of_files(files, "folders") == ["ann", "ben", "ben"]
    assert speakers_of_files(files, "prefix") == ["x", "x", "y"]
    assert speakers_of_files(files, "recordings") == ["0", "1", "2"]
