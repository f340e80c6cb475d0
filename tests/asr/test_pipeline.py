"""The steps of a training: which there are, in which order, and which code decides what each makes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from asr import pipeline
from asr.config import ExperimentConfig, with_preset, with_settings
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.experiment import Experiment
from asr.pipeline import listing, pieces
from asr.recipe import LoadedRecipe, Recipe, load_recipe
from asr.store import Outlook, StageStore, Step
from asr.systems import find_system
from decoder.lexicon import Lexicon
from foundation import version

TASK = ["task", "words", "features-train", "features-dev", "features-test", "grammars"]
ALIGNER = ["usable", "start-none", "gmm-none-1", "gmm-none-2", "gmm-none-4", "gmm-none-8"]
FITTING = ["fit-8", "fitting"]
UNITS = ["units-context", "adapted-context"]
HYBRID = ["hybrid-pools"]


def on_both(names: Sequence[str]) -> list[str]:
    """Return the names of steps on train and dev."""
    return [f"{name}-dev" for name in names]


@pytest.fixture(scope="module")
def steps_of(tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Step]]:
    """Return a function that gives the steps of some models on the tone language."""
    root = tmp_path_factory.mktemp("pipeline")

    def steps(*models: str, preset: str = "best", settings: Sequence[str] = ()) -> list[Step]:
        loaded = load_recipe("folder")
        letters = "without_lexicon=letters"
        config = with_settings(with_preset(loaded.recipe.config, preset), (letters, *settings))
        experiment = Experiment(loaded, tones, root, config, preset)
        return experiment.steps({name: find_system(name, preset) for name in models})

    return steps


def names(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps]


def test_people_are_told_what_each_step_does(steps_of: Callable[..., list[Step]]) -> None:
    steps = steps_of("gmm", "pools", "svm", "gmm-lda")
    thesis = steps_of("npd", preset="thesis", settings=["chosen_on_dev=hybrid.sigma"])
    outlook = [Outlook(step, None) for step in (*steps, *thesis) if step.name != "task"]
    done = Outlook(steps[0], Path("task-0"))
    found = {p.name: p for p in pieces([done, *outlook], {"train": 800, "dev": 100, "test": 100})}
    assert "task" not in found
    assert found["gmm-none-4"].says == "learning Gaussians of phones"
    assert found["gmm-none-4-dev"].says == "learning Gaussians of phones, now with dev"
    assert found["features-dev"].says == "reading recordings"
    assert found["hybrid-pools"].says == "choosing centres for pairs of states"
    assert found["hybrid-svm"].says == "choosing support vectors for pairs of states"
    assert (found["tuning-svm"].says, found["test-svm"].says) == ("tuning weights on dev", "decoding test")
    # Those of train and dev take longer by the utterances of dev, and are of a kind with those of train.
    first, second = found["hybrid-pools"], found["hybrid-pools-dev"]
    assert second.guess_s - 0.05 == pytest.approx((first.guess_s - 0.05) * 900 / 800)
    assert first.kind == second.kind != found["hybrid-svm"].kind
    assert found["tuning-svm"].guess_s > 3 * found["tuning-gmm"].guess_s


class TestOrder:
    def test_of_gmm(self, steps_of: Callable[..., list[Step]]) -> None:
        assert names(steps_of("gmm")) == [
            *TASK,
            *ALIGNER,
            "tuning-gmm",
            *on_both(ALIGNER),
            *("confidence-gmm", "grammars-dev", "recognizer-gmm", "test-gmm"),
            *("fit-8-dev", "judged-test"),  # which utterances are suspicious
        ]

    def test_of_npd(self, steps_of: Callable[..., list[Step]]) -> None:
        found = names(steps_of("pools"))
        warped = [f"features-{split}-warp-{w}" for w in ("0.93", "1.07") for split in ("train", "dev")]
        assert found == [
            *TASK,
            *ALIGNER,
            *FITTING,
            *UNITS,
            *warped[::2],
            *HYBRID,
            "adapting-hybrid-pools",
            "tuning-pools",
            *on_both(ALIGNER),
            *on_both(FITTING),
            *on_both(UNITS),
            *warped[1::2],
            *on_both(HYBRID),
            "adapting-hybrid-pools-dev",
            *("confidence-pools", "grammars-dev", "recognizer-pools", "test-pools", "judged-test"),
        ]

    def test_the_head_of_the_module_lists_them(self, steps_of: Callable[..., list[Step]]) -> None:
        assert pipeline.__doc__
        listed = pipeline.__doc__.partition("::\n")[2].partition("\nthen all")[0].splitlines()
        said = [name.strip() for line in listed for name in line.partition("#")[0].split(",") if name.strip()]
        found = names(steps_of("pools"))
        assert said == found[: len(said)]
        assert said[-1] == "tuning-pools"

    def test_of_the_thesis(self, steps_of: Callable[..., list[Step]]) -> None:
        """σ is chosen on dev, and models are trained on train alone."""
        settings = ("chosen_on_dev=hybrid.sigma",)
        found = names(steps_of("gmm", "npd", preset="thesis", settings=settings))
        assert found == [
            *TASK,
            *ALIGNER,
            *("tuning-gmm", "confidence-gmm", "recognizer-gmm", "test-gmm"),
            *FITTING,
            *("units-phone", "choice-npd", "hybrid-npd"),
            *("tuning-npd", "confidence-npd", "recognizer-npd", "test-npd"),
            *("judged-dev", "judged-test"),
        ]

    @pytest.mark.parametrize("models", [("gmm", "pools"), ("gmm-lda16-cmllr", "svm"), ("gmm16",)])
    def test_each_is_there_once_after_what_it_is_made_from(
        self, steps_of: Callable[..., list[Step]], models: tuple[str, ...]
    ) -> None:
        steps = steps_of(*models)
        assert len(set(names(steps))) == len(steps)
        for n, step in enumerate(steps):
            assert all(given in steps[:n] for given in step.made_from.values())
            assert step.says

    def test_what_a_plan_says(self, steps_of: Callable[..., list[Step]], tmp_path: Path) -> None:
        steps = steps_of("gmm")
        rows = listing(StageStore(tmp_path).outlook(steps))
        assert [row["name"] for row in rows] == names(steps)
        row = next(row for row in rows if row["name"] == "gmm-none-2")
        assert row == {
            "name": "gmm-none-2",
            "says": "mixtures of 2 Gaussians a state on train",
            "from": ["task", "words", "features-train", "usable", "gmm-none-1"],
            "done": False,
            "why": "not made yet",
        }


class TestWhatTheTaskDecides:
    def steps(self, tmp_path: Path, tones: Path, change: Callable[[Path], None]) -> list[str]:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            corpus = read_corpus(corpus_dir)
            first, second, *others = corpus.speakers
            for split, speakers in (("train", others), ("dev", [first]), ("test", [second])):
                write_corpus(Corpus(tuple(corpus.of_speakers(speakers))), output_dir / split)
            Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")
            change(output_dir)

        loaded = LoadedRecipe("mine", Recipe(prepare), "its text")
        experiment = Experiment(loaded, tones, tmp_path, ExperimentConfig(), "best")
        return names(experiment.steps({"gmm": find_system("gmm")}))

    def test_without_dev_and_test(self, tmp_path: Path, tones: Path) -> None:
        def change(directory: Path) -> None:
            shutil.rmtree(directory / "dev")
            shutil.rmtree(directory / "test")

        found = self.steps(tmp_path, tones, change)
        assert found == [
            *("task", "words", "features-train", "grammars"),
            *ALIGNER,
            *("tuning-gmm", "confidence-gmm", "recognizer-gmm", "fit-8"),
        ]

    def test_words_that_the_lexicon_lacks(self, tmp_path: Path, tones: Path) -> None:
        def change(directory: Path) -> None:
            Lexicon.graphemic(["ASA", "IMI", "SUS"]).write(directory / "lexicon.txt")

        found = self.steps(tmp_path, tones, change)
        assert found[: len(TASK) + 1] == [*TASK[:-1], "pronunciations", "grammars"]


class TestCode:
    """Steps are made again where code that they run has changed, and only there."""

    @staticmethod
    def codes(make: Callable[[], list[Step]], monkeypatch: pytest.MonkeyPatch, changed: str) -> set[str]:
        """Return the names of the steps whose code differs when a module has changed."""
        before = {step.name: step.decisive({}, step.other_code)["code"] for step in make()}
        digest = version._source_digest
        with monkeypatch.context() as patch:
            patch.setattr(version, "_digest_behind", version._digest_behind.__wrapped__)
            patch.setattr(version, "_source_digest", lambda m: "changed" if m == changed else digest(m))
            after = {step.name: step.decisive({}, step.other_code)["code"] for step in make()}
        return {name for name in before if before[name] != after[name]}

    @pytest.mark.parametrize(
        "module",
        [
            *("asr.serving.app", "asr.serving.page", "asr.reports.report", "asr.reports.page", "asr.cli"),
            *(
                "asr.commands.leftovers",
                "asr.commands.sweeps",
                "asr.planning.plan",
                "asr.experiment",
                "asr.pipeline",
            ),
            "asr.store",
        ],
    )
    def test_of_pages_reports_and_the_command_line(
        self, steps_of: Callable[..., list[Step]], monkeypatch: pytest.MonkeyPatch, module: str
    ) -> None:
        assert self.codes(lambda: steps_of("gmm", "pools"), monkeypatch, module) == set()

    def test_what_no_step_runs_is_behind_none(self, steps_of: Callable[..., list[Step]]) -> None:
        behind = {
            name
            for step in steps_of("gmm", "pools", "gmm-lda16-cmllr")
            for name in version.modules_behind(step.make.__module__)
        }
        rooms = {".".join(name.split(".")[:2]) for name in behind}
        assert rooms.isdisjoint(
            {f"asr.{room}" for room in ("serving", "reports", "cli", "commands", "planning")}
        )
        assert {"features.mfcc", "foundation.blocks", "decoder.lexicon"} <= behind

    def test_of_mixtures(self, steps_of: Callable[..., list[Step]], monkeypatch: pytest.MonkeyPatch) -> None:
        changed = self.codes(lambda: steps_of("gmm", "pools"), monkeypatch, "asr.training.gmm")
        assert {"start-none", "gmm-none-8", "units-context", "hybrid-pools"} <= changed
        assert not {"task", "words", "features-train"} & changed

    def test_of_cepstra(self, steps_of: Callable[..., list[Step]], monkeypatch: pytest.MonkeyPatch) -> None:
        assert "features-train" in self.codes(lambda: steps_of("gmm"), monkeypatch, "features.mfcc")

    def test_of_the_recipe(
        self, steps_of: Callable[..., list[Step]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.codes(lambda: steps_of("gmm"), monkeypatch, "recipes.folder") == {"task"}
