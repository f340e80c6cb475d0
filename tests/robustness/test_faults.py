"""A handful of the faults of ``tests/robustness/faults.py``, and what it counts."""

import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from fault_injection import Fault, half_written, is_killed, stage_of

from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.topology import Topology
from acoustic.model import AcousticModel, load_model, save_model
from asr.corpora.amounts import DataRecord
from asr.corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from asr.corpora.layouts.sphinx import write_sphinx
from asr.experiment import _publish
from asr.formats.model_directories import write_recognizer
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.kaldi import read_scp, write_ark
from features.mfcc import MfccConfig
from foundation.errors import AsrError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SCRIPT = Path(__file__).resolve().parents[2] / "tests/robustness/faults.py"


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("stages/.fit-8-dev-0123456789ab.partial/a", "fit-8-dev"),
        ("stages/.fit-8-0123456789ab.blocks", "fit-8"),
        ("stages/fit-8-0123456789ab", "fit-8"),
        ("models/.gmm.partial/a", "models"),
        (".results.json.partial", "results"),
    ],
)
def test_where_a_call_belongs(name: str, stage: str) -> None:
    assert stage_of(Path("exp") / name, Path("exp")) == stage


def test_what_is_half_written(tmp_path: Path) -> None:
    (tmp_path / "stages/s-0123456789ab").mkdir(parents=True)
    (tmp_path / "stages/s-0123456789ab/a").write_text("whole")
    whole = {"stages/s-0123456789ab/a": "digest"}
    assert half_written(tmp_path / "none", whole) == []
    assert half_written(tmp_path, whole) == ["stages/s-0123456789ab/a"]
    assert half_written(tmp_path, {"stages/s-0123456789ab/b": "x"}) == [
        "stages/s-0123456789ab/a",
        "stages/s-0123456789ab/b",
    ]
    (tmp_path / "used.json").write_text("{")
    assert "used.json" in half_written(tmp_path, whole)


def test_a_fault_says_what_it_is() -> None:
    assert hasattr(errno, "ENOSPC")
    assert str(Fault("refuse", 7, "task", "ENOSPC")) == "refuse ENOSPC at 7 (task) after 0.000 s"


def _model(n: int) -> AcousticModel:
    """Return a small model; each number gives another one, of as many bytes."""
    topology = Topology.monophones("ab", n_states=1)
    front_end = FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=2, energy=False, derivatives=0)))
    emissions = GmmModel(np.zeros((3, 1)), np.full((3, 1, 2), float(n)), np.ones((3, 1, 2)))
    return AcousticModel(front_end, topology, emissions, np.full(3, float(n)))


def _corpus(out: Path, n: int) -> Corpus:
    """Return a corpus whose ids stay and whose words, speakers and recordings change; odd ones have times."""
    sounds = [out.with_name(f"{n}-{i}.wav") for i in range(3)]
    for sound in sounds:
        if not sound.exists():
            soundfile.write(sound, np.zeros(1600), 16000)
    start_s = 0.01 if n % 2 else 0.0
    return Corpus(
        tuple(
            Utterance(f"u{i}", sound, (f"word{n}",), f"speaker{n}", start_s, None)
            for i, sound in enumerate(sounds)
        )
    )


def _entries(n: int) -> list[tuple[str, np.ndarray]]:
    keys = ("a", "b") if n % 2 else ("b", "a")
    return [(key, np.full((2, 3), n + ord(key), np.float32)) for key in keys]


def _read_archive(out: Path) -> object:
    return {key: float(entry[0, 0]) for key, entry in read_scp(out / "x.scp").items()}


def _published(out: Path, n: int) -> None:
    made = out.with_name(f"made-{n}")
    if not made.exists():
        write_recognizer(made, _model(n), Lexicon({f"word{n}": [("a",)]}), {"loop": {}}, {}, "loop")
    _publish(made, out / "gmm", DataRecord("folder", "best", {}, ("train",), "auto"))


# What belongs together: how it is written, and what a reader makes of it.
PAIRS: dict[str, tuple[Callable[[Path, int], object], Callable[[Path], object]]] = {
    "model.json and model.safetensors": (
        lambda out, n: save_model(_model(n), out),
        lambda out: load_model(out).occupancy.tolist(),
    ),
    "a published model": (
        _published,
        lambda out: (load_model(out / "gmm").occupancy.tolist(), Lexicon.read(out / "gmm/lexicon.txt").words),
    ),
    "ark and scp": (lambda out, n: write_ark(out / "x.ark", _entries(n), out / "x.scp"), _read_archive),
    "a Kaldi data directory": (
        lambda out, n: write_corpus(_corpus(out, n), out),
        lambda out: [(u.words, u.speaker, u.audio_path, u.start_s) for u in read_corpus(out)],
    ),
    "the lists of Sphinx": (
        lambda out, n: write_sphinx({"train": _sounding(out, n)}, Lexicon({f"word{n}": [("a",)]}), out),
        lambda out: [(u.words, Lexicon.read(next(out.glob("etc/*.dic"))).words) for u in read_corpus(out)],
    ),
}


def _sounding(out: Path, n: int) -> Corpus:
    sound = out.with_name("sound.wav")
    if not sound.exists():
        soundfile.write(sound, np.zeros(1600), 16000)
    return Corpus(tuple(Utterance(f"u{i}", sound, (f"word{n}",), "anna") for i in range(3)))


@pytest.mark.parametrize("name", PAIRS)
def test_files_that_belong_together_are_never_those_of_two_times(tmp_path: Path, name: str) -> None:
    """Killed at each call of a second writing: the first ones, the second ones, or an error of one line."""
    write, read = PAIRS[name]
    found, out = [], tmp_path / "out"
    for n in (1, 2):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        write(out, n)
        found.append(read(out))
    assert found[0] != found[1]
    pristine, states = tmp_path / "pristine", []
    shutil.rmtree(out)
    out.mkdir()
    write(out, 1)
    shutil.copytree(out, pristine, symlinks=True)
    for at in itertools.count():
        shutil.rmtree(out)
        shutil.copytree(pristine, out, symlinks=True)
        was_killed = is_killed(lambda: write(out, 2), out, at)
        try:
            states.append(found.index(read(out)))
        except AsrError:
            states.append(-1)
        if not was_killed:
            break
        write(out, 2)
        assert read(out) == found[1]
    assert (states[0], states[-1]) == (0, 1)
    assert states == sorted(states, key=(0, -1, 1).index)  # the old ones, then none, then the new ones
    assert len(states) > 4


@pytest.mark.slow
def test_trainings_end_the_same_after_each_fault(tmp_path: Path) -> None:
    numbers = {"kills": 6, "failures": 10, "changes": 3}
    options = [word for kind, n in numbers.items() for word in (f"--{kind}", str(n))]
    command = [
        sys.executable,
        SCRIPT,
        *options,
        "--models",
        "gmm",
        "--seed",
        "9",
        "--out",
        tmp_path / "x.json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["wrong"] == []
    for kind, n in numbers.items():
        counted = {found[kind][name] for name in ("faults", "same_bytes", "finished_kept", "nothing_half")}
        assert counted | {found[kind]["clean_endings"]} == {n}
