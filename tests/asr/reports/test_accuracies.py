"""Comparisons of models and speakers from what an experiment has recognised."""

import numpy as np
import pytest

from asr.reports.accuracies import pairs_of_models, scored, speaker_rows, spoken_in, worst_first
from asr.reports.choice import Choice
from asr.reports.finished import Finished
from asr.scoring.edit_distance import align_words, count_errors
from asr.scoring.scoring import UtteranceErrors, compare


def test_every_two_models_are_compared_with_each_grammar(finished: Finished) -> None:
    corpus = finished.corpus("test")
    found = list(pairs_of_models(finished, "test", corpus))
    assert [(p.grammar, p.first, p.second) for p in found] == [
        ("loop", "gmm1", "gmm2"),
        ("bigram", "gmm1", "gmm2"),
    ]
    words = [finished.recognised(model, "test", "bigram") for model in ("gmm1", "gmm2")]
    assert found[1].comparison == compare(corpus.text, *words)


def test_errors_are_those_of_the_transcripts(finished: Finished) -> None:
    corpus = finished.corpus("test")
    found = scored(finished, "test", "loop", corpus)
    assert list(found) == ["gmm1", "gmm2"]
    counts = found["gmm1"].counts
    assert (counts.substitutions, counts.deletions, counts.insertions) == (1, 1, 1)


def test_only_what_was_decoded_was_said(finished: Finished) -> None:
    corpus = finished.corpus("test")
    assert spoken_in(corpus, {corpus.ids[1]: ()}) == {corpus.ids[1]: corpus.text[corpus.ids[1]]}


def test_a_row_for_each_speaker_and_model(chosen: Choice) -> None:
    rows = speaker_rows(chosen.accuracies, chosen.corpus)
    (speaker,) = chosen.corpus.speakers
    assert [(row.speaker, row.model) for row in rows] == [(speaker, "gmm1"), (speaker, "gmm2")]
    assert rows[0].word_accuracy == pytest.approx(chosen.accuracy.word_accuracy)
    assert rows[0].words == sum(len(u.spoken) for u in chosen.corpus)
    assert rows[0].interval[0] <= rows[0].word_accuracy <= rows[0].interval[1]


def test_the_worst_come_first() -> None:
    def errors(name: str, said: str, heard: str) -> UtteranceErrors:
        pairs = align_words(said.split(), heard.split())
        return UtteranceErrors(name, pairs, count_errors(pairs), False)

    utterances = [
        errors("right", "a b", "a b"),
        errors("one of three", "a b c", "a b"),
        errors("one of one", "a", "b"),
        errors("two", "a b c d", "a"),
    ]
    shuffled = [utterances[n] for n in np.random.default_rng(0).permutation(4)]
    names = [u.utterance_id for u in worst_first(shuffled)]
    assert names == ["two", "one of one", "one of three", "right"]
