"""The trial of an installation: it passes here, and fails where words or times are wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from asr import self_test as module
from asr import verbs
from asr.errors import CorpusError, ExperimentError
from asr.formats.aligned import AlignedUtterance
from decoder.decoder import Hypothesis

self_test: Callable[[], str] = module.self_test


def test_it_passes_and_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert self_test() == "trained on synthetic tones, decoded and aligned a new recording"
    assert capsys.readouterr() == ("", "")


def test_other_words_and_errors_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "train", lambda *given, **named: None)
    monkeypatch.setattr(module, "decode", lambda *given: [Hypothesis((), -1.0, True, ())])
    with pytest.raises(ExperimentError, match='decoded "", expected "MAUI ASA SUS IMI"'):
        self_test()
    monkeypatch.setattr(module, "decode", lambda *given: [CorpusError("no sound")])
    with pytest.raises(ExperimentError, match="no sound"):
        self_test()


def test_words_in_the_wrong_place_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_early(*given: object) -> AlignedUtterance:
        found = verbs.align(*given)  # type: ignore[arg-type]
        words = tuple(replace(w, start_s=w.start_s / 3, end_s=w.end_s / 3) for w in found.tiers["words"])
        return replace(found, tiers={**found.tiers, "words": words})

    monkeypatch.setattr(module, "align", too_early)
    with pytest.raises(ExperimentError, match="expected MAUI, ASA, SUS, IMI one after the other"):
        self_test()
