"""What is heard in single utterances is what the evaluation heard, with times and posteriors besides."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData
from asr.reports.finished import Finished
from asr.reports.hearing import StatePhones, evaluated_recognizer, heard_utterances


@pytest.mark.parametrize("split", ["dev", "test"])
def test_words_are_those_of_the_evaluation(finished: Finished, split: str) -> None:
    recognizer = evaluated_recognizer(finished, "gmm1", split, "bigram")
    data = finished.data(split)
    wanted = data.corpus.ids[1:3]
    phones = StatePhones.of(recognizer.model.topology)
    found = list(heard_utterances(recognizer, data, wanted, phones))
    assert tuple(h.utterance.utterance_id for h in found) == wanted
    recognised = finished.recognised("gmm1", split, "bigram")
    assert [h.hypothesis.text for h in found] == [tuple(recognised[name]) for name in wanted]
    for heard in found:
        assert_allclose(np.exp(heard.log_posteriors).sum(axis=1), 1.0, rtol=1e-9, atol=0)
        assert all(
            0 <= word.confidence <= 1 for word in heard.hypothesis.words if word.confidence is not None
        )
        assert heard.alignment is not None
        assert [s.index for s in heard.alignment.words] == list(range(len(heard.utterance.words)))


def test_the_model_of_dev_has_not_learned_from_dev(finished: Finished) -> None:
    of_dev, of_test = (evaluated_recognizer(finished, "gmm2", s, "loop").model for s in ("dev", "test"))
    assert of_dev.occupancy.sum() < of_test.occupancy.sum()


def test_what_cannot_be_aligned_is_heard_all_the_same(finished: Finished) -> None:
    recognizer = evaluated_recognizer(finished, "gmm1", "test", "bigram")
    data = finished.data("test")
    unknown, long = data.corpus.utterances[:2]
    changed = (replace(unknown, words=("NOBODY",)), replace(long, words=("ASA",) * 500))
    few = SpeechData(Corpus(changed), data.cepstra[:2])
    found = list(heard_utterances(recognizer, few, few.corpus.ids, StatePhones.of(recognizer.model.topology)))
    assert [h.alignment for h in found] == [None, None]
    assert all(h.hypothesis.words for h in found)
