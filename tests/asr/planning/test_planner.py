"""Sums and counts of a planner, of stages and unit costs of our own."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import Corpus, Utterance
from asr.planning import laws
from asr.planning.amounts import TaskAmounts
from asr.planning.pair_costs import PairCosts
from asr.planning.planner import Planner, _recorded_s
from asr.planning.prices import TaskCosts
from asr.planning.search_costs import SearchCosts
from asr.planning.sizes import Sizes, monophone_states
from asr.planning.walk import GROUPS, Stage
from asr.systems import find_system
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"ASA": ["ASA"], "SUS": ["SUS"]})  # A, S, U and silence: 12 states
SECONDS = {"train": 20.0, "dev": 5.0, "test": 3.0}
SEARCH = SearchCosts(0.25, 1e-3, 2e-3, 0.0, False, 100)
SPEECH = SimpleNamespace(
    silence_share=0.25,
    features=lambda: 1e-4,
    transformed=lambda hybrid: 1e-5,
    scores=lambda projection, n_components: 1e-3,
    setup=lambda projection: 1e-3,
    one_pass=lambda projection, n_components: 1e-3,
)
STAGES = ("task", "features-train", "features-dev", "gmm-none-1", "gmm-none-1-dev", "test-gmm")
PAIRS = PairCosts(50, 400, 100.0, 2.0, 3e-3, 5e6, 7e6)


def planner(tmp_path: Path, *settings: str, splits: tuple[str, ...] = tuple(SECONDS)) -> Planner:
    """Return a planner that has measured all that models have in common."""
    task = SimpleNamespace(grammars=("loop", "bigram"))
    walk = SimpleNamespace(task=task, stages=lambda name, system: tuple(map(Stage, STAGES)))
    found = Planner(walk, with_settings(ExperimentConfig(), settings), tmp_path, 3)  # type: ignore[arg-type]
    corpora = {s: Corpus((Utterance(s, Path("no.wav"), ("ASA", "SUS"), "s"),)) for s in splits}
    amounts = TaskAmounts(corpora, {s: np.array([SECONDS[s]]) for s in splits}, LEXICON, 0.01)
    searches = dict.fromkeys(task.grammars, SEARCH)
    common = TaskCosts(amounts, SPEECH, None, searches, {"task": 0.5}, {}, 0.03)  # type: ignore[arg-type]
    sizes = Sizes(amounts, found.config, 200.0, 50.0)
    found.__dict__.update(amounts=amounts, speech=SPEECH, _common=common, _sizes=sizes)
    return found


class TestPlan:
    def test_sums(self, tmp_path: Path) -> None:
        found = planner(tmp_path, "gmm.iterations=9").model_plan("gmm", find_system("gmm"))
        assert found.stages == pytest.approx(
            {
                "task": 0.5,
                "features-train": 0.2,
                "features-dev": 0.05,
                "gmm-none-1": 2000 * (1e-3 + 9e-3),
                "gmm-none-1-dev": 2500 * (1e-3 + 9e-3),
                "test-gmm": 300 * (1e-5 + 1e-3 + 2 * 1e-3) + 2 * 0.28,
            }
        )
        sums = {"task": 0.5, "features": 0.25, "GMM": 45.0, "test": found.stages["test-gmm"]}
        assert found.groups == pytest.approx({group: sums.get(group, 0.0) for group in GROUPS})
        assert found.cpu_s == pytest.approx(sum(sums.values()))
        assert list(found.wall_s) == [1, 2, 3, 4]
        assert found.wall_s[1] == pytest.approx(found.cpu_s)
        assert found.decoding_x == pytest.approx((1e-4 + 1e-5 + 1e-3 + 2e-3) / 0.01)
        assert found.savings["retrain_with_dev=false"] == pytest.approx(25.0)  # what is trained with dev
        assert found.model_mb == pytest.approx((8 * 8 * 12 * 79 + 250) / 1e6)
        assert (found.states, found.pairs, found.all_pairs, found.centers) == (12, 0, 0, 0)
        assert (found.n_centers, found.centers_option, found.not_predicted) == (None, "", "")

    @pytest.mark.parametrize(
        ("model", "pairs", "n_centers", "option", "unknown"),
        [
            ("npd", PAIRS, 100, "pools.n_centers", ""),
            (
                "sklearn:naive_bayes.GaussianNB",
                None,
                None,
                "",
                "training and scores of sklearn:naive_bayes.GaussianNB, another package's classifier",
            ),
        ],
    )
    def test_of_a_hybrid(
        self,
        tmp_path: Path,
        model: str,
        pairs: PairCosts | None,
        n_centers: int | None,
        option: str,
        unknown: str,
    ) -> None:
        made, system = planner(tmp_path, "hybrid.units=phone", "hybrid.adaptation=none"), find_system(model)
        made._pairs[system.way, None] = pairs  # type: ignore[union-attr]
        found = made.model_plan(model, system)
        assert (found.states, found.all_pairs) == (12, 66)
        assert (found.n_centers, found.centers_option, found.not_predicted) == (n_centers, option, unknown)
        # 1,875 frames of speech, at three warps; of six phones A has two, S three, U one
        frames = 3 * 1875 * (2 + 3 + 1) / 6 / 3 / 3
        counts = (pairs.n_pairs, round(2 * frames), pairs.n_centers) if pairs else (0, 0, 0)
        assert (found.pairs, found.frames_a_pair, found.centers) == counts


def test_what_is_trained_on(tmp_path: Path) -> None:
    assert planner(tmp_path).final == ("train", "dev")
    assert planner(tmp_path, splits=("train", "test")).final == ("train",)
    alone = planner(tmp_path, "retrain_with_dev=false")
    assert alone.final == ("train",)
    assert list(alone.model_plan("gmm", find_system("gmm")).savings) == ["grammars=bigram"]


@pytest.mark.parametrize(("model", "has"), [("gmm", False), ("npd", True), ("svm", False), ("krls", False)])
def test_centres(tmp_path: Path, model: str, has: bool) -> None:
    found, system = planner(tmp_path), find_system(model)
    assert found.has_centers(system) is has
    assert found._n_centers(system, 70) == (70 if has else None)


def test_states_in_context(tmp_path: Path) -> None:
    found = planner(tmp_path, "tying.min_frames=5")
    n_speech = 0.75 * 2500
    n_states, n_silent = monophone_states(Topology.monophones("ASU"))
    expected = laws.tied_states(found.amounts.phones, n_speech, found.config.tying, n_states, n_silent)
    assert (
        found._n_states(find_system("npd")) == expected == 21
    )  # six contexts and silence, three states each
    assert found._n_states(find_system("gmm")) == 12


def test_grammars_are_written_and_timed(tmp_path: Path) -> None:
    found = planner(tmp_path)
    found.walk.task.prepared = SimpleNamespace(path=tmp_path)  # type: ignore[assignment]
    found.__dict__["_lexicon"] = LEXICON
    assert list(found._written) == ["loop", "bigram"]
    assert min(found._written.values()) >= 0
    assert "ASA SUS" in (tmp_path / "bigram.arpa").read_text()


def test_what_a_stage_took(tmp_path: Path) -> None:
    (tmp_path / "stage.json").write_text(json.dumps({"seconds": {"cpu": 1.5, "wall": 9}}))
    assert _recorded_s(tmp_path) == 1.5
