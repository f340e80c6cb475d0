from pathlib import Path

import pytest
from pydantic import ValidationError

from asr.serving import answers
from asr.serving.limits import Limits
from asr.serving.state import Served, Server
from asr.serving.takes import Levels, Take
from asr.serving.training import Progress
from decoder.decoder import Hypothesis, HypothesisWord


def test_a_transcript() -> None:
    found = Hypothesis((HypothesisWord("on", 0.12345, 0.5, -3.0, 0.98765),), -10.0, True)
    assert answers.transcript(found, 1.23456).model_dump() == {
        "text": "on",
        "words": [{"word": "on", "start_s": 0.123, "end_s": 0.5, "confidence": 0.9877}],
        "duration_s": 1.235,
        "log_score": -10.0,
        "complete": True,
        "no_speech": "",
        "rejected": [],
        "warning": "",
    }


def test_a_recording_without_speech_says_why() -> None:
    found = answers.transcript(Hypothesis((), 0.0, complete=True, no_speech="it is too faint"), 1.0)
    assert (found.text, found.no_speech) == ("", "it is too faint")


def test_words_that_are_sent_are_bounded() -> None:
    word = {"word": "on", "start_s": 0, "end_s": 1}
    sent = answers.Sentence.model_validate({"duration_s": 1, "words": [word]})
    assert sent.hypothesis().words == (HypothesisWord("on", 0.0, 1.0, 0.0, None),)
    for wrong in (
        {"start_s": -1},
        {"end_s": float("nan")},
        {"confidence": 2},
        {"word": ""},
        {"word": "x" * 201},
    ):
        with pytest.raises(ValidationError, match="1 validation error"):
            answers.Sentence.model_validate({"duration_s": 1, "words": [word | wrong]})


def test_words_end_after_they_begin() -> None:
    with pytest.raises(ValidationError, match="end_s: expected at least start_s"):
        answers.Word.model_validate({"word": "on", "start_s": 1, "end_s": 0.5})
    assert answers.Word.model_validate({"word": "on", "start_s": 1, "end_s": 1}).end_s == 1


def test_of_an_experiment_only_the_name_is_told(trained: Path, tmp_path: Path) -> None:
    served = Served(trained)
    server = Server(served, tmp_path, Limits(upload_bytes=5, audio_s=6.0, streams=7))
    before = answers.model(server)
    assert (before.ready, before.words, before.n_words) == (False, [], 0)
    served.load()
    after = answers.model(server)
    limits = after.limits
    assert (limits.upload_bytes, limits.audio_s, limits.streams) == (5, 6.0, 7)
    assert (after.ready, after.model, after.sample_rate) == (True, "gmm2", 16000)
    assert sorted(after.words) == ["ASA", "IMI", "MAUI", "SUS"]
    assert str(trained.parent) not in after.model_dump_json()


def test_a_take_with_its_fault() -> None:
    found = answers.take(Take("on-001", "on", Levels(1.0, -3.0, 30.0, 0.5, 0.2)))
    assert (found.peak_db, found.snr_db) == (-3.0, 30.0)
    assert str(found.fault).startswith("clipped: 20 %")


def test_paths_are_left_out_of_a_trainings_lines() -> None:
    progress = Progress("failed", message="/srv/exp: full")
    progress.lines.extend(["read /srv/exp/x", "(asr validate EXP --suspicious)"])
    found = answers.training(progress, {"/srv/exp": "exp/new"}, "exp/new")
    assert (found.message, found.lines) == (
        "exp/new: full",
        ["read exp/new/x", "(asr validate exp/new --suspicious)"],
    )
