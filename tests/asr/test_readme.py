"""Every runnable snippet of the README, word for word, on recordings of the tone language."""

import glob
import re
import shlex
import shutil
from pathlib import Path

import pytest

from asr.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def commands(snippet: str) -> list[list[str]]:
    """Return the words of each line of a shell snippet, comments gone and patterns expanded."""
    lines = [shlex.split(line, comments=True) for line in snippet.splitlines()]
    return [[path for word in line for path in (sorted(glob.glob(word)) or [word])] for line in lines if line]


def test_snippets_are_found() -> None:
    assert [language for language, _ in SNIPPETS] == ["bash", "python"]


def test_snippets_run(
    tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tones, "my_recordings")
    Path("my_recordings", "speaker 0").rename("my_recordings/anna")
    for suffix in (".wav", ".txt"):
        Path("my_recordings/anna/0").with_suffix(suffix).rename(
            Path("my_recordings/anna/u01").with_suffix(suffix)
        )
    shutil.copytree("my_recordings", "new_recordings")
    for language, snippet in SNIPPETS:
        if language == "python":
            exec(compile(snippet, "README.md", "exec"), {})
            continue
        for line in commands(snippet):
            assert line[0] == "asr"
            assert main(line[1:]) == 0, f"{' '.join(line)}\n{capsys.readouterr().err}"
    printed = capsys.readouterr().out
    assert "word accuracy" in printed
    assert "ASA" in printed


@pytest.mark.parametrize("marker", ["demo", "tests"])
def test_the_two_commands_are_where_ci_looks_for_them(marker: str) -> None:
    block = re.search(rf"<!-- {marker} -->\n```bash\n(.*?)\n```", README, flags=re.DOTALL)
    assert block is not None
    assert len(block[1].splitlines()) == 1
    assert block[1].count(" && ") == 2


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_it_stays_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 95
    assert [line for line in lines if len(line) > 100] == []
