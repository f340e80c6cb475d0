"""The steps that align the training data, and those that learn from the states of aligned frames.

These are discriminant projections, hybrids (units that their states stand for, mixtures of these on frames
adapted to speakers, options chosen on the dev set, discriminants), and adaptation to speakers in decoding.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from acoustic.emissions.aligned_frames import HybridConfig
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from acoustic.model import load_model, save_model
from acoustic.ways import WAYS
from asr.config import ChosenName, ExperimentConfig
from asr.corpora.speech_data import SpeechData
from asr.files import as_stage_wrote, read_json, write_json
from asr.training.choice import DevFrames, choose, chosen_config, said_values
from asr.training.gmm import start_projected
from asr.training.hybrid import (
    adapted_mixtures,
    context_units,
    discriminant_frames,
    hybrid_frames,
    hybrid_front_end,
    load_labels,
    load_units,
    own_units,
    save_labels,
    save_units,
    speak_enough,
    train_hybrid,
    with_targets,
)
from asr.training.speech import Speech, read_lexicon, read_speech
from features.frontend import FrontEndConfig

CHOICE = "choice.json"

logger = logging.getLogger(__name__)


def align_speech(directory: Path, speech: Speech, model: Path, *, beam: float) -> None:
    """Write the state of each training frame by a model, −1 where there is none."""
    save_labels(own_units(read_speech(speech), load_model(model), read_lexicon(speech), beam), directory)


def start_with_projection(
    directory: Path, speech: Speech, aligner: Path, alignment: Path, *, front_end: FrontEndConfig
) -> None:
    """Write a model on a discriminant projection that is learned from another model's alignment."""
    data, model = read_speech(speech), load_model(aligner)
    labels = load_labels(alignment, data, model.topology.n_states)
    save_model(start_projected(data, model, labels, front_end), directory)


def find_units(
    directory: Path, speech: Speech, model: Path, *, units: str, beam: float, tying: TyingConfig | None
) -> None:
    """Write the states that hybrids tell apart and the state of each training frame.

    Without ``tying`` these are the states of the aligning model; with it, those of phones in context.
    """
    data, aligner, lexicon = read_speech(speech), load_model(model), read_lexicon(speech)
    if tying is None:
        found = own_units(data, aligner, lexicon, beam)
    else:
        found = context_units(data, aligner, lexicon, beam, tying, units == "cross-word")
    save_units(found, directory)


def adapt_and_tie(
    directory: Path,
    speech: Speech,
    units: Path,
    aligner: Path,
    *,
    front_end: FrontEndConfig,
    tying: TyingConfig,
    gmm: GmmConfig,
    least_speech_s: float | None = None,
) -> None:
    """Write states tied anew on frames adapted to their speakers, and mixtures of them, which adapt.

    Where the speakers of train say too little, by the rule or in seconds, these are the units and the aligner
    as they are.
    """
    data, lexicon = read_speech(speech), read_lexicon(speech)
    tied, model = load_units(units, data), load_model(aligner)
    # With dev or without: weights are tuned on a model of the same kind.
    train = read_speech({name: path for name, path in speech.items() if name != "dev"})
    if speak_enough(train, front_end.mfcc.shift_ms / 1000, least_speech_s):
        tied, model = adapted_mixtures(data, tied, model.topology, lexicon, front_end, tying, gmm)
    save_units(tied, directory)
    save_model(model, directory)


def choose_options(
    directory: Path,
    speech: Speech,
    dev: Speech,
    units: Path,
    aligner: Path,
    *,
    way: str,
    values: Mapping[ChosenName, Sequence[float]],
    hybrid: HybridConfig,
    own: object,
    front_end: FrontEndConfig,
    beam: float,
) -> None:
    """Write the options chosen on dev, and all that was tried."""
    data, spoken = read_speech(speech), read_speech(dev)
    aligned = load_units(units, data)
    fitted = hybrid_front_end([data], aligned, front_end)
    of_dev = own_units(spoken, load_model(aligner), read_lexicon(speech), beam)
    frames = DevFrames(np.concatenate(discriminant_frames(spoken, fitted)), np.concatenate(of_dev.labels))
    config = _config(way, hybrid, own, tuple(values))
    found = choose(way, hybrid_frames([data], aligned, fitted, hybrid), frames, config)
    logger.info("%s: chosen on dev: %s", way, said_values(found.weights))
    write_json(directory / CHOICE, asdict(found))


def train_discriminants(
    directory: Path,
    speech: Speech,
    units: Path,
    mixtures: Path,
    choice: Path | None = None,
    *,
    way: str,
    hybrid: HybridConfig,
    own: object,
    front_end: FrontEndConfig,
) -> None:
    """Write a hybrid trained on units, with the options that were chosen for it, if any.

    Where mixtures of the units adapt to speakers, so does the hybrid, and has their front end.
    """
    config = _config(way, hybrid, own)
    if choice is not None:
        config = chosen_for(config, choice)
    data = read_speech(speech)
    copies = [data, *(_like(data, read_speech(speech, warp)) for warp in hybrid.warps)]
    aligned, known = load_units(units, data), load_model(mixtures)
    is_fitted = known.adaptation is not None
    fitted = known.front_end if is_fitted else hybrid_front_end(copies, aligned, front_end)
    own = config.of_way(way)
    save_model(train_hybrid(way, copies, aligned, fitted, config.hybrid, own, known), directory)


def chosen_for(config: ExperimentConfig, choice: Path) -> ExperimentConfig:
    """Return a configuration with the options that `choose_options` wrote into a directory."""
    with as_stage_wrote(choice / CHOICE):
        return chosen_config(config, read_json(choice / CHOICE)["weights"])


def add_adaptation(directory: Path, speech: Speech, model: Path, labels: Path) -> None:
    """Write a model that adapts to speakers: it knows where the training frames of its states lie."""
    data, trained = read_speech(speech), load_model(model)
    if trained.adaptation is None:
        trained = with_targets(data, trained, load_labels(labels, data, trained.topology.n_states))
    save_model(trained, directory)


def _config(
    way: str, hybrid: HybridConfig, own: object, chosen: tuple[ChosenName, ...] = ()
) -> ExperimentConfig:
    """Return a configuration that holds the options of a way of training."""
    sections = {"hybrid": hybrid} | ({WAYS[way].section: own} if way in WAYS else {})
    return replace(ExperimentConfig(), chosen_on_dev=chosen, **sections)  # type: ignore[arg-type]


def _like(data: SpeechData, warped: SpeechData) -> SpeechData:
    """Return a warped copy of the utterances that both have."""
    return warped.without(set(warped.corpus.ids) - set(data.corpus.ids))
