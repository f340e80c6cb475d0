"""What the doctor finds, and that nothing that is broken ends the diagnosis."""

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

import pytest

import asr
from asr.commands import doctor
from asr.commands.doctor import (
    PACKAGES,
    Finding,
    compiled_code,
    diagnosed,
    findings_record,
    free_memory,
    is_current,
    kernels_of,
    modules_with_kernels,
    self_test,
)
from asr.errors import CorpusError, ExperimentError
from asr.formats.aligned import AlignedUtterance
from decoder.decoder import Hypothesis


def said(check: str) -> list[Finding]:
    return list(getattr(doctor, check)())


def test_here_is_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = list(diagnosed(with_self_test=False))
    assert [str(f) for f in found if f.severity == "error"] == []
    starts = [
        "asr ",
        "packages: ",
        "extra demo, for",
        "memory: ",
        "disk here: ",
        "audio: libsndfile",
    ]
    for start in starts:
        assert sum(f.what.startswith(start) for f in found) == 1, start
    assert any(f"{len(os.sched_getaffinity(0))} core(s) of " in f.what for f in found)


def test_a_variable_with_which_numba_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "0")
    (found,) = said("_environment")
    assert str(found) == (
        "warning: NUMBA_NUM_THREADS is '0', expected a whole number from 1 on; it is passed over; unset it"
    )
    assert said("_environment") == []  # it is gone before numba is imported


def test_packages_that_are_missing_old_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"good": "2.10", "old": "1.9.3", "broken": "1.0", "asr-sparse-kernel": "1"}

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    def load(name: str) -> None:
        if name == "broken":
            raise OSError("libfoo.so: cannot open\nmore")

    wanted = ["good>=2.9", "old>=1.26", "broken", "gone>=3", 'helper>=1 ; extra == "english"']
    monkeypatch.setattr(doctor, "requires", lambda name: wanted)
    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor.importlib, "import_module", load)  # type: ignore[attr-defined]
    first, *others = map(str, said("_packages"))
    assert first == "ok: packages: good 2.10"
    assert others[:3] == [
        'error: old 1.9.3 is too old, expected 1.26; pip install --upgrade "old>=1.26"',
        "error: broken cannot be imported (OSError: libfoo.so: cannot open); "
        'pip install --upgrade "broken>=0"',
        'error: gone is not installed; pip install --upgrade "gone>=3"',
    ]
    monkeypatch.setattr(doctor, "how_to_install", lambda extra: f'pip install ".[{extra}]"')
    assert (
        "note: extra english, for asr lexicon --english: helper is not installed; if wanted: "
        'pip install ".[english]"'
    ) in map(str, said("_packages"))


def test_all_extras_for_users_are_looked_for() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    assert set(doctor._FOR) == set(extras) - {"dev", "docs"}
    for requirement in (r for extra in doctor._FOR for r in extras[extra]):
        name, _, least = requirement.partition(">=")
        found = doctor._fault(name, least)
        assert found == "" or "PortAudio library not found" in found  # the module's name is known


def test_a_check_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def _strange_check() -> Iterator[Finding]:
        yield Finding("ok", "so far")
        raise RuntimeError("boom\nand more")

    monkeypatch.setattr(doctor, "CHECKS", (_strange_check,))
    first, second = diagnosed(with_self_test=False)
    assert str(first) == "ok: so far"
    assert str(second).startswith("error: strange check: fails (RuntimeError: boom); install again, with --f")


def test_little_memory_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "free_memory", lambda: 400_000_000)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: type("U", (), {"free": 5_000_000}))  # type: ignore[attr-defined]
    assert [str(f) for f in said("_memory")] == [
        "warning: memory: 400.0 MB free; close other programs, or train on fewer cores: --workers 1"
    ]
    assert [f.severity for f in said("_disk")] == ["warning", "warning"]
    assert "5.0 MB free" in said("_disk")[1].what
    monkeypatch.setattr(doctor, "free_memory", lambda: None)
    assert said("_memory")[0].severity == "ok"


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="needs /proc")
def test_memory_is_that_of_the_system() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0.001 * total < (free_memory() or 0) < total


def test_ffmpeg_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, severity in ((None, "warning"), ("/x/ffmpeg", "ok")):
        monkeypatch.setattr("shutil.which", lambda name, there=there: there)
        found = said("_audio")
        assert [f.severity for f in found] == ["ok", severity]
        assert "m4a" in found[1].what
        assert "MP3" in found[0].what


def test_record_and_lines() -> None:
    found = [Finding("ok", "a"), Finding("warning", "b", "do c"), Finding("error", "d", "do e")]
    assert list(map(str, found)) == ["ok: a", "warning: b; do c", "error: d; do e"]
    record = findings_record(found)
    assert (record["errors"], record["warnings"]) == (1, 1)
    assert record["findings"][0] == {"severity": "ok", "what": "a", "cure": None}


def test_a_self_test_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(tell: object) -> str:
        raise doctor.ExperimentError('decoded "A", expected "B"')

    monkeypatch.setattr("asr.commands.doctor.self_test", failing)
    (finding,) = doctor._self_test(print)
    assert str(finding).startswith('error: self-test: fails (decoded "A", expected "B"); install again')


# As where numba is broken: the verbs cannot be imported, the doctor says why.
WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from asr.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_it_speaks_where_other_verbs_cannot_be_imported(tmp_path: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", WITHOUT_NUMBA, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    done = run("info", "exp")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("asr: ")
    assert line.endswith("asr doctor says what is wrong")
    done = run("doctor", "--brief", "--json")
    assert (done.returncode, done.stderr) == (2, "")
    errors = [f["what"] for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"]
    assert any(what.startswith("numba cannot be imported") for what in errors)


def test_it_passes_and_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    assert self_test(told.append) == "trained on synthetic tones, decoded and aligned a new recording"
    assert [line.split()[1] for line in told] == ["training", "decoding", "aligning"]
    assert capsys.readouterr() == ("", "")


def test_other_words_and_errors_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asr.commands.models.train", lambda *given, **named: None)
    monkeypatch.setattr("asr.commands.recordings.decode", lambda *given: [Hypothesis((), -1.0, True, ())])
    with pytest.raises(ExperimentError, match='decoded "", expected "MAUI ASA SUS IMI"'):
        self_test()
    monkeypatch.setattr("asr.commands.recordings.decode", lambda *given: [CorpusError("no sound")])
    with pytest.raises(ExperimentError, match="no sound"):
        self_test()


def test_words_in_the_wrong_place_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    align = asr.align

    def too_early(*given: object) -> AlignedUtterance:
        found = align(*given)  # type: ignore[arg-type]
        words = tuple(replace(w, start_s=w.start_s / 3, end_s=w.end_s / 3) for w in found.tiers["words"])
        return replace(found, tiers={**found.tiers, "words": words})

    monkeypatch.setattr("asr.commands.recordings.align", too_early)
    with pytest.raises(ExperimentError, match="expected MAUI, ASA, SUS, IMI one after the other"):
        self_test()


SOURCE = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_of_another_source_nothing_is_current(tmp_path: Path) -> None:
    path = tmp_path / "compiled_code_example.py"
    path.write_text(SOURCE)
    kernel = loaded(path).twice
    assert not is_current(kernel)
    assert kernel(3) == 6
    assert is_current(kernel)
    assert kernels_of(path.stem) == [kernel]
    path.write_text(SOURCE.replace("2 *", "20 *"))
    os.utime(path, (1, 1))
    assert not is_current(loaded(path).twice)


def test_all_kernels_are_counted() -> None:
    names = list(modules_with_kernels())
    assert {name.partition(".")[0] for name in names} <= set(PACKAGES)
    assert "acoustic.hmm.forward_backward" in names
    state = compiled_code()
    assert 50 < state.n_functions == sum(len(kernels_of(name)) for name in names)
    assert 0 <= state.n_current <= state.n_functions


def test_directories_that_cannot_be_written_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert compiled_code().unwritable
    monkeypatch.setattr(os, "access", lambda place, mode: True)
    assert compiled_code().unwritable == ()
