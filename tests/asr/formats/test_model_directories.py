"""Where models lie in an experiment, and what is said where there are none."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from acoustic.model import load_model, save_model
from asr.errors import AsrError, ConfigError, ExperimentError
from asr.formats.model_directories import (
    DECODING,
    TRAINED_ON,
    check_shift,
    decoding_options,
    model_directory,
    trained_by,
)
from asr.recognizer import Recognizer
from decoder.decoder import DecoderConfig


def test_of_an_experiment_and_of_a_model(trained: Path) -> None:
    own = trained / "models" / "gmm2"
    assert model_directory(trained, None) == own
    assert model_directory(trained, "gmm2") == own
    assert model_directory(own, None) == own
    with pytest.raises(ConfigError, match='no model "gmm3"'):
        model_directory(own, "gmm3")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ((), "no such directory; expected a directory that asr train has finished"),
        (("exp/",), "no trained model in it"),
        (("exp",), "a file, expected a directory"),
        (("exp/points/a/models/gmm/",), "a sweep, expected one of its points; choose one: .*points/a"),
        (("exp/models/gmm/decoding.json",), "training has not finished, .* choose with --model: gmm"),
    ],
)
def test_where_there_is_none(tmp_path: Path, made: tuple[str, ...], message: str) -> None:
    for name in made:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.touch()
    with pytest.raises(ExperimentError, match=message):
        model_directory(tmp_path / "exp", None)


def test_options_of_a_grammar(trained: Path) -> None:
    path = trained / "models/gmm2" / DECODING
    name, config, first = decoding_options(path, None)
    assert (name, config.frame_shift_s, first) == ("bigram", 0.01, None)
    with pytest.raises(ConfigError, match=r'no grammar "trigram" .*; expected one of: bigram, loop'):
        decoding_options(path, "trigram")


def test_options_of_another_model_are_refused(trained: Path, tmp_path: Path, wav: Path) -> None:
    own = tmp_path / "gmm2"
    shutil.copytree(trained / "models/gmm2", own)
    options = json.loads((own / DECODING).read_text())
    assert options["tensors_sha256"] == json.loads((own / "model.json").read_text())["tensors_sha256"]
    usual = Recognizer.load(own).transcribe(wav)
    options["grammars"]["bigram"]["lm_scale"] = 1.0  # a person may change them
    (own / DECODING).write_text(json.dumps(options))
    assert Recognizer.load(own).decoder.config.lm_scale == 1.0
    (own / DECODING).write_text(json.dumps({**options, "tensors_sha256": "0" * 64}))
    with pytest.raises(ExperimentError, match=r"decoding\.json: was tuned for another model than the one"):
        Recognizer.load(own)
    del options["tensors_sha256"]  # of a model that was made before
    options["grammars"]["bigram"]["lm_scale"] = 10.0
    (own / DECODING).write_text(json.dumps(options))
    assert Recognizer.load(own).transcribe(wav).text == usual.text


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_half_of_another_model_is_refused(trained: Path, tmp_path: Path, name: str) -> None:
    own, other = tmp_path / "gmm2", tmp_path / "other"
    for copy in (own, other):
        shutil.copytree(trained / "models/gmm2", copy)
    model = load_model(other)
    save_model(replace(model, occupancy=model.occupancy + 1.0), other)
    shutil.copy(other / name, own / name)
    with pytest.raises(
        AsrError, match=r"model\.safetensors: corrupt, its \d+ bytes do not have the checksum"
    ):
        Recognizer.load(own)


def test_times_are_those_of_the_front_end(tmp_path: Path) -> None:
    check_shift(tmp_path, None, 0.01)
    check_shift(tmp_path, DecoderConfig(frame_shift_s=0.01), 0.01)
    with pytest.raises(ExperimentError, match=r"frame_shift_s is 0.02, expected the 0.01 s of the front end"):
        check_shift(tmp_path, DecoderConfig(frame_shift_s=0.02), 0.01)


def test_what_a_model_was_trained_by(tmp_path: Path) -> None:
    assert trained_by(tmp_path, ["a", "b"]) == set()
    (tmp_path / TRAINED_ON).write_text('["b", "c"]')
    assert trained_by(tmp_path, ["a", "b"]) == {"b"}
    (tmp_path / TRAINED_ON).write_text("[[1]]")
    with pytest.raises(ExperimentError, match=r"trained_on\.json: not as asr train writes it"):
        trained_by(tmp_path, ["a"])
