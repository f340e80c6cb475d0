"""What models are trained on: what is far from fitting is left out once the aligner is trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acoustic.emissions.model_files import load_model
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.experiment import Experiment
from asr.files import read_json
from asr.stages.models import ModelStages
from asr.stages.task import TaskStages
from asr.systems import GmmSystem, HybridSystem
from asr.training.fit import read_suspicious
from decoder.lexicon import Lexicon

Tasks = Callable[..., TaskStages]
TRAIN = ("train",)
NPD = HybridSystem("npd")


@pytest.fixture(scope="module")
def models(experiment: Experiment) -> ModelStages:
    return experiment.models


class TestFit:
    @pytest.fixture
    def spoilt(self, task_of: Tasks, tones: Path) -> Callable[..., ModelStages]:
        whole = read_corpus(tones)
        first, *others = whole
        wrong = replace(first, words=("MAUI", "MAUI"))

        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            write_corpus(Corpus((wrong, *others)), output_dir / "train")
            Lexicon.graphemic(whole.vocabulary).write(output_dir / "lexicon.txt")

        return lambda *options: ModelStages(
            task_of(
                prepare, "gmm.mixtures=1,2", "gmm.iterations=4,3", "n_components=5", "context=1", *options
            )
        )

    def test_it_is_left_out_and_named(
        self, spoilt: Callable[..., ModelStages], caplog: pytest.LogCaptureFixture
    ) -> None:
        models = spoilt()
        labels = np.load(models.alignment(GmmSystem(2), TRAIN).path / "states.npy")
        left_out = [m for m in caplog.messages if m.startswith("left out: ")]
        assert len(left_out) == 1
        assert left_out[0].startswith(
            "left out: 1 of 40 transcripts are far from what is heard (asr validate"
        )
        data = models.task.data(TRAIN)
        assert "text does not fit" in left_out[0]
        assert data.corpus.ids[0] in left_out[0]
        assert len(labels) == sum(map(len, data.cepstra[1:]))
        projected = load_model(models.gmm(GmmSystem(2, "lda"), TRAIN).path)
        assert projected.occupancy.sum() == pytest.approx(len(labels), rel=1e-3)

    @pytest.mark.parametrize("unusable", ["stop", "0.02"])
    def test_it_is_kept_where_that_is_too_much(
        self, spoilt: Callable[..., ModelStages], caplog: pytest.LogCaptureFixture, unusable: str
    ) -> None:
        models = spoilt(f"unusable={unusable}")
        labels = np.load(models.alignment(GmmSystem(2), TRAIN).path / "states.npy")
        assert len(labels) == sum(map(len, models.task.data(TRAIN).cepstra))
        assert not any(m.startswith("left out: ") for m in caplog.messages)
        found, n_utterances = read_suspicious(models.fitting.fit(GmmSystem(2), TRAIN).path)
        assert (len(found), n_utterances, found[0].is_far_off) == (1, 40, True)

    def test_the_list_is_by_the_largest_model_up_to_the_aligner(self, models: ModelStages) -> None:
        by_one = models.fitting.suspicious([GmmSystem(1)], TRAIN)
        by_two = models.fitting.suspicious([GmmSystem(1), NPD], TRAIN)
        assert [read_json(output.path / "stage.json")["stage"] for output in (by_one, by_two)] == [
            "fit-1",
            "fit-2",
        ]
