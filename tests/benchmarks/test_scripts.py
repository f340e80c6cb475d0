"""Scripts of benchmarks and robustness fit the code they measure: each imports what it uses, and has help."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "tests/robustness")
    for path in (ROOT / folder).glob("*.py")
    if not path.name.startswith("test_") and "parse_args(" in path.read_text(encoding="utf-8")
)
# All in one process, which imports what they share once.
ASK = """
import contextlib, io, runpy, sys
for script in sys.argv[1:]:
    sys.argv, said = [script, "--help"], io.StringIO()
    sys.path.insert(0, script.rpartition("/")[0])
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            assert not end.code, (script, end.code)
    assert "usage: " in said.getvalue() and "--" in said.getvalue(), script
    print(script)
"""


@pytest.mark.slow
def test_scripts_show_their_help():
    assert len(SCRIPTS) > 30
    done = subprocess.run(
        [sys.executable, "-c", ASK, *map(str, SCRIPTS)], capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(map(str, SCRIPTS))
