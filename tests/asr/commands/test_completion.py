"""Completion as shells do it: each script is run by its shell, where that is installed."""

import argparse
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import command_line, main
from asr.commands.completion import SHELLS, script
from asr.commands.parsing import CommandLine, Verb
from asr.config import ExperimentConfig, known_keys
from asr.recipe import built_in_recipes
from asr.systems import PRESETS, SYSTEMS

Complete = Callable[..., list[str]]

# Asks the function that the script has registered, as bash does when TAB is pressed.
ASK_BASH = """
set -u
source "$1"; shift
[ "$(complete -p asr)" = "complete -o bashdefault -o default -F _asr asr" ] || exit 3
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_asr
for word in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do echo "$word"; done
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the script of each shell, by its name."""
    folder = tmp_path_factory.mktemp("scripts")
    with pytest.MonkeyPatch.context() as patch:
        for shell in SHELLS:
            printed: list[str] = []
            patch.setattr("builtins.print", lambda text, end, printed=printed: printed.append(text))
            assert main(["completion", shell]) == 0
            (folder / shell).write_text("".join(printed))
    return folder


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,  # type: ignore[call-overload]
    )
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


@pytest.fixture
def in_bash(scripts: Path) -> Complete:
    """Return a function that gives what bash offers for the last of some words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    return lambda *words: run(bash, "-c", ASK_BASH, "bash", scripts / "bash", *words).splitlines()


class TestBash:
    def test_verbs(self, in_bash: Complete) -> None:
        assert set(command_line().parsers) <= set(in_bash("asr", ""))
        assert in_bash("asr", "va") == ["validate"]
        assert in_bash("asr", "nothing") == []

    def test_options_of_a_verb(self, in_bash: Complete) -> None:
        assert in_bash("asr", "decode", "exp", "--nb") == ["--nbest"]
        assert in_bash("asr", "info", "--nb") == []
        offered = in_bash("asr", "decode", "exp", "--")
        shown = command_line().parsers["decode"].actions
        assert offered == [name for action in shown for name in action.option_strings if name[:2] == "--"]

    def test_values(self, in_bash: Complete) -> None:
        assert in_bash("asr", "train", "folder", "--preset", "") == list(PRESETS)
        assert in_bash("asr", "train", "--model", "gmm-") == [n for n in SYSTEMS if n.startswith("gmm-")]
        assert in_bash("asr", "decode", "exp", "--format", "c") == ["ctm"]
        assert in_bash("asr", "decode", "exp", "--format", "=") == in_bash(
            "asr", "decode", "e", "--format", ""
        )
        assert in_bash("asr", "decode", "exp", "--format", "=", "tr") == ["trn"]
        assert in_bash("asr", "completion", "") == list(SHELLS)

    def test_recipes_then_files(self, in_bash: Complete) -> None:
        assert in_bash("asr", "train", "") == list(built_in_recipes())
        assert in_bash("asr", "train", "folder", "") == []  # names of files are bash's own
        assert in_bash("asr", "decode", "") == []
        assert in_bash("asr", "train", "folder", "--corpus", "") == []

    def test_keys_of_settings(self, in_bash: Complete) -> None:
        keys = [f"{key}=" for key in known_keys(ExperimentConfig())]
        assert in_bash("asr", "train", "folder", "--set", "") == keys
        assert in_bash("asr", "sweep", "folder", "--set", "gmm.be") == ["gmm.beam="]
        assert in_bash("asr", "train", "folder", "--set", "gmm.beam", "=", "3") == []


def test_zsh_takes_the_script(scripts: Path) -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh here")
    load = 'autoload -Uz compinit; compinit -D; source "$1"; print -r -- $_comps[asr]'
    assert run(zsh, "-fc", load, "zsh", scripts / "zsh") == "_asr\n"


def test_fish(scripts: Path, tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("no fish here")

    def offered(line: str) -> list[str]:
        code = f"source {scripts / 'fish'}; complete -C '{line}'"
        said = run(
            fish,
            "--no-config",
            "-c",
            code,
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        return [each.partition("\t")[0] for each in said.splitlines()]

    (tmp_path / "some.wav").touch()
    assert set(offered("asr ")) == set(command_line().parsers)
    assert offered("asr train --preset ") == sorted(PRESETS)
    assert offered("asr train --set gmm.be") == ["gmm.beam="]
    assert offered("asr decode exp --nb") == ["--nbest"]
    assert offered("asr decode som") == ["some.wav"]
    assert "--nbest" not in offered("asr info --")


@pytest.mark.parametrize("shell", SHELLS)
def test_quotes_and_brackets_of_what_is_said_do_no_harm(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")

    def takes(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--y", action="append", help=hard)

    hard = r"it's a \ [1:2] $(touch bad) `touch bad`"
    (tmp_path / "script").write_text(
        script(shell, CommandLine("x.", {"g": {"x": Verb(hard, takes, lambda options: 0, "asr x")}}), {})
    )
    setup = "autoload -Uz compinit; compinit -D; " if shell == "zsh" else ""
    options = {"bash": ["-c"], "zsh": ["-fc"], "fish": ["--no-config", "-c"]}[shell]
    assert run(program, *options, f"{setup}source ./script", cwd=tmp_path) == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script"]
