"""What stages cost, with unit costs of our own in place of measured ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import Corpus, read_corpus
from asr.planning.amounts import TaskAmounts, task_amounts
from asr.planning.laws import LOCKED
from asr.planning.missing_words import MissingWordCosts
from asr.planning.pair_costs import PairCosts
from asr.planning.prices import Prices, Seconds, TaskCosts
from asr.planning.search_costs import SearchCosts
from asr.planning.sizes import Sizes
from asr.planning.walk import Stage
from asr.systems import System, find_system
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"]})  # MAUI is missing
PAIRS = PairCosts(50, 400, 100.0, 2.0, 3e-3, 5e6, 7e6)
BOTH = ("train", "dev")
GMM_STAGES = (
    "features-train",
    "start-none",
    "gmm-none-1",
    "gmm-none-8-dev",
    "fit-8",
    "tuning-gmm",
    "test-gmm",
)
HYBRID_STAGES = (
    *("units-context", "hybrid-npd-pools", "hybrid-npd-pools-dev", "adapting-hybrid-npd-pools", "choice-npd"),
    *("confidence-npd", "tuning-npd", "test-npd", "pronunciations", "features-dev-warp-0.93"),
)


class Speech:
    """Unit costs of our own: seconds of a frame, all different."""

    n_contexts = 5

    def features(self) -> float:
        return 1e-4

    def sound(self) -> float:
        return 2e-4

    def start(self, projection: str = "none") -> float:
        return 3e-4

    def setup(self, projection: str) -> float:
        return 4e-4

    def one_pass(self, projection: str, n_components: int) -> float:
        return 1e-3 * n_components

    def scores(self, projection: str, n_components: int) -> float:
        return 5e-4 * n_components

    def loop(self, *, in_context: bool = False) -> float:
        return 6e-4

    def fitting(self) -> float:
        return 7e-4

    def fitting_others(self) -> float:
        return 8e-4

    def curve_s(self) -> float:
        return 9e-4

    def alignment(self) -> float:
        return 1e-3

    def context_alignment(self) -> float:
        return 2e-3

    def trees_s(self) -> float:
        return 1.0

    def topologies_s(self) -> float:
        return 0.1

    def lda(self) -> float:
        return 1e-5

    def discriminant_frames(self) -> float:
        return 2e-5

    def transformed(self, *, hybrid: bool) -> float:
        return 3e-5

    def targets(self, *, hybrid: bool) -> float:
        return 4e-5

    def adaptation_s(self, *, hybrid: bool) -> float:
        return 0.5


@pytest.fixture(scope="module")
def amounts(tones: Path) -> TaskAmounts:
    whole = read_corpus(tones)
    parts = {"train": whole.speakers[2:], "dev": whole.speakers[:1], "test": whole.speakers[1:2]}
    corpora: dict[str, Corpus] = {split: whole.of_speakers(speakers) for split, speakers in parts.items()}
    return task_amounts(corpora, LEXICON, 0.01)


def prices(
    amounts: TaskAmounts, model: str, *settings: str, preset: str = "best", pairs: PairCosts | None = PAIRS
) -> Prices:
    system: System = find_system(model, preset)
    search = SearchCosts(0.25, 1e-3, 2e-3, 1e-5, False, 100)
    task = TaskCosts(
        amounts,
        Speech(),  # type: ignore[arg-type]
        MissingWordCosts(1e-2, 3.0, 0.2, 0.05),
        {"loop": search, "bigram": search},
        {"task": 0.5, "words": 0.25},
        {"loop": 0.0, "bigram": 0.125},
        0.03,
    )
    config = with_settings(ExperimentConfig(grammars=("loop", "bigram")), settings)
    return Prices(task, config, system, None if model.startswith("gmm") else pairs, BOTH)


def cpu(found: Prices, name: str) -> float:
    return found.seconds(Stage(name)).cpu


class TestStages:
    """Against the formulas, counted once more by hand."""

    def test_of_a_gmm(self, amounts: TaskAmounts) -> None:
        found = prices(amounts, "gmm")
        train, dev, test = (amounts.n_frames([split]) for split in ("train", "dev", "test"))
        assert cpu(found, "task") == 0.5
        assert cpu(found, "features-dev") == pytest.approx(dev * 1e-4)
        assert cpu(found, "features-train-warp-0.93") == pytest.approx(train * 1e-4)
        assert cpu(found, "start-none-dev") == pytest.approx((train + dev) * 3e-4, rel=1e-3)
        assert cpu(found, "gmm-none-1") == pytest.approx(train * (4e-4 + 8 * 1e-3))
        assert cpu(found, "gmm-none-8") == pytest.approx(train * (4e-4 + 14 * 8e-3))  # the last number holds
        assert cpu(found, "gmm-none-16") == pytest.approx(train * (4e-4 + 14 * 16e-3))
        assert cpu(found, "alignment-8") == pytest.approx(train * 1e-3)
        # 30 utterances, each beside four transcripts of others
        fitting = 7e-4 + 4 * 8e-4
        known = amounts.n_words("train")
        assert cpu(found, "fit-8") == pytest.approx(
            train * (3e-5 + 4e-3 + 6e-4 + 2e-4 + fitting) + 5 * known * 9e-4
        )
        assert cpu(found, "grammars") == pytest.approx(0.125 + 2 * 1.5 * 0.25)
        # 13 values without a scale of the grammar, 24 with it; two and a half decodings
        trials = 1.5 * (13 + 24) * 1e-5
        # Dev has fewer than 500 words: all is heard four times, and scored once more forwards and backwards.
        rule = dev * (1e-4 + 2 * (3e-5 + 4e-3) + 4 * 1e-3)
        assert cpu(found, "tuning-gmm") == pytest.approx(
            dev * (3e-5 + 4e-3 + 2 * 2.5 * 2e-3 + trials) + 2 * 0.25 + rule
        )
        assert cpu(found, "test-gmm") == pytest.approx(test * (3e-5 + 4e-3 + 2 * 1e-3) + 2 * (0.03 + 0.25))

    def test_of_a_hybrid(self, amounts: TaskAmounts) -> None:
        found = prices(amounts, "npd", "hybrid.warps=0.9,1.1,1.2")
        train, test = (amounts.n_frames([split]) for split in ("train", "test"))
        prepared, share = 4 * train * 3e-5, train / amounts.n_frames(BOTH)
        assert cpu(found, "hybrid-npd-pools") == pytest.approx(prepared + share * 100.0)
        assert cpu(found, "hybrid-npd-pools-dev") == pytest.approx(4 * amounts.n_frames(BOTH) * 3e-5 + 100.0)
        contexts = len(amounts.phones.contexts) / 5
        assert cpu(found, "units-context") == pytest.approx(train * 2e-3 + contexts * 1.0 + 0.3)
        assert cpu(found, "adapting-hybrid-npd-pools") == pytest.approx(train * 4e-5)
        score = 3e-3 + 8 * 5e-4  # of the pairs, and of the mixtures
        assert found.score == pytest.approx(score)
        adapted = test * (1e-3 + 7e-4 + score) + 1 * 0.5  # one speaker
        assert cpu(found, "test-npd") == pytest.approx(
            test * (3e-5 + score + 2 * 1e-3) + 2 * (0.03 + 0.25) + 2 * adapted
        )
        assert found.decoding("loop") == pytest.approx(1e-4 + 3e-5 + 2 * (score + 2e-3))
        assert found.adapts
        plain = prices(amounts, "npd", "hybrid.adaptation=none", "hybrid.gmm_weight=0")
        assert not plain.adapts
        assert plain.score == 3e-3
        assert cpu(plain, "test-npd") == pytest.approx(test * (3e-5 + 3e-3 + 2e-3) + 0.56)

    def test_missing_words(self, amounts: TaskAmounts) -> None:
        found = prices(amounts, "gmm")
        n_frames = amounts.n_frames(BOTH)
        model = n_frames * (4e-4 + 8e-3 + 4e-4 + 4 * 2e-3)
        aligned = sum(seconds for _, seconds in amounts.with_missing) * 100 * 1e-2
        n_said = sum(u.words.count("MAUI") for u, _ in amounts.with_missing)
        assert cpu(found, "pronunciations") == pytest.approx(
            model + aligned + 3.0 + 2 * 0.2 + min(n_said, 12) * 0.05
        )

    def test_what_nobody_knows_counts_for_nothing(self, amounts: TaskAmounts) -> None:
        found = prices(amounts, "sklearn:linear_model.LogisticRegression", pairs=None)
        assert cpu(found, "hybrid-sklearn") == pytest.approx(3 * amounts.n_frames(["train"]) * 3e-5)
        assert found.score == pytest.approx(8 * 5e-4)


class TestMonotone:
    @pytest.mark.parametrize(("model", "names"), [("gmm", GMM_STAGES), ("npd", HYBRID_STAGES)])
    def test_more_hours_are_never_cheaper(
        self, amounts: TaskAmounts, model: str, names: tuple[str, ...]
    ) -> None:
        longer = replace(amounts, seconds={split: 2 * s for split, s in amounts.seconds.items()})
        for name in names:
            less, more = (prices(a, model, *CHOSEN[model]).seconds(Stage(name)) for a in (amounts, longer))
            assert more.cpu > less.cpu > 0 or name == "hybrid-npd-pools"
            assert more.cpu >= less.cpu
            assert 0 <= less.serial <= less.cpu

    def test_costlier_pairs_are_never_cheaper(self, amounts: TaskAmounts) -> None:
        dear = replace(PAIRS, train_s=200.0, score_s=6e-3)
        for name in ("hybrid-npd-pools", "tuning-npd", "test-npd", "confidence-npd"):
            less, more = (prices(amounts, "npd", pairs=pairs) for pairs in (PAIRS, dear))
            assert cpu(more, name) > cpu(less, name)

    def test_memory_and_disk(self, amounts: TaskAmounts) -> None:
        longer = replace(amounts, seconds={split: 2 * s for split, s in amounts.seconds.items()})
        config, stages = ExperimentConfig(), [Stage(name) for name in (*GMM_STAGES, *HYBRID_STAGES)]
        for system, pairs in ((find_system("gmm"), None), (find_system("npd"), PAIRS)):
            less, more = (Sizes(a, config, 1e4, 1e3) for a in (amounts, longer))
            assert more.memory(system, pairs, BOTH) > less.memory(system, pairs, BOTH)
            assert more.disk(stages, system, pairs) > less.disk(stages, system, pairs)
        small = Sizes(amounts, config, 1e4, 1e3)
        large = replace(PAIRS, model_bytes=6e6, peak_bytes=8e6)
        assert small.model(system, large) == small.model(system, PAIRS) + 1e6
        assert small.memory(system, large, BOTH) == small.memory(system, PAIRS, BOTH) + 1e6


CHOSEN = {"gmm": (), "npd": ("hybrid.units=context",)}


def test_wall_time_is_between_all_threads_and_none() -> None:
    found = Seconds(10.0, 2.0)
    assert found.wall(1) == pytest.approx(10.0)
    assert found.wall(2) == pytest.approx(2.0 + 8.0 * (LOCKED + (1 - LOCKED) / 2))
    assert found.wall(1000) > 2.0 + 8.0 * LOCKED
    assert found.plus(Seconds(1.0, 1.0)) == Seconds(11.0, 3.0)
