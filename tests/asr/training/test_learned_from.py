"""What models are trained on: what is far from fitting is left out once the aligner is trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acoustic.alignment import Alignment, Segment
from acoustic.model import load_model
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.experiment import Experiment
from asr.pipeline import judge_of
from asr.systems import GmmSystem, HybridSystem
from asr.training.fit import read_suspicious
from asr.training.learned_from import as_used
from decoder.lexicon import Lexicon, Usage

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
        used = Lexicon.read(models.path("fit-2") / "lexicon.txt")
        assert set(used) == set(data.corpus.vocabulary) | {"MAUI"}
        assert all(usage.silence_after is not None for usage in used.usage.values())
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


class TestAsUsed:
    """Pronunciations and silences counted by hand in three utterances."""

    LEXICON = Lexicon({"a": ["x", "y"], "b": ["z"], "c": ["x"]})

    @staticmethod
    def aligned(*segments: tuple[int, int, int, int]) -> Alignment:
        """Return an alignment of words: each begins and ends at a frame, in a variant, at a place."""
        words = tuple(Segment(start, end, place) for start, end, _, place in segments)
        variants = tuple(variant for _, _, variant, _ in segments)
        return Alignment(np.zeros(9, np.int32), (), words, variants, 0.0)

    def test_equals_counts_by_hand(self) -> None:
        said = [
            # a, silence, b, then a at once; a has its first pronunciation, then its second.
            (("a", "b", "a"), self.aligned((0, 2, 0, 0), (3, 5, 0, 1), (5, 7, 1, 2))),
            (("a", "b"), self.aligned((1, 3, 1, 0), (3, 6, 0, 1))),
            # What the lexicon lacks says nothing of the words beside it.
            (("a", "?", "b"), self.aligned((0, 2, 1, 0), (4, 5, -1, 1), (6, 8, 0, 2))),
        ]
        usage = as_used(self.LEXICON, said).usage
        overall = 1 / 3  # one of three pairs has a silence
        after = {"a": (1 + 2 * overall) / (2 + 2), "b": (0 + 2 * overall) / (1 + 2), "c": overall}
        before_b, before_a = 2 * after["a"], after["b"]  # silences that the words before let expect
        expected = {
            ("a", ("x",)): Usage(2 / 4, after["a"], 2 / (before_a + 2), 3 / (1 - before_a + 2)),
            ("a", ("y",)): Usage(1.0, after["a"], 2 / (before_a + 2), 3 / (1 - before_a + 2)),
            ("b", ("z",)): Usage(1.0, after["b"], 3 / (before_b + 2), 3 / (2 - before_b + 2)),
            ("c", ("x",)): Usage(1.0, after["c"], 1.0, 1.0),
        }
        assert usage.keys() == expected.keys()
        for key, one in expected.items():
            np.testing.assert_allclose(usage[key], one, rtol=1e-12)

    def test_words_that_were_not_heard_keep_their_own(self) -> None:
        given = {("a", ("y",)): Usage(0.25), ("c", ("x",)): Usage(0.5, 0.4, 1.2, 0.8)}
        lexicon = Lexicon(self.LEXICON.entries, usage=given)
        said = [(("a", "b"), self.aligned((0, 2, 0, 0), (2, 5, 0, 1)))]
        usage, counted = as_used(lexicon, said).usage, as_used(self.LEXICON, said).usage
        assert usage["c", ("x",)] == Usage(0.5, 0.4, 1.2, 0.8)
        assert usage["a", ("y",)].probability == 0.5  # heard never, (0 + 1) / (1 + 1), and the other once
        assert {k: u for k, u in usage.items() if k[0] != "c"} == {
            k: u for k, u in counted.items() if k[0] != "c"
        }

    def test_single_words_say_nothing_of_silences(self) -> None:
        usage = as_used(self.LEXICON, [(("a",), self.aligned((1, 3, 0, 0)))]).usage
        assert usage == {("a", ("y",)): Usage(0.5)}
