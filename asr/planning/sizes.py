"""Memory, disk and the size of models, from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acoustic.hmm.topology import Topology
from asr.config import ExperimentConfig
from asr.planning import laws
from asr.planning.amounts import TaskAmounts
from asr.planning.pair_costs import PairCosts
from asr.planning.speech_costs import aligner_components
from asr.planning.walk import Stage
from asr.systems import GmmSystem, System
from features.frontend import Projection
from foundation.sequences import IN_MEMORY

MB = 1e6
_SINGLE, _DOUBLE = 4, 8  # bytes of a number


@dataclass(frozen=True)
class Sizes:
    """Sizes of a task's models and of what is kept on the way to them, in bytes.

    Attributes
    ----------
    amounts : how much the task holds
    config : the experiment's configuration
    grammar_bytes : of all grammars' files
    lexicon_bytes : of the lexicon's file
    """

    amounts: TaskAmounts
    config: ExperimentConfig
    grammar_bytes: float
    lexicon_bytes: float

    def mixtures(self, projection: Projection, n_components: int) -> float:
        """Return the size of a mixture model."""
        return (
            _DOUBLE
            * self.amounts.monophones.n_states
            * n_components
            * (2.0 * self._n_features(projection) + 1)
        )

    def acoustic(self, system: System, pairs: PairCosts | None) -> float:
        """Return the size of a system's acoustic model."""
        if isinstance(system, GmmSystem):
            return self.mixtures(system.projection, system.n_components)
        hybrid = self.config.hybrid
        n_mixed = aligner_components(self.config.gmm)
        mixed = self.mixtures("none", n_mixed) if hybrid.gmm_weight else 0.0
        return mixed + (pairs.model_bytes if pairs else 0.0)

    def model(self, system: System, pairs: PairCosts | None) -> float:
        """Return the size of all that decoding needs."""
        return self.acoustic(system, pairs) + self.grammar_bytes + self.lexicon_bytes

    def disk(self, stages: Sequence[Stage], system: System, pairs: PairCosts | None) -> float:
        """Return what an experiment keeps of the stages, and of the model once more."""
        return sum(self._kept(stage, system, pairs) for stage in stages) + self.model(system, pairs)

    def memory(self, system: System, pairs: PairCosts | None, final: Sequence[str]) -> float:
        """Return the largest memory of the process.

        Beside Python and its libraries there are at once the cepstra of the largest split, whose memory stays
        with the process, the frames of a training stage up to a limit, and the lexicon with the network; then
        those of the discriminants or the scores of a split, whatever is more.
        """
        a_frame = _SINGLE * self._n_features("none")
        cepstra = max(self.amounts.n_frames([split]) for split in self.amounts.corpora) * a_frame
        kept = min(self.amounts.n_frames(final) * a_frame, IN_MEMORY)
        words = laws.MB_A_WORD * MB * len(self.amounts.lexicon)
        decoded = max(self.amounts.n_frames([split]) for split in ("dev", "test"))
        n_states = self.amounts.monophones.n_states
        scores = min(decoded * _SINGLE * n_states, IN_MEMORY)
        return laws.BASE_MB * MB + cepstra + kept + words + max(pairs.peak_bytes if pairs else 0.0, scores)

    def _kept(self, stage: Stage, system: System, pairs: PairCosts | None) -> float:
        """Return what a stage keeps on disk."""
        n_frames = self.amounts.n_frames(stage.splits)
        if stage.kind == "features":
            split = stage.name.split("-")[1]
            return float(self.amounts.n_frames([split]) * _SINGLE * self._n_features("none"))
        if stage.kind in ("units", "alignment"):
            return float(n_frames * _SINGLE)
        if stage.kind == "gmm":
            return self.mixtures("lda" if "lda" in stage.what else "none", int(stage.what.rpartition("-")[2]))
        if stage.kind in ("hybrid", "adapting"):
            return self.acoustic(system, pairs)
        if stage.kind == "recognizer":
            return self.model(system, pairs)
        kept = {"task": 1.0, "words": 1.0, "pronunciations": 1.0}.get(stage.kind, 0.0) * self.lexicon_bytes
        return kept + (self.grammar_bytes if stage.kind == "grammars" else 0.0)

    def _n_features(self, projection: Projection) -> int:
        config = self.config.front_end.front_end(projection)
        return config.mfcc.n_features if projection == "none" else config.n_components


def monophone_states(topology: Topology) -> tuple[int, int]:
    """Return the number of states of a topology, and how many of them are those of silence."""
    return topology.n_states, int((~topology.is_speech()).sum())
