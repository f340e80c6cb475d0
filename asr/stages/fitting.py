"""The stages that say what is learned from: usable recordings, and of these what fits its transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from acoustic.model import load_model
from asr.corpora.problems import leave_out
from asr.corpora.sound_faults import sound_faults, sounds
from asr.corpora.speech_data import SpeechData
from asr.decoding.model_directories import save_curves
from asr.stages.store import StageOutput
from asr.stages.task import TaskStages, split_name
from asr.systems import GmmSystem, System
from asr.training.fit import fit_curves, hear
from asr.training.gmm import usable_for_training
from asr.training.suspicious import find_suspicious, read_suspicious, write_suspicious

N_HEARD = 100  # utterances that say how confident words of a model's alignments are


class FittingStages:
    """The data of a task that models are trained on.

    Parameters
    ----------
    task : stages of the task
    aligner : the system whose alignment says what fits
    gmm : makes the model of such a system on some splits
    """

    def __init__(
        self, task: TaskStages, aligner: GmmSystem, gmm: Callable[[GmmSystem, Sequence[str]], StageOutput]
    ) -> None:
        self.task = task
        self.store = task.store
        self.config = task.config
        self.aligner = aligner
        self._gmm = gmm
        self._usable: dict[str, SpeechData] = {}
        self._fitting: dict[tuple[str, ...], SpeechData] = {}

    def usable(self, splits: Sequence[str]) -> SpeechData:
        """Return the usable data of some splits; only in train can an unusable utterance be an error."""
        for split in splits:
            if split not in self._usable:
                is_train = split == "train"
                self._usable[split] = usable_for_training(
                    self.task.data((split,)),
                    self.task.lexicon,
                    most_left_out=self.config.most_unusable if is_train else 1.0,
                    needed=is_train,
                )
        first, *others = (self._usable[split] for split in splits)
        return sum(others, first)

    def data(self, splits: Sequence[str]) -> SpeechData:
        """Return the usable data of some splits without what is far from fitting, unless that is too much."""
        if tuple(splits) not in self._fitting:
            data, most = self.usable(splits), self.config.most_unusable
            found, _ = read_suspicious(self.fit(self.aligner, splits).path)
            far_off = {s.utterance_id: str(s) for s in found if s.is_far_off}
            n_unfit = len(far_off) if len(far_off) <= most * len(data.corpus) else 0
            what = "transcripts are far from what is heard (asr validate EXP --suspicious)"
            leave_out(what, list(far_off.values()), n_unfit, len(data.corpus), most)
            self._fitting[tuple(splits)] = data.without(far_off) if n_unfit else data
        return self._fitting[tuple(splits)]

    def digest(self, splits: Sequence[str]) -> str:
        """Return what decides, beside the data, what is far from fitting."""
        return f"{self.fit(self.aligner, splits).digest} {self.config.most_unusable:g}"

    def suspicious(self, systems: Iterable[System], splits: Sequence[str]) -> StageOutput:
        """Return which utterances are suspicious, by the aligner or the largest GMM below it."""
        largest = max(
            s.n_components if isinstance(s, GmmSystem) else self.aligner.n_components for s in systems
        )
        return self.fit(GmmSystem(min(largest, self.aligner.n_components)), splits)

    def fit(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return which utterances of some splits are suspicious, by the alignment of a GMM."""
        model, shift_s = self._gmm(system, splits), self.config.front_end.shift_ms / 1000

        def compute(directory: Path) -> None:
            data, trained = self.usable(splits), load_model(model.path)
            heard = hear(data, trained, self.task.lexicon, self.config.gmm.beam)
            curves = fit_curves(heard)
            faults = sound_faults(sounds(data.corpus))
            found = find_suspicious(data, heard, curves, faults, shift_s)
            save_curves(curves, directory)
            write_suspicious(found, len(data.corpus), directory)

        return self.store.run(
            split_name(f"fit-{system.n_components}", splits),
            compute,
            inputs={"model": model.digest, **self.task.digests(splits)},
            config=self.config.gmm.beam,
        )

    def confidence(self, name: str, model: StageOutput, splits: Sequence[str]) -> StageOutput:
        """Return how probable words are by how well they fit a model, from some of its training data."""

        def compute(directory: Path) -> None:
            data, trained = self.usable(splits), load_model(model.path)
            beam = self.config.gmm.beam
            heard = hear(data, trained, self.task.lexicon, beam, n_utterances=N_HEARD)
            save_curves(fit_curves(heard), directory)

        return self.store.run(
            f"confidence-{name}",
            compute,
            inputs={"model": model, **self.task.digests(splits)},
            config=self.config.gmm.beam,
        )
