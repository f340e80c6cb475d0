import json
from pathlib import Path
from typing import Any

import pytest

from asr.errors import ConfigError
from asr.serving.commanding import check_place, command_line, lacking, units_of, write_lexicon
from asr.serving.refusals import Refusal
from asr.serving.takes import Takes
from decoder.lexicon import Lexicon


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
    assert lacking(takes.all(), ["on", "off"]) == [
        "off: 2 of 3 takes",
        "9 takes in all, expected at least 10",
    ]
    assert (
        lacking([take for take in takes.all() if take.prompt == "on"][:1], ["on"])[1]
        == "1 prompt(s), expected at least 2"
    )
    takes.add("off", word_sound(10), 16000)
    assert lacking(takes.all(), ["on", "off"]) == []


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
    assert command_line(experiment, folder)[:4] == ["train", "folder", "--corpus", str(folder)]
