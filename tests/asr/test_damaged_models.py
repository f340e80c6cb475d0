"""Damaged files of models of every kind: they work all the same, or one line says what is wrong.

In a process of its own, for compiled functions could end the interpreter where files send them astray.
`damage` has what is done to the files.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from asr.errors import AsrError
from asr.recognizer import Recognizer

SCRIPT = Path(__file__).with_name("damage.py")
N_EACH = 30


@pytest.fixture(scope="module")
def damage() -> ModuleType:
    spec = importlib.util.spec_from_file_location("damage_of_models", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damage_is_refused_in_one_line_or_does_no_harm(damage: ModuleType) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "all", str(N_EACH)], capture_output=True, text=True, timeout=550
    )
    assert done.returncode == 0, f"the interpreter ended: {done.stderr[-2000:]}"
    *failed, counts = done.stdout.splitlines()
    assert not failed
    found = json.loads(counts)
    assert found["FAILED"] == 0
    assert found["works"] + found["is refused"] == N_EACH * len(damage.KINDS)
    assert found["is refused"] > found["works"] > 10


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("frame_shift_s", 1e-300, "frame_shift_s is 1e-300, expected the 0.01 s of the front end"),
        ("frame_shift_s", 0.02, "frame_shift_s is 0.02, expected the 0.01 s"),
        ("frame_shift_s", "0.01", 'frame_shift_s: expected a number, got "0.01"'),
        ("lm_scale", 10**400, "lm_scale: expected a number, got a number of hundreds of digits"),
        ("lm_scale", 1e300, r"lm_scale: expected 1,000,000.0 at most, got 1e\+300"),
        ("max_active", 10**18, "max_active: expected 2,147,483,647 at most"),
        ("n_best", 10**9, "n_best: expected 100,000 at most, got 1000000000"),
        ("beam", float("nan"), "beam: expected a number, got nan"),
        ("beem", 1, r'unknown key beem \(did you mean "beam"\?\); expected lm_scale, '),
    ],
)
def test_decoding_options(damage: ModuleType, tmp_path: Path, key: str, value: object, said: str) -> None:
    damage.write("gmm", tmp_path)
    path = tmp_path / "decoding.json"
    record = json.loads(path.read_text())
    record["grammars"]["loop"][key] = value
    path.write_text(json.dumps(record))
    with pytest.raises(AsrError, match=rf"decoding\.json: .*{said}[^\n]*; [^\n]*\Z"):
        Recognizer.load(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "[]", "null", "{", ""])
@pytest.mark.parametrize("name", ["decoding.json", "wording.json", "fit.json", "model.json"])
def test_json_that_is_none(damage: ModuleType, tmp_path: Path, name: str, text: str) -> None:
    damage.write("gmm", tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(AsrError, match=rf"\A[^\n]*{name}: [^\n]*; [^\n]*\Z"):
        Recognizer.load(tmp_path)


PIPES = """
import contextlib, io, os, shutil, sys
from pathlib import Path
from asr.cli import main
trained, wav, copy = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
names = [p.relative_to(trained) for p in trained.rglob("*") if p.is_file() and p.name != "log.txt"]
page = ["report", "--utterances", "1", "--out", str(copy.parent / "x")]
verbs = (["info"], ["decode", wav], ["clean"], page)
for name in sorted(name for name in names if name.parts[0] != "stages"):
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trained, copy)
    (copy / name).unlink()
    os.mkfifo(copy / name)
    for verb, *others in verbs:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            code = main([verb, str(copy), *others, "--quiet"])
        print(name, verb, code, errors.getvalue().count("\\n"))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes among files")
def test_pipes_in_the_place_of_files_are_never_waited_for(trained: Path, wav: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PIPES, trained, wav, tmp_path / "copy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.rsplit(maxsplit=3) for line in done.stdout.splitlines()]
    assert {name for name, *_ in rows} >= {"config.json", "results.json", "models/gmm2/model.safetensors"}
    assert {(code, n_lines) for _, _, code, n_lines in rows} <= {("0", "0"), ("2", "1")}
    refused = {(name, verb) for name, verb, code, _ in rows if code == "2"}
    assert refused >= {("models/gmm2/model.json", "decode"), ("results.json", "report")}
