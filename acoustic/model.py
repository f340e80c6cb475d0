"""The acoustic model, and the two files that hold it: ``model.json`` and ``model.safetensors``.

The JSON holds a format version, the kind of emission model, the front end's configuration, the topology and
the checksum of the tensors; nothing in either file is executed when it is read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from acoustic.emissions.adaptation import AdaptationTargets
from acoustic.emissions.emission_model import EmissionModel, StatePriors, columns_of, uncombined
from acoustic.emissions.kinds import find_kind, kind_of
from acoustic.errors import ModelError
from acoustic.hmm.topology import Topology
from features.frontend import FrontEnd, FrontEndConfig
from features.normalization import Standardizer
from features.projection import LinearProjection
from foundation.arrays import Floats, Reals, Singles, Tensors, check_array
from foundation.errors import AsrError
from foundation.files import as_path, content_of, text_of, write_together
from foundation.records import CONTENT_ERRORS, first_line, parsed_json, record_of

FORMAT = "asr-acoustic-model"
VERSION = 1
JSON_NAME = "model.json"
TENSORS_NAME = "model.safetensors"
DIGEST = "tensors_sha256"  # of the second, in the first
_ADAPTATION = "adaptation."


@dataclass(frozen=True)
class AcousticModel:
    """What turns recordings into emission scores, and the HMMs those scores are for.

    Attributes
    ----------
    front_end : turns recordings into frames
    topology : phones, states and transition probabilities
    emissions : turns frames into scores
    occupancy : (S,) number of training frames of each state, which is its prior up to a factor
    adaptation : targets of adaptation to speakers, None if the model does not adapt
    """

    front_end: FrontEnd
    topology: Topology
    emissions: EmissionModel
    occupancy: Floats
    adaptation: AdaptationTargets | None = None

    def __post_init__(self) -> None:
        n_states = self.topology.n_states
        if self.emissions.n_states != n_states or self.occupancy.shape != (n_states,):
            raise ModelError(
                f"expected emissions and occupancy of the topology's {n_states} states, got "
                f"{self.emissions.n_states} states and occupancy of shape {self.occupancy.shape}; train again"
            )
        if self.adaptation is not None:
            projection = self.front_end.projection
            n_columns = projection.n_components if projection else self.front_end.n_normalized
            if self.adaptation.means.shape != (n_states, n_columns):
                raise ModelError(
                    f"expected adaptation targets of {n_states} states and {n_columns} columns, got "
                    f"{self.adaptation.means.shape}; train again"
                )

    def scores(self, frames: Singles) -> Singles:
        """Return the emission scores of the front end's frames, (T, D) -> (T, S).

        Raises
        ------
        ModelError : the scores are no numbers, as those of a model whose file was damaged
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.emissions.log_likelihoods(frames)
        if len(found) and not found.max() < np.inf:  # NaN compares false
            raise ModelError(
                "the model's scores of the recording are not finite, expected those of a trained model; "
                "train again or restore its files"
            )
        return found

    def check(self) -> None:
        """Raise an error unless the parts fit each other; those of the emissions are checked with them."""
        self.front_end.check()
        n_states = self.topology.n_states
        check_array("occupancy", self.occupancy, np.float64, (n_states,), ModelError, lowest=0, highest=1e15)
        found, expected = columns_of(self.emissions), self.front_end.n_columns
        if found not in (0, expected):
            raise ModelError(
                f"the front end makes {expected} columns, expected as many as the emissions score, {found}; "
                "train again"
            )
        if self.adaptation is not None:
            self.adaptation.check()


def log_posteriors(scores: Reals, model: AcousticModel) -> Singles:
    """Return log P(state | frame), (T, S) float32, of a model's scores (T, S); rows sum to one.

    Discriminants are posteriors over priors: what they divided by is multiplied again. A mixture's
    likelihoods are multiplied with the share of the training frames that each state has.
    """
    joint = scores.astype(np.float64) + _log_priors(model)
    joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return joint.astype(np.float32)


def _log_priors(model: AcousticModel) -> Floats:
    """Return what is added to the scores, (S,)."""
    states = getattr(uncombined(model.emissions), "states", None)
    if isinstance(states, StatePriors):
        # A state without a class has the prior of the rarest one.
        known = np.append(states.log_priors, states.log_priors.min())
        return np.asarray(states.prior_scale * known[states.class_of_state])
    frames = np.maximum(model.occupancy, 1.0)
    return np.asarray(np.log(frames / frames.sum()))


def save_model(model: AcousticModel, directory: Path) -> None:
    """Write the two files of a model; the same model gives the same bytes."""
    kind = kind_of(model.emissions)
    tensors, options = find_kind(kind).pack(model.emissions)
    tensors["occupancy"] = model.occupancy
    front_end = model.front_end
    if front_end.standardizer is not None:
        tensors["standardizer.mean"] = front_end.standardizer.mean_
        tensors["standardizer.scale"] = front_end.standardizer.scale_
    if front_end.projection is not None:
        tensors["projection.matrix"] = front_end.projection.matrix
        tensors["projection.offset"] = front_end.projection.offset
    if model.adaptation is not None:
        tensors |= {f"{_ADAPTATION}{name}": value for name, value in vars(model.adaptation).items()}
    data = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
    description = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "options": options,
        "front_end": asdict(front_end.config),
        "topology": asdict(model.topology),
        DIGEST: hashlib.sha256(data).hexdigest(),
    }
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(description, indent=1, sort_keys=True) + "\n"
    write_together({directory / JSON_NAME: text.encode(), directory / TENSORS_NAME: data})


def load_model(directory: Path) -> AcousticModel:
    """Return the model that `save_model` wrote into a directory.

    Raises
    ------
    ModelError : a file is missing, broken or of another version
    """
    directory = as_path(directory, ModelError)
    description = _read_description(directory / JSON_NAME)
    tensors = _read_tensors(directory / TENSORS_NAME, description.get(DIGEST))
    try:
        model = AcousticModel(
            _front_end(description["front_end"], tensors),
            topology_from_record(description["topology"]),
            find_kind(description["kind"]).unpack(tensors, description.get("options", {})),
            tensors["occupancy"],
            _adaptation(tensors),
        )
        model.check()
        return model
    except (*CONTENT_ERRORS, AsrError) as error:
        problem = f"no {error}" if isinstance(error, KeyError) else first_line(error)
        raise ModelError(
            f"{directory / JSON_NAME}: {problem}; expected a model as asr train writes it; train again"
        ) from error


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = parsed_json(text_of(path))
    except FileNotFoundError:
        raise ModelError(
            f"{path}: not found; expected a directory made by asr train; check the path"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path}: cannot be read ({error}); expected JSON; train again or restore it"
        ) from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelError(f'{path}: not an acoustic model; expected "format": "{FORMAT}"; check the path')
    if description.get("version") != VERSION:
        raise ModelError(
            f"{path}: format version {description.get('version')}, this program reads {VERSION}; "
            "use the program that wrote it or train again"
        )
    return description


def _read_tensors(path: Path, sha256: object) -> Tensors:
    try:
        data = content_of(path)
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read ({error.strerror}); expected it beside {JSON_NAME}; "
            "train again or restore it"
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ModelError(
            f"{path}: corrupt, its {len(data)} bytes do not have the checksum in {JSON_NAME}; "
            "train again or restore it"
        )
    try:
        tensors: Tensors = load(data)
    except (SafetensorError, *CONTENT_ERRORS) as error:  # types that numpy lacks are a KeyError
        raise ModelError(
            f"{path}: not a safetensors file ({first_line(error)}); train again or restore it"
        ) from error
    return tensors


def _front_end(config: object, tensors: Tensors) -> FrontEnd:
    front_end_config = record_of(FrontEndConfig, config, ModelError, "front_end.")
    standardizer = projection = None
    if "standardizer.mean" in tensors:
        standardizer = Standardizer.from_statistics(
            tensors["standardizer.mean"], tensors["standardizer.scale"]
        )
    if "projection.matrix" in tensors:
        projection = LinearProjection(
            tensors["projection.matrix"], tensors["projection.offset"], front_end_config.context
        )
    return FrontEnd(front_end_config, standardizer, projection)


def _adaptation(tensors: Tensors) -> AdaptationTargets | None:
    found = {n.removeprefix(_ADAPTATION): t for n, t in tensors.items() if n.startswith(_ADAPTATION)}
    return AdaptationTargets(**found) if found else None


def topology_from_record(record: dict[str, Any]) -> Topology:
    """Return the topology that a JSON record describes."""
    for name in ("phones", "phone_states", "self_loops"):
        if not isinstance(record[name], list):
            raise TypeError(f"topology: {name}: expected a list, got {type(record[name]).__name__}")
    for name in ("is_contextual", "crosses_words"):
        if not isinstance(record.get(name, False), bool):
            raise TypeError(f"topology: {name}: expected true or false, got {type(record[name]).__name__}")
    return Topology(
        tuple(record["phones"]),
        tuple(tuple(states) for states in record["phone_states"]),
        tuple(tuple(loops) for loops in record["self_loops"]),
        record.get("is_contextual", False),
        record.get("crosses_words", False),
    )
