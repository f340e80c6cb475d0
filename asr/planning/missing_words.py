"""What it costs to learn the pronunciations of words that the lexicon lacks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from acoustic.model import AcousticModel
from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.language.pronunciations import FOLDS, MANY, TESTED
from asr.planning.amounts import TaskAmounts
from asr.planning.timing import least_seconds
from asr.training.gmm import align_data
from asr.training.heard_words import MAX_STRETCHES, N_GUESSES, Stretch, choose
from decoder.lexicon import Pronunciation
from decoder.pronouncing.model import PronunciationModel
from features.frontend import FrontEndConfig
from foundation.errors import AsrError

_N_ALIGNED, _N_GUESSED = 6, 20  # utterances and words that are timed
_STRETCH = 40  # frames of a word; by feel


@dataclass(frozen=True)
class MissingWordCosts:
    """Costs of missing words, in CPU seconds.

    Attributes
    ----------
    align : of a frame of an utterance with a missing word
    guess_s : of learning to guess from the lexicon, and of a test of the guesses
    word_s : of the guesses of a word
    choice_s : of the choice of a pronunciation, for a stretch
    """

    align: float
    guess_s: float
    word_s: float
    choice_s: float


def missing_word_costs(
    amounts: TaskAmounts, model: AcousticModel, front_end: FrontEndConfig, beam: float
) -> MissingWordCosts:
    """Return the costs, measured on a few utterances and words with a model of few Gaussians."""
    lexicon = amounts.lexicon
    having = [utterance for utterance, seconds in amounts.with_missing if seconds > 0]
    few = having[:: max(len(having) // _N_ALIGNED, 1)][:_N_ALIGNED]
    data, _ = usable_cepstra(Corpus(tuple(few)), front_end)
    n_frames = max(sum(data.n_frames), 1)
    align = (
        least_seconds(lambda: align_data(data, model, lexicon, beam)) / n_frames if len(data.corpus) else 0.0
    )
    models: list[PronunciationModel] = []
    try:
        train_s = least_seconds(lambda: models.append(PronunciationModel.train(lexicon)), is_warm=True)
    except AsrError:  # too small to guess from
        return MissingWordCosts(align, 0.0, 0.0, 0.0)
    trained = models[-1]
    words = amounts.missing[:: max(len(amounts.missing) // _N_GUESSED, 1)][:_N_GUESSED]
    shares = {word: guesses(trained, word) for word in words}
    word_s = least_seconds(lambda: [guesses(trained, word) for word in words]) / max(len(words), 1)
    n_folds = 1 if len(lexicon) >= MANY else FOLDS
    n_tested = min(TESTED, len(lexicon))
    return MissingWordCosts(
        align,
        train_s * (1 + n_folds) + n_tested * word_s / 2,
        word_s,
        _choice_s(data, model, shares),
    )


def n_stretches(amounts: TaskAmounts) -> int:
    """Return how many stretches of recordings the pronunciations are chosen by."""
    wanted = set(amounts.missing)
    said = Counter(word for u, _ in amounts.with_missing for word in u.words if word in wanted)
    return sum(min(n, MAX_STRETCHES) for n in said.values())


def guesses(model: PronunciationModel, word: str) -> dict[Pronunciation, float]:
    """Return guesses of a word with their shares; none of a word that cannot be guessed."""
    try:
        return {guess.pronunciation: guess.share for guess in model.guess(word, N_GUESSES)}
    except AsrError:
        return {}


def _choice_s(data: SpeechData, model: AcousticModel, shares: dict[str, dict[Pronunciation, float]]) -> float:
    """Return the seconds for a stretch of the choice of a pronunciation."""
    frames = model.front_end.transform(data.cepstra, data.speakers)
    places = [f[len(f) // 2 :][:_STRETCH] for f in frames]
    usable = [(guessed, place) for guessed, place in zip(shares.values(), places, strict=False) if guessed]
    if not usable:
        return 0.0

    def call() -> None:
        for guessed, place in usable:
            choose(guessed, [Stretch(place, next(iter(guessed)), 0.0)], model)

    return least_seconds(call) / len(usable)
