"""A whole page from a whole experiment: its data, its sounds, and that it gives nothing away."""

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import soundfile

import asr
from asr.errors import ConfigError
from asr.reports import building
from asr.reports.building import INDEX, SoundsBeside
from asr.reports.finished import Choice


def scripts(page: Path) -> dict[str, Any]:
    found = re.findall(
        r'<script type="application/json" id="([^"]+)">(.*?)</script>', page.read_text("utf-8"), re.S
    )
    return {name: json.loads(text) for name, text in found}


def test_the_worst_come_first_and_have_views(compared: Path, chosen: Choice, tmp_path: Path) -> None:
    page = asr.report(compared, model="gmm1", out=tmp_path / "a" / "page.html", utterances=2, audio="none")
    found = scripts(page)
    lines = found["lines"]
    errors = [sum(isinstance(pair, list) for pair in line["pairs"]) for line in lines]
    assert errors == [1, 1, 1, 0, 0]
    assert [line["view"] for line in lines] == [True, True, False, False, False]
    assert {line["id"] for line in lines} == set(chosen.corpus.ids)
    assert all(line["others"]["gmm2"] for line in lines)
    assert {name for name in found if name.startswith("view-data")} == {"view-data-0", "view-data-1"}
    utterance = next(u for u in chosen.corpus if u.utterance_id == lines[0]["id"])
    assert tuple(w["word"] for w in found["view-data-0"]["said"]) == utterance.words
    assert "audio" not in found["view-data-0"]
    assert list((tmp_path / "a").iterdir()) == [page]


def test_no_path_of_the_machine_is_in_it(compared: Path, tones: Path, tmp_path: Path) -> None:
    text = asr.report(compared, out=tmp_path / "page.html", audio="none").read_text("utf-8")
    for place in (compared.parent, tones, tmp_path, Path.home()):
        assert str(place) not in text


def test_sounds_in_the_page(compared: Path, tmp_path: Path) -> None:
    page = asr.report(compared, out=tmp_path / "page.html", utterances=1)
    found = scripts(page)
    kind, _, content = found["view-data-0"]["audio"].partition(",")
    assert kind == "data:audio/mpeg;base64"
    import base64

    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(content)))
    assert len(samples) / rate == pytest.approx(found["view-data-0"]["duration"], abs=0.05)
    assert list(tmp_path.iterdir()) == [page]


def test_a_page_has_as_many_sounds_as_fit(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> list[str]:
        found = scripts(asr.report(compared, out=tmp_path / "page.html"))
        assert all(found[name]["audio"] for name in found if name.startswith("view-data"))
        return [line["id"] for line in found["lines"] if line["view"]]

    everything = shown()
    assert len(everything) == 5
    monkeypatch.setattr(building, "MOST_EMBEDDED", 10)  # the worst is there even so
    assert shown() == everything[:1]


def test_sounds_beside_the_page(compared: Path, chosen: Choice, tmp_path: Path) -> None:
    folder = tmp_path / "page_audio"
    folder.mkdir()
    (folder / "0001-old.flac").write_bytes(b"of an earlier page")
    (folder / "asr-report.json").write_text('{"files": ["0001-old.flac"]}')
    persons = {"notes.txt", "1272-128104-0000.flac"}
    for name in persons:
        (folder / name).write_text("of a person")
    page = asr.report(compared, out=tmp_path / "page.html", utterances=1, audio="beside")
    lines = scripts(page)["lines"]
    written = {Path(line["audio"]).name for line in lines}
    assert {p.name for p in folder.iterdir()} == written | persons | {"asr-report.json"}
    assert {(folder / name).read_text() for name in persons} == {"of a person"}
    for line in lines:
        utterance = next(u for u in chosen.corpus if u.utterance_id == line["id"])
        assert soundfile.info(tmp_path / line["audio"]).duration == pytest.approx(
            soundfile.info(utterance.audio_path).duration, abs=1e-3
        )


def test_a_folder_of_somebody_else(compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tmp_path / "page_audio" / "1272-128104-0000.flac"
    recording.parent.mkdir()
    recording.write_bytes(b"of a person")
    page = asr.report(compared, out=tmp_path / "page.html", utterances=1)
    assert scripts(page)["view-data-0"]["audio"].startswith("data:audio/mpeg")
    monkeypatch.setattr(building, "heard_utterances", None)  # nothing is decoded
    with pytest.raises(ConfigError, match="page_audio: not a folder that asr report made"):
        asr.report(compared, out=tmp_path / "page.html", audio="beside")
    assert list(recording.parent.iterdir()) == [recording]
    assert recording.read_bytes() == b"of a person"


def test_other_words_than_in_the_evaluation_are_named(
    compared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)
    (text,) = (copy / "stages").glob("test-gmm1-*/bigram.txt")
    first, *rest = text.read_text().splitlines(keepends=True)
    text.write_text("".join([f"{first.split()[0]} MAUI MAUI MAUI MAUI\n", *rest]))
    page = asr.report(copy, model="gmm1", audio="none")
    assert page == copy / "report.html"
    assert "1 of 5 utterances are recognised in other words now than in the evaluation" in caplog.text


def test_recordings_that_are_gone_are_named(
    compared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from features.errors import AudioError

    def gone(*arguments: object) -> None:
        raise AudioError("x.wav: no such file")

    monkeypatch.setattr(building, "read_audio", gone)
    found = scripts(asr.report(compared, out=tmp_path / "page.html", utterances=2, audio="beside"))
    assert [line["view"] for line in found["lines"]] == [False] * 5
    assert "2 recording(s) cannot be shown, such as x.wav: no such file" in caplog.text


def written(page: Path, *names: str) -> SoundsBeside:
    """Return the folder after a run that has not come to its end."""
    beside = SoundsBeside(page)
    beside.check()
    beside.begin(names)
    for name in names:
        beside.write(name, b"ours")
    return beside


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_earlier_sounds_go_when_the_page_is_there(tmp_path: Path) -> None:
    page, folder = tmp_path / "p.html", tmp_path / "p_audio"
    written(page, "0001-a.flac", "0002-b.flac").remove_earlier()
    (folder / "1272-128104-0000.flac").write_bytes(b"theirs")
    second = written(page, "0001-b.flac", "0002-b.flac")
    theirs = {INDEX, "1272-128104-0000.flac"}
    assert files(folder) == {"0001-a.flac", "0001-b.flac", "0002-b.flac"} | theirs
    second.remove_earlier()
    assert files(folder) == {"0001-b.flac", "0002-b.flac"} | theirs
    SoundsBeside(page).remove_earlier()  # a page without sounds beside it
    assert files(folder) == theirs
    (folder / "1272-128104-0000.flac").unlink()
    SoundsBeside(page).remove_earlier()
    assert not folder.exists()
    SoundsBeside(page).remove_earlier()


def test_a_killed_run_leaves_nothing_unknown(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    written(page, "0001-a.flac")
    written(page, "0001-b.flac")
    written(page, "0001-c.flac").remove_earlier()
    assert files(tmp_path / "p_audio") == {"0001-c.flac", INDEX}


@pytest.mark.parametrize(
    "index", [None, "{", "[]", "{}", '{"files": "0001-a.flac"}', '{"files": [1]}', '{"files": ["../a.flac"]}']
)
def test_a_folder_without_our_index_is_not_touched(tmp_path: Path, index: str | None) -> None:
    folder = tmp_path / "p_audio"
    folder.mkdir()
    for path in (tmp_path / "a.flac", folder / "0001-a.flac"):
        path.write_bytes(b"theirs")
    if index is not None:
        (folder / INDEX).write_text(index)
    before = files(folder)
    beside = SoundsBeside(tmp_path / "p.html")
    assert beside.is_foreign
    with pytest.raises(ConfigError, match="p_audio: not a folder that asr report made"):
        beside.check()
    beside.remove_earlier()
    assert files(folder) == before
    assert (tmp_path / "a.flac").exists()


def test_a_file_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    page, folder = tmp_path / "p.html", tmp_path / "p_audio"
    written(page, "0001-a.flac").remove_earlier()
    (folder / "0002-b.flac").write_bytes(b"theirs")
    with pytest.raises(ConfigError, match=r"0002-b\.flac: not a file that asr report wrote"):
        SoundsBeside(page).begin(["0001-a.flac", "0002-b.flac"])
    assert (folder / "0002-b.flac").read_bytes() == b"theirs"
    assert json.loads((folder / INDEX).read_text()) == {"files": ["0001-a.flac"]}
