"""Training of hybrids: from aligned data to tied units and an acoustic model.

`context_units` ties states by the frames of an aligning model. `adapted_mixtures` does it anew on frames that
are projected and adapted to their speakers; what it finds, `train_hybrid` learns from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from acoustic.alignment import Alignment
from acoustic.emissions.adaptation import (
    AdaptationTargets,
    adapted_frames,
    fit_adapted_targets,
    fit_targets,
)
from acoustic.emissions.aligned_frames import AlignedFrames, HybridConfig, aligned_frames, halves
from acoustic.emissions.emission_model import CombinedModel
from acoustic.hmm.topology import Context, Topology, all_contexts
from acoustic.hmm.training import GmmConfig, grow, start_from_labels, train_stage
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
from asr.training.gmm import acoustic_model, align_data, fit_front_end, training_utterances
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.projection import fit_lda
from foundation.arrays import Ints, Singles, check_array
from foundation.files import check_regular
from foundation.sequences import Computed, kept

Labels = list[Ints]

_ENOUGH_S = 180.0  # of a speaker: docs/adr/0022-speaker-adaptive-training.md
_FRAMES_AT_ONCE = 1 << 20  # of phones in context, before their moments are summed; by feel
# Gaussians of a tied state on adapted frames, and passes of EM: to align anew, and to score.
_FEW_GAUSSIANS = ((1, 1), (2, 1), (4, 2))
_MANY_GAUSSIANS = ((1, 1), (2, 2), (4, 2), (8, 2), (16, 4))


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
    found = _contexts_of(lexicon, crosses_words)
    untied = contextual_topology(model.topology, found, crosses_words=crosses_words)
    alignments, failures = align_data(data, replace(model, topology=untied), lexicon, beam)
    frames = model.front_end.transformed(data.cepstra, data.speakers)
    states = tied_states(_moments(frames, alignments, untied, found), found, model.topology, config)
    topology = contextual_topology(model.topology, found, states, crosses_words)
    return Units(topology, _labels(alignments, data, untied, topology), failures)


def speak_enough(data: SpeechData, shift_s: float, least_s: float | None = None) -> bool:
    """Return whether there are speakers to tell apart, of whom half or more say enough to be adapted to."""
    enough_s = _ENOUGH_S if least_s is None else least_s
    frames: Counter[str] = Counter()
    for speaker, n_frames in zip(data.speakers, data.n_frames, strict=True):
        frames[speaker] += n_frames
    return len(frames) > 1 and float(np.median(list(frames.values()))) * shift_s >= enough_s


def adapted_mixtures(
    data: SpeechData,
    units: Units,
    monophones: Topology,
    lexicon: Lexicon,
    front_end: FrontEndConfig,
    tying: TyingConfig,
    gmm: GmmConfig,
) -> tuple[Units, AcousticModel]:
    """Return states tied anew and mixtures of them, by projected frames that are adapted to their speakers.

    The mixtures adapt to speakers in decoding, too.

    Parameters
    ----------
    data : training data
    units : states of phones in context, and their frames by an aligning model
    monophones : topology of that model
    lexicon : pronunciations
    front_end : configuration of the front end, with a projection
    tying : when trees stop growing
    gmm : how mixtures are trained
    """
    # Few Gaussians a state know contexts and speakers, which the aligner did not, and align anew.
    speech = _adapted_speech(data, units, front_end)
    few = _mixtures_of(speech, data, units, lexicon, _FEW_GAUSSIANS, gmm)
    alignments, failures = align_data(data, few, lexicon, gmm.beam, speech.frames)
    # Their frames tie states anew.
    found = _contexts_of(lexicon, units.topology.crosses_words)
    moments = _moments(speech.frames, alignments, units.topology, found)
    states = tied_states(moments, found, monophones, tying)
    topology = contextual_topology(monophones, found, states, units.topology.crosses_words)
    tied = Units(topology, _labels(alignments, data, units.topology, topology), failures)
    # On frames that are projected and adapted by these states there are as many Gaussians as have frames.
    speech = _adapted_speech(data, tied, front_end)
    return tied, _mixtures_of(speech, data, tied, lexicon, _MANY_GAUSSIANS, gmm)


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
    mixtures: AcousticModel,
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
    mixtures : model that is combined with the discriminants: of the same states, or an aligner's of phones;
        if it adapts to speakers, the discriminants learn from adapted frames, and adapt as it does
    """
    n_states = units.topology.n_states
    watch = partial(progress_bar, label=f"pairs of states, {way}")
    frames = hybrid_frames(copies, units, front_end, config, mixtures.adaptation)
    emissions = train_emissions(way, frames, config, own, watch=watch)
    if config.gmm_weight:
        # Both see the same columns, unless the mixtures are an aligner's, which come last.
        stop = _n_columns(front_end)
        start = stop if front_end.config.keep_cepstra and front_end.projection is not None else 0
        states = np.arange(n_states, dtype=np.int32)
        if not mixtures.topology.is_contextual:
            states = base_states(units.topology, mixtures.topology)
        emissions = CombinedModel(emissions, mixtures.emissions, stop, start, config.gmm_weight, states)
    known = np.concatenate(units.labels)
    occupancy = np.bincount(known[known >= 0], minlength=n_states).astype(np.float64)
    return AcousticModel(front_end, units.topology, emissions, occupancy, mixtures.adaptation)


def hybrid_frames(
    copies: Sequence[SpeechData],
    units: Units,
    front_end: FrontEnd,
    config: HybridConfig,
    targets: AdaptationTargets | None = None,
) -> AlignedFrames:
    """Return the frames that discriminants are trained on, adapted to their speakers if there are targets.

    The other parameters are those of `train_hybrid`.
    """
    return aligned_frames(
        partial(_frames, copies, units.labels, front_end, targets),
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


def _frames(
    copies: Sequence[SpeechData], labels: Labels, front_end: FrontEnd, targets: AdaptationTargets | None
) -> Iterator[tuple[int, Singles]]:
    """Yield the number of each utterance, copies counted on, and the columns that discriminants see.

    The recordings of one speaker after the other are normalised, adapted and held in memory.
    """
    stop = _n_columns(front_end)
    for k, data in enumerate(copies):
        spoken: dict[str, list[int]] = {}
        for n, speaker in enumerate(data.speakers):
            spoken.setdefault(speaker, []).append(n)
        for speaker, numbers in spoken.items():
            names = [speaker] * len(numbers)
            frames: Sequence[Singles] = front_end.transform([data.cepstra[n] for n in numbers], names)
            if targets is not None:
                frames = adapted_frames(frames, [labels[n] for n in numbers], names, targets)
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


class _AdaptedSpeech(NamedTuple):
    """Frames of training data, adapted to their speakers."""

    front_end: FrontEnd
    targets: AdaptationTargets
    frames: Sequence[Singles]


def _adapted_speech(data: SpeechData, units: Units, config: FrontEndConfig) -> _AdaptedSpeech:
    """Return the frames of the data, projected and adapted by the labels of some units."""
    front_end = hybrid_front_end([data], units, config)
    speakers, is_speech = data.speakers, units.topology.is_speech()
    projected = kept(front_end.transformed(data.cepstra, speakers))
    frames = Computed(projected.__getitem__, len(projected))
    targets = fit_adapted_targets(frames, units.labels, speakers, is_speech)
    moved = adapted_frames(frames, units.labels, speakers, targets)
    # Without differences of speakers, classes differ in other directions; the targets lie in these.
    turned = fit_lda(
        moved,
        units.labels,
        context=0,
        n_components=moved[0].shape[1],
        n_classes=units.topology.n_states,
    )
    targets = fit_targets(Computed(lambda n: turned.transform(moved[n]), len(moved)), units.labels, is_speech)
    front_end = front_end.then(turned)
    moved = adapted_frames(frames.map(turned.transform), units.labels, speakers, targets)
    return _AdaptedSpeech(front_end, targets, kept(moved))


def _mixtures_of(
    speech: _AdaptedSpeech,
    data: SpeechData,
    units: Units,
    lexicon: Lexicon,
    stages: Sequence[tuple[int, int]],
    config: GmmConfig,
) -> AcousticModel:
    """Return mixtures of the units' states after stages of (Gaussians a state, passes of EM)."""
    utterances = training_utterances(data, speech.frames, lexicon, units.topology)
    model = start_from_labels(units.topology, speech.frames, units.labels)
    for n_components, n_iterations in stages:
        model = train_stage(grow(model, n_components, config), utterances, n_iterations, config)
    return replace(acoustic_model(speech.front_end, model), adaptation=speech.targets)


def _moments(
    frames: Sequence[Singles],
    alignments: Sequence[Alignment | None],
    topology: Topology,
    found: Sequence[Context],
) -> dict[Key, Moments]:
    """Return the moments of the frames of each phone in context and state position."""
    named = {context.name: context for context in found}
    moments: dict[Key, Moments] = {}
    runs: dict[Key, list[Singles]] = {}
    n_waiting = 0

    def add_up() -> None:
        for key, parts in runs.items():
            of_runs = Moments.of(np.concatenate(parts))
            moments[key] = moments[key] + of_runs if key in moments else of_runs
        runs.clear()

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
        n_waiting += len(f)
        if n_waiting >= _FRAMES_AT_ONCE:
            n_waiting = 0
            add_up()
    add_up()
    return moments


def _contexts_of(lexicon: Lexicon, crosses_words: bool) -> tuple[Context, ...]:
    return all_contexts((p for word in lexicon.words for p in lexicon.pronunciations(word)), crosses_words)


def _labels(alignments: Sequence[Alignment | None], data: SpeechData, old: Topology, new: Topology) -> Labels:
    """Return the states of each utterance in another topology, −1 where there is no alignment."""
    return [
        np.full(n_frames, -1, np.int32) if a is None else _relabelled(a, old, new)
        for a, n_frames in zip(alignments, data.n_frames, strict=True)
    ]


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
