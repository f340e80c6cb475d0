"""Costs of a frame of speech: what is called, and by what each time is divided, with a clock of our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.topology import Topology
from acoustic.hmm.training import GmmConfig
from acoustic.model import AcousticModel
from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData
from asr.planning import speech_costs as module
from asr.planning.speech_costs import SpeechCosts, aligner_components
from asr.training.hybrid import Units
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig

LEXICON = Lexicon({"ASA": ["ASA"], "SUS": ["SUS"], "IMI": ["IMI"]})
TEXTS = ("ASA", "SUS ASA", "ASA ASA SUS")
N_FRAMES = (40, 60, 100)


def model(n_components: int = 1) -> AcousticModel:
    """Return one and the same Gaussian in all states of the lexicon's phones."""
    front_end, topology = FrontEndConfig(normalize="none"), Topology.monophones(LEXICON.phones)
    n, d = topology.n_states, front_end.mfcc.n_features
    means = np.zeros((n, n_components, d))
    same = GmmModel(np.full((n, n_components), -np.log(n_components)), means, np.ones_like(means))
    return AcousticModel(FrontEnd(front_end), topology, same, np.ones(n))


def costs(*settings: str, n_components: int = 1) -> SpeechCosts:
    """Return costs whose aligning model is there."""
    utterances = [Utterance(f"u{n}", Path("no.wav"), tuple(t.split()), "s") for n, t in enumerate(TEXTS)]
    rng = np.random.default_rng(0)
    cepstra = [rng.normal(size=(n, 39)).astype(np.float32) for n in N_FRAMES]
    config = with_settings(ExperimentConfig(), ("gmm.mixtures=1", *settings))
    found = SpeechCosts(SpeechData(Corpus(tuple(utterances)), cepstra), LEXICON, config)
    found._models["none", n_components] = model(n_components)
    return found


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make calls take 100, 200, 400, … seconds, each call once; return the times that were told."""
    told: list[float] = []

    def tell(call: Callable[[], object], *, is_warm: bool = False) -> float:
        call()
        told.append(100.0 * 2 ** len(told))
        return told[-1]

    monkeypatch.setattr(module, "least_seconds", tell)
    return told


@pytest.mark.parametrize(
    ("mixtures", "n"), [((1, 2, 4, 8, 16), 8), ((1, 2), 2), ((3, 7, 9), 7), ((16, 32), 16), ((8,), 8)]
)
def test_the_model_that_aligns(mixtures: tuple[int, ...], n: int) -> None:
    assert aligner_components(GmmConfig(mixtures=mixtures)) == n


@pytest.mark.parametrize(("mixtures", "n"), [("1,2,4,8", 4), ("1,2", 2), ("8,16", 8)])
def test_the_small_model(mixtures: str, n: int) -> None:
    found = costs(f"gmm.mixtures={mixtures}", n_components=n)
    assert found.small_model() is found._models["none", n]


def test_all_is_measured_once_and_divided_by_the_frames(times: list[float]) -> None:
    found = costs()
    assert found.n_frames == 200
    assert [found.scores("none", 1), found.loop(), found.transformed(hybrid=False)] == [0.5, 1.0, 2.0]
    assert [found.transformed(hybrid=False), found.loop(), found.scores("none", 1)] == [2.0, 1.0, 0.5]
    assert found.curve_s() == 800 / 4000  # for each of 2,000 right and 2,000 wrong words
    assert found.measured == {"scores none 1": 0.5, "loop": 1.0, "GMM frames": 2.0, "curve, s": 0.2}
    assert times == [100.0, 200.0, 400.0, 800.0]


def test_passes_and_setup_of_a_trained_stage() -> None:
    found = costs("gmm.iterations=3")
    found.measured |= {"EM none 1": 0.25, "EM none setup": 0.125}
    assert (found.one_pass("none", 1), found.setup("none")) == (0.25, 0.125)


def test_training_is_timed_without_its_setup(times: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[int, int]] = []

    def train(
        sample: object, before: object, lexicon: object, n_components: int, n_passes: int, gmm: object
    ) -> list[AcousticModel]:
        trained.append((n_components, n_passes))
        return [model(n_components)]

    monkeypatch.setattr(module, "train_components", train)
    found = costs("gmm.mixtures=1,2", "gmm.iterations=5,3")
    found._models.clear()
    monkeypatch.setattr(found, "_start_flat", model)
    # 100 s of setup; 200 s of five passes with it, 400 s of three
    assert found.one_pass("none", 2) == pytest.approx((400 - 100) / 3 / 200)
    assert found.one_pass("none", 1) == pytest.approx((200 - 100) / 5 / 200)
    assert found.setup("none") == 100 / 200
    assert trained == [(1, 1), (1, 0), (1, 5), (2, 3)]  # the first one compiles


def test_transcripts_of_others_are_about_as_long(times: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    found, fitted = costs(), list[list[int]]()

    def note(chosen: Sequence[int]) -> None:
        fitted.append(list(chosen))

    monkeypatch.setattr(found, "_fit_all", note)
    assert (found.fitting(), found.fitting_others()) == (0.5, 1.0)
    assert fitted == [[0, 1, 2], [1, 2, 0]]  # the next longer one; of the longest the shortest


def test_trees_are_what_alignment_with_them_takes_longer(
    times: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, grown = costs(), list[int]()
    monkeypatch.setattr(found, "_context_units", grown.append)
    assert found.trees_s() == 200 - 100
    assert found.context_alignment() == 0.5
    assert grown == [10**9, 1]


def test_no_trees_take_less_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found, told = costs(), iter([100.0, 99.0])
    monkeypatch.setattr(module, "least_seconds", lambda call, is_warm=False: next(told))
    assert found.trees_s() == 0.0


def test_silence() -> None:
    found = costs()
    topology = found._aligner.topology
    silent, speech = (
        int(np.flatnonzero(topology.is_speech() == is_speech)[0]) for is_speech in (False, True)
    )
    labels = [np.array([silent, speech, speech, -1]), np.array([-1, silent, speech])]  # two of five
    found.__dict__["_units"] = Units(topology, labels, {})
    assert found.silence_share == pytest.approx(0.4)
    nothing = costs()
    nothing.__dict__["_units"] = Units(topology, [np.array([-1, -1])], {})
    assert nothing.silence_share == 0.0


def test_contexts() -> None:
    # ASA and SUS are said, with three contexts each; IMI is in the lexicon alone
    assert costs().n_contexts == 6
    within = costs("hybrid.units=context").context_topology
    said = {"#-A+S", "A-S+A", "S-A+#", "#-S+U", "S-U+S", "U-S+#", "#-I+M", "I-M+I", "M-I+#"}
    assert said == {name for name in within.phones if "-" in name}
    assert within.n_states == costs()._aligner.topology.n_states  # with the states of the phones


def test_few_words_have_all_phones() -> None:
    assert set(costs()._few_words) == {"ASA", "SUS", "IMI"}  # nobody says IMI, but M and I are nowhere else
    more = SpeechCosts(
        costs().sample, LEXICON.merged(Lexicon({"AS": ["AS"], "MI": ["MI"]})), ExperimentConfig()
    )
    words = set(more._few_words)
    assert {"ASA", "SUS"} < words
    assert "AS" not in words
    assert len(words & {"IMI", "MI"}) == 1
