"""Training of Gaussian mixtures, and alignment by them: the steps, and the work of each.

A training starts with one Gaussian in all states, or with a discriminant projection that is learned from an
alignment; then the number of Gaussians a state grows, with some passes of EM for each number.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acoustic.alignment import Alignment, align_frames
from acoustic.errors import AlignmentError
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import UtteranceGraph, utterance_graph
from acoustic.hmm.topology import NOISE_WORD, Topology
from acoustic.hmm.training import (
    GmmConfig,
    GmmHmm,
    Progress,
    TrainingUtterance,
    flat_start,
    grow,
    start_from_labels,
    train_stage,
)
from acoustic.model import AcousticModel, load_model, save_model
from asr.corpora.speech_data import BLOCK_UTTERANCES, SpeechData
from asr.files import write_json
from asr.progress import step_bar
from asr.training.speech import Speech, read_lexicon, read_speech
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.normalization import Standardizer, fit_within_groups
from features.projection import fit_lda
from foundation.arrays import Ints, Singles
from foundation.blocks import block_map
from foundation.errors import listed
from foundation.sequences import Computed, kept

logger = logging.getLogger(__name__)


# Steps


def start_mixtures(directory: Path, speech: Speech, *, front_end: FrontEndConfig) -> None:
    """Write the model that every training begins with."""
    data, lexicon = read_speech(speech), read_lexicon(speech)
    if "dev" not in speech:
        warn_of_untrained_phones(data, lexicon)
    save_model(start_flat(data, fit_front_end(front_end, data), lexicon), directory)


def train_mixtures(
    directory: Path, speech: Speech, start: Path, *, n_components: int, n_iterations: int, gmm: GmmConfig
) -> None:
    """Write the model after splitting its Gaussians and EM, and the course of its likelihood."""
    data, lexicon = read_speech(speech), read_lexicon(speech)
    model, history = train_components(data, load_model(start), lexicon, n_components, n_iterations, gmm)
    save_model(model, directory)
    write_json(directory / "history.json", [step._asdict() for step in history])


# The work


def warn_of_untrained_phones(data: SpeechData, lexicon: Lexicon) -> None:
    """Log the phones that no transcript can have: their models stay the average of all speech."""
    known = [word for word in data.corpus.vocabulary if word in lexicon]
    spoken = {p for word in known for phones in lexicon.pronunciations(word) for p in phones}
    if untrained := [phone for phone in lexicon.phones if phone not in spoken]:
        logger.warning(
            "%d phone(s) of the lexicon are in no training transcript: %s; words with them will hardly be "
            "recognised; record some or take them out of lexicon.txt",
            len(untrained),
            listed(untrained),
        )


def fit_front_end(config: FrontEndConfig, data: SpeechData) -> FrontEnd:
    """Return the front end with the statistics of the training data that it needs."""
    frames = FrontEnd(replace(config, normalize="none")).normalized(data.cepstra)
    if config.normalize == "global":
        return FrontEnd(config, Standardizer().fit(frames))
    if config.normalize == "speaker":
        return FrontEnd(config, fit_within_groups(frames, data.speakers))
    return FrontEnd(config)


def start_flat(data: SpeechData, front_end: FrontEnd, lexicon: Lexicon) -> AcousticModel:
    """Return the model every training begins with: one and the same Gaussian in all states."""
    has_noise = NOISE_WORD in data.corpus.vocabulary and NOISE_WORD not in lexicon
    topology = Topology.monophones(lexicon.phones, noise=has_noise)
    frames = kept(front_end.transformed(data.cepstra, data.speakers))
    utterances = training_utterances(data, frames, lexicon, topology)
    return acoustic_model(front_end, flat_start(topology, utterances))


def start_projected(
    data: SpeechData, aligned: AcousticModel, labels: Sequence[Ints], config: FrontEndConfig
) -> AcousticModel:
    """Return a model on a discriminant projection learned from another model's alignment.

    Parameters
    ----------
    data : training data
    aligned : model that gave the labels; its topology is kept
    labels : for each utterance the state of each frame (T,), -1 where unknown
    config : configuration of the front end with the projection
    """
    unprojected = fit_front_end(config, data)
    statics = unprojected.normalized(data.cepstra, data.speakers)
    n_states = aligned.topology.n_states
    projection = fit_lda(
        statics, labels, context=config.context, n_components=config.n_components, n_classes=n_states
    )
    front_end = replace(unprojected, projection=projection)
    frames = statics.map(projection.transform)
    return acoustic_model(front_end, start_from_labels(aligned.topology, frames, labels))


def train_components(
    data: SpeechData,
    start: AcousticModel,
    lexicon: Lexicon,
    n_components: int,
    n_iterations: int,
    config: GmmConfig,
) -> tuple[AcousticModel, list[Progress]]:
    """Return the model after splitting to ``n_components`` and EM, and the course of its likelihood."""
    frames = kept(start.front_end.transformed(data.cepstra, data.speakers))
    utterances = training_utterances(data, frames, lexicon, start.topology)
    model = gmm_hmm(start)
    if n_components > model.emissions.n_components:
        model = grow(model, n_components, config)
    history: list[Progress] = []
    with step_bar(f"{n_components} Gaussians a state", n_iterations) as bar:

        def report(progress: Progress) -> None:
            history.append(progress)
            bar.set_postfix_str(f"{progress.log_likelihood:.3f} a frame")
            bar.update()

        model = train_stage(model, utterances, n_iterations, config, report=report)
    _log_history(history, len(utterances))
    return acoustic_model(start.front_end, model), history


def training_utterances(
    data: SpeechData, frames: Sequence[Singles], lexicon: Lexicon, topology: Topology
) -> Sequence[TrainingUtterance]:
    """Return frames (T, D) and graph of every utterance; what many hours need is not in memory."""
    graphs, ids = utterance_graphs(data, lexicon, topology), data.corpus.ids
    return Computed(lambda n: TrainingUtterance(ids[n], frames[n], graphs[n]), len(ids))


def utterance_graphs(data: SpeechData, lexicon: Lexicon, topology: Topology) -> list[UtteranceGraph]:
    """Return the graph of every transcript."""
    return [utterance_graph(lexicon.spoken(u.words), topology) for u in data.corpus]


def align_data(
    data: SpeechData,
    model: AcousticModel,
    lexicon: Lexicon,
    beam: float,
    frames: Sequence[Singles] | None = None,
) -> tuple[list[Alignment | None], dict[str, str]]:
    """Return the alignment of each utterance, None where there is none, and the reasons by utterance id.

    The frames are those of the model's front end, unless others are given.
    """
    ids = data.corpus.ids
    if frames is None:
        frames = model.front_end.transformed(data.cepstra, data.speakers)
    graphs = utterance_graphs(data, lexicon, model.topology)

    def one(n: int) -> Alignment | AlignmentError:
        try:
            return align_frames(frames[n], graphs[n], model, beam)
        except AlignmentError as error:
            return error

    found = block_map(one, range(len(ids)), BLOCK_UTTERANCES, label="alignment", names=ids.__getitem__)
    results = list(found)
    failures = {i: str(r) for i, r in zip(ids, results, strict=True) if isinstance(r, AlignmentError)}
    for utterance_id, reason in failures.items():
        logger.warning("%s cannot be aligned: %s", utterance_id, reason)
    return [None if isinstance(r, AlignmentError) else r for r in results], failures


def gmm_hmm(model: AcousticModel) -> GmmHmm:
    """Return the part of a model of mixtures that is trained."""
    if not isinstance(model.emissions, GmmModel):
        raise TypeError(f"expected a GMM to go on with, got {type(model.emissions).__name__}")
    return GmmHmm(model.topology, model.emissions, model.occupancy)


def acoustic_model(front_end: FrontEnd, model: GmmHmm) -> AcousticModel:
    """Return mixtures that were trained, with the front end of their frames."""
    return AcousticModel(front_end, model.topology, model.emissions, model.occupancy)


def _log_history(history: Sequence[Progress], n_utterances: int) -> None:
    for step in history:
        logger.info(
            "%d Gaussians, pass %d of %d: log-likelihood %.4f a frame",
            step.n_components,
            step.iteration,
            step.n_iterations,
            step.log_likelihood,
        )
    if history and history[-1].failed:
        failed = history[-1].failed
        logger.warning(
            "%d of %d utterances left out of training, no path through their transcript: %s",
            len(failed),
            n_utterances,
            listed(failed),
        )
