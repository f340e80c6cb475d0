"""How much a corpus is, what to expect, what to record next."""

from pathlib import Path

import pytest

from asr.corpora.amounts import (
    DATA,
    MEASURED,
    Amount,
    DataRecord,
    amount_of,
    judgement,
    read_data,
    write_data,
)
from asr.corpora.utterances import Corpus, Utterance
from asr.errors import ExperimentError
from decoder.lexicon import Lexicon


def corpus_of(n_speakers: int, *transcripts: str) -> Corpus:
    return Corpus(
        tuple(
            Utterance(f"{n:04d}", Path("u.wav"), tuple(t.split()), f"s{n % n_speakers}")
            for n, t in enumerate(transcripts)
        )
    )


def said_of(
    corpora: dict[str, Corpus], seconds: dict[str, dict[str, float]], lexicon: Lexicon | None
) -> list[str]:
    """Return all notes as lines; how much there is and what comes next are the summary."""
    found = list(judgement(corpora, seconds, lexicon))
    amounts = [p for p in found if p.severity == "summary"]
    assert len(amounts) == len(corpora) + 1
    return [str(p) for p in found]


def lasting(corpus: Corpus, seconds: float) -> dict[str, float]:
    return dict.fromkeys(corpus.ids, seconds)


def test_amount() -> None:
    corpus = corpus_of(2, "go left", "go [noise]", "stop")
    assert amount_of(corpus, lasting(corpus, 1200)) == (1.0, 2, 4, 3, 3)
    assert str(amount_of(corpus, lasting(corpus, 60))) == (
        "3 minutes of 2 speaker(s), 4 words, 3 of them different, in 3 utterances"
    )


def flat(*transcripts: str) -> Corpus:
    """Return a corpus of which nobody knows who speaks."""
    names = [f"{n:04d}" for n in range(len(transcripts))]
    return Corpus(
        tuple(
            Utterance(name, Path(f"{name}.wav"), tuple(text.split()), name)
            for name, text in zip(names, transcripts, strict=True)
        )
    )


def test_speakers_that_are_not_known_are_not_counted() -> None:
    corpus = flat("go left", "go right", "stop")
    assert str(amount_of(corpus, lasting(corpus, 4))) == (
        "12 seconds, 5 words, 4 of them different, in 3 utterances"
    )
    said = [note.what for note in judgement({"train": corpus}, {"train": lasting(corpus, 4)}, None)]
    assert not any("less than 10 s" in line for line in said)
    assert (
        "; if one person speaks it will know this voice only; say who speaks where there are several"
        in said[-1]
    )
    known = corpus_of(3, "go left", "go right", "stop")
    said = [note.what for note in judgement({"train": known}, {"train": lasting(known, 4)}, None)]
    assert any(line.startswith("3 of 3 speakers have less than 10 s: s0 (4 s)") for line in said)


def test_a_corpus_like_one_that_was_measured() -> None:
    words = ["ONE", "TWO", "THREE", "FOUR", *(f"w{i}" for i in range(96))]
    train = corpus_of(74, *[f"{' '.join(words[k::20])} one" for k in range(20)] * 50)
    lexicon = Lexicon({w: [tuple(f"{w}x")] for w in [*words, "one"]})
    said = said_of({"train": train}, {"train": lasting(train, 3)}, lexicon)
    assert said[0].startswith("train: 50 minutes of 74 speaker(s), 6,000 words, 101 of them different")
    assert said[1].startswith("train: each of 24 phones is said 20 times or more")
    assert said[2] == (
        "train: expect about what AN4 reaches (48 minutes, 74 speakers, 101 words): "
        "95 % of words in any order, 97 % with a bigram, of new speakers"
    )
    assert said[3] == "train: next: more speakers help others than these, more minutes help these"


@pytest.mark.parametrize(
    ("n_speakers", "n_words", "seconds", "first"),
    [
        (74, 1885, 3, "one"),  # as much of the language, with many more words
        (10, 100, 3, "one"),  # fewer speakers
        (74, 100, 10, "one"),  # more hours
        (74, 100, 3, "yksi"),  # another language
    ],
)
def test_nothing_is_forecast_where_nothing_alike_was_measured(
    n_speakers: int, n_words: int, seconds: float, first: str
) -> None:
    words = [f"w{i}" for i in range(n_words)]
    train = corpus_of(n_speakers, *[f"{' '.join(words[k::20])} {first} {first}" for k in range(20)] * 50)
    said = said_of({"train": train}, {"train": lasting(train, seconds)}, None)
    assert not any("AN4" in line or "expect" in line for line in said)
    assert said[-1].startswith("train: next: ")


def test_what_is_missing_is_said_and_what_to_do_first() -> None:
    train, test = corpus_of(1, "go left", "go right"), corpus_of(1, "go home now")
    lexicon = Lexicon({"go": [("g", "o")], "left": [("l", "e")], "right": [("r",)]})
    seconds = {"train": lasting(train, 2), "test": lasting(test, 2)}
    said = said_of({"train": train, "test": test}, seconds, lexicon)
    assert said[2] == "test: 66.7 % of its words are not in the lexicon nor in train: not recognised"
    assert said[3].startswith(
        "train: 5 of 5 phones are said less than 20 times: e (1), l (1), r (1), g (2), o (2); words "
    )
    starts = (
        "record more",
        "say words with e, l, r, g, o",
        "it will know these speakers only",
        "2 of 3 words",
    )
    places = [said[4].find(start) for start in starts]
    assert -1 not in places
    assert places == sorted(places)


def test_without_a_lexicon_letters_are_phones_and_new_words_are_those_train_has_not() -> None:
    train, test = corpus_of(5, "ab", "ba"), corpus_of(5, "ab cd")
    seconds = {"": lasting(train, 2), "test": lasting(test, 2)}
    said = said_of({"": train, "test": test}, seconds, None)
    assert said[2] == "test: 50.0 % of its words train has never said"
    assert said[3].startswith(": 2 of 2 phones are said less than 20 times: a (2), b (2); ")


def test_a_corpus_without_words_is_only_counted() -> None:
    train = corpus_of(1, "", "[noise]")
    (only,) = judgement({"train": train}, {"train": lasting(train, 1)}, None)
    assert only.what.startswith("2 seconds of 1 speaker(s), 0 words")


def test_what_was_measured_is_told_apart() -> None:
    assert sorted(known.n_words for known in MEASURED) == [10, 10, 101, 1062]


def test_speakers_with_little_speech_are_named() -> None:
    train = corpus_of(3, *["go left"] * 6)
    seconds = {u.utterance_id: 4.0 if u.speaker == "s1" else 6.0 for u in train}
    said = said_of({"train": train}, {"train": seconds}, None)
    assert said[2].startswith(
        "train: 1 of 3 speakers have less than 10 s: s1 (8 s); their voice is hardly known"
    )


RECORD = DataRecord(
    "folder", "best", {"train": Amount(1.5, 8, 900, 40, 120), "test": Amount(0.1, 2, 60, 30, 9)}, ("train",)
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert read_data(tmp_path) is None
    write_data(RECORD, tmp_path)
    assert read_data(tmp_path) == RECORD
    assert list(RECORD.training) == [RECORD.amounts["train"]]


@pytest.mark.parametrize("content", ["{}", "[]", '{"splits": {"train": {"x": 1}}}'])
def test_what_asr_did_not_write(content: str, tmp_path: Path) -> None:
    (tmp_path / DATA).write_text(content)
    with pytest.raises(ExperimentError, match=r"data\.json: .*(expected|not as asr train writes it)"):
        read_data(tmp_path)
