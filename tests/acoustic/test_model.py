import dataclasses
import hashlib
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load, save

from acoustic import AcousticModel, GmmModel, ModelError, Topology, load_model, save_model
from acoustic.emissions.adaptation import fit_targets
from features import LinearProjection, MfccConfig, Standardizer
from features.frontend import FrontEnd, FrontEndConfig

JSON, TENSORS = "model.json", "model.safetensors"


def gmm(n_states, n_features=39, seed=0):
    rng = np.random.default_rng(seed)
    with np.errstate(divide="ignore"):
        log_weights = np.log(rng.dirichlet(np.ones(2), n_states))
        log_weights[0] = np.log([1.0, 0.0])
    shape = (n_states, 2, n_features)
    return GmmModel(log_weights, rng.normal(size=shape), rng.uniform(0.5, 2.0, shape))


def front_ends():
    rng = np.random.default_rng(1)
    plain = FrontEnd(FrontEndConfig(mfcc=MfccConfig(sample_rate=8000, high_hz=3800.0), normalize="utterance"))
    standardizer = Standardizer.from_statistics(rng.normal(size=39), rng.uniform(0.5, 2, 39))
    standardized = FrontEnd(FrontEndConfig(normalize="global"), standardizer)
    config = FrontEndConfig(projection="lda", context=2, n_components=3)
    matrix, offset = rng.normal(size=(65, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    projected = FrontEnd(config, None, LinearProjection(matrix, offset, 2))
    return {"plain": plain, "standardized": standardized, "projected": projected}


def make_model(front_end="plain"):
    topology = Topology.monophones(["Å", "b"])
    loops = np.random.default_rng(2).uniform(0.1, 0.9, topology.transition_offsets[-1])
    topology = topology.with_flat_self_loops(loops)
    occupancy = np.random.default_rng(3).uniform(0, 100, topology.n_states)
    found = front_ends()[front_end]
    return AcousticModel(found, topology, gmm(topology.n_states, found.n_columns), occupancy)


@pytest.mark.parametrize("front_end", ["plain", "standardized", "projected"])
def test_round_trip_bit_for_bit(tmp_path, front_end):
    model = make_model(front_end)
    save_model(model, tmp_path / "new" / "directory")
    loaded = load_model(tmp_path / "new" / "directory")
    assert loaded.topology == model.topology
    assert loaded.front_end.config == model.front_end.config
    assert_array_equal(loaded.occupancy, model.occupancy)
    for name in ("log_weights", "means", "variances"):
        found, expected = getattr(loaded.emissions, name), getattr(model.emissions, name)
        assert found.dtype == expected.dtype == np.float64
        assert_array_equal(found, expected)
    cepstra = [np.random.default_rng(4).normal(size=(9, 39)).astype(np.float32)]
    found, expected = (m.front_end.transform(cepstra)[0] for m in (loaded, model))
    assert_array_equal(found, expected)
    assert found.dtype == expected.dtype == np.float32


@pytest.mark.parametrize("front_end", ["plain", "standardized", "projected"])
def test_the_same_model_gives_the_same_bytes(tmp_path, front_end):
    save_model(make_model(front_end), tmp_path / "a")
    save_model(load_model(tmp_path / "a"), tmp_path / "b")
    for name in (JSON, TENSORS):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_adaptation_targets_come_back(tmp_path):
    model = make_model()
    rng = np.random.default_rng(5)
    n_states = model.topology.n_states
    frames, states = rng.normal(size=(90, 39)).astype(np.float32), rng.integers(n_states, size=90)
    targets = fit_targets([frames], [states], model.topology.is_speech(), 20.0)
    save_model(dataclasses.replace(model, adaptation=targets), tmp_path)
    found = load_model(tmp_path).adaptation
    for name, value in vars(targets).items():
        assert_array_equal(getattr(found, name), value)
    with pytest.raises(ModelError, match=rf"{n_states} states and 39 columns, got \(2, 39\)"):
        dataclasses.replace(
            model,
            adaptation=dataclasses.replace(targets, means=np.zeros((2, 39)), is_used=np.ones(2, dtype=bool)),
        )


def test_a_model_is_two_files_that_hold_no_code(tmp_path):
    save_model(make_model(), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [JSON, TENSORS]
    assert json.loads((tmp_path / JSON).read_text())["version"] == 1
    assert set(load((tmp_path / TENSORS).read_bytes())) >= {"gmm.means", "occupancy"}


def change_json(directory: Path, *keys, value=None, remove=False):
    """Set or remove an entry of the JSON file."""
    record = json.loads((directory / JSON).read_text())
    inner = record
    for key in keys[:-1]:
        inner = inner[key]
    if remove:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    (directory / JSON).write_text(json.dumps(record))


def change_tensors(directory: Path, change):
    """Replace the tensors, with a checksum that fits."""
    tensors = dict(load((directory / TENSORS).read_bytes()))
    change(tensors)
    data = save(tensors)
    (directory / TENSORS).write_bytes(data)
    change_json(directory, "tensors_sha256", value=hashlib.sha256(data).hexdigest())


def flip(path: Path, place: int):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def truncate_with_fitting_checksum(directory: Path):
    data = (directory / TENSORS).read_bytes()[:-9]
    (directory / TENSORS).write_bytes(data)
    change_json(directory, "tensors_sha256", value=hashlib.sha256(data).hexdigest())


CORRUPTIONS = {
    "no directory": lambda d: [p.unlink() for p in d.iterdir()] and d.rmdir(),
    "no json": lambda d: (d / JSON).unlink(),
    "no tensors": lambda d: (d / TENSORS).unlink(),
    "json is a directory": lambda d: (d / JSON).unlink() or (d / JSON).mkdir(),
    "tensors are a directory": lambda d: (d / TENSORS).unlink() or (d / TENSORS).mkdir(),
    "empty json": lambda d: (d / JSON).write_bytes(b""),
    "empty tensors": lambda d: (d / TENSORS).write_bytes(b""),
    "truncated json": lambda d: (d / JSON).write_bytes((d / JSON).read_bytes()[:-40]),
    "truncated tensors": lambda d: (d / TENSORS).write_bytes((d / TENSORS).read_bytes()[:-40]),
    "truncated tensors, checksum fits": truncate_with_fitting_checksum,
    "json not utf-8": lambda d: (d / JSON).write_bytes(b'{"format": "\xff"}'),
    "json too deep": lambda d: (d / JSON).write_text("[" * 100_000),
    "json a list": lambda d: (d / JSON).write_text("[]"),
    "json a number": lambda d: (d / JSON).write_text("1"),
    "other format": lambda d: change_json(d, "format", value="other"),
    "other version": lambda d: change_json(d, "version", value=2),
    "no version": lambda d: change_json(d, "version", remove=True),
    "other kind": lambda d: change_json(d, "kind", value="other"),
    "kind a list": lambda d: change_json(d, "kind", value=["gmm"]),
    "no checksum": lambda d: change_json(d, "tensors_sha256", remove=True),
    "checksum a number": lambda d: change_json(d, "tensors_sha256", value=3),
    "no topology": lambda d: change_json(d, "topology", remove=True),
    "topology a text": lambda d: change_json(d, "topology", value="text"),
    "phones a text": lambda d: change_json(d, "topology", "phones", value="abcd"),
    "phones numbers": lambda d: change_json(d, "topology", "phones", value=[1, 2, 3, 4]),
    "phones null": lambda d: change_json(d, "topology", "phones", value=None),
    "states text": lambda d: change_json(d, "topology", "phone_states", value=["abc", "abc", "abc", "a"]),
    "loops text": lambda d: change_json(d, "topology", "self_loops", value=["abc", "abc", "abc", "a"]),
    "loops of one": lambda d: change_json(d, "topology", "self_loops", 3, value=[1.0]),
    "more states than scored": lambda d: change_json(d, "topology", "phone_states", 3, value=[9]),
    "no front end": lambda d: change_json(d, "front_end", remove=True),
    "front end a list": lambda d: change_json(d, "front_end", value=[]),
    "unknown option": lambda d: change_json(d, "front_end", "surprise", value=1),
    "unknown normalisation": lambda d: change_json(d, "front_end", "normalize", value="loudly"),
    "unknown mfcc option": lambda d: change_json(d, "front_end", "mfcc", "surprise", value=1),
    "sample rate a text": lambda d: change_json(d, "front_end", "mfcc", "sample_rate", value="8000"),
    "sample rate negative": lambda d: change_json(d, "front_end", "mfcc", "sample_rate", value=-1),
    "missing tensor": lambda d: change_tensors(d, lambda t: t.pop("gmm.means")),
    "no occupancy": lambda d: change_tensors(d, lambda t: t.pop("occupancy")),
    "other shape": lambda d: change_tensors(
        d, lambda t: t.update({"gmm.means": t["gmm.means"][:, :1].copy()})
    ),
    "a single number": lambda d: change_tensors(d, lambda t: t.update({"gmm.means": np.array(1.0)})),
    "occupancy too short": lambda d: change_tensors(d, lambda t: t.update(occupancy=np.zeros(2))),
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=CORRUPTIONS.keys())
def test_every_corruption_is_one_line(tmp_path, corrupt):
    directory = tmp_path / "model"
    save_model(make_model(), directory)
    corrupt(directory)
    one_line_that_says_what_to_do = rf"\A{re.escape(str(directory))}[^\n]*; [^\n]+\Z"
    with pytest.raises(ModelError, match=one_line_that_says_what_to_do):
        load_model(directory)


@pytest.mark.parametrize("place", [0, 8, 20, 500, -1])
def test_a_flipped_bit_of_the_tensors(tmp_path, place):
    save_model(make_model(), tmp_path)
    flip(tmp_path / TENSORS, place)
    with pytest.raises(ModelError, match=r"model\.safetensors: corrupt"):
        load_model(tmp_path)


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


def test_nothing_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (JSON, TENSORS):
        directory = tmp_path / name.replace(".", "-")
        save_model(make_model(), directory)
        data = pickle.dumps(Bomb())
        (directory / name).write_bytes(data)
        if name == TENSORS:
            change_json(directory, "tensors_sha256", value=hashlib.sha256(data).hexdigest())
        with pytest.raises(ModelError, match=r"cannot be read|not a safetensors file"):
            load_model(directory)
    assert not Path("exploded").exists()


def test_only_known_kinds_can_be_saved(tmp_path):
    class Other:
        n_states = 9

        def log_likelihoods(self, frames):
            return np.zeros((len(frames), 9), np.float32)

    with pytest.raises(ModelError, match="cannot save a Other; expected a model of one of the kinds: gmm"):
        save_model(dataclasses.replace(make_model(), emissions=Other()), tmp_path)


def test_parts_must_fit():
    model = make_model()
    with pytest.raises(
        ModelError, match="expected emissions and occupancy of the topology's 9 states, got 8"
    ):
        dataclasses.replace(model, emissions=gmm(8))
    with pytest.raises(ModelError, match=r"occupancy of shape \(8,\)"):
        dataclasses.replace(model, occupancy=np.zeros(8))
