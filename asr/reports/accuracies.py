"""How many words the models get right: paired comparisons, single speakers, and what is worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from asr.corpora.corpus import Corpus
from asr.reports.finished import Finished
from asr.scoring.bootstrap import interval_of, resample_accuracies
from asr.scoring.scoring import Comparison, Transcripts, UtteranceErrors, WordAccuracy, compare, score

_N_RESAMPLES = 2000  # for each speaker


@dataclass(frozen=True)
class Pair:
    """Two models with the same grammar on the same utterances."""

    grammar: str
    first: str
    second: str
    comparison: Comparison


@dataclass(frozen=True)
class SpeakerRow:
    """One speaker with one model.

    Attributes
    ----------
    speaker, model : names
    words : number of words said
    word_accuracy : in percent
    interval : its 95 % bootstrap interval over the speaker's utterances
    """

    speaker: str
    model: str
    words: int
    word_accuracy: float
    interval: tuple[float, float]


def spoken_in(corpus: Corpus, recognised: Transcripts) -> dict[str, tuple[str, ...]]:
    """Return what was said in the utterances that were decoded."""
    return {name: words for name, words in corpus.text.items() if name in recognised}


def pairs_of_models(finished: Finished, split: str, corpus: Corpus) -> Iterator[Pair]:
    """Yield the comparison of every two models, grammar by grammar."""
    for grammar in finished.grammars(split):
        found = {model: finished.recognised(model, split, grammar) for model in finished.models}
        for first, second in combinations(finished.models, 2):
            said = spoken_in(corpus, found[first])
            yield Pair(grammar, first, second, compare(said, found[first], found[second]))


def scored(finished: Finished, split: str, grammar: str, corpus: Corpus) -> dict[str, WordAccuracy]:
    """Return the word accuracy of each model with a grammar, by speaker too."""
    speakers = {u.utterance_id: u.speaker for u in corpus}
    found = {}
    for model in finished.models:
        recognised = finished.recognised(model, split, grammar)
        found[model] = score(spoken_in(corpus, recognised), recognised, speakers=speakers)
    return found


def speaker_rows(accuracies: Mapping[str, WordAccuracy], corpus: Corpus) -> list[SpeakerRow]:
    """Return the speakers, the worst on average first, each with all models."""
    speaker_of = {u.utterance_id: u.speaker for u in corpus}
    rows = [row for model, found in accuracies.items() for row in _of_model(model, found, speaker_of)]
    means = {
        speaker: float(np.mean([row.word_accuracy for row in rows if row.speaker == speaker]))
        for speaker in {row.speaker for row in rows}
    }
    return sorted(rows, key=lambda row: (means[row.speaker], row.speaker))


def _of_model(model: str, found: WordAccuracy, speaker_of: Mapping[str, str]) -> Iterator[SpeakerRow]:
    theirs: dict[str, list[UtteranceErrors]] = {}
    for utterance in found.utterances:
        theirs.setdefault(speaker_of[utterance.utterance_id], []).append(utterance)
    for speaker, utterances in theirs.items():
        counts = np.array([(u.counts.errors, u.counts.words) for u in utterances], dtype=np.int64)
        errors, words = counts.sum(axis=0).tolist()
        if words:
            drawn = resample_accuracies(counts[:, :1], counts[:, 1], _N_RESAMPLES, 0)[:, 0]
            yield SpeakerRow(speaker, model, words, 100 - 100 * errors / words, interval_of(drawn))


def worst_first(utterances: Sequence[UtteranceErrors]) -> list[UtteranceErrors]:
    """Return utterances, those with most errors first; of equals that with the larger share of errors."""
    return sorted(
        utterances,
        key=lambda u: (-u.counts.errors, -u.counts.errors / max(u.counts.words, 1), u.utterance_id),
    )
