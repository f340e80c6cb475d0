"""What the stages of acoustic models are made from, and that each model is what its stage says."""

import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.model_files import load_model
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.errors import ConfigError, CorpusError
from asr.experiment import Experiment
from asr.files import as_plain, read_json
from asr.settings import with_settings
from asr.stages.models import ModelStages
from asr.stages.task import TaskStages
from asr.store import StageOutput
from asr.systems import GmmSystem, HybridSystem, find_system
from asr.training import choice
from asr.training.hybrid import load_labels, load_units, own_units
from decoder.lexicon import Lexicon
from foundation.errors import AsrError

Tasks = Callable[..., TaskStages]
TRAIN = ("train",)
NPD = HybridSystem("npd")
BAYES = HybridSystem("sklearn:naive_bayes.GaussianNB")
HYBRIDS = ("hybrid.units=phone", "hybrid.warps=1.1", "hybrid.min_frames=5")
SMALL = ("hybrid.min_frames=5", "tying.min_frames=60", "tying.min_gain=20")


@pytest.fixture(scope="module")
def models(experiment: Experiment) -> ModelStages:
    return experiment.models


def configured(experiment: Experiment, *settings: str) -> ModelStages:
    """Return the stages of the same task with other options."""
    task = experiment.task
    config = with_settings(experiment.config, settings)
    return ModelStages(TaskStages(experiment.store, task.loaded, task.corpus_dir, config))


def record(output: StageOutput) -> dict:
    return read_json(output.path / "stage.json")


class TestChecks:
    @pytest.mark.parametrize(
        ("mixtures", "expected"), [("1,2", 2), ("1,2,4,8,16", 8), ("1,6,20", 6), ("16,32", 16)]
    )
    def test_the_aligner_has_at_most_eight_gaussians_if_it_can(
        self, experiment: Experiment, mixtures: str, expected: int
    ) -> None:
        assert configured(experiment, f"gmm.mixtures={mixtures}").aligner == GmmSystem(expected)

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
        self, models: ModelStages, name: str, message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            models.check(name, find_system(name))

    def test_a_projection_on_more_than_there_is(self, experiment: Experiment) -> None:
        wide = configured(experiment, "context=4", "n_components=60", "hybrid.input_projection=lda")
        narrow = replace(wide.config, front_end=replace(wide.config.front_end, context=0))
        small = ModelStages(
            TaskStages(experiment.store, experiment.loaded, experiment.task.corpus_dir, narrow)
        )
        for name, system in (("gmm-lda2", GmmSystem(2, "lda")), ("npd", find_system("npd"))):
            wide.check(name, system)
            with pytest.raises(AsrError, match=r"n_components: expected at most 13 .*, got 60"):
                small.check(name, system)
        small.check("gmm2", GmmSystem(2))  # has no projection

    def test_what_a_way_of_training_cannot_do(self, experiment: Experiment) -> None:
        models = configured(experiment, "hybrid.calibration.outputs=loo")
        models.check("krls", HybridSystem("krls"))
        with pytest.raises(AsrError, match=r'calibration\.outputs is "loo", expected fitted or held-out'):
            models.check("svm", HybridSystem("svm"))


class TestGmm:
    def test_each_number_of_gaussians_is_made_from_the_one_before(self, models: ModelStages) -> None:
        one, two = (models.gmm(GmmSystem(n), TRAIN) for n in (1, 2))
        digests = models.task.digests(TRAIN)
        assert record(one)["inputs"].keys() == {"start", *digests}
        assert record(two)["inputs"] == {"start": one.digest, **digests}
        assert (record(one)["stage"], record(two)["stage"]) == ("gmm-none-1", "gmm-none-2")
        expected = {**asdict(models.config.gmm), "mixtures": 2, "iterations": 3}
        assert record(two)["config"] == as_plain(expected)

    def test_models_and_courses_are_those_of_training(self, models: ModelStages) -> None:
        for n, n_iterations in ((1, 4), (2, 3)):
            output = models.gmm(GmmSystem(n), TRAIN)
            assert load_model(output.path).emissions.n_components == n
            course = [step["log_likelihood"] for step in read_json(output.path / "history.json")]
            assert len(course) == n_iterations
            assert course == sorted(course)  # EM never makes it worse

    def test_the_stages_of_the_published_model_are_found_again(self, models: ModelStages) -> None:
        published = models.store.root / "models/gmm2"
        model = models.acoustic_model(GmmSystem(2), ("train", "dev"))
        assert (
            load_model(model.path).emissions.means.tobytes()
            == load_model(published).emissions.means.tobytes()
        )

    def test_one_that_adapts_is_the_same_with_targets(self, models: ModelStages) -> None:
        plain, adapting = (models.acoustic_model(GmmSystem(2, adapts=a), TRAIN) for a in (False, True))
        found, expected = load_model(adapting.path), load_model(plain.path)
        assert_array_equal(found.emissions.means, expected.emissions.means)
        assert expected.adaptation is None
        assert record(adapting)["stage"] == "adapting-gmm-none-2"
        assert record(adapting)["inputs"] == {
            "model": plain.digest,
            "labels": models.alignment(GmmSystem(2), TRAIN).digest,
            **models.task.digests(TRAIN),
        }
        data = models.task.data(TRAIN)
        frames = np.concatenate(found.front_end.transform(data.cepstra, data.speakers))
        labels = np.load(models.alignment(GmmSystem(2), TRAIN).path / "states.npy")
        for state in np.unique(labels[labels >= 0]):
            own = frames[labels == state].astype(np.float64)
            assert_allclose(found.adaptation.means[state], own.mean(axis=0), rtol=1e-4, atol=1e-4)


class TestUnits:
    def test_an_alignment_is_that_of_the_model(self, models: ModelStages) -> None:
        output, data = models.alignment(GmmSystem(2), TRAIN), models.task.data(TRAIN)
        model = models.gmm(GmmSystem(2), TRAIN)
        expected = own_units(data, load_model(model.path), models.task.lexicon, models.config.gmm.beam)
        for own, other in zip(load_labels(output.path, data, 99), expected.labels, strict=True):
            assert_array_equal(own, other)
        fit = f"{models.fitting.fit(GmmSystem(2), TRAIN).digest} 0.1"
        assert record(output)["inputs"] == {"model": model.digest, "fit": fit, **models.task.digests(TRAIN)}
        assert record(output)["stage"] == "alignment-2"

    def test_phones_are_the_aligner_s_own_states(self, experiment: Experiment) -> None:
        models = configured(experiment, "hybrid.units=phone")
        output, data = models.units(TRAIN), models.task.data(TRAIN)
        units = load_units(output.path, data)
        aligner = load_model(models.gmm(models.aligner, TRAIN).path)
        assert units.topology.phones == aligner.topology.phones
        assert_array_equal(
            np.load(output.path / "states.npy"),
            np.load(models.alignment(models.aligner, TRAIN).path / "states.npy"),
        )
        assert record(output)["config"] == {"beam": models.config.gmm.beam, "tying": None}

    @pytest.mark.parametrize("units", ["context", "cross-word"])
    def test_phones_in_context_have_tied_states_of_the_same_phones(
        self, experiment: Experiment, units: str
    ) -> None:
        models = configured(experiment, f"hybrid.units={units}", *SMALL)
        output, data = models.units(TRAIN), models.task.data(TRAIN)
        assert record(output)["stage"] == f"units-{units}"
        assert record(output)["config"]["tying"] == as_plain(models.config.tying)
        found = load_units(output.path, data)
        assert found.topology.is_contextual
        phones = load_model(models.gmm(models.aligner, TRAIN).path).topology
        assert found.topology.n_states >= phones.n_states
        labels = np.concatenate(found.labels)
        assert set(np.unique(labels)) - {-1} <= set(range(found.topology.n_states))


@pytest.fixture(scope="module")
def hybrids(experiment: Experiment) -> ModelStages:
    """Return the stages of hybrids of phones, with one warped copy, that do not adapt."""
    return configured(experiment, *HYBRIDS, "hybrid.adaptation=none")


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
        monkeypatch.setattr(choice, "VALUES", {"hybrid.sigma": (0.01, 3.0), "forward.n_centers": (4, 8)})
        monkeypatch.setattr(choice, "N_CLASSES", 1000)

    def test_the_values_of_least_cost_are_trained(self, experiment: Experiment) -> None:
        chosen = configured(
            experiment, *self.SETTINGS, "chosen_on_dev=hybrid.sigma,forward.n_centers", "svm.cost=2"
        )
        found = read_json(chosen.choice(NPD).path / "choice.json")
        assert [trial[0]["hybrid.sigma"] for trial in found["trials"]] == [0.01, 3.0, 3.0]
        assert found["errors"] == min(cost for _, cost in found["trials"])
        assert found["weights"]["hybrid.sigma"] == 3.0
        assert found["weights"]["forward.n_centers"] in (4, 8)
        model, n_centers = chosen.hybrid(NPD, TRAIN), found["weights"]["forward.n_centers"]
        assert record(model)["config"]["hybrid"]["sigma"] == 3.0
        assert load_model(model.path).emissions.machines.centers_a_pair == n_centers
        fixed = configured(experiment, *self.SETTINGS, "hybrid.sigma=3", f"forward.n_centers={n_centers}")
        assert fixed.choice(NPD) is None
        assert fixed.hybrid(NPD, TRAIN) == model

    def test_the_cost_is_that_of_a_model_trained_alone(self, experiment: Experiment) -> None:
        """With all classes the cost is −log P of the states that the aligning model gives the dev frames."""
        chosen = configured(experiment, *self.SETTINGS, "chosen_on_dev=hybrid.sigma")
        trials = read_json(chosen.choice(NPD).path / "choice.json")["trials"]
        data, aligner = chosen.task.data(("dev",)), load_model(chosen.gmm(chosen.aligner, TRAIN).path)
        dev = own_units(data, aligner, chosen.task.lexicon, chosen.config.gmm.beam)
        labels = np.concatenate(dev.labels)
        assert len(trials) == 2
        for weights, cost in trials:
            alone = configured(experiment, *self.SETTINGS, f"hybrid.sigma={weights['hybrid.sigma']}")
            model = load_model(alone.hybrid(NPD, TRAIN).path)
            frames = np.concatenate(model.front_end.transform(data.cepstra, data.speakers))
            classes = model.emissions.states.class_of_state[labels]
            posteriors = model.emissions.log_posteriors(frames)[np.arange(len(frames)), classes]
            known = (labels >= 0) & (classes >= 0)
            assert_allclose(cost, -posteriors[known].mean(), rtol=1e-4, atol=1e-5)

    def test_only_phones_are_aligned_on_dev(self, experiment: Experiment) -> None:
        models = configured(experiment, "chosen_on_dev=hybrid.sigma", "hybrid.units=context")
        with pytest.raises(ConfigError, match=r"hybrid\.sigma with hybrid\.units=context, expected .*=phone"):
            models.check("npd", NPD)
        models.check("bayes", BAYES)

    def test_nothing_to_choose(self, experiment: Experiment) -> None:
        models = configured(experiment, "chosen_on_dev=hybrid.sigma,forward.n_centers")
        assert models.choice(BAYES) is None
        assert models.chosen_config(BAYES) == models.config
        assert choice.values_of("svm", models.config) == {"hybrid.sigma": (0.01, 3.0)}
        assert choice.values_of("npd", models.config) == dict(choice.VALUES)


class TestHybrid:
    def test_it_is_made_from_units_aligner_and_warped_copies(self, hybrids: ModelStages) -> None:
        output = hybrids.acoustic_model(BAYES, TRAIN)
        found = record(output)
        assert found["stage"] == "hybrid-sklearn-naive_bayes.GaussianNB"
        assert found["inputs"] == {
            "units": hybrids.units(TRAIN).digest,
            "aligner": hybrids.gmm(hybrids.aligner, TRAIN).digest,
            **hybrids.task.digests(TRAIN),
            "train 1.1": hybrids.task.features("train", 1.1).digest,
        }
        assert found["config"].keys() == {"front_end", "hybrid", "own"}
        assert found["config"]["own"] is None
        assert any(code.startswith("scikit-learn ") for code in found["code"])
        assert output.other_code == tuple(found["code"][1:])

    def test_the_model_knows_the_states_of_its_training_frames(self, hybrids: ModelStages) -> None:
        model = load_model(hybrids.acoustic_model(BAYES, TRAIN).path)
        assert model.adaptation is None
        data = hybrids.task.data(TRAIN)
        units = load_units(hybrids.units(TRAIN).path, data)
        frames = np.concatenate(model.front_end.transform(data.cepstra, data.speakers))
        labels = np.concatenate(units.labels)
        known = labels >= 0
        best = model.emissions.log_likelihoods(frames[known]).argmax(axis=1)
        assert np.mean(best == labels[known]) > 0.5

    def test_an_option_of_another_way_changes_nothing(
        self, hybrids: ModelStages, experiment: Experiment
    ) -> None:
        others = configured(experiment, *HYBRIDS, "hybrid.adaptation=none", "svm.cost=7")
        assert others.acoustic_model(BAYES, TRAIN) == hybrids.acoustic_model(BAYES, TRAIN)

    def test_one_that_adapts_knows_where_its_states_lie(
        self, hybrids: ModelStages, experiment: Experiment
    ) -> None:
        adapting = configured(experiment, *HYBRIDS)
        assert adapting.config.hybrid.adaptation != "none"
        output = adapting.acoustic_model(BAYES, TRAIN)
        assert record(output)["stage"] == "adapting-hybrid-sklearn-naive_bayes.GaussianNB"
        assert record(output)["inputs"]["labels"] == hybrids.units(TRAIN).digest
        means = load_model(output.path).adaptation.means
        assert np.isfinite(means).all()
        assert means.std(axis=0).min() > 0


class TestTrainingData:
    """What cannot be trained on is an error in train, and left out of dev."""

    @pytest.fixture
    def models_of(self, task_of: Tasks, tones: Path) -> Callable[..., ModelStages]:
        whole = read_corpus(tones)
        first, second, *_ = whole.speakers

        def spoilt(corpus: Corpus) -> Corpus:
            unknown, *others = corpus
            return Corpus((replace(unknown, words=("UNKNOWN",)), *others))

        def make(bad: str, *settings: str) -> ModelStages:
            def prepare(corpus_dir: Path, output_dir: Path) -> None:
                for split, speaker in (("train", first), ("dev", second)):
                    part = whole.of_speakers([speaker])
                    write_corpus(spoilt(part) if split == bad else part, output_dir / split)
                Lexicon.graphemic(whole.vocabulary).write(output_dir / "lexicon.txt")

            return ModelStages(task_of(prepare, "gmm.mixtures=1", "gmm.iterations=1", *settings))

        return make

    def test_of_train_it_stops_the_run(self, models_of: Callable[..., ModelStages]) -> None:
        with pytest.raises(CorpusError, match=r'no word of it is in lexicon\.txt: "UNKNOWN"'):
            models_of("train", "unusable=stop").gmm(GmmSystem(1), TRAIN)

    @pytest.mark.parametrize(
        ("bad", "options"), [("dev", ()), ("train", ("unusable=skip",))], ids=["dev", "skip"]
    )
    def test_of_dev_or_if_asked_for_it_is_left_out(
        self,
        models_of: Callable[..., ModelStages],
        caplog: pytest.LogCaptureFixture,
        bad: str,
        options: tuple[str, ...],
    ) -> None:
        caplog.set_level(logging.INFO)
        models = models_of(bad, *options)
        output = models.gmm(GmmSystem(1), ("train", "dev"))
        assert record(output)["stage"] == "gmm-none-1-dev"
        assert 'no word of it is in lexicon.txt: "UNKNOWN"' in caplog.text
        occupancy = load_model(output.path).occupancy.sum()
        data = models.task.data(("train", "dev"))
        n_frames = {u.utterance_id: len(c) for u, c in zip(data.corpus, data.cepstra, strict=True)}
        n_left_out = sum(n_frames[u.utterance_id] for u in data.corpus if u.words == ("UNKNOWN",))
        assert occupancy == pytest.approx(sum(n_frames.values()) - n_left_out, rel=1e-3)
