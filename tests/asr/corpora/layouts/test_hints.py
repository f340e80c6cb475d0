"""What is said where nothing can be read."""

from collections.abc import Callable
from pathlib import Path

from asr.corpora.corpus import scan_parts
from asr.corpora.layouts.all_layouts import hints

Write = Callable[..., Path]


def test_corpora_in_folders_below(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "wav/a.wav")
    kaldi = {"wav.scp": "a a.wav\n", "text": "a yes\n", "utt2spk": "a s\n"}
    for folder in ("data/train", "data/test", "more"):
        write_files(tmp_path / folder, kaldi)
    assert [str(p) for p in hints(tmp_path)] == [
        ".: corpora that can be read are in data, more: give one of these"
    ]
    assert [p.severity for p in scan_parts(tmp_path)[1]] == ["error", "note"]


def test_texts_of_other_names(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    for split in ("train", "dev"):
        write_audio(tmp_path, f"{split}/{split}_1.wav", f"{split}/{split}_2.wav")
        for n in (1, 2):
            write_files(
                tmp_path, {f"{split}/{split}_{n}.mb": "báa", f"{split}/{split}_{n}.fr.cleaned": "ils"}
            )
    write_files(tmp_path, {"dev/dev_1.note": ""})
    (note,) = hints(tmp_path)
    assert "each recording has files of its name with .fr.cleaned .mb beside it" in note.what
    problems = scan_parts(tmp_path)[1]
    assert [str(p) for p in problems if p.severity == "note"] == [
        f"{s}: {note.what}" for s in ("train", "dev")
    ]
    write_audio(tmp_path, "all/a.wav")
    write_files(tmp_path, {"all/a.stm": "a 1 anna 0 1 báa\n"})
    assert str(scan_parts(tmp_path)[1][-1]) == ".: corpora that can be read are in all: give one of these"


def test_nothing_to_say(tmp_path: Path) -> None:
    assert hints(tmp_path) == []
