"""Prompts, takes and trainings by requests; what is lacking, and the lexicon of own units."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
import pytest

from asr.corpora.layouts.beside import coming_text
from asr.corpora.tones import RATE, WORDS, speak
from asr.errors import ConfigError
from asr.language.grammars import read_commands
from asr.serving import studio
from asr.serving.limits import Limits, Refusal
from asr.serving.state import Served
from asr.serving.studio import (
    check_place,
    command_line,
    lacking,
    least_of_each,
    n_lacking,
    units_of,
    write_lexicon,
    write_task,
)
from asr.serving.takes import Take, Takes, levels_of
from asr.spotting.rejection import COMMAND_RULE
from decoder.lexicon import Lexicon
from foundation.files import TemporaryFolder


def wait_until(running: Any, *statuses: str, seconds: float = 150) -> dict[str, Any]:
    """Return how the training is, once it is as wanted."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found: dict[str, Any] = running.ask("GET", "/api/training").json
        if found["status"] in statuses:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{found} after {seconds} s, expected {statuses}")


def with_takes(running: Any, n_takes: int = 12) -> Any:
    rng = np.random.default_rng(3)
    for n in range(n_takes):
        running.server.takes.add(WORDS[n % 4], speak((WORDS[n % 4],), 1.0, rng), RATE)
    return running


def test_prompts_and_takes(start: Any, sound_file: Any, word_sound: Any) -> None:
    running = start(ready=False)
    empty = running.ask("GET", "/api/takes").json
    assert (empty["prompts"], empty["takes"], empty["folder"]) == ([], [], "takes")
    listed = running.ask("PUT", "/api/prompts", {"prompts": ["light on", "off"]}).json
    assert listed["lacking"][:2] == ["“light on” 3 times", "“off” 3 times"]
    place = f"/api/takes?prompt={quote('light on')}"
    kept = running.ask("POST", place, sound_file(word_sound(rate=48000), 48000)).json
    assert (kept["name"], kept["fault"], kept["snr_db"] > 30) == ("light_on-001", None, True)
    sound = running.ask("GET", "/api/takes/light_on-001")
    assert (sound.headers["content-type"], sound.body[:4]) == ("audio/wav", b"RIFF")
    assert [take["name"] for take in running.ask("GET", "/api/takes").json["takes"]] == ["light_on-001"]
    assert running.ask("DELETE", "/api/takes/light_on-001").status == 204
    assert running.ask("DELETE", "/api/takes/light_on-001").status == 404
    assert running.ask("GET", "/api/takes").json["takes"] == []


def test_takes_of_no_use_say_why_and_leave_nothing(
    start: Any, sound_file: Any, word_sound: Any, temporary: Any
) -> None:
    running = start(Limits(upload_bytes=100_000), ready=False)
    quiet = running.ask("POST", "/api/takes?prompt=on", sound_file(np.zeros(RATE)))
    assert (quiet.status, quiet.error.split(":")[0]) == (422, "nearly silent")
    loud = running.ask("POST", "/api/takes?prompt=on", sound_file(np.clip(9 * word_sound(), -1, 1)))
    assert loud.error.startswith("clipped: ")
    assert running.ask("POST", "/api/takes?prompt=on", bytes(200_000)).status == 413
    assert running.ask("POST", "/api/takes?prompt=on", b"x").status == 415
    assert running.ask("POST", "/api/takes?prompt=7", sound_file(word_sound())).status == 400
    assert running.ask("PUT", "/api/prompts", {"prompts": ["x" * 61]}).status == 400
    assert running.ask("PUT", "/api/prompts", {"prompts": ["x"] * 201}).status == 422
    assert not running.server.takes.folder.exists()
    assert list(temporary.iterdir()) == []


def test_takes_stay_as_they_are_while_a_training_reads_them(
    start: Any, sound_file: Any, word_sound: Any
) -> None:
    running = start(ready=False)
    body = sound_file(word_sound())
    assert running.ask("POST", "/api/takes?prompt=on", body).status == 200
    running.server.training.progress.status = "running"
    for said in (
        running.ask("POST", "/api/takes?prompt=on", body),
        running.ask("DELETE", "/api/takes/on-001"),
    ):
        assert (said.status, said.error.split(",")[0]) == (409, "a training reads the takes")
    assert [take["name"] for take in running.ask("GET", "/api/takes").json["takes"]] == ["on-001"]
    with_takes(running)
    assert "a training is under way" in running.ask("POST", "/api/training").error
    assert not (running.server.takes.folder / "lexicon.txt").exists()  # it is read, too
    running.server.training.progress.status = "done"
    assert running.ask("DELETE", "/api/takes/on-001").status == 204


def test_takes_are_judged_by_their_header_first(
    start: Any, sound_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    monkeypatch.setattr(studio, "read_audio", lambda path, rate: read.append(path))
    running = start(ready=False)
    long = running.ask("POST", "/api/takes?prompt=on", sound_file(np.zeros(22 * 8000), 8000))
    assert (long.status, long.error) == (
        422,
        "too long: 22 s, expected at most 20 s; say the command alone",
    )
    fine = running.ask("POST", "/api/takes?prompt=on", sound_file(np.zeros(384_000), 384_000))
    assert (fine.status, fine.error.split(";")[0]) == (422, "384000 Hz, expected 8000 to 192000 Hz")
    assert read == []


@pytest.mark.parametrize("name", ["..%2Fsecret", "%2Fetc%2Fpasswd", "..%5Csecret", "secret.wav", "%00"])
def test_names_of_takes_never_become_paths(start: Any, name: str) -> None:
    running = with_takes(start(ready=False), 1)
    (running.server.takes.folder.parent / "secret.wav").write_bytes(b"secret")
    for method in ("GET", "DELETE"):
        said = running.ask(method, f"/api/takes/{name}")
        assert said.status == 404
        assert b"secret" not in said.body.replace(b"/api/takes/secret.wav", b"")
    assert (running.server.takes.folder.parent / "secret.wav").is_file()


def test_training_needs_enough_takes_and_a_place_of_its_own(start: Any, copied: Any) -> None:
    running = with_takes(start(ready=False), 5)
    said = running.ask("POST", "/api/training")
    assert (said.status, said.error.startswith("too few recordings; still to say: “ASA” once")) == (409, True)
    with_takes(running, 12)
    running.server.served.experiment = copied
    said = running.ask("POST", "/api/training")
    assert (said.status, '"copied" was trained from other recordings' in said.error) == (409, True)
    running.server.served.experiment = running.server.takes.folder / "exp"
    said = running.ask("POST", "/api/training")
    assert "lies in the corpus the folder of takes" in said.error


@pytest.mark.slow
def test_a_training_ends_in_a_model(start: Any, sound_file: Any) -> None:
    running = with_takes(start(ready=False))
    begun = running.ask("POST", "/api/training")
    assert (begun.status, begun.json["status"]) == (202, "running")
    again = running.ask("POST", "/api/training")
    assert (again.status, "a training is under way" in again.error) == (409, True)
    done = wait_until(running, "done", "failed")
    assert (done["status"], done["message"], done["share"]) == ("done", "", 1.0)
    assert not any(str(running.server.takes.folder.parent) in line for line in done["lines"])
    assert running.ask("GET", "/api/model").json["words"] == sorted(word.lower() for word in WORDS) or sorted(
        running.ask("GET", "/api/model").json["words"]
    ) == sorted(WORDS)
    rng = np.random.default_rng(9)
    for word in WORDS:
        said = running.ask("POST", "/api/transcribe", sound_file(speak((word,), 1.0, rng))).json
        assert said["text"].upper() == word
    model = running.ask("GET", "/api/model").json
    assert (sorted(model["commands"]), model["grammar"], model["rejects"], model["has_phones"]) == (
        sorted(WORDS),
        "commands",
        True,
        False,
    )
    hum = np.sin(2 * np.pi * 150 * np.arange(RATE) / RATE) * np.hanning(RATE)
    other = sound_file(np.concatenate([np.zeros(RATE // 2), 0.3 * hum, np.zeros(RATE // 2)]))
    assert running.ask("POST", "/api/transcribe", other).json["text"] == ""
    studio_now = running.ask("GET", "/api/takes").json
    assert studio_now["is_trained"]
    assert [(row["said"], row["heard"]) for row in studio_now["heard"]] == [
        (row["said"], row["said"]) for row in studio_now["heard"]
    ]
    assert {row["said"] for row in studio_now["heard"]} == set(WORDS)  # as they are listed
    assert len(studio_now["heard"]) == 12
    running.ask("PUT", "/api/prompts", {"prompts": WORDS[:3]})
    assert not running.ask("GET", "/api/takes").json["is_trained"]  # of another list
    running.ask("PUT", "/api/prompts", {"prompts": WORDS})
    assert running.ask("GET", "/api/takes").json["is_trained"]
    assert running.ask("POST", "/api/training").status == 202
    assert wait_until(running, "done", "failed")["status"] == "done"


def test_a_training_is_cancelled(start: Any) -> None:
    running = with_takes(start(ready=False))
    running.ask("POST", "/api/training")
    pid = running.server.training.pid
    assert running.ask("DELETE", "/api/training").json["status"] == "cancelled"
    assert not psutil.pid_exists(pid)
    assert running.ask("DELETE", "/api/training").json["status"] == "cancelled"


def test_words_have_units_of_their_own(tmp_path: Path) -> None:
    write_lexicon(tmp_path, ["Light on", "light OFF", "no"])
    lexicon = Lexicon.read(tmp_path / "lexicon.txt")
    assert lexicon.words == ("light", "no", "off", "on")
    phones = [phone for word in lexicon for phone in lexicon.pronunciations(word)[0]]
    assert len(phones) == len(set(phones)) == 5 + 3 + 3 + 3
    write_lexicon(tmp_path, ["yes"])
    assert Lexicon.read(tmp_path / "lexicon.txt").words == ("yes",)
    assert len(units_of("supercalifragilistic")) == 12


@pytest.mark.parametrize(
    "text",
    [
        "on AA N\n",
        "bon b o~\nun 9~\n",  # nasal vowels in SAMPA
        "on on~1 on~2 on~3\non o n\n",  # written here, then changed
        "# mine\non on~1 on~2 on~3\n",
        "off\n",  # nobody can use it, and yet it is somebody's
    ],
)
def test_a_lexicon_of_the_users_own_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "lexicon.txt").write_text(text)
    write_lexicon(tmp_path, ["off"])
    assert (tmp_path / "lexicon.txt").read_text() == text


def test_a_lexicon_made_here_follows_the_prompts(tmp_path: Path) -> None:
    for prompts in (["Été", "开灯"], ["été", "on"], ["off"]):
        write_lexicon(tmp_path, prompts)
    assert (tmp_path / "lexicon.txt").read_text() == "off off~1 off~2 off~3\n"


def test_what_is_lacking(tmp_path: Path, word_sound: Any) -> None:
    takes = Takes(tmp_path / "takes", 100)
    for n in range(9):
        takes.add("on" if n < 7 else "off", word_sound(n), 16000)
    assert lacking(takes.all(), ["on", "off"]) == ["“off” once"]
    one = [take for take in takes.all() if take.prompt == "on"][:1]
    assert lacking(one, ["on"]) == [
        "“on” twice",
        "a second command, so that there is something to tell apart",
    ]
    assert lacking([], []) == ["your list of commands"]
    assert n_lacking(one, ["on", "off"]) == 9  # ten in all
    assert n_lacking(takes.all(), ["on", "off"]) == 1
    assert n_lacking(takes.all(), ["on", "off", "up"]) == 4
    takes.add("off", word_sound(10), 16000)
    assert lacking(takes.all(), ["on", "off"]) == []
    assert n_lacking(takes.all(), ["on", "off"]) == 0
    few = [take for take in takes.all() if take.name not in ("on-001", "on-002")]
    assert lacking(few, ["on", "off"]) == ["any of them twice"]


@pytest.mark.parametrize("n_prompts", [2, 3, 4, 5, 12])
def test_whoever_says_each_command_often_enough_can_train(n_prompts: int) -> None:
    prompts = [f"word {n}" for n in range(n_prompts)]
    levels = levels_of(np.zeros(1600), 16000)

    def said(times: int) -> list[Take]:
        return [Take(f"{prompt}-{n}", prompt, levels) for prompt in prompts for n in range(times)]

    least = least_of_each(prompts)
    assert lacking(said(least), prompts) == []
    assert n_lacking(said(least), prompts) == 0
    assert n_lacking(said(least - 1), prompts) > 0


def test_a_command_that_is_listed_no_more_is_not_asked_for(tmp_path: Path, word_sound: Any) -> None:
    takes = Takes(tmp_path / "takes", 100)
    takes.add("on", word_sound(1), 16000)
    takes.add("old", word_sound(2), 16000)
    assert takes.prompts() == ["old", "on"]
    takes.set_prompts(["on", "off"])
    assert takes.prompts() == ["on", "off"]
    write_task(takes.folder, takes.prompts(), {take.prompt for take in takes.all()})
    assert (takes.folder / "commands.txt").read_text() == "on\noff\n"
    assert Lexicon.read(takes.folder / "lexicon.txt").words == ("off", "old", "on")


def test_only_experiments_on_the_takes_are_trained_again(tmp_path: Path) -> None:
    folder, experiment = tmp_path / "takes", tmp_path / "exp"
    check_place(experiment, folder)
    experiment.mkdir()
    for corpus in (str(tmp_path / "other"), None):
        (experiment / "config.json").write_text(json.dumps({"corpus": corpus}))
        with pytest.raises(Refusal, match='"exp" was trained from other recordings'):
            check_place(experiment, folder)
    (experiment / "config.json").write_text(json.dumps({"corpus": str(folder)}))
    check_place(experiment, folder)
    with pytest.raises(ConfigError, match="lies in the corpus"):
        check_place(folder / "exp", folder)
    arguments = command_line(experiment, folder)
    assert arguments[:4] == ["train", "folder", "--corpus", str(folder)]
    assert "--speakers one" in " ".join(arguments)  # takes are one person's


def test_what_is_no_prompt_is_refused_before_anything_is_recorded(start: Any, sound_file: Any) -> None:
    running = start(ready=False)
    for prompt in ("<s>", "../../x", "light\u200bon", "x" * 10_000, "\ud800"):
        said = running.ask("PUT", "/api/prompts", {"prompts": ["light on", prompt]})
        assert (said.status in (400, 422), len(said.error.splitlines())) == (True, 1)
    said = running.ask("PUT", "/api/prompts", {"prompts": ["on", "On"]})
    assert (said.status, "are the same words" in said.error) == (400, True)
    assert not running.server.takes.folder.exists()
    found = running.ask("PUT", "/api/prompts", {"prompts": ["cafe\u0301", "off"]}).json
    assert found["prompts"] == ["caf\u00e9", "off"]


def test_odd_files_among_takes_are_named_and_never_an_error_of_the_server(
    start: Any, sound_file: Any, word_sound: Any
) -> None:
    running = with_takes(start(ready=False))
    folder = running.server.takes.folder
    os.symlink("nowhere", folder / "gone.wav")
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9.wav")).write_bytes(sound_file(word_sound()))
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9.txt")).write_text("ASA")
    (folder / ".prompts.json").write_text('["ASA", "\\ud800", "IMI", "SUS", "MAUI"]')
    found = running.ask("GET", "/api/takes")
    assert (found.status, found.json["prompts"], len(found.json["takes"])) == (200, WORDS_ASKED, 12)
    assert [line.split(":")[0] for line in found.json["aside"]] == [
        ".prompts.json",
        "caf\\udce9.wav",
        "gone.wav",
    ]
    assert running.ask("POST", "/api/takes?prompt=ASA", sound_file(word_sound())).status == 200
    said = running.ask("POST", "/api/training")
    assert (said.status, "gone.wav: a link" in said.error, "and 1 more" in said.error) == (409, True, True)
    (folder / "gone.wav").unlink()
    said = running.ask("POST", "/api/training")
    assert 'takes/caf\\udce9.wav" is not UTF-8' in said.error
    assert running.server.training.progress.status == "idle"
    for n in range(30):
        (folder / f"note {n}.txt").write_text("mine")
    assert running.ask("GET", "/api/takes").json["aside"][-1] == "and 12 more, see: asr validate"


WORDS_ASKED = ["ASA", "IMI", "SUS", "MAUI"]


def test_the_words_of_the_list_of_commands_are_in_the_lexicon_whenever_it_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_task(tmp_path, ["light on", "up"])
    for n_kept in range(3):
        n_left = [n_kept]

        def broken_off(path: Path, text: str, n_left: list[int] = n_left) -> None:
            if not n_left[0]:
                raise OSError(28, "No space left on device")
            n_left[0] -= 1
            path.write_text(text)

        with monkeypatch.context() as patched:
            patched.setattr(studio, "write_text", broken_off)
            with pytest.raises(Refusal, match=r"lexicon\.txt and commands\.txt cannot be written: No space"):
                write_task(tmp_path, ["off", "down"])
        words = {word for command in read_commands(tmp_path) for word in command}
        assert words <= set(Lexicon.read(tmp_path / "lexicon.txt").words)
    write_task(tmp_path, ["off", "down"])
    assert Lexicon.read(tmp_path / "lexicon.txt").words == ("down", "off")


def test_a_lexicon_that_no_training_can_read_is_told_before_it(start: Any) -> None:
    running = with_takes(start(ready=False))
    (running.server.takes.folder / "lexicon.txt").write_text("ASA\n")
    said = running.ask("POST", "/api/training")
    assert (said.status, "has no phones" in said.error) == (422, True)
    assert str(running.server.takes.folder) not in said.error


def test_words_that_a_lexicon_of_ones_own_lacks_are_told_before_they_are_recorded(start: Any) -> None:
    running = start(ready=False)
    folder = running.server.takes.folder
    folder.mkdir()
    (folder / "lexicon.txt").write_text("ON AA N\n<sil> SIL\nOFF AO F\n")
    said = running.ask("PUT", "/api/prompts", {"prompts": ["on", "light up"]})
    assert (said.status, said.error.partition(", expected")[0]) == (
        409,
        '"light" (and 1 more) is not in the lexicon.txt of the folder and cannot be guessed from it',
    )
    assert not (folder / ".prompts.json").exists()
    assert running.ask("PUT", "/api/prompts", {"prompts": ["On!", "off"]}).status == 200
    (folder / "lexicon.txt").write_text("ON\n")
    said = running.ask("PUT", "/api/prompts", {"prompts": ["on", "off"]})
    assert (said.status, "has no phones" in said.error) == (422, True)


def test_a_server_begins_with_what_killed_ones_have_left(
    start: Any, temporary: Path, word_sound: Any
) -> None:
    """Takes are finished, uploads of dead servers go; those of living ones and other files stay."""
    left, living = temporary / "asr-upload-dead_abc", TemporaryFolder("asr-upload-")
    (left / "x").mkdir(parents=True)
    (left / ".held").touch()
    for name, hours in (
        ("asr-upload-earlier_", 25),
        ("asr-upload-early_ab", 0),
        ("asr-upload-mine", 25),
        ("mine", 25),
    ):
        (temporary / name / "x").mkdir(parents=True)
        os.utime(temporary / name, (time.time() - 3600 * hours,) * 2)
    (temporary / "asr-upload-file_abc").write_text("mine")
    (temporary / "asr-upload-link_abc").symlink_to(temporary / "mine")
    takes = Takes(temporary.parent / "takes", 9)
    kept = takes.add("on", word_sound(), 16000)
    (takes.folder / f"{kept.name}.txt").rename(coming_text(takes.path(kept.name)))
    running = start(ready=False)
    assert [take["name"] for take in running.ask("GET", "/api/takes").json["takes"]] == [kept.name]
    stays = {"asr-upload-early_ab", "asr-upload-file_abc", "asr-upload-link_abc", "asr-upload-mine", "mine"}
    assert {path.name for path in temporary.iterdir()} == {*stays, living.path.name}
    living.remove()
    assert not living.path.exists()


def test_names_of_places_that_are_not_utf8_are_shown_all_the_same(tmp_path: Path, start: Any) -> None:
    place = Path(os.fsdecode(bytes(tmp_path) + b"/exp\xe9"))
    running = start(ready=False, served=Served(place))
    assert running.ask("GET", "/api/model").json["experiment"] == "exp\\udce9"
    with_takes(running)
    place.mkdir()
    (place / "config.json").write_text("{}")
    said = running.ask("POST", "/api/training")
    assert (said.status, '"exp\\udce9" was trained from other recordings' in said.error) == (409, True)
    assert running.ask("GET", "/api/training").status == 200


def test_what_was_heard_in_takes_may_be_damaged(start: Any, copied: Path) -> None:
    running = start(served=Served(copied))
    path = copied / "models" / "gmm2" / COMMAND_RULE
    good = {"id": "x", "said": "a", "heard": "b", "kept": True}
    for content in ('{"takes": [1, {}, {"id": "\\ud800"}]}', "{", "[]", '{"takes": {"id": 1}}'):
        path.write_text(content)
        assert running.ask("GET", "/api/takes").json["heard"] == []
    path.write_text(json.dumps({"takes": [good]}))
    assert running.server.served.heard_takes() == [good]
