"""Costs of words: what is decoded, and by what each time is divided, with a clock of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.hmm.topology import Topology
from asr.language.grammars import write_grammar
from asr.planning import search_costs as module
from asr.planning.search_costs import SearchCosts, search_costs, stretches
from asr.systems import GrammarName
from decoder.decoder import Decoder, DecoderConfig
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")]})
TOPOLOGY = Topology.monophones("ab", n_states=1)  # silence, a and b are states 0, 1 and 2


def scores_of(states: str) -> np.ndarray:
    """Return scores (T, 3) that are 0 for one state of each frame, and −20 for others."""
    return np.where(np.eye(3, dtype=bool)[[int(s) for s in states]], 0.0, -20.0).astype(np.float32)


SCORES = [scores_of("0011112222000"), scores_of("0022221111000")]  # 26 frames of AB and of BA


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make calls take 26, 52, 104, … seconds, each call once; return the times that were told."""
    told: list[float] = []

    def tell(call: Callable[[], object], *, is_warm: bool = False) -> float:
        call()
        told.append(26.0 * 2 ** len(told))
        return told[-1]

    monkeypatch.setattr(module, "least_seconds", tell)
    return told


@pytest.mark.parametrize(("name", "has_file"), [("loop", False), ("bigram", True)])
def test_seconds_of_a_frame(name: GrammarName, has_file: bool, tmp_path: Path, times: list[float]) -> None:
    write_grammar(name, tmp_path, task_dir=tmp_path, sentences=[("AB", "BA")], lexicon=LEXICON)
    (tmp_path / "other.txt").write_text("not of this grammar")
    n_bytes = (tmp_path / "bigram.arpa").stat().st_size if has_file else 0
    found = search_costs(name, tmp_path, LEXICON, TOPOLOGY, SCORES, DecoderConfig())
    assert found == SearchCosts(26.0, 2.0, 4.0, 8.0, found.is_tree, n_bytes)
    assert times == [26.0, 52.0, 104.0, 208.0]


@pytest.mark.parametrize(("name", "weights"), [("loop", (None, -32.0)), ("bigram", (8.0, -16.0))])
def test_what_is_decoded(
    name: GrammarName,
    weights: tuple[float | None, float],
    tmp_path: Path,
    times: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[tuple[tuple[str, ...], float, float]] = []
    real = Decoder.decode

    def noted(decoder: Decoder, scores: np.ndarray):  # type: ignore[no-untyped-def]
        found = real(decoder, scores)
        heard.append((tuple(found.text), decoder.config.lm_scale, decoder.config.word_penalty))
        return found

    monkeypatch.setattr(Decoder, "decode", noted)
    write_grammar(name, tmp_path, task_dir=tmp_path, sentences=[("AB",), ("BA",)], lexicon=LEXICON)
    search_costs(name, tmp_path, LEXICON, TOPOLOGY, SCORES, DecoderConfig())
    scale = DecoderConfig().lm_scale if weights[0] is None else weights[0]
    # the first stretch once more before the clock runs
    assert heard == [((word,), scale, weights[1]) for word in ("AB", "AB", "BA")]


def test_without_recordings_words_cost_nothing(tmp_path: Path, times: list[float]) -> None:
    found = search_costs("loop", tmp_path, LEXICON, TOPOLOGY, [], DecoderConfig())
    assert found == SearchCosts(26.0, 0.0, 0.0, 0.0, found.is_tree, 0)


@pytest.mark.parametrize(
    ("n_frames", "shift_s", "places"),
    [
        (11, 0.5, range(3, 8)),  # 5 frames of 11, three before and three after
        (4, 0.5, range(4)),
        (5, 0.5, range(5)),
        (7, 10.0, range(3, 4)),  # one frame at least
    ],
)
def test_stretches_are_from_the_middle(n_frames: int, shift_s: float, places: range) -> None:
    def transform(cepstra: list[np.ndarray], speakers: list[str]) -> list[np.ndarray]:
        assert speakers == ["s"]
        return [x + 100 for x in cepstra]

    model = SimpleNamespace(
        front_end=SimpleNamespace(transform=transform),
        emissions=SimpleNamespace(log_likelihoods=lambda frames: -frames),
    )
    data = SimpleNamespace(cepstra=[np.arange(n_frames)[:, None]], speakers=["s"])
    (found,) = stretches(model, data, shift_s)  # type: ignore[arg-type]
    assert_array_equal(found[:, 0], [-100 - place for place in places])
