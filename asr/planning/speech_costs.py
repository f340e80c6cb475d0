"""What a frame of speech costs, by doing to a sample of the task what training does to all of it.

The functions that are timed are those that training calls; the graphs, the lexicon and the grammars are the
task's own. All costs are CPU seconds a frame, but where a name says otherwise. A cost is measured when it is
first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from acoustic.alignment import align, fit_curve, loop_scores, margins
from acoustic.emissions.adaptation import speaker_transforms
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import UtteranceGraph, loop_graph, utterance_graph
from acoustic.hmm.topology import Topology, all_contexts
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig, contextual_topology
from acoustic.model import AcousticModel
from asr.config import ExperimentConfig
from asr.corpora.sound_faults import sounds
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.planning.amounts import phone_counts
from asr.planning.timing import least_seconds
from asr.training.gmm import fit_front_end, start_flat, start_projected, train_components
from asr.training.hybrid import (
    Units,
    context_units,
    hybrid_frames,
    hybrid_front_end,
    own_units,
    with_targets,
)
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, Projection
from foundation.arrays import Singles

_FEW_GAUSSIANS = 4  # by feel
_ALIGNER_COMPONENTS = 8  # as `asr.pipeline` has it
_N_WORDS = 2000  # on whose margins a curve is timed; by feel
_NO_TREES = 10**9  # least number of frames of a leaf with which no tree grows


def aligner_components(config: GmmConfig) -> int:
    """Return the number of Gaussians a state of the model that aligns."""
    return max((n for n in config.mixtures if n <= _ALIGNER_COMPONENTS), default=config.mixtures[0])


class SpeechCosts:
    """Costs of a frame of a task's speech.

    Parameters
    ----------
    sample : some of its training data
    lexicon : its pronunciations
    config : the experiment's configuration

    Attributes
    ----------
    measured : the costs that were asked for, by name
    """

    def __init__(self, sample: SpeechData, lexicon: Lexicon, config: ExperimentConfig) -> None:
        self.sample = sample
        self.lexicon = lexicon
        self.config = config
        self.n_frames = sum(sample.n_frames)
        self.measured: dict[str, float] = {}
        self._models: dict[tuple[Projection, int], AcousticModel] = {}

    def features(self) -> float:
        """Return the cost of reading a recording and computing its cepstra."""
        front_end = self.config.front_end.front_end()
        return self._once("features", lambda: usable_cepstra(self.sample.corpus, front_end))

    def sound(self) -> float:
        """Return the cost of judging the sound of a recording."""
        return self._once("sound", lambda: sounds(self.sample.corpus))

    def start(self, projection: Projection = "none") -> float:
        """Return the cost of the model that a training begins with."""
        if projection != "none":
            return self._once(f"start {projection}", self._start_projected)
        return self._once("start", self._start_flat)

    def one_pass(self, projection: Projection, n_components: int) -> float:
        """Return the cost of an EM pass with so many Gaussians a state."""
        self.model(projection, n_components)
        return self.measured[f"EM {projection} {n_components}"]

    def setup(self, projection: Projection) -> float:
        """Return what a training stage costs beside its passes."""
        self.model(projection, self.config.gmm.mixtures[0])
        return self.measured[f"EM {projection} setup"]

    def model(self, projection: Projection, n_components: int) -> AcousticModel:
        """Return the model that the sample's own training gives, stage after stage."""
        key = projection, n_components
        if key not in self._models:
            self._models[key] = self._trained(projection, n_components)
        return self._models[key]

    def scores(self, projection: Projection, n_components: int) -> float:
        """Return the cost of a mixture model's scores of all states."""
        model = self.model(projection, n_components)
        name = f"scores {projection} {n_components}"
        return self._once(name, lambda: [model.emissions.log_likelihoods(f) for f in self._frames(model)])

    def loop(self, *, in_context: bool = False) -> float:
        """Return the cost of the best path through any phones, given the scores."""
        model = self._aligner
        topology = self.context_topology if in_context else model.topology
        graph, scores = loop_graph(topology), self._scores
        beam = self.config.gmm.beam
        name = "loop in context" if in_context else "loop"
        return self._once(name, lambda: [loop_scores(s, graph, topology, beam) for s in scores])

    def fitting(self) -> float:
        """Return the cost of aligning a transcript and judging its words, given the scores."""
        return self._once("fitting", lambda: self._fit_all(range(len(self._texts))))

    def fitting_others(self) -> float:
        """Return the same cost of the transcript of another utterance of about as many words."""
        order = sorted(range(len(self._texts)), key=lambda n: (len(self._texts[n]), n))
        partner = dict(zip(order, [*order[1:], *order[:1]], strict=True))
        return self._once("fitting of others", lambda: self._fit_all([partner[n] for n in sorted(order)]))

    def curve_s(self) -> float:
        """Return the seconds of the curve that says how well words fit, for each of the words."""

        def measure() -> float:
            rng = np.random.default_rng(0)
            right, wrong = rng.normal(-1.0, 1.0, _N_WORDS), rng.normal(-5.0, 2.0, _N_WORDS)
            return least_seconds(lambda: fit_curve(right, wrong)) / (2 * _N_WORDS)

        return self._once_s("curve, s", measure)

    def alignment(self) -> float:
        """Return the cost of the states of an utterance by the model that aligns, from cepstra on."""
        lexicon, beam = self.lexicon, self.config.gmm.beam
        return self._once("alignment", lambda: own_units(self.sample, self._aligner, lexicon, beam))

    def context_alignment(self) -> float:
        """Return the cost of the states in context of an utterance, without that of the trees."""
        return self._once("alignment in context", lambda: self._context_units(_NO_TREES))

    def trees_s(self) -> float:
        """Return the seconds that the trees of the contexts of the sample take."""
        before = self.context_alignment() * self.n_frames
        return self._once_s(
            "trees, s", lambda: max(least_seconds(lambda: self._context_units(1)) - before, 0.0)
        )

    def topologies_s(self) -> float:
        """Return the seconds that topologies of all contexts of the lexicon take."""
        lexicon = self.lexicon
        return self._once_s(
            "topologies, s", lambda: least_seconds(lambda: self._topology(lexicon), is_warm=True)
        )

    def lda(self) -> float:
        """Return the cost of learning a discriminant projection."""
        config = self._hybrid_front_end.config
        return self._once("projection", lambda: hybrid_front_end([self.sample], self._units, config))

    def discriminant_frames(self) -> float:
        """Return the cost of gathering the frames that discriminants see."""
        front_end, hybrid = self._hybrid_front_end, replace(self.config.hybrid, min_frames=1)
        return self._once("frames", lambda: hybrid_frames([self.sample], self._units, front_end, hybrid))

    def transformed(self, *, hybrid: bool) -> float:
        """Return the cost of a recording's frames, given its cepstra."""
        front_end = self._hybrid_front_end if hybrid else self._aligner.front_end
        data, name = self.sample, "hybrid frames" if hybrid else "GMM frames"
        return self._once(name, lambda: front_end.transform(data.cepstra, data.speakers))

    def targets(self, *, hybrid: bool) -> float:
        """Return the cost of learning where the frames of states lie."""
        front_end = self._hybrid_front_end if hybrid else self._aligner.front_end
        model, labels = replace(self._aligner, front_end=front_end), self._units.labels
        name = "hybrid targets" if hybrid else "GMM targets"
        return self._once(name, lambda: with_targets(self.sample, model, labels))

    def adaptation_s(self, *, hybrid: bool) -> float:
        """Return the seconds of the transform of a speaker."""
        front_end = self._hybrid_front_end if hybrid else self._aligner.front_end
        model, units = replace(self._aligner, front_end=front_end), self._units
        frames = front_end.transform(self.sample.cepstra, self.sample.speakers)
        one = [""] * len(frames)

        def measure() -> float:
            targets = with_targets(self.sample, model, units.labels).adaptation
            if targets is None:
                return 0.0
            return least_seconds(lambda: speaker_transforms(frames, units.labels, one, targets))

        return self._once_s("hybrid speaker, s" if hybrid else "GMM speaker, s", measure)

    @cached_property
    def n_contexts(self) -> int:
        """Number of contexts of phones in the sample."""
        found = phone_counts((u.spoken for u in self.sample.corpus), self.lexicon)
        return len(found.contexts)

    @cached_property
    def silence_share(self) -> float:
        """Share of the frames that are silence."""
        known = np.concatenate(self._units.labels)
        speech = self._aligner.topology.is_speech()
        known = known[known >= 0]
        return float(1.0 - speech[known].mean()) if len(known) else 0.0

    @cached_property
    def context_topology(self) -> Topology:
        """The lexicon's phones in context, with the states of the phones."""
        return self._topology(self.lexicon)

    def small_model(self) -> AcousticModel:
        """Return a model of few Gaussians, which prunes new recordings as one trained on hours does."""
        mixtures = self.config.gmm.mixtures
        return self.model("none", max((n for n in mixtures if n <= _FEW_GAUSSIANS), default=mixtures[0]))

    @property
    def _aligner(self) -> AcousticModel:
        return self.model("none", aligner_components(self.config.gmm))

    @cached_property
    def _units(self) -> Units:
        return own_units(self.sample, self._aligner, self.lexicon, self.config.gmm.beam)

    @cached_property
    def _hybrid_front_end(self) -> FrontEnd:
        hybrid = self.config.hybrid
        config = self.config.front_end.front_end(hybrid.input_projection, keep_cepstra=hybrid.gmm_weight > 0)
        return hybrid_front_end([self.sample], self._units, config)

    @cached_property
    def _scores(self) -> list[Singles]:
        model = self._aligner
        return [model.emissions.log_likelihoods(f) for f in self._frames(model)]

    @cached_property
    def _few_words(self) -> Lexicon:
        """The words of the sample, and some with the other phones.

        What the lexicon's other words cost is no cost of a frame.
        """
        words = {word for u in self.sample.corpus for word in u.spoken if word in self.lexicon}
        found = {p for word in words for spoken in self.lexicon.pronunciations(word) for p in spoken}
        for word in self.lexicon:
            own = {p for spoken in self.lexicon.pronunciations(word) for p in spoken}
            if not own <= found:
                words, found = words | {word}, found | own
        return self.lexicon.restricted_to(words)

    def _frames(self, model: AcousticModel) -> Sequence[Singles]:
        return model.front_end.transform(self.sample.cepstra, self.sample.speakers)

    def _start_flat(self) -> AcousticModel:
        front_end = fit_front_end(self.config.front_end.front_end(), self.sample)
        return start_flat(self.sample, front_end, self.lexicon)

    def _start_projected(self) -> AcousticModel:
        config = self.config.front_end.front_end("lda")
        return start_projected(self.sample, self._aligner, self._units.labels, config)

    def _trained(self, projection: Projection, n_components: int) -> AcousticModel:
        """Return the model after a stage of the sample's training, which is timed."""
        mixtures = self.config.gmm.mixtures
        stage = mixtures.index(n_components)
        start = self._start_flat if projection == "none" else self._start_projected
        before = self.model(projection, mixtures[stage - 1]) if stage else start()

        def after(n_passes: int) -> AcousticModel:
            gmm = self.config.gmm
            return train_components(self.sample, before, self.lexicon, n_components, n_passes, gmm)[0]

        if not stage:
            after(1)  # compiles
            self._once(f"EM {projection} setup", lambda: after(0))
        setup = self.measured[f"EM {projection} setup"] * self.n_frames
        found: list[AcousticModel] = []
        gmm = self.config.gmm
        n_passes = gmm.iterations[min(stage, len(gmm.iterations) - 1)]
        seconds = least_seconds(lambda: found.append(after(n_passes)), is_warm=bool(stage))
        a_pass = max(seconds - setup, 0.0) / n_passes / self.n_frames
        self.measured[f"EM {projection} {n_components}"] = a_pass
        return found[-1]

    @property
    def _texts(self) -> list[tuple[str, ...]]:
        return [utterance.words for utterance in self.sample.corpus]

    def _fit_all(self, chosen: Sequence[int]) -> None:
        """Align each utterance with the transcript of one, its own or another."""
        model, beam, texts = self._aligner, self.config.gmm.beam, self._texts
        for n, scores in zip(chosen, self._scores, strict=True):
            graph = self._graph(texts[n], model.topology)
            try:
                found = align(scores, graph, model.topology, beam=beam)
            except AlignmentError:
                continue
            margins(scores, scores[:, 0], found)

    def _graph(self, words: Sequence[str], topology: Topology) -> UtteranceGraph:
        return utterance_graph(self.lexicon.spoken(words), topology)

    def _context_units(self, min_frames: int) -> Units:
        tying = TyingConfig(min_frames, 0.0, self.config.tying.max_states)
        crosses_words = self.config.hybrid.units == "cross-word"
        beam = self.config.gmm.beam
        return context_units(self.sample, self._aligner, self._few_words, beam, tying, crosses_words)

    def _topology(self, lexicon: Lexicon) -> Topology:
        crosses_words = self.config.hybrid.units == "cross-word"
        spoken = (p for word in lexicon.words for p in lexicon.pronunciations(word))
        found = all_contexts(spoken, crosses_words)
        return contextual_topology(self._aligner.topology, found, crosses_words=crosses_words)

    def _once(self, name: str, call: Callable[[], object]) -> float:
        """Return the seconds a frame of a call on the whole sample, measured once."""
        if name not in self.measured:
            self.measured[name] = least_seconds(call) / self.n_frames
        return self.measured[name]

    def _once_s(self, name: str, measure: Callable[[], float]) -> float:
        """Return seconds that are measured once."""
        if name not in self.measured:
            self.measured[name] = measure()
        return self.measured[name]
