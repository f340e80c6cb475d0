"""Files of a user with the name of one of our packages are named in a line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def started(*arguments: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python as a user does, who has the folder of the script, or this one, on the path."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, *map(str, arguments)]
    env["PYTHONPATH"] = str(ROOT)
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env, timeout=60)


@pytest.mark.parametrize("name", ["features.py", "decoder/__init__.py", "recipes.py", "foundation.py"])
@pytest.mark.parametrize("code", ["import asr", "from asr import train", "import asr.config"])
def test_a_script_is_told_in_the_last_line(tmp_path: Path, name: str, code: str) -> None:
    hides = tmp_path / name
    hides.parent.mkdir(exist_ok=True)
    hides.write_text("ORDER = 1\n")
    (tmp_path / "script.py").write_text(f"{code}\nprint('imported')\n")
    done = started(tmp_path / "script.py", cwd=ROOT)
    package = name.partition("/")[0].removesuffix(".py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f'ImportError: {hides} hides the package "{package}" that asr needs, expected '
        f"{ROOT / package / '__init__.py'}; rename what hides it, or move it to another folder"
    )


def test_a_module_that_was_imported_before(tmp_path: Path) -> None:
    (tmp_path / "features.py").write_text("")
    (tmp_path / "script.py").write_text("import sys, features\nsys.path.pop(0)\nimport asr\n")
    done = started(tmp_path / "script.py", cwd=ROOT)
    assert f'{tmp_path / "features.py"} hides the package "features"' in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", [["-m", "asr", "--help"], ["asr", "--help"], ["-m", "asr.cli", "info"]])
def test_the_command_line_says_one_line(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "decoder").mkdir()
    (tmp_path / "decoder/__init__.py").write_text("")
    (tmp_path / "asr").write_text("import sys\nfrom asr.__main__ import main\nsys.exit(main())\n")
    done = started(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f'asr: {tmp_path / "decoder/__init__.py"} hides the package "decoder"')


def test_other_files_and_folders_are_let_be(tmp_path: Path) -> None:
    (tmp_path / "features").mkdir()  # no package: ours is found
    (tmp_path / "feature.py").write_text("")
    done = started("-c", "import asr, features; print(features.__file__)", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()) == ROOT / "features/__init__.py"
