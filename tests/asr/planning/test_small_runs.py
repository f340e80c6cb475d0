"""Which recordings small trainings use, and the prices that follow from what they took."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.corpora.corpus import Corpus, Utterance, read_corpus
from asr.errors import CorpusError
from asr.planning.small_runs import Price, evenly_by_length, price_of, some_of
from asr.planning.work import Amounts, Work, amounts_of
from decoder.lexicon import Lexicon


def utterances(n: int) -> list[Utterance]:
    return [Utterance(f"u{k:04d}", Path("nowhere.wav"), ("ASA",), "s") for k in range(n)]


class TestRecordings:
    def test_some_are_as_long_as_all(self) -> None:
        seconds = np.random.default_rng(0).gamma(2.0, 3.0, 1000)
        chosen = evenly_by_length(utterances(1000), seconds, 300.0)
        own = np.array([seconds[int(u.utterance_id[1:])] for u in chosen])
        assert_allclose(own.sum(), 300.0, rtol=0.1, atol=0)
        assert_allclose(own.mean(), seconds.mean(), rtol=0.05, atol=0)
        assert own.min() < np.quantile(seconds, 0.05)
        assert own.max() > np.quantile(seconds, 0.95)

    @pytest.mark.parametrize(("each_s", "n"), [(1000.0, 2), (0.01, 400), (10.0, 12)])
    def test_two_at_least_and_a_few_hundred_at_most(self, each_s: float, n: int) -> None:
        of = utterances(1000)
        found = evenly_by_length(of, np.full(1000, each_s), 120.0)
        assert len(found) == len(set(found.ids)) == n
        assert set(found.ids) <= {u.utterance_id for u in of}

    def test_what_cannot_be_read_is_not_taken(self) -> None:
        seconds = np.array([0.0, 3.0, 0.0])
        assert evenly_by_length(utterances(3), seconds, 100.0).ids == ("u0001",)
        assert len(evenly_by_length(utterances(3), np.zeros(3), 100.0)) == 0

    def test_words_are_known_but_of_a_few_recordings(self, tones: Path) -> None:
        whole = read_corpus(tones)
        few = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"]})
        for missing in ((), ("MAUI",)):
            amounts = amounts_of({"train": whole}, few, missing, 0.01)
            lacking = [u for u in some_of(amounts, "train", 5.0) if "MAUI" in u.words]
            assert bool(lacking) == bool(missing)
            assert len(lacking) <= 7

    def test_no_transcript_has_words(self) -> None:
        silent = Corpus((Utterance("a", Path("nowhere.wav"), (), "s"),))
        amounts = Amounts({"train": silent}, {"train": np.ones(1)}, Lexicon({"A": ["A"]}), (), 0.01)
        with pytest.raises(CorpusError, match="of 1 utterances none can be measured"):
            some_of(amounts, "train", 10.0)


class TestPrices:
    @pytest.mark.parametrize("price", [Price(2.0, 0.5), Price(0.0, 3.0), Price(4.0, 0.0)])
    @pytest.mark.parametrize(("few", "many"), [(Work(10), Work(40)), (Work(300, 20), Work(900, 15))])
    def test_what_the_work_took_gives_the_price_back(self, price: Price, few: Work, many: Work) -> None:
        found = price_of(few, price.of(few), many, price.of(many))
        assert_allclose([found.once, found.unit], [price.once, price.unit], rtol=1e-9, atol=1e-12)
        assert_allclose(found.of(Work(1e6, 50)), price.of(Work(1e6, 50)), rtol=1e-6, atol=0)

    def test_nothing_grows(self) -> None:
        assert price_of(Work(0), 1.0, Work(0), 3.0) == Price(3.0, 0.0)

    def test_as_much_work_both_times_is_all_taken_to_grow(self) -> None:
        assert price_of(Work(10), 5.0, Work(10), 4.0) == Price(0.0, 0.4)

    def test_neither_part_is_negative(self) -> None:
        assert price_of(Work(10), 1.0, Work(40), 8.0) == Price(0.0, 0.2)  # grows faster than the work
        assert price_of(Work(10), 5.0, Work(40), 4.0) == Price(4.0, 0.0)
