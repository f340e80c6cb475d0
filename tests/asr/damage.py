"""Small recognisers of every kind of model, and seeded damage to their files.

Run as a script, ``python tests/asr/damage.py KIND N [SEED]``, it damages a kind, or ``all``, so many times.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from acoustic import AcousticModel, Topology
from acoustic.alignment import FitCurve
from acoustic.emissions.adaptation import fit_targets
from acoustic.emissions.aligned_frames import HybridConfig, aligned_frames
from acoustic.emissions.emission_model import CombinedModel, EmissionModel
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.emissions.sklearn_model import PREFIX
from acoustic.hmm.gmm import GmmModel
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from acoustic.ways import train_emissions
from asr.commands.model_info import info
from asr.errors import AsrError
from asr.formats.model_directories import FitCurves, save_curves, write_recognizer
from asr.recognizer import Recognizer
from decoder import DecoderConfig, Lexicon
from features import LinearProjection, Standardizer
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig

N_CEPSTRA, CONTEXT, N_PROJECTED = 4, 1, 6
LEXICON = Lexicon({"YES": [("A", "B")], "NO": [("B",), ("B", "A")]})
TOPOLOGY = Topology.monophones(LEXICON.phones)
SAMPLES = np.random.default_rng(0).normal(scale=0.1, size=4000).astype(np.float32)  # a quarter of a second
JSON_FILES = ("model.json", "decoding.json", "wording.json", "fit.json")
TENSORS = "model.safetensors"
BEST = HybridConfig(sigma=2.0, max_frames=60, min_frames=2, calibration=Calibration("fitted", "logistic"))


def _gmm(n_columns: int) -> GmmModel:
    rng, shape = np.random.default_rng(1), (TOPOLOGY.n_states, 2, n_columns)
    weights = np.tile(np.log([0.7, 0.3]), (TOPOLOGY.n_states, 1))
    weights[0] = 0.0, -np.inf
    return GmmModel(weights, rng.normal(size=shape), rng.uniform(0.5, 2.0, shape))


def _hybrid(n_columns: int, way: str, config: HybridConfig = BEST, own: object = None) -> EmissionModel:
    rng, n_states = np.random.default_rng(2), TOPOLOGY.n_states
    means = rng.normal(scale=2.0, size=(n_states, n_columns))
    labels = [np.repeat(np.arange(n_states), 4).astype(np.int32) for _ in range(6)]
    frames = [(means[y] + rng.normal(size=(len(y), n_columns))).astype(np.float32) for y in labels]
    data = aligned_frames(
        lambda: enumerate(frames),
        labels,
        np.array([0, 1] * 3),
        n_states,
        max_frames=config.max_frames,
        min_frames=config.min_frames,
        seed=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few frames to converge
        return train_emissions(way, data, config, own)


def _combined(n_columns: int) -> CombinedModel:
    states = np.arange(TOPOLOGY.n_states, dtype=np.int32)[::-1].copy()
    n_normalized = n_columns - N_PROJECTED
    first = _hybrid(N_PROJECTED, "pools", own=PoolsConfig(4, rivals=0.5))
    return CombinedModel(first, _gmm(n_normalized), N_PROJECTED, N_PROJECTED, 0.2, states)


def _sklearn(name: str) -> Callable[[int], EmissionModel]:
    return partial(_hybrid, way=f"{PREFIX}{name}")


ALL_PAIRS = PoolsConfig(4, rivals=1.0)
FORWARD = PairForwardConfig(5)
KINDS: dict[str, Callable[[int], EmissionModel]] = {
    "gmm": _gmm,
    "rivals and mixtures, adapted": _combined,
    "pools": partial(_hybrid, way="pools", own=ALL_PAIRS),
    "pools, coupled anew": partial(
        _hybrid, way="pools", own=ALL_PAIRS, config=replace(BEST, coupling="wu-lin-weng")
    ),
    "pairs": partial(_hybrid, way="orols", own=FORWARD),
    "svm": partial(_hybrid, way="svm", own=SvmConfig()),
    "krls": partial(_hybrid, way="krls", own=KrlsConfig()),
    "logistic": _sklearn("linear_model.LogisticRegression"),
    "network": _sklearn("neural_network.MLPClassifier"),
    "bayes": _sklearn("naive_bayes.GaussianNB"),
}


def write(kind: str, directory: Path) -> None:
    """Write a recogniser whose model is of a kind."""
    is_adapted = kind.endswith("adapted")
    mfcc = MfccConfig(n_channels=8, n_cepstra=N_CEPSTRA, derivatives=0)
    rng, n_static = np.random.default_rng(3), mfcc.n_static
    config = FrontEndConfig(
        mfcc, projection="lda" if is_adapted else "none", context=CONTEXT, keep_cepstra=is_adapted
    )
    config = replace(config, n_components=N_PROJECTED)
    matrix = rng.normal(size=(n_static * (2 * CONTEXT + 1), N_PROJECTED)).astype(np.float32)
    projection = LinearProjection(matrix, np.zeros(N_PROJECTED, np.float32), CONTEXT) if is_adapted else None
    standardizer = Standardizer.from_statistics(rng.normal(size=n_static), rng.uniform(1, 2, n_static))
    front_end = FrontEnd(config, standardizer, projection)
    targets = None
    if is_adapted:
        frames = rng.normal(size=(200, N_PROJECTED)).astype(np.float32)
        states = rng.integers(TOPOLOGY.n_states, size=200)
        targets = fit_targets([frames], [states], TOPOLOGY.is_speech(), 20.0)
    emissions = KINDS[kind](front_end.n_columns)
    model = AcousticModel(front_end, TOPOLOGY, emissions, np.full(TOPOLOGY.n_states, 10.0), targets)
    options = {"loop": asdict(DecoderConfig(word_penalty=-1.0, n_best=2, confidence=True))}
    write_recognizer(
        directory, model, LEXICON, options, options if is_adapted else {}, "loop", spelling={"YES": "Yes"}
    )
    save_curves(FitCurves(None, FitCurve(1.0, 2.0)), directory)


def use(directory: Path) -> None:
    """Do with a recogniser what people do."""
    info(directory)
    recognizer = Recognizer.load(directory)
    recognizer.transcribe(SAMPLES)
    recognizer.align_with_confidences(recognizer.frames(SAMPLES), ["NO", "YES"])


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 0.5, 7, 1000, 65536, 2**31, 2**63, 10**18, -(10**18), 10**400),
    *(1e308, -1e308, 1e-308, 1e-12, 1e12, math.nan, math.inf, -math.inf),
    *("", "x", "1", "nan", "gmm", "combined", "this.Zen", "../..", "none", "é\u0000", "x" * 5000),
    *([], {}, [[]], [None], {"": None}, {"class": "this.Zen", "state": {}}, [0] * 1000, [[[[[[[[1]]]]]]]]),
)
FACTORS = (-1, 0, 0.5, 1.1, 2, 1e3, 1e-3, 1e12, 1e-12)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside a JSON value, and to itself."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item, (*place, key))


def damage_json(path: Path, rng: np.random.Generator) -> str:
    """Change one value of a JSON file and return what was done."""
    record = json.loads(path.read_text(encoding="utf-8"))
    if rng.random() < 0.05:
        text = json.dumps(record)
        cut = int(rng.integers(len(text)))
        wrong = (
            text[:cut],
            "[" * 100_000,
            "9" * 5000,
            text + text,
            "",
            text.replace(":", "", 1),
            '{"a": 1e999}',
        )
        path.write_text(wrong[rng.integers(len(wrong))], encoding="utf-8")
        return f"{path.name}: another text"
    places = list(_places(record))[1:]
    *way, last = places[rng.integers(len(places))]
    inner = record
    for key in way:
        inner = inner[key]
    old, action = inner[last], rng.integers(4)
    if action == 0:
        del inner[last]
        new: Any = "nothing"
    else:
        is_number = isinstance(old, int | float) and not isinstance(old, bool)
        new = VALUES[rng.integers(len(VALUES))]
        if action == 1 and is_number:
            new = old * FACTORS[rng.integers(len(FACTORS))]
        elif action == 1 and isinstance(old, list) and old:
            new = [old[:-1], old * 2, old[::-1], [old[0]] * len(old)][rng.integers(4)]
        inner[last] = new
    path.write_text(json.dumps(record), encoding="utf-8")
    return f"{path.name}: {'.'.join(map(str, (*way, last)))}: {str(old)[:40]} -> {str(new)[:40]}"


TYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "bool")
NUMBERS = (math.nan, math.inf, -math.inf, 0, -1, 1, 1e30, -1e30, 1e-30, 1e9, -1e9, 1e300, 2**31 - 1, -(2**31))


def _other(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array that differs from this one in shape, type or numbers."""
    flat, action = array.ravel(), rng.integers(12)
    if action == 0:
        return [array.T, flat, array[None], array[..., None], flat[:1].reshape(()), array.reshape(-1, 1)][
            rng.integers(6)
        ]
    if action == 1:
        return [array[:-1], array[:0], array[..., :-1], array[..., :0], np.concatenate([array, array])][
            rng.integers(5)
        ]
    if action == 2:
        return array.astype(TYPES[rng.integers(len(TYPES))])
    if action == 3:
        return rng.permutation(flat).reshape(array.shape)
    if action == 4:
        return np.ones((), array.dtype) * array[::-1]
    found = flat.copy()
    number = NUMBERS[rng.integers(len(NUMBERS))]
    if action == 5:
        found[:] = number
    elif action in (6, 7) and found.size:
        found = (found * FACTORS[rng.integers(len(FACTORS))]).astype(array.dtype)
    elif found.size:
        where = rng.integers(found.size, size=1 if action < 11 else max(found.size // 3, 1))
        if array.dtype.kind == "i" and rng.random() < 0.7:
            number = int(array.max()) + int(rng.integers(-2, 3)) if action < 10 else int(rng.integers(-3, 99))
        found[where] = number
    return found.reshape(array.shape)


def damage_tensors(directory: Path, rng: np.random.Generator) -> str:
    """Change one tensor, with the checksum to it, and return what was done."""
    path = directory / TENSORS
    tensors = dict(load(path.read_bytes()))
    name = sorted(tensors)[rng.integers(len(tensors))]
    before = tensors[name]
    if (action := rng.random()) < 0.05:
        del tensors[name]
        said = "nothing"
    elif action < 0.1:
        other = sorted(tensors)[rng.integers(len(tensors))]
        tensors[name], tensors[other] = tensors[other], tensors[name]
        said = f"that of {other}"
    else:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tensors[name] = np.array(_other(before, rng), order="C")
            except (OverflowError, ValueError):  # the type has no such number
                tensors[name] = np.zeros_like(before)
        said = f"{tensors[name].dtype}{list(tensors[name].shape)} {tensors[name].ravel()[:3]}"
    data = save(tensors)
    path.write_bytes(data)
    record = json.loads((directory / "model.json").read_text(encoding="utf-8"))
    record["tensors_sha256"] = hashlib.sha256(data).hexdigest()
    (directory / "model.json").write_text(json.dumps(record), encoding="utf-8")
    options = json.loads((directory / "decoding.json").read_text(encoding="utf-8"))
    options["tensors_sha256"] = record["tensors_sha256"]
    (directory / "decoding.json").write_text(json.dumps(options), encoding="utf-8")
    return f"{name}: {before.dtype}{list(before.shape)} -> {said}"


def damage(source: Path, target: Path, seed: int) -> str:
    """Write a damaged copy of a recogniser and return what was done."""
    rng = np.random.default_rng(seed)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    if rng.random() < 0.5:
        return damage_tensors(target, rng)
    # Most of what there is to damage is in the first.
    name = JSON_FILES[0] if rng.random() < 0.7 else JSON_FILES[rng.integers(len(JSON_FILES))]
    return damage_json(target / name, rng)


def outcome(directory: Path) -> str:
    """Return "works" or the error's one line; any other end is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            use(directory)
        except AsrError as error:
            if "\n" in str(error) or not str(error):
                raise AssertionError(f"not one line: {error}") from error
            return str(error)
    return "works"


def trial(kind: str, seeds: range, counts: dict[str, int]) -> None:
    """Damage a recogniser of one kind many times; print what failed, and count what happened."""
    with TemporaryDirectory() as place:
        source, target = Path(place) / "whole", Path(place) / "damaged"
        write(kind, source)
        use(source)
        for seed in seeds:
            done = damage(source, target, seed)
            # The last line tells which it was, should the interpreter end.
            print(f"{kind} {seed} {done}", file=sys.stderr, flush=True)
            try:
                counts["works" if outcome(target) == "works" else "is refused"] += 1
            except Exception:
                counts["FAILED"] += 1
                print(f"FAILED {kind} {seed} {done}: {traceback.format_exc(limit=-4)}", flush=True)


def main() -> None:
    """Try one kind or all of them; the last line says how often what happened."""
    kind, n, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    counts = {"works": 0, "is refused": 0, "FAILED": 0}
    for number, name in enumerate(KINDS if kind == "all" else (kind,)):
        trial(name, range(first + number * n, first + (number + 1) * n), counts)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
