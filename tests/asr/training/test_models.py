"""What the steps of acoustic models are made from, and that each model is what its step says."""

import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.model import load_model
from acoustic.ways import WAYS
from asr.config import with_settings
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.errors import ConfigError, CorpusError
from asr.experiment import Experiment
from asr.files import as_plain, read_json
from asr.pipeline import aligner_of, check_system
from asr.store import StageOutput
from asr.systems import GmmSystem, HybridSystem, find_system
from asr.training import choice
from asr.training.aligned import CHOICE
from asr.training.hybrid import load_labels, load_units, own_units
from decoder.lexicon import Lexicon
from foundation.errors import AsrError

Tasks = Callable[..., Experiment]
NPD = HybridSystem("npd")
BAYES = HybridSystem("sklearn:naive_bayes.GaussianNB")
NAME = "hybrid-sklearn-naive_bayes.GaussianNB"
HYBRIDS = ("hybrid.units=phone", "hybrid.warps=1.1", "hybrid.min_frames=5")
SMALL = ("hybrid.min_frames=5", "tying.min_frames=60", "tying.min_gain=20")


@pytest.fixture(scope="module")
def made(made: Any) -> Any:
    return made.configured(models=[GmmSystem(2), GmmSystem(2, adapts=True)])


def record(output: StageOutput) -> dict:
    return read_json(output.path / "stage.json")


class TestChecks:
    @pytest.mark.parametrize(
        ("mixtures", "expected"), [("1,2", 2), ("1,2,4,8,16", 8), ("1,6,20", 6), ("16,32", 16)]
    )
    def test_the_aligner_has_at_most_eight_gaussians_if_it_can(
        self, experiment: Experiment, mixtures: str, expected: int
    ) -> None:
        config = with_settings(experiment.config, [f"gmm.mixtures={mixtures}"])
        assert aligner_of(config) == GmmSystem(expected)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "gmm",
                r'"gmm" has 8 Gaussians a state, .* gmm\.mixtures, got 1, 2; train gmm1 or gmm2, or change',
            ),
            ("gmm-lda16", r'"gmm-lda16" has 16 Gaussians .*; train gmm-lda1 or gmm-lda2, or change'),
        ],
    )
    def test_a_number_of_gaussians_that_is_not_trained(
        self, experiment: Experiment, name: str, message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            check_system(name, find_system(name), experiment.config)

    def test_a_projection_on_more_than_there_is(self, experiment: Experiment) -> None:
        settings = ["context=4", "n_components=60", "hybrid.input_projection=lda"]
        wide = with_settings(experiment.config, settings)
        narrow = replace(wide, front_end=replace(wide.front_end, context=0))
        for name, system in (("gmm-lda2", GmmSystem(2, "lda")), ("npd", find_system("npd"))):
            check_system(name, system, wide)
            with pytest.raises(AsrError, match=r"n_components: expected at most 13 .*, got 60"):
                check_system(name, system, narrow)
        check_system("gmm2", GmmSystem(2), narrow)  # has no projection

    def test_what_a_way_of_training_cannot_do(self, experiment: Experiment) -> None:
        config = with_settings(experiment.config, ["hybrid.calibration.outputs=loo"])
        check_system("krls", HybridSystem("krls"), config)
        with pytest.raises(AsrError, match=r'calibration\.outputs is "loo", expected fitted or held-out'):
            check_system("svm", HybridSystem("svm"), config)


class TestGmm:
    def test_each_number_of_gaussians_is_made_from_the_one_before(self, made: Any) -> None:
        one, two = made["gmm-none-1"], made["gmm-none-2"]
        digests = {**made.digests("train"), "left_out": made["usable"].digest}
        assert record(one)["inputs"] == {"start": made["start-none"].digest, **digests}
        assert record(two)["inputs"] == {"start": one.digest, **digests}
        assert (record(one)["stage"], record(two)["stage"]) == ("gmm-none-1", "gmm-none-2")
        expected = {**asdict(made.config.gmm), "mixtures": 2, "iterations": 3}
        assert record(two)["config"] == as_plain(expected)

    def test_models_and_courses_are_those_of_training(self, made: Any) -> None:
        for n, n_iterations in ((1, 4), (2, 3)):
            output = made[f"gmm-none-{n}"]
            assert load_model(output.path).emissions.n_components == n
            course = [step["log_likelihood"] for step in read_json(output.path / "history.json")]
            assert len(course) == n_iterations
            assert course == sorted(course)  # EM never makes it worse

    def test_the_steps_of_the_published_model_are_found_again(self, made: Any) -> None:
        published = made.experiment.out / "models/gmm2"
        model = made["gmm-none-2-dev"]
        assert (
            load_model(model.path).emissions.means.tobytes()
            == load_model(published).emissions.means.tobytes()
        )

    def test_one_that_adapts_is_the_same_with_targets(self, made: Any) -> None:
        plain, adapting = made["gmm-none-2"], made["adapting-gmm-none-2"]
        found, expected = load_model(adapting.path), load_model(plain.path)
        assert_array_equal(found.emissions.means, expected.emissions.means)
        assert expected.adaptation is None
        assert record(adapting)["stage"] == "adapting-gmm-none-2"
        assert record(adapting)["inputs"] == {
            "model": plain.digest,
            "labels": made["alignment-2"].digest,
            "left_out": made["fitting"].digest,
            **made.digests("train"),
        }
        data = made.data("train")
        frames = np.concatenate(found.front_end.transform(data.cepstra, data.speakers))
        labels = np.load(made["alignment-2"].path / "states.npy")
        for state in np.unique(labels[labels >= 0]):
            own = frames[labels == state].astype(np.float64)
            assert_allclose(found.adaptation.means[state], own.mean(axis=0), rtol=1e-4, atol=1e-4)


class TestUnits:
    def test_an_alignment_is_that_of_the_model(self, made: Any) -> None:
        output, data = made["alignment-2"], made.data("train")
        model = made["gmm-none-2"]
        expected = own_units(data, load_model(model.path), made.lexicon, made.config.gmm.beam)
        for own, other in zip(load_labels(output.path, data, 99), expected.labels, strict=True):
            assert_array_equal(own, other)
        learned_from = {"left_out": made["fitting"].digest, **made.digests("train")}
        assert record(output)["inputs"] == {"model": model.digest, **learned_from}
        assert record(output)["stage"] == "alignment-2"

    def test_phones_are_the_aligner_s_own_states(self, made: Any) -> None:
        hybrid = made.configured("hybrid.units=phone", models=[NPD])
        output, data = hybrid["units-phone"], hybrid.data("train")
        units = load_units(output.path, data)
        aligner = load_model(hybrid.aligner())
        assert units.topology.phones == aligner.topology.phones
        assert_array_equal(
            np.load(output.path / "states.npy"),
            np.load(made.path("alignment-2") / "states.npy"),
        )
        assert record(output)["config"] == {
            "units": "phone",
            "beam": made.config.gmm.beam,
            "tying": None,
        }

    @pytest.mark.parametrize("units", ["context", "cross-word"])
    def test_phones_in_context_have_tied_states_of_the_same_phones(self, made: Any, units: str) -> None:
        hybrid = made.configured(f"hybrid.units={units}", *SMALL, models=[NPD])
        output, data = hybrid[f"units-{units}"], hybrid.data("train")
        assert record(output)["stage"] == f"units-{units}"
        assert record(output)["config"]["tying"] == as_plain(hybrid.config.tying)
        found = load_units(output.path, data)
        assert found.topology.is_contextual
        phones = load_model(hybrid.aligner()).topology
        assert found.topology.n_states >= phones.n_states
        labels = np.concatenate(found.labels)
        assert set(np.unique(labels)) - {-1} <= set(range(found.topology.n_states))


@pytest.fixture(scope="module")
def hybrids(made: Any) -> Any:
    """Return the steps of hybrids of phones, with one warped copy, that do not adapt."""
    return made.configured(*HYBRIDS, "hybrid.adaptation=none", models=[BAYES])


class TestChoice:
    """Options of a hybrid chosen on dev."""

    SETTINGS = (
        "hybrid.units=phone",
        "hybrid.warps=",
        "hybrid.min_frames=5",
        "hybrid.adaptation=none",
        "hybrid.gmm_weight=0",
        "hybrid.input_projection=none",
        "forward.n_centers=5",
        "forward.tol=0",
    )

    @pytest.fixture(autouse=True)
    def values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choice, "SIGMAS", (0.01, 3.0))
        monkeypatch.setitem(WAYS, "npd", replace(WAYS["npd"], values={"n_centers": (4, 8)}))
        monkeypatch.setattr(choice, "N_CLASSES", 1000)

    def test_the_values_of_least_cost_are_trained(self, made: Any) -> None:
        options = ("chosen_on_dev=hybrid.sigma,forward.n_centers", "svm.cost=2")
        chosen = made.configured(*self.SETTINGS, *options, models=[NPD])
        found = read_json(chosen.path("choice-npd") / CHOICE)
        assert [trial[0]["hybrid.sigma"] for trial in found["trials"]] == [0.01, 3.0, 3.0]
        assert found["errors"] == min(cost for _, cost in found["trials"])
        assert found["weights"]["hybrid.sigma"] == 3.0
        assert found["weights"]["forward.n_centers"] in (4, 8)
        model, n_centers = chosen["hybrid-npd"], found["weights"]["forward.n_centers"]
        assert record(model)["inputs"]["choice"] == chosen["choice-npd"].digest
        assert load_model(model.path).emissions.machines.centers_a_pair == n_centers
        settings = ("hybrid.sigma=3", f"forward.n_centers={n_centers}")
        fixed = made.configured(*self.SETTINGS, *settings, models=[NPD])
        assert "choice-npd" not in fixed.steps
        assert fixed["hybrid-npd"].digest == model.digest

    def test_the_cost_is_that_of_a_model_trained_alone(self, made: Any) -> None:
        """With all classes the cost is −log P of the states that the aligning model gives the dev frames."""
        chosen = made.configured(*self.SETTINGS, "chosen_on_dev=hybrid.sigma", models=[NPD])
        trials = read_json(chosen.path("choice-npd") / CHOICE)["trials"]
        data, aligner = chosen.data("dev"), load_model(chosen.aligner())
        dev = own_units(data, aligner, chosen.lexicon, chosen.config.gmm.beam)
        labels = np.concatenate(dev.labels)
        assert len(trials) == 2
        for weights, cost in trials:
            setting = f"hybrid.sigma={weights['hybrid.sigma']}"
            alone = made.configured(*self.SETTINGS, setting, models=[NPD])
            model = load_model(alone.path("hybrid-npd"))
            frames = np.concatenate(model.front_end.transform(data.cepstra, data.speakers))
            classes = model.emissions.states.class_of_state[labels]
            posteriors = model.emissions.log_posteriors(frames)[np.arange(len(frames)), classes]
            known = (labels >= 0) & (classes >= 0)
            assert_allclose(cost, -posteriors[known].mean(), rtol=1e-4, atol=1e-5)

    def test_only_phones_are_aligned_on_dev(self, experiment: Experiment) -> None:
        settings = ["chosen_on_dev=hybrid.sigma", "hybrid.units=context"]
        config = with_settings(experiment.config, settings)
        with pytest.raises(ConfigError, match=r"hybrid\.sigma with hybrid\.units=context, expected .*=phone"):
            check_system("npd", NPD, config)
        check_system("bayes", BAYES, config)

    def test_nothing_to_choose(self, experiment: Experiment, made: Any) -> None:
        settings = ["chosen_on_dev=hybrid.sigma,forward.n_centers", "hybrid.units=phone"]
        config = with_settings(experiment.config, settings)
        assert not any(name.startswith("choice") for name in made.configured(*settings, models=[BAYES]).steps)
        assert choice.values_of("svm", config) == {"hybrid.sigma": (0.01, 3.0)}
        of_npd = {"hybrid.sigma": (0.01, 3.0), "forward.n_centers": (4, 8)}
        assert choice.values_of("npd", config) == of_npd


class TestHybrid:
    def test_it_is_made_from_units_aligner_and_warped_copies(self, hybrids: Any) -> None:
        output = hybrids[NAME]
        found = record(output)
        assert found["stage"] == "hybrid-sklearn-naive_bayes.GaussianNB"
        assert found["inputs"] == {
            "units": hybrids["units-phone"].digest,
            "mixtures": hybrids["gmm-none-2"].digest,
            "left_out": hybrids["fitting"].digest,
            **hybrids.digests("train"),
            "train 1.1": hybrids["features-train-warp-1.1"].digest,
        }
        assert found["config"].keys() == {"way", "front_end", "hybrid", "own"}
        assert found["config"]["own"] is None
        assert any(code.startswith("scikit-learn ") for code in found["code"])
        assert output.other_code == tuple(found["code"][1:])

    def test_the_model_knows_the_states_of_its_training_frames(self, hybrids: Any) -> None:
        model = load_model(hybrids[NAME].path)
        assert model.adaptation is None
        data = hybrids.data("train")
        units = load_units(hybrids["units-phone"].path, data)
        frames = np.concatenate(model.front_end.transform(data.cepstra, data.speakers))
        labels = np.concatenate(units.labels)
        known = labels >= 0
        best = model.emissions.log_likelihoods(frames[known]).argmax(axis=1)
        assert np.mean(best == labels[known]) > 0.5

    def test_an_option_of_another_way_changes_nothing(self, hybrids: Any) -> None:
        others = hybrids.configured("svm.cost=7", models=[BAYES])
        assert others[NAME] == hybrids[NAME]

    def test_one_that_adapts_knows_where_its_states_lie(self, hybrids: Any, made: Any) -> None:
        adapting = made.configured(*HYBRIDS, models=[BAYES])
        assert adapting.config.hybrid.adaptation != "none"
        output = adapting[f"adapting-{NAME}"]
        assert record(output)["stage"] == "adapting-hybrid-sklearn-naive_bayes.GaussianNB"
        assert record(output)["inputs"]["labels"] == hybrids["units-phone"].digest
        means = load_model(output.path).adaptation.means
        assert np.isfinite(means).all()
        assert means.std(axis=0).min() > 0


class TestTrainingData:
    """What cannot be trained on is an error in train, and left out of dev."""

    @pytest.fixture
    def models_of(self, task_of: Tasks, made_of: Any, tones: Path) -> Callable[..., Any]:
        whole = read_corpus(tones)
        first, second, *_ = whole.speakers

        def spoilt(corpus: Corpus) -> Corpus:
            unknown, *others = corpus
            return Corpus((replace(unknown, words=("UNKNOWN",)), *others))

        def make(bad: str, *settings: str) -> Any:
            def prepare(corpus_dir: Path, output_dir: Path) -> None:
                for split, speaker in (("train", first), ("dev", second)):
                    part = whole.of_speakers([speaker])
                    write_corpus(spoilt(part) if split == bad else part, output_dir / split)
                Lexicon.graphemic(whole.vocabulary).write(output_dir / "lexicon.txt")

            task = task_of(prepare, "gmm.mixtures=1", "gmm.iterations=1", *settings)
            return made_of(task, "gmm1")

        return make

    def test_of_train_it_stops_the_run(self, models_of: Callable[..., Any]) -> None:
        with pytest.raises(CorpusError, match=r'no word of it is in lexicon\.txt: "UNKNOWN"'):
            models_of("train", "unusable=stop").path("gmm-none-1")

    @pytest.mark.parametrize(
        ("bad", "options"), [("dev", ()), ("train", ("unusable=skip",))], ids=["dev", "skip"]
    )
    def test_of_dev_or_if_asked_for_it_is_left_out(
        self,
        models_of: Callable[..., Any],
        caplog: pytest.LogCaptureFixture,
        bad: str,
        options: tuple[str, ...],
    ) -> None:
        caplog.set_level(logging.INFO)
        models = models_of(bad, *options)
        output = models["gmm-none-1-dev"]
        assert record(output)["stage"] == "gmm-none-1-dev"
        assert 'no word of it is in lexicon.txt: "UNKNOWN"' in caplog.text
        occupancy = load_model(output.path).occupancy.sum()
        data = models.data("train", "dev")
        n_frames = {u.utterance_id: len(c) for u, c in zip(data.corpus, data.cepstra, strict=True)}
        n_left_out = sum(n_frames[u.utterance_id] for u in data.corpus if u.words == ("UNKNOWN",))
        assert occupancy == pytest.approx(sum(n_frames.values()) - n_left_out, rel=1e-3)
