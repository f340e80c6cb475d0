"""How large a corpus is, what accuracy to expect of it, what to record next; the record of a model's data.

Expectations are the accuracies of corpora that were measured (`MEASURED`; figures in ``docs/results``): of
one that is near in language, hours, speakers and different words; where none is, nothing is said.
``data.json`` in a model's own directory tells what it was trained and tested on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asr.corpora.utterances import Corpus, are_speakers_known
from asr.errors import ExperimentError, Problem
from asr.files import as_train_wrote, read_object, write_json
from decoder.lexicon import Lexicon
from foundation.errors import listed
from foundation.records import record_of

if TYPE_CHECKING:
    from asr.config import Speakers

FEW_TOKENS = 20  # of a phone; its states then have some hundred frames or fewer; by feel
FEW_SPEAKERS = 5  # by feel, as the next
LITTLE_H = 0.3  # by feel
SHORT_S = 10.0  # of one speaker; features are normalised and adapted by less than that badly; by feel
FAR = math.log(2.5)  # a corpus is like another with up to so much more, or less, of each; by feel
LEAST_SHARED = 0.1  # of a corpus's words are among the usual ones of its language; by feel
_N_NAMED = 8  # by feel
DATA, NEXT = "data.json", "next: "
TOLD = ("auto", "one", "recordings", "folders", "prefix")  # what a person can say of speakers


class Measured(NamedTuple):
    """A corpus whose word accuracy is known."""

    name: str
    hours: float
    n_speakers: int
    n_words: int
    usual: str  # words that tell its language
    found: str


_ENGLISH = "zero one two three four five six seven eight nine the a of to and in is on"
_UKRAINIAN = "нуль один два три чотири п'ять п’ять шість сім вісім дев'ять дев’ять"
_HINDI = "है हैं के में की से का को और पर एक यह"
MEASURED = (
    Measured(
        "a corpus of Ukrainian digits", 0.1, 70, 10, _UKRAINIAN, "99 % of single digits, of new speakers"
    ),
    Measured(
        "a corpus of Hindi", 0.3, 3, 1062, _HINDI, "39 % of words with a bigram, of speakers it knows (gmm)"
    ),
    Measured("FSDD", 0.3, 6, 10, _ENGLISH, "99 % of single digits, of speakers it knows"),
    Measured(
        "AN4", 0.8, 74, 101, _ENGLISH, "95 % of words in any order, 97 % with a bigram, of new speakers"
    ),
)


class Amount(NamedTuple):
    """How much a split holds; no speakers are speakers that are not known."""

    hours: float
    n_speakers: int
    n_words: int
    n_different: int
    n_utterances: int

    def __str__(self) -> str:
        of = f" of {self.n_speakers:,} speaker(s)" if self.n_speakers else ""
        return (
            f"{said_duration(self.hours)}{of}, {self.n_words:,} words, "
            f"{self.n_different:,} of them different, in {self.n_utterances:,} utterances"
        )


def amount_of(corpus: Corpus, seconds: Mapping[str, float]) -> Amount:
    """Return how much a corpus holds, given the duration of each utterance by its id."""
    words = _times_said(corpus)
    hours = sum(seconds.get(u.utterance_id, 0.0) for u in corpus) / 3600
    n_speakers = len(corpus.speakers) if are_speakers_known(corpus) else 0
    return Amount(hours, n_speakers, words.total(), len(words), len(corpus))


def _times_said(corpus: Corpus) -> Counter[str]:
    """Return how often each word is said."""
    return Counter(word for u in corpus for word in u.spoken)


def judgement(
    corpora: Mapping[str, Corpus], seconds: Mapping[str, Mapping[str, float]], lexicon: Lexicon | None
) -> Iterator[Problem]:
    """Yield notes on splits: how much there is, what to expect, what to record next.

    Parameters
    ----------
    corpora : splits by name, the training data first
    seconds : for each split the duration of each utterance by its id
    lexicon : pronunciations; None if words are to be spelled by their letters
    """
    amounts = {name: amount_of(corpus, seconds[name]) for name, corpus in corpora.items() if len(corpus)}
    for name, amount in amounts.items():
        yield Problem(name, str(amount), "summary")
    first = next(iter(amounts), None)
    if first is None or not amounts[first].n_words:
        return
    train = corpora[first]
    for name in list(amounts)[1:]:
        yield from (Problem(name, line, "note") for line in _unseen(corpora[name], train, lexicon))
    tokens = _phone_tokens(train, lexicon)
    if tokens:  # words may be without letters
        yield Problem(first, _said_of_phones(tokens), "note")
    yield from (Problem(first, line, "note") for line in _short_speakers(train, seconds[first]))
    yield from (Problem(first, line, "note") for line in _expectation(train, amounts[first]))
    yield Problem(first, NEXT + "; ".join(_advice(train, amounts[first], tokens)), "summary")


def _unseen(corpus: Corpus, train: Corpus, lexicon: Lexicon | None) -> Iterator[str]:
    """Yield how many words of a split nothing is known of."""
    words = _times_said(corpus)
    what = (
        "train has never said" if lexicon is None else "are not in the lexicon nor in train: not recognised"
    )
    known = set(train.vocabulary).union(lexicon or ())
    if missing := sum(n for word, n in words.items() if word not in known):
        yield f"{100 * missing / words.total():.1f} % of its words {what}"


def _phone_tokens(corpus: Corpus, lexicon: Lexicon | None) -> Counter[str]:
    """Return how often each phone is said, by words' first pronunciations; each letter without a lexicon.

    Words that are all wholes have no phones to be counted.
    """
    if lexicon is not None and lexicon.is_of_wholes:
        return Counter()
    tokens: Counter[str] = Counter() if lexicon is None else Counter(dict.fromkeys(lexicon.phones, 0))
    for word in (word for u in corpus for word in u.spoken):
        if lexicon is None:
            tokens.update(letter for letter in word.casefold() if letter.isalpha())
        elif word in lexicon:
            tokens.update(lexicon.pronunciations(word)[0])
    return tokens


def _said_of_phones(tokens: Counter[str]) -> str:
    few = _rare(tokens)
    if not few:
        rarest = min(tokens, key=lambda phone: (tokens[phone], phone))
        least = f"{rarest} least ({tokens[rarest]})"
        return f"each of {len(tokens)} phones is said {FEW_TOKENS} times or more, {least}"
    named = listed([f"{phone} ({tokens[phone]})" for phone in few], _N_NAMED)
    return (
        f"{len(few)} of {len(tokens)} phones are said less than {FEW_TOKENS} times: {named}; words "
        "with them are recognised worse, and states with few frames share a discriminant with others"
    )


def _short_speakers(corpus: Corpus, seconds: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence on known speakers with little speech, if there are several and some have little."""
    if not are_speakers_known(corpus):
        return
    totals = dict.fromkeys(corpus.speakers, 0.0)
    for utterance in corpus:
        totals[utterance.speaker] += seconds.get(utterance.utterance_id, 0.0)
    short = sorted((total, speaker) for speaker, total in totals.items() if total < SHORT_S)
    if short and len(totals) > 1:
        named = listed([f"{speaker} ({total:.0f} s)" for total, speaker in short], _N_NAMED)
        yield (
            f"{len(short)} of {len(totals)} speakers have less than {SHORT_S:.0f} s: {named}; their "
            "voice is hardly known, and they are recognised worse than the others"
        )


def _rare(tokens: Counter[str]) -> list[str]:
    """Return the phones with few tokens, the rarest first."""
    return sorted((p for p in tokens if tokens[p] < FEW_TOKENS), key=lambda p: (tokens[p], p))


def _expectation(train: Corpus, amount: Amount) -> Iterator[str]:
    """Yield what the nearest measured corpus of the language reaches, if there is one that is near."""
    times = _times_said(train)
    spoken = Counter(word.casefold() for word in times.elements())
    near = [
        known
        for known in MEASURED
        if max(_differences(amount, known)) <= FAR
        and sum(spoken[word] for word in known.usual.split()) >= LEAST_SHARED * spoken.total()
    ]
    if near:
        nearest = min(near, key=lambda known: sum(_differences(amount, known)))
        size = f"{said_duration(nearest.hours)}, {nearest.n_speakers} speakers, {nearest.n_words:,} words"
        yield f"expect about what {nearest.name} reaches ({size}): {nearest.found}"


def _differences(amount: Amount, known: Measured) -> list[float]:
    """Return how far two corpora are apart in the logarithms of hours, speakers and different words."""
    mine = (amount.hours, amount.n_speakers, amount.n_different)
    theirs = (known.hours, known.n_speakers, known.n_words)
    pairs = [(a, b) for n, (a, b) in enumerate(zip(mine, theirs, strict=True)) if n != 1 or amount.n_speakers]
    return [abs(math.log(max(a, 1e-3) / b)) for a, b in pairs]


def _advice(train: Corpus, amount: Amount, tokens: Counter[str]) -> Iterator[str]:
    """Yield what would help most, the most urgent first."""
    times = _times_said(train)
    once = sum(n == 1 for n in times.values())
    if amount.hours < LITTLE_H:
        yield f"record more: below {60 * LITTLE_H:.0f} minutes every minute counts"
    if few := _rare(tokens):
        yield f"say words with {', '.join(few[:_N_NAMED])}"
    if not amount.n_speakers:
        yield "if one person speaks it will know this voice only; say who speaks where there are several"
    elif amount.n_speakers < FEW_SPEAKERS:
        yield "it will know these speakers only; for others record as many as you can, minutes of each"
    if 2 * once > len(times):
        yield f"{once:,} of {len(times):,} words are said once: say those that matter again or bring an .arpa"
    yield "more speakers help others than these, more minutes help these"


def said_duration(hours: float) -> str:
    """Return a duration as people say it, in hours, minutes or seconds."""
    if hours >= 1:
        return f"{hours:.1f} hours"
    return f"{60 * hours:.0f} minutes" if hours >= 1 / 30 else f"{3600 * hours:.0f} seconds"


@dataclass(frozen=True)
class DataRecord:
    """The data of a model.

    Attributes
    ----------
    recipe, preset : names
    amounts : how much each split holds that can be used
    trained_on : the splits it was trained on
    speakers : who speaks, as training was told, so that other corpora are read alike
    """

    recipe: str
    preset: str
    amounts: Mapping[str, Amount]
    trained_on: Sequence[str]
    speakers: Speakers = "auto"

    @property
    def training(self) -> Sequence[Amount]:
        """The amounts of those splits that the model was trained on."""
        return [self.amounts[split] for split in self.trained_on]


def write_data(record: DataRecord, directory: Path) -> None:
    """Write ``data.json``."""
    splits = {name: amount._asdict() for name, amount in record.amounts.items()}
    content = {"recipe": record.recipe, "preset": record.preset, "trained_on": list(record.trained_on)}
    content |= {"speakers": record.speakers}
    write_json(directory / DATA, {**content, "splits": splits})


def read_data(directory: Path) -> DataRecord | None:
    """Return what `write_data` wrote; None where there is no file, as of models of earlier versions."""
    path = directory / DATA
    if not path.is_file():
        return None
    record = read_object(path)
    with as_train_wrote(path):
        amounts = {
            name: record_of(Amount, amount, ExperimentError, f"{name}.")
            for name, amount in record["splits"].items()
        }
        trained_on = tuple(record["trained_on"])
        if unknown := [split for split in trained_on if split not in amounts]:
            raise KeyError(unknown[0])
        speakers = record.get("speakers", "auto")  # earlier versions did not ask
        if speakers not in TOLD:
            raise ValueError(f"speakers: expected one of {', '.join(TOLD)}")
        return DataRecord(str(record["recipe"]), str(record["preset"]), amounts, trained_on, speakers)
