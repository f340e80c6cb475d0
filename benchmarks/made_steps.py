"""The steps of a training by their names: what a script asks for is made, with what it is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from asr.config import with_settings
from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData
from asr.experiment import Experiment
from asr.pipeline import aligner_of, on_splits
from asr.store import StageOutput, Step
from asr.systems import System, find_system
from asr.training.speech import forget, read_left_out, read_lexicon, read_speech
from decoder.lexicon import Lexicon


class Made:
    """The steps of an experiment by their names.

    Parameters
    ----------
    experiment : the experiment
    models : names of models, or systems, whose steps are in the list
    named : further systems by names of their own
    """

    def __init__(
        self, experiment: Experiment, *models: str | System, named: Mapping[str, System] | None = None
    ) -> None:
        self.experiment = experiment
        self.config = experiment.config
        systems: dict[str, System] = dict(named or {})
        for n, model in enumerate(models):
            is_name = isinstance(model, str)
            systems[model if is_name else f"model{n}"] = (
                find_system(model, experiment.preset) if is_name else model
            )
        systems = systems or {"aligner": aligner_of(self.config)}
        forget()
        self.steps: dict[str, Step] = {step.name: step for step in experiment.steps(systems)}

    def configured(self, *settings: str, models: Sequence[str | System] = ()) -> Made:
        """Return the steps of the same task with other options."""
        old = self.experiment
        config = with_settings(old.config, settings)
        other = Experiment(old.loaded, old.corpus_dir, old.out, config, old.preset, old.store)
        return Made(other, *models)

    def __getitem__(self, name: str) -> StageOutput:
        return self.experiment.store.output(self.steps[name])

    def path(self, name: str) -> Path:
        """Return the directory of an output."""
        return self[name].path

    def aligner(self, splits: Sequence[str] = ("train",)) -> Path:
        """Return the directory of the model whose alignment labels frames."""
        return self.path(on_splits(f"gmm-none-{aligner_of(self.config).n_components}", splits))

    def model(self, name: str, splits: Sequence[str] = ("train",)) -> StageOutput:
        """Return the acoustic model of a name on train, or on the splits of the final models."""
        step = self.steps[f"tuning-{name}" if tuple(splits) == ("train",) else f"recognizer-{name}"]
        return self[step.made_from["model"].name]

    def units(self, splits: Sequence[str] = ("train",)) -> Path:
        """Return the directory of the states that hybrids tell apart; a hybrid is among the models then."""
        units = self.config.hybrid.units
        adapted = on_splits(f"adapted-{units}", splits)
        return self.path(adapted if adapted in self.steps else on_splits(f"units-{units}", splits))

    def corpus(self, split: str) -> Corpus:
        """Return the utterances of a split."""
        return self.experiment.found.corpora[split]

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon that is trained with."""
        return read_lexicon({"lexicon": self.path(self._lexicon)})

    @property
    def _lexicon(self) -> str:
        return "pronunciations" if "pronunciations" in self.steps else "words"

    def data(self, *splits: str, warp: float | None = None) -> SpeechData:
        """Return the usable recordings of some splits."""
        features = {s: self.path(f"features-{s}") for s in splits}
        if warp is not None:
            features |= {f"{s} {warp:g}": self.path(f"features-{s}-warp-{warp:g}") for s in splits}
        return read_speech({"task": self.path("task"), "words": self.path("words"), **features}, warp)

    def fitting(self, *splits: str, warp: float | None = None) -> SpeechData:
        """Return the recordings of some splits that hybrids and projections learn from."""
        data = self.data(*splits, warp=warp)
        path = self.path(on_splits("fitting", splits))
        return data.without(read_left_out(path))

    def copies(self, *splits: str) -> list[SpeechData]:
        """Return what hybrids learn from: the fitting recordings, and copies with frequencies warped."""
        data = self.fitting(*splits)
        warped = [self.fitting(*splits, warp=warp) for warp in self.config.hybrid.warps]
        return [data, *(w.without(set(w.corpus.ids) - set(data.corpus.ids)) for w in warped)]

    def digests(self, *splits: str) -> dict[str, str]:
        """Return what a step is made from that uses the data of some splits."""
        names = {"task": "task", "words": "words", "lexicon": self._lexicon}
        names |= {split: f"features-{split}" for split in splits}
        return {label: self[name].digest for label, name in names.items()}
