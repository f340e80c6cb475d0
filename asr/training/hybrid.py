"""Training of hybrids: from aligned data to tied units and an acoustic model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from acoustic.alignment import Alignment
from acoustic.emissions.adaptation import fit_targets
from acoustic.emissions.aligned_frames import AlignedFrames, HybridConfig, aligned_frames, halves
from acoustic.emissions.emission_model import CombinedModel
from acoustic.hmm.topology import Context, Topology, all_contexts
from acoustic.hmm.tying import (
    Key,
    Moments,
    TyingConfig,
    base_states,
    contextual_topology,
    tied_states,
)
from acoustic.model import AcousticModel, topology_from_record
from acoustic.ways import train_emissions
from asr.corpora.speech_data import SpeechData
from asr.errors import ExperimentError
from asr.files import as_stage_wrote, read_json, read_object, write_json
from asr.progress import progress_bar
from asr.training.gmm import align_data, fit_front_end
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.projection import fit_lda
from foundation.arrays import Ints, Singles, check_array
from foundation.files import check_regular

Labels = list[Ints]


@dataclass(frozen=True)
class Units:
    """What the states of a hybrid stand for, and the state of each training frame.

    Attributes
    ----------
    topology : phones, or phones in context
    labels : the states (T,) of each utterance's frames, −1 where unknown
    failures : utterance id -> why it could not be aligned
    """

    topology: Topology
    labels: Labels
    failures: dict[str, str]


def own_units(data: SpeechData, model: AcousticModel, lexicon: Lexicon, beam: float) -> Units:
    """Return the states of an aligning model itself."""
    alignments, failures = align_data(data, model, lexicon, beam)
    unknown = [np.full(n_frames, -1, np.int32) for n_frames in data.n_frames]
    labels = [u if a is None else a.labels() for a, u in zip(alignments, unknown, strict=True)]
    return Units(model.topology, labels, failures)


def context_units(
    data: SpeechData,
    model: AcousticModel,
    lexicon: Lexicon,
    beam: float,
    config: TyingConfig,
    crosses_words: bool,
) -> Units:
    """Return states of phones in context, tied by trees grown on the frames of an aligning model."""
    spoken = (p for word in lexicon.words for p in lexicon.pronunciations(word))
    found = all_contexts(spoken, crosses_words)
    untied = contextual_topology(model.topology, found, crosses_words=crosses_words)
    alignments, failures = align_data(data, replace(model, topology=untied), lexicon, beam)
    frames = model.front_end.transformed(data.cepstra, data.speakers)
    states = tied_states(_moments(frames, alignments, untied, found), found, model.topology, config)
    topology = contextual_topology(model.topology, found, states, crosses_words)
    labels = [
        np.full(n_frames, -1, np.int32) if a is None else _relabelled(a, untied, topology)
        for a, n_frames in zip(alignments, data.n_frames, strict=True)
    ]
    return Units(topology, labels, failures)


def save_units(units: Units, directory: Path) -> None:
    """Write ``states.npy``, ``topology.json`` and ``failures.json``."""
    save_labels(units, directory)
    write_json(directory / "topology.json", units.topology)


def load_units(directory: Path, data: SpeechData) -> Units:
    """Return what `save_units` wrote of the same data."""
    with as_stage_wrote(directory / "topology.json"):
        topology = topology_from_record(read_json(directory / "topology.json"))
    with as_stage_wrote(directory / "failures.json"):
        failures = {name: str(why) for name, why in read_object(directory / "failures.json").items()}
    return Units(topology, load_labels(directory, data, topology.n_states), failures)


def save_labels(units: Units, directory: Path) -> None:
    """Write ``states.npy`` and ``failures.json``."""
    with open(directory / "states.npy", "wb") as file:
        np.save(file, np.concatenate(units.labels))
    write_json(directory / "failures.json", units.failures)


def load_labels(directory: Path, data: SpeechData, n_states: int) -> Labels:
    """Return the states of each utterance that `save_labels` wrote of the same data, below ``n_states``."""
    bounds, path = np.cumsum(data.n_frames), directory / "states.npy"
    last, shape = n_states - 1, (sum(data.n_frames),)
    with as_stage_wrote(path):
        check_regular(path)
        with open(path, "rb") as file:
            states: Ints = np.lib.format.read_array(file)
        check_array("states", states, np.int32, shape, ExperimentError, lowest=-1, highest=last)
    return np.split(states, bounds[:-1])


def hybrid_front_end(copies: Sequence[SpeechData], units: Units, config: FrontEndConfig) -> FrontEnd:
    """Return the front end of a hybrid, its projection learned from the units' labels.

    Parameters
    ----------
    copies : the training data, then warped copies of it
    units : units of the training data
    config : configuration of the front end
    """
    front_end = fit_front_end(config, copies[0])
    if config.projection == "none":
        return front_end
    n_static = config.mfcc.n_static
    normalized = (f for data in copies for f in front_end.normalized(data.cepstra, data.speakers))
    projection = fit_lda(
        (f[:, :n_static] for f in normalized),
        units.labels * len(copies),
        context=config.context,
        n_components=config.n_components,
        n_classes=units.topology.n_states,
    )
    return replace(front_end, projection=projection)


def train_hybrid(
    way: str,
    copies: Sequence[SpeechData],
    units: Units,
    front_end: FrontEnd,
    config: HybridConfig,
    own: object,
    aligner: AcousticModel,
) -> AcousticModel:
    """Return the acoustic model whose emission scores come from discriminants.

    Parameters
    ----------
    way : way of training, see `acoustic.ways.train_emissions`
    copies : the training data, then warped copies of it; each is normalised by itself
    units : units of the training data
    front_end : turns recordings into the frames that discriminants see
    config : options of all ways of training
    own : configuration of this way of training
    aligner : mixture model that is combined with the discriminants
    """
    n_states = units.topology.n_states
    # The first columns are for the discriminants, the last ones for the mixtures.
    stop = _n_columns(front_end)
    start = 0 if front_end.projection is None else stop
    watch = partial(progress_bar, label=f"pairs of states, {way}")
    emissions = train_emissions(
        way, hybrid_frames(copies, units, front_end, config), config, own, watch=watch
    )
    if config.gmm_weight:
        states = base_states(units.topology, aligner.topology)
        emissions = CombinedModel(emissions, aligner.emissions, stop, start, config.gmm_weight, states)
    known = np.concatenate(units.labels)
    occupancy = np.bincount(known[known >= 0], minlength=n_states).astype(np.float64)
    return AcousticModel(front_end, units.topology, emissions, occupancy)


def hybrid_frames(
    copies: Sequence[SpeechData], units: Units, front_end: FrontEnd, config: HybridConfig
) -> AlignedFrames:
    """Return the frames that discriminants are trained on; the parameters are those of `train_hybrid`."""
    return aligned_frames(
        partial(_frames, copies, front_end, _n_columns(front_end)),
        units.labels * len(copies),
        np.tile(_folds(copies[0]), len(copies)),
        units.topology.n_states,
        max_frames=config.max_frames,
        min_frames=config.min_frames,
        seed=config.seed,
    )


def discriminant_frames(data: SpeechData, front_end: FrontEnd) -> list[Singles]:
    """Return the frames (T, D) of each utterance that discriminants see."""
    frames = front_end.transformed(data.cepstra, data.speakers)
    return [f[:, : _n_columns(front_end)] for f in frames]


def _n_columns(front_end: FrontEnd) -> int:
    """Return the number of columns of the frames, the first ones, that discriminants see."""
    projection = front_end.projection
    return front_end.config.mfcc.n_features if projection is None else projection.n_components


def _frames(copies: Sequence[SpeechData], front_end: FrontEnd, stop: int) -> Iterator[tuple[int, Singles]]:
    """Yield the number of each utterance, copies counted on, and its first columns (T, stop).

    The recordings of one speaker after the other are normalised and held in memory.
    """
    for k, data in enumerate(copies):
        spoken: dict[str, list[int]] = {}
        for n, speaker in enumerate(data.speakers):
            spoken.setdefault(speaker, []).append(n)
        for speaker, numbers in spoken.items():
            frames = front_end.transform([data.cepstra[n] for n in numbers], [speaker] * len(numbers))
            yield from (
                (k * len(data.cepstra) + n, f[:, :stop]) for n, f in zip(numbers, frames, strict=True)
            )


def _folds(data: SpeechData) -> Ints:
    """Return the half of each utterance: by speaker, else by recording, else by part of the one recording."""
    recordings = [str(u.audio_path) for u in data.corpus]
    return halves(data.speakers, recordings, list(data.corpus.ids))


def with_targets(data: SpeechData, model: AcousticModel, labels: Labels) -> AcousticModel:
    """Return a model that knows where the training frames of its states lie."""
    frames = model.front_end.transformed(data.cepstra, data.speakers)
    if (projection := model.front_end.projection) is not None:  # the mixtures' columns stay as they are
        frames = frames.map(lambda f: f[:, : projection.n_components])
    targets = fit_targets(frames, labels, model.topology.is_speech())
    return replace(model, adaptation=targets)


def _moments(
    frames: Sequence[Singles],
    alignments: Sequence[Alignment | None],
    topology: Topology,
    found: Sequence[Context],
) -> dict[Key, Moments]:
    """Return the moments of the frames of each phone in context and state position."""
    named = {context.name: context for context in found}
    runs: dict[Key, list[Singles]] = {}
    for f, alignment in zip(frames, alignments, strict=True):
        if alignment is None:
            continue
        labels = alignment.labels()
        for segment in alignment.phones:
            context = named.get(topology.phones[segment.index])
            if context is None:  # silence
                continue
            inside = slice(segment.start, segment.end)
            for position, state in enumerate(topology.phone_states[segment.index]):
                run = f[inside][labels[inside] == state]
                if len(run):
                    runs.setdefault((context, position), []).append(run)
    return {key: Moments.of(np.concatenate(parts)) for key, parts in runs.items()}


def _relabelled(alignment: Alignment, old: Topology, new: Topology) -> Ints:
    """Return the states (T,) of another topology with the same phones."""
    known = alignment.labels()
    labels = known.copy()
    for segment in alignment.phones:
        inside = slice(segment.start, segment.end)
        for before, after in zip(
            old.phone_states[segment.index], new.phone_states[segment.index], strict=True
        ):
            labels[inside][known[inside] == before] = after
    return labels
