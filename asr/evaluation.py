"""How well a model recognises a transcribed corpus, whatever of it cannot be used."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asr.corpora.corpus import Problem, read_corpus
from asr.corpora.problems import first_of_each_kind
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.corpora.wording import unknown_test_words_note, worded
from asr.decoding.model_directories import model_directory, trained_by
from asr.errors import CorpusError
from asr.recognizer import Recognizer
from asr.scoring.scoring import WordAccuracy, accuracy_of
from asr.transcribe import decoded_or_errors, scored_speech, warn_of_low_rates
from decoder.decoder import Hypothesis
from foundation.errors import AsrError

_N_OF_A_KIND = 10

logger = logging.getLogger(__name__)


def evaluate(
    experiment: str | Path,
    corpus: str | Path,
    *,
    model: str | None = None,
    grammar: str | None = None,
    reject: bool = False,
) -> tuple[WordAccuracy, dict[str, Hypothesis | AsrError]]:
    """Return the word accuracy on a corpus, and by utterance id the words or the error that prevented them.

    What cannot be decoded is in no count of the accuracy; ``not_decoded`` of it says how many words that are.
    An error is raised if nothing can be decoded. All that can is decoded, even where `Recognizer.transcribe`
    would find no speech: a transcript says that there is some.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    corpus : a corpus in any layout
    model, grammar : names; by default the best on dev, and the last one of the recipe
    reject : leave out words that were probably not spoken (`Recognizer.with_rejection`)
    """
    recognizer = Recognizer.load(experiment, model, grammar)
    if reject:
        recognizer = recognizer.with_rejection()
    speech, _ = worded(read_corpus(corpus), recognizer.forms)
    if message := unknown_test_words_note([u.words for u in speech], recognizer.lexicon):
        logger.warning("%s", message)
    config = recognizer.model.front_end.config
    warn_of_low_rates((u.audio_path for u in speech), config.mfcc.sample_rate)
    data, errors = usable_cepstra(speech, config, tells_silences=True)
    _warn_of_known(data.corpus.ids, model_directory(Path(experiment), model))
    found: dict[str, Hypothesis | AsrError] = {**errors, **_decoded(recognizer, data)}
    in_order = {name: found[name] for name in speech.ids}
    words = {name: h for name, h in in_order.items() if isinstance(h, Hypothesis)}
    failed = {name: str(error) for name, error in in_order.items() if isinstance(error, AsrError)}
    if failed and not any(u.spoken for u in speech if u.utterance_id in words):
        raise CorpusError(_nothing_decoded(corpus, failed))
    accuracy = accuracy_of(speech.subset(words), list(words.values()))
    not_decoded = {u.utterance_id: len(u.spoken) for u in speech if u.utterance_id not in words}
    return replace(accuracy, not_decoded=not_decoded), in_order


def _decoded(recognizer: Recognizer, data: SpeechData) -> dict[str, Hypothesis | AsrError]:
    """Return the words of each utterance by its id, or why it cannot be decoded."""

    def decode(places: Sequence[int]) -> list[Hypothesis]:
        cepstra, speakers = [data.cepstra[n] for n in places], [data.speakers[n] for n in places]
        return recognizer.decode(scored_speech(cepstra, speakers, recognizer.model))

    return dict(zip(data.corpus.ids, decoded_or_errors(data.corpus.ids, decode), strict=True))


def _nothing_decoded(corpus: str | Path, failed: Mapping[str, str]) -> str:
    """Return a line that says so, and lines for the first problems of each kind, given by utterance id."""
    lines = [f"{corpus}: none of {len(failed)} utterance(s) can be decoded, expected some; correct them"]
    problems = (Problem(name, what.removeprefix(f"{name}: ")) for name, what in failed.items())
    for problem, n_more in first_of_each_kind(problems, _N_OF_A_KIND):
        lines += [failed[problem.where], *([f"  and {n_more} more of this kind"] if n_more else [])]
    return "\n".join(lines)


def _warn_of_known(ids: Collection[str], directory: Path) -> None:
    """Log how many utterances trained the model in a directory."""
    if known := trained_by(directory, ids):
        logger.warning(
            "%d of these %d utterances trained this model (by their ids): this is not a test",
            len(known),
            len(ids),
        )
