"""The work of steps, against counting by hand on the tone language and on a task made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose

from acoustic.hmm.tying import TyingConfig
from asr.config import ExperimentConfig, with_preset, with_settings
from asr.corpora.corpus import Corpus, Utterance, read_corpus
from asr.errors import CorpusError
from asr.experiment import Experiment
from asr.planning import work as module
from asr.planning.work import (
    GROUPS,
    Amounts,
    HybridSize,
    adapts_training,
    amounts_of,
    durations,
    expected_size,
    hybrid_behind,
    kind_of,
    splits_of,
    state_frames,
    work_of,
)
from asr.recipe import load_recipe
from asr.store import Step
from asr.systems import find_system
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"], "MAUI": ["MAUI"]})
SETTINGS = ("gmm.mixtures=1,2", "gmm.iterations=4,3", "hybrid.warps=0.93,1.07")
Steps = Callable[..., dict[str, Step]]


def some(words: str, name: str = "u", speaker: str = "s", **place: float) -> Utterance:
    return Utterance(name, Path("nowhere.wav"), tuple(words.split()), speaker, **place)


def made_up(seconds: Mapping[str, list[float]], words: str = "ASA SUS") -> Amounts:
    """Return the amounts of splits of utterances with so many seconds each."""
    corpora = {
        split: Corpus(tuple(some(words, f"{split}-{n:05d}") for n in range(len(own))))
        for split, own in seconds.items()
    }
    return Amounts(corpora, {s: np.array(own) for s, own in seconds.items()}, LEXICON, (), 0.01)


AMOUNTS = made_up({"train": [2.0] * 50, "dev": [1.0] * 20, "test": [3.0] * 10})  # 10,000, 2,000, 3,000 frames
SIZE = HybridSize(60, 50, 300, 1000.0)


@pytest.fixture(scope="module")
def steps_of(tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """Return a function that gives the steps of models of the tone language, by name."""
    loaded = load_recipe("folder")

    def of(*models: str, preset: str = "best", settings: tuple[str, ...] = ()) -> dict[str, Step]:
        config = with_settings(with_preset(loaded.recipe.config, preset), (*SETTINGS, *settings))
        root = tmp_path_factory.mktemp("exp")
        experiment = Experiment(loaded, tones, root, config, preset)
        systems = {name.replace(":", "-"): find_system(name, preset) for name in models}
        return {step.name: step for step in experiment.steps(systems)}

    return of


class TestAmounts:
    def test_everything_is_counted(self, tones: Path) -> None:
        whole = read_corpus(tones)
        train = whole.of_speakers(whole.speakers[2:])
        corpora = {"train": train, "dev": whole.of_speakers(whole.speakers[:2]), "test": Corpus(())}
        found = amounts_of(corpora, LEXICON, (), 0.01)
        seconds = sum(soundfile.info(u.audio_path).duration for u in train)
        said = found.of_splits["train"]
        assert (said.n_utterances, said.n_speakers) == (30, 6)
        assert said.n_words == sum(len(u.words) for u in train) == found.n_words(["train"])
        assert_allclose(said.hours, seconds / 3600, rtol=1e-9, atol=0)
        assert found.n_frames(["train"]) == round(100 * seconds)
        assert set(found.of_splits) == {"train", "dev"}
        assert found.n_frames(["test"]) == found.n_utterances(["test"]) == found.n_words(["test"]) == 0
        assert found.n_utterances(["train", "dev", "test"]) == 40
        assert found.monophones.n_states == 18  # five phones and silence

    def test_contexts_are_those_of_the_words_said(self) -> None:
        corpora = {"train": Corpus((some("ASA UNKNOWN", "a"), some("ASA SUS", "b")))}
        found = Amounts(corpora, {"train": np.ones(2)}, LEXICON, (), 0.01).context_counts
        said = {context.name: n for context, n in found.items()}
        assert said == {"#-A+S": 2, "A-S+A": 2, "S-A+#": 2, "#-S+U": 1, "S-U+S": 1, "U-S+#": 1}

    def test_frames_of_utterances_with_some_words(self) -> None:
        corpora = {"train": Corpus((some("ASA", "a"), some("MAUI ASA", "b"))), "dev": Corpus((some("MAUI"),))}
        seconds = {"train": np.array([1.0, 2.0]), "dev": np.array([4.0])}
        assert Amounts(corpora, seconds, LEXICON, (), 0.01).n_frames_with(["MAUI"]) == 600

    def test_stretches_are_as_long_as_their_times_say(self, tones: Path) -> None:
        path = read_corpus(tones).utterances[0].audio_path
        length = soundfile.info(path).duration
        cut = [
            Utterance("a", path, ("ASA",), "s", 0.1, 0.3),
            Utterance("b", path, ("ASA",), "s", 0.2),
            Utterance("c", path, ("ASA",), "s"),
            some("ASA", "d"),
        ]
        assert_allclose(durations(cut), [0.2, length - 0.2, length, 0.0], rtol=1e-6, atol=1e-9)
        assert len(durations([])) == 0

    def test_of_very_many_recordings_some_headers_are_read(
        self, tones: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = read_corpus(tones)
        exact = durations(whole.utterances)
        monkeypatch.setattr(module, "MOST_HEADERS", 20)
        about = durations(whole.utterances)
        assert_allclose(about.sum(), exact.sum(), rtol=0.1, atol=0)
        assert np.count_nonzero(about == exact) >= 20

    @pytest.mark.parametrize(
        ("minutes", "adapts"),
        [((4.0, 4.0, 0.1), True), ((40.0, 0.1, 0.1), False), ((2.0, 3.9), False), ((60.0,), False)],
    )
    def test_half_of_the_speakers_say_enough_to_be_adapted_to(
        self, minutes: tuple[float, ...], adapts: bool
    ) -> None:
        halves = [(speaker, 30 * m) for speaker, m in enumerate(minutes) for _ in range(2)]
        spoken = Corpus(tuple(some("ASA", f"u{n}", f"{speaker}") for n, (speaker, _) in enumerate(halves)))
        seconds = np.array([s for _, s in halves])
        long = {"train": spoken, "dev": spoken}
        amounts = Amounts(long, {"train": seconds, "dev": 100 * seconds}, LEXICON, (), 0.01)
        assert adapts_training(amounts) == adapts

    @pytest.mark.parametrize("corpus", [Corpus(()), Corpus((some("ASA"),))])
    def test_nothing_to_learn_from(self, corpus: Corpus) -> None:
        with pytest.raises(CorpusError, match=r"train has \d utterance\(s\), none of which can be read"):
            amounts_of({"train": corpus}, LEXICON, (), 0.01)


class TestWork:
    def test_of_mixtures(self, steps_of: Steps) -> None:
        steps = steps_of("gmm2")
        for name, units in {
            "features-train": 10_000,
            "features-dev": 2_000,
            "start-none": 10_000,
            "gmm-none-1": 10_000 * 4,
            "gmm-none-2": 10_000 * 3 * 2,
            "gmm-none-2-dev": 12_000 * 3 * 2,
            "grammars": 100,  # words of train
            "grammars-dev": 140,
            "usable": 50,
            "fit-2-dev": 12_000 * (6 + 1 + 4),  # any phones, its own transcript, four others
            "tuning-gmm2": 2_000 * (2 + 1),  # two grammars, and the words that were not spoken
            "test-gmm2": 3_000 * 2,
            "recognizer-gmm2": 0,
        }.items():
            work = work_of(steps[name], AMOUNTS, None)
            assert (work.units, work.once) == (units, 1.0), name

    def test_of_hybrids(self, steps_of: Steps) -> None:
        steps = steps_of("pools")
        for name, units, once in [
            ("features-train-warp-0.93", 10_000, 1),
            ("units-context-dev", 12_000, 1),
            ("hybrid-pools", 50 * 1000, 300),  # what grows is done once for each class
            ("hybrid-pools-dev", 50 * 1000, 300),
            ("adapted-context", 10_000, 1),
            ("adapting-hybrid-pools", 10_000, 1),
            ("test-pools", 3_000 * 2, 1),
        ]:
            work = work_of(steps[name], AMOUNTS, SIZE)
            assert (work.units, work.once) == (units, once), name
        own = steps_of("orols", preset="thesis", settings=("chosen_on_dev=",))
        assert work_of(own["hybrid-orols"], AMOUNTS, SIZE).units == 300 * 1000
        assert work_of(own["test-orols"], AMOUNTS, HybridSize(50, 50, 1225, 10.0)).units == 9_000 * 24.5

    def test_of_many_utterances_some_are_judged_by_other_transcripts(self, steps_of: Steps) -> None:
        many = made_up({"train": [1.0] * 6000, "dev": [1.0] * 20, "test": [1.0]})
        steps = steps_of("gmm2")
        assert work_of(steps["fit-2-dev"], many, None).units == pytest.approx(602_000 * (7 + 600 / 6020))
        heard = work_of(steps["confidence-gmm2"], many, None)
        assert_allclose(heard.units, 602_000 * 100 / 6020 * (7 + 4), rtol=1e-9, atol=0)

    def test_every_step_is_known_and_knows_its_hybrid(self, steps_of: Steps) -> None:
        steps = steps_of("gmm2", "pools", "gmm-lda2-cmllr", "svm", "sklearn:naive_bayes.GaussianNB")
        for step in steps.values():
            assert kind_of(step).group in GROUPS
            assert work_of(step, AMOUNTS, SIZE if hybrid_behind(step) else None).units >= 0
        assert hybrid_behind(steps["test-gmm2"]) is None
        behind = hybrid_behind(steps["test-pools"])
        assert behind is steps["hybrid-pools-dev"]
        assert sorted(splits_of(behind)) == ["dev"] * 3 + ["train"] * 3  # with two copies each

    def test_more_frames_are_never_less_work(self, steps_of: Steps) -> None:
        more = made_up({"train": [2.0] * 100, "dev": [1.0] * 40, "test": [3.0] * 20})
        for step in steps_of("gmm2", "pools").values():
            size = SIZE if hybrid_behind(step) else None
            assert work_of(step, more, size).units >= work_of(step, AMOUNTS, size).units


class TestExpectedSize:
    CONFIG = ExperimentConfig()

    def size(self, amounts: Amounts, small: HybridSize = SIZE, **options: Any) -> HybridSize:
        config = replace(self.CONFIG, tying=TyingConfig(**options))
        return expected_size(amounts, config, ("train",), 0.25, small)

    def amounts(self, n: int) -> Amounts:
        # ASA and SUS have six phones in context, of three phones of the five; four frames a phone.
        return made_up({"train": [0.32] * n})

    def test_between_one_and_all_contexts_a_phone(self) -> None:
        n_silent, n_unsaid = 3, 2 * 3
        assert self.size(self.amounts(1)).states == n_silent + n_unsaid + 3 * 3 == 18
        assert self.size(self.amounts(100_000)).states == n_silent + n_unsaid + 6 * 3
        assert self.size(self.amounts(100_000), max_states=20).states == 20

    def test_contexts_that_are_too_few_share_leaves(self) -> None:
        amounts = self.amounts(100)
        n_speech = 100 * 32 * 0.75
        assert n_speech == 2400  # 600 phones: 4 frames each, 1.33 of a state
        config = replace(self.CONFIG, tying=TyingConfig(min_frames=60))
        found = state_frames(amounts, config, n_speech)
        # A: two contexts of 133 frames a state; S: three; U: one
        assert_allclose(found, np.full(18, 400 / 3), rtol=1e-9, atol=0)
        config = replace(self.CONFIG, tying=TyingConfig(min_frames=70))  # leaves of 140 frames
        found = state_frames(amounts, config, n_speech)
        assert_allclose(np.sort(found)[::3], [400 / 3, 200, 200, 800 / 3], rtol=1e-9, atol=0)

    def test_states_share_all_frames(self) -> None:
        for n_speech in (1e3, 1e5, 1e7):
            for units in ("phone", "context"):
                config = replace(self.CONFIG, hybrid=replace(self.CONFIG.hybrid, units=units))
                found = state_frames(self.amounts(100), config, n_speech)
                assert_allclose(found.sum(), n_speech, rtol=1e-9, atol=0)

    def test_more_speech_is_never_fewer_states(self) -> None:
        sizes = [self.size(self.amounts(n)) for n in (1, 10, 100, 1000, 10_000, 100_000)]
        for few, many in pairwise(sizes):
            assert few.states <= many.states
            assert few.pairs <= many.pairs
            assert few.frames_a_pair <= many.frames_a_pair

    def test_pairs_of_rivals_and_all_pairs(self) -> None:
        amounts = self.amounts(100_000)
        rivals = self.size(amounts, HybridSize(9, 9, 20, 100.0))
        assert rivals.pairs == round(20 * (rivals.classes / 9) ** 1.5)
        everyone = self.size(amounts, HybridSize(9, 9, 36, 100.0))
        assert everyone.pairs == everyone.classes * (everyone.classes - 1) // 2
        assert self.size(amounts, HybridSize(9, 9, 0, 100.0)).pairs == 0
        assert rivals.frames_a_pair <= 2 * self.CONFIG.hybrid.max_frames
