"""What models are trained on: what is far from fitting is left out once the aligner is trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acoustic.model import load_model
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.experiment import Experiment
from asr.pipeline import judge_of
from asr.systems import GmmSystem, HybridSystem
from asr.training.fit import read_suspicious
from decoder.lexicon import Lexicon

Tasks = Callable[..., Experiment]
NPD = HybridSystem("npd")


class TestFit:
    @pytest.fixture
    def spoilt(self, task_of: Tasks, made_of: Any, tones: Path) -> Callable[..., Any]:
        whole = read_corpus(tones)
        first, *others = whole
        wrong = replace(first, words=("MAUI", "MAUI"))

        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            write_corpus(Corpus((wrong, *others)), output_dir / "train")
            Lexicon.graphemic(whole.vocabulary).write(output_dir / "lexicon.txt")

        small = ("gmm.mixtures=1,2", "gmm.iterations=4,3", "n_components=5", "context=1")
        return lambda *options: made_of(task_of(prepare, *small, *options), "gmm-lda2")

    def test_it_is_left_out_and_named(
        self, spoilt: Callable[..., Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        models = spoilt()
        labels = np.load(models.path("alignment-2") / "states.npy")
        left_out = [m for m in caplog.messages if m.startswith("left out: ")]
        assert len(left_out) == 1
        assert left_out[0].startswith(
            "left out: 1 of 40 transcripts are far from what is heard (asr validate"
        )
        data = models.data("train")
        assert "text does not fit" in left_out[0]
        assert data.corpus.ids[0] in left_out[0]
        assert len(labels) == sum(map(len, data.cepstra[1:]))
        projected = load_model(models.path("gmm-lda-2"))
        assert projected.occupancy.sum() == pytest.approx(len(labels), rel=1e-3)

    @pytest.mark.parametrize("unusable", ["stop", "0.02"])
    def test_it_is_kept_where_that_is_too_much(
        self, spoilt: Callable[..., Any], caplog: pytest.LogCaptureFixture, unusable: str
    ) -> None:
        models = spoilt(f"unusable={unusable}")
        labels = np.load(models.path("alignment-2") / "states.npy")
        assert len(labels) == sum(map(len, models.data("train").cepstra))
        assert not any(m.startswith("left out: ") for m in caplog.messages)
        found, n_utterances = read_suspicious(models.path("fit-2"))
        assert (len(found), n_utterances, found[0].is_far_off) == (1, 40, True)

    def test_the_list_is_by_the_largest_model_up_to_the_aligner(self, experiment: Experiment) -> None:
        config = experiment.config
        assert judge_of([GmmSystem(1)], config) == GmmSystem(1)
        assert judge_of([GmmSystem(1), NPD], config) == GmmSystem(2)
        assert judge_of([GmmSystem(16)], config) == GmmSystem(2)
