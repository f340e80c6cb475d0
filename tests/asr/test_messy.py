"""A messy twin of a clean corpus is learned as well as the clean one, and what was planted in it is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from messy_corpus import Mess, write_twin

from asr import train
from asr.corpora.corpus import SPLITS, read_corpus, write_corpus
from asr.files import read_json
from asr.recognizer import Recognizer
from asr.scoring.results import Result
from decoder.lexicon import Lexicon
from recipes import folder

LEXICON = Lexicon.graphemic(["ASA", "IMI", "MAUI", "SUS"])


class Twins(NamedTuple):
    """Results of both corpora, what was planted, and where the messy one was trained."""

    clean: Sequence[Result]
    messy: Sequence[Result]
    mess: Mess
    experiment: Path


@pytest.fixture(scope="module")
def twins(many_tones: Path, settings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Twins:
    work = tmp_path_factory.mktemp("twins")
    folder.prepare(many_tones, work / "task")
    corpora = {split: read_corpus(work / "task" / split) for split in SPLITS}
    for split, corpus in corpora.items():
        write_corpus(corpus, work / "clean" / split)
    LEXICON.write(work / "clean" / "lexicon.txt")
    mess = write_twin(corpora, LEXICON, work / "messy")
    clean, messy = (
        train("folder", corpus=work / name, out=work / f"exp-{name}", models=["gmm2"], settings=settings)
        for name in ("clean", "messy")
    )
    return Twins(clean, messy, mess, work / "exp-messy")


@pytest.mark.slow
def test_accuracy_is_within_a_point_of_the_clean_corpus(twins: Twins) -> None:
    clean, messy = (
        {r.grammar: r.word_accuracy for r in rows if r.split == "test"} for rows in (twins.clean, twins.messy)
    )
    assert clean.keys() == {"loop", "bigram"}
    assert all(messy[grammar] >= clean[grammar] - 1.0 for grammar in clean)
    assert min(clean.values()) > 95.0


@pytest.mark.slow
def test_words_missing_in_the_lexicon_have_got_a_pronunciation(twins: Twins) -> None:
    (missing,) = twins.mess.missing
    learned = Recognizer.load(twins.experiment).lexicon
    assert learned.guessed == {missing}
    assert learned.pronunciations(missing) == LEXICON.pronunciations(missing)


@pytest.mark.slow
def test_planted_faults_are_named_and_little_else(twins: Twins) -> None:
    suspicious = read_json(twins.experiment / "suspicious.json")
    doubted = {found["utterance_id"] for found in suspicious["suspicious"]}
    log = (twins.experiment / "log.txt").read_text(encoding="utf-8")
    assert set(twins.mess.wrong) <= doubted
    silence = "samples: expected a recording, got digital silence"
    assert all(f"{name}: {silence}" in log for name in twins.mess.silent)
    planted = {*twins.mess.wrong, *twins.mess.silent, *twins.mess.cut}
    assert len(doubted - planted) <= 0.02 * suspicious["n_utterances"]
