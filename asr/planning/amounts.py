"""How much a task holds, from transcripts, lexicon and the headers of its recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from acoustic.hmm.topology import Context, Topology, contexts
from asr.corpora.amounts import Amount, amount_of
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.utterances import Utterance
from asr.corpora.wording import unknown_words
from asr.errors import CorpusError
from asr.text.forms import NOT_WORDS
from decoder.lexicon import Lexicon, may_be_entry
from features.audio import audio_info
from foundation.arrays import Floats
from foundation.errors import AsrError
from foundation.threads import parallel_map

# Recordings of a split whose headers are read; others are taken to be as long on average; by feel.
MOST_HEADERS = 5000


@dataclass(frozen=True)
class PhoneCounts:
    """What transcripts say of phones, by the first pronunciation of each word.

    Attributes
    ----------
    tokens : phone -> how often it is said
    contexts : phone in its context within a word -> how often it is said
    """

    tokens: Mapping[str, int]
    contexts: Mapping[Context, int]


@dataclass(frozen=True)
class TaskAmounts:
    """How much a task holds.

    Attributes
    ----------
    corpora : the splits that have utterances, by name
    seconds : for each split the seconds (N,) of each utterance
    lexicon : pronunciations, without those of missing words
    shift_s : seconds from one frame to the next
    """

    corpora: Mapping[str, Corpus]
    seconds: Mapping[str, Floats]
    lexicon: Lexicon
    shift_s: float

    @cached_property
    def amounts(self) -> dict[str, Amount]:
        """Hours, speakers, words and utterances of each split."""
        return {
            split: amount_of(corpus, dict(zip(corpus.ids, self.seconds[split].tolist(), strict=True)))
            for split, corpus in self.corpora.items()
        }

    @cached_property
    def monophones(self) -> Topology:
        """The phones of the lexicon, three states each, and silence."""
        return Topology.monophones(self.lexicon.phones)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The words of train and dev that the lexicon lacks and that can have a pronunciation, sorted."""
        heard = {word for split in ("train", "dev") for word in self._vocabulary(split)} - NOT_WORDS
        return tuple(sorted(word for word in heard if word not in self.lexicon and may_be_entry(word)))

    @cached_property
    def with_missing(self) -> list[tuple[Utterance, float]]:
        """The utterances of train and dev that have a missing word, and their seconds."""
        wanted = frozenset(self.missing)
        return [
            (utterance, seconds)
            for split in ("train", "dev")
            for utterance, seconds in zip(
                self.corpora.get(split, ()), self.seconds.get(split, np.zeros(0)).tolist(), strict=True
            )
            if wanted.intersection(utterance.words)
        ]

    @cached_property
    def phones(self) -> PhoneCounts:
        """The phones of train."""
        return phone_counts((u.spoken for u in self.corpora["train"]), self.lexicon)

    def n_frames(self, splits: Iterable[str]) -> int:
        """Return the number of frames of some splits."""
        return round(sum(float(self.seconds[s].sum()) for s in splits if s in self.seconds) / self.shift_s)

    def n_utterances(self, splits: Iterable[str]) -> int:
        """Return the number of utterances of some splits."""
        return sum(len(self.corpora.get(split, ())) for split in splits)

    def n_speakers(self, splits: Iterable[str]) -> int:
        """Return the number of speakers of some splits."""
        return len({u.speaker for split in splits for u in self.corpora.get(split, ())})

    def n_words(self, split: str) -> int:
        """Return the number of words that are said in a split."""
        return self.amounts[split].n_words if split in self.amounts else 0

    def _vocabulary(self, split: str) -> tuple[str, ...]:
        return self.corpora[split].vocabulary if split in self.corpora else ()


def task_amounts(corpora: Mapping[str, Corpus], lexicon: Lexicon, shift_s: float) -> TaskAmounts:
    """Return how much the splits hold that have utterances; an error if train has nothing to read."""
    used = {split: corpora[split] for split in SPLITS if len(corpora.get(split, ()))}
    seconds = {split: durations(corpus.utterances) for split, corpus in used.items()}
    if "train" not in used or not seconds["train"].sum():
        n = len(used.get("train", ()))
        raise CorpusError(
            f"train has {n} utterance(s), none of which can be read; expected recordings to learn from; "
            "check the corpus (asr validate)"
        )
    return TaskAmounts(used, seconds, lexicon, shift_s)


def durations(utterances: Sequence[Utterance]) -> Floats:
    """Return the seconds (N,) of utterances, by the headers of their recordings; 0 of what cannot be read."""
    n = len(utterances)
    asked = np.unique(np.linspace(0, n - 1, min(n, MOST_HEADERS)).astype(int)) if n else np.zeros(0, int)
    found = np.full(n, np.nan)
    found[asked] = list(parallel_map(_seconds, [utterances[i] for i in asked]))
    found[np.isnan(found)] = np.nanmean(found) if n else 0.0
    return found


def _seconds(utterance: Utterance) -> float:
    if utterance.end_s is not None:
        return max(utterance.end_s - utterance.start_s, 0.0)
    try:
        return max(audio_info(utterance.audio_path).duration_s - utterance.start_s, 0.0)
    except AsrError:  # it is left out of training, or stops it
        return 0.0


def phone_counts(transcripts: Iterable[Sequence[str]], lexicon: Lexicon) -> PhoneCounts:
    """Return how often phones, and phones in context, are said in some transcripts.

    >>> found = phone_counts([["TWO", "TWO"]], Lexicon({"TWO": [("T", "UW")]}))
    >>> found.tokens["T"], found.contexts[Context("T", "UW", "#")]
    (2, 2)
    """
    words = Counter(word for words in transcripts for word in words if word in lexicon)
    tokens: Counter[str] = Counter()
    in_context: Counter[Context] = Counter()
    for word, n in words.items():
        for context in contexts(lexicon.pronunciations(word)[0]):
            tokens[context.phone] += n
            in_context[context] += n
    return PhoneCounts(tokens, in_context)


def is_known(utterance: Utterance, lexicon: Lexicon) -> bool:
    """Return whether an utterance has words, all of which the lexicon has."""
    return bool(utterance.spoken) and not unknown_words([utterance.words], lexicon)
