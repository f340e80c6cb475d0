"""The verbs of the command line as functions: ``asr.train``, ``asr.decode``, ``asr.align`` and so on.

They take paths, names and numbers, return records or raise errors, and print nothing: what a command line is,
how its options are parsed and what is printed of a result is said in `asr.arguments` and `asr.commands`. A
verb whose function is long has a module of its own: `asr.sweeps`, `asr.keywords`, `asr.exports` and others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from acoustic.emissions.hybrid import THESIS, HybridConfig
from asr.config import ChosenName, ExperimentConfig, check_text
from asr.corpora.corpus import Utterance, read_corpus, read_parts
from asr.corpora.speech_data import usable_cepstra
from asr.corpora.unknown_words import report as report_unknown_words
from asr.corpora.wording import PLAIN, forms_for, total, unreadable, worded
from asr.errors import ConfigError, CorpusError
from asr.experiment import Experiment
from asr.files import check_outside
from asr.formats.tiers import AlignedUtterance, aligned_utterance
from asr.language_model import LanguageModel, language_model, read_vocabulary
from asr.model_info import model_info
from asr.pronunciations import filled_lexicon, report
from asr.recipe import LoadedRecipe, load_recipe
from asr.recognizer import Recognizer
from asr.scoring.results import Result
from asr.settings import check_settings, with_settings
from asr.store import StageStore
from asr.systems import find_system
from asr.text.forms import NOT_WORDS
from asr.training.fit import Suspicious, read_suspicious
from decoder.decoder import Hypothesis
from decoder.english import whole_dictionary
from decoder.lexicon import Lexicon
from foundation.errors import AsrError
from foundation.threads import parallel_map

logger = logging.getLogger(__name__)


def train(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    out: str | Path,
    models: str | Sequence[str] = (),
    preset: str = "best",
    settings: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Return the results of a recipe: prepare, train, tune on dev, evaluate on test, or resume an earlier
    run.

    ``with asr.running_on(scheduler=…):`` around it lets a cluster compute.

    Parameters
    ----------
    recipe : name of a built-in recipe or path of a script
    corpus : raw corpus; not for recipes that make their own
    out : experiment directory
    models : name or names of models; the recipe's own by default
    preset : ``best``, or ``thesis`` (see `with_preset`)
    settings : options ``key=value`` (see `asr.config.ExperimentConfig`)

    Returns
    -------
    The rows of ``OUT/results.json``
    """
    loaded = load_recipe(recipe)
    names = models_of(loaded, models)
    return experiment_of(loaded, corpus, Path(out), names, preset, settings).run(names)


def models_of(loaded: LoadedRecipe, models: str | Sequence[str]) -> Sequence[str]:
    """Return the names of the models that are asked for, the recipe's own if none are."""
    return ([models] if isinstance(models, str) else models) or loaded.recipe.models


def experiment_of(
    loaded: LoadedRecipe,
    corpus: str | Path | None,
    out: Path,
    models: Sequence[str],
    preset: str,
    settings: Sequence[str],
    store: StageStore | None = None,
) -> Experiment:
    """Return the experiment that the arguments of `train` describe; nothing is written yet."""
    check_corpus(loaded, corpus, out)
    config = with_settings(with_preset(loaded.recipe.config, preset, loaded.recipe.thesis), settings)
    check_settings(settings, {name: find_system(name, preset) for name in models}, config)
    return Experiment(loaded, Path(corpus) if corpus is not None else None, out, config, preset, store)


def check_corpus(loaded: LoadedRecipe, corpus: str | Path | None, out: str | Path | None) -> None:
    """Raise an error if a recipe's corpus is not there, or the experiment directory lies in it."""
    if loaded.recipe.needs_corpus and corpus is None:
        raise ConfigError(f'recipe "{loaded.name}" needs a corpus; expected --corpus DIR')
    if corpus is None:
        return
    if not Path(corpus).exists():
        raise ConfigError(f"{corpus}: no such directory; expected the corpus; check --corpus")
    if out is not None:
        check_outside(out, corpus)


def demo(out: str | Path) -> tuple[tuple[Result, ...], Hypothesis, str]:
    """Train and test on synthetic speech made on the spot, and decode one new recording.

    Returns
    -------
    The rows of ``OUT/results.json``, the hypothesis of the new recording and what was said in it
    """
    results = train("demo", out=out)
    new = new_recording(out)
    (found,) = decode(out, [new])
    if isinstance(found, AsrError):
        raise found
    return results, found, new.with_suffix(".txt").read_text(encoding="utf-8").strip()


def new_recording(out: str | Path) -> Path:
    """Return the recording of a demo that is in none of its splits, with ``new.txt`` beside it."""
    task = load_recipe("demo")
    experiment = Experiment(task, None, Path(out), task.recipe.config, "best")
    experiment.begin()
    return experiment.path(experiment.begun[0]) / "new.wav"


def with_preset(config: ExperimentConfig, preset: str, thesis: HybridConfig = THESIS) -> ExperimentConfig:
    """Return the configuration of a preset, with a recipe's hybrid of the preset ``thesis``.

    The preset ``thesis`` is the recogniser of thesis chapter 4, which standardises features over the training
    set, stops the selection by residual and λ, chooses σ on a development set, trains on the training set
    alone, and decodes with word pairs.
    """
    if preset != "thesis":
        return config
    # A recipe that brings a σ of its own has none to choose.
    known: set[ChosenName] = {"hybrid.sigma"} if thesis.sigma != THESIS.sigma else set()
    return replace(
        config,
        front_end=replace(config.front_end, normalize="global"),
        hybrid=thesis,
        chosen_on_dev=tuple(name for name in get_args(ChosenName) if name not in known),
        grammars=tuple(dict.fromkeys(["word-pair", *config.grammars])),
        retrain_with_dev=False,
    )


def decode(
    experiment: str | Path,
    recordings: Sequence[str | Path],
    *,
    model: str | None = None,
    grammar: str | None = None,
    n_best: int = 1,
    same_speaker: bool = False,
    reject: bool = False,
    keywords: bool = False,
) -> list[Hypothesis | AsrError]:
    """Return for each recording its words with times and confidences, or the error that prevented it.

    Where nothing is spoken there are no words, and ``no_speech`` of the hypothesis says why.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    recordings : paths
    model, grammar : names; by default the best on dev, and the last one of the recipe
    n_best : number of sentences wanted; those after the first are its ``alternatives``
    same_speaker : one person speaks in all recordings
    reject : leave out words that were probably not spoken (`Recognizer.with_rejection`)
    keywords : find the keywords that `asr.keywords` has chosen, and nothing else
    """
    recognizer = Recognizer.load(experiment, model, grammar)
    if n_best > 1 and (reject or keywords):
        raise ConfigError("decode: got --nbest with --reject or --keywords; expected one of them")
    recognizer = recognizer.with_options(n_best=n_best).sure(reject=reject, keywords=keywords)
    return recognizer.transcribe_all(recordings, same_speaker=same_speaker)


def align(
    experiment: str | Path, recording: str | Path, text: str | Sequence[str], *, model: str | None = None
) -> AlignedUtterance:
    """Return when each word, phone and state of a transcript is spoken in a recording."""
    recognizer = Recognizer.load(experiment, model)
    words = recognizer.read(text if isinstance(text, str) else " ".join(text))
    if not words:
        raise CorpusError("empty transcript, expected the words spoken; give them")
    _warn_of_unknown_words([[found.word for found in words]], recognizer.lexicon)
    name = "_".join(Path(recording).stem.split())  # ids have no white space
    alignment, confidences = recognizer.align_with_confidences(
        recognizer.frames(recording), [found.word for found in words]
    )
    written = [found.written for found in words]
    aligned = aligned_utterance(name, recognizer.model, written, alignment, confidences)
    return replace(aligned, recording=Path(recording))


def align_corpus(
    experiment: str | Path, corpus: str | Path, *, model: str | None = None
) -> Iterator[tuple[str, AlignedUtterance | AsrError]]:
    """Yield for each utterance of a corpus its id and alignment, or the reason why there is none."""
    recognizer = Recognizer.load(experiment, model)
    speech, _ = worded(read_corpus(corpus), recognizer.forms)
    _warn_of_unknown_words([u.words for u in speech], recognizer.lexicon)
    data, errors = usable_cepstra(speech, recognizer.model.front_end.config)
    frames = recognizer.model.front_end.transformed(data.cepstra, data.speakers)
    place_of = {name: n for n, name in enumerate(data.corpus.ids)}

    def one(utterance: Utterance) -> tuple[str, AlignedUtterance | AsrError]:
        name, words = utterance.utterance_id, utterance.words
        if name in errors:
            return name, errors[name]
        if not words:
            return name, CorpusError(f"{name}: empty transcript, expected the words spoken; write them")
        try:
            found = recognizer.align_with_confidences(frames[place_of[name]], words)
        except AsrError as error:
            return name, type(error)(f"{name}: {error}")
        aligned = aligned_utterance(name, recognizer.model, utterance.written or words, *found)
        return name, replace(aligned, recording=utterance.audio_path, origin_s=utterance.start_s)

    return parallel_map(one, speech.utterances)


def _warn_of_unknown_words(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> None:
    """Log the words that are aligned without a pronunciation."""
    known = [words for words in transcripts if any(word in lexicon for word in words)]
    if message := report_unknown_words(known, lexicon):
        logger.warning("%s", message)


def suspicious(experiment: str | Path) -> tuple[list[Suspicious], int]:
    """Return the training utterances whose text or sound looks wrong, the worst first, and of how many."""
    return read_suspicious(Path(experiment))


def make_lexicon(
    corpus: str | Path, *, english: bool = False, source: str | Path | None = None, variants: int = 1
) -> Lexicon:
    """Return pronunciations for the words of a corpus: their letters, or the phones of a lexicon.

    Words that the lexicon lacks are guessed from it; they are in ``guessed`` of the result. Words that cannot
    be guessed are not in the result. Warnings name both, and say how good the guesses are.

    Parameters
    ----------
    english : take the CMU dictionary
    source : take the lexicon in this file
    variants : pronunciations guessed for each word, at most
    """
    if english and source is not None:
        raise ConfigError("lexicon: got both --english and --from; expected one of them")
    if variants != 1 and not english and source is None:
        raise ConfigError("lexicon: --variants are of guesses; expected --english or --from LEXICON with it")
    known = Lexicon.read(source) if source is not None else whole_dictionary() if english else None
    corpora = list(read_parts(corpus).values())
    forms = forms_for(PLAIN, known, corpora)
    readings = [worded(each, forms) for each in corpora]
    for line in unreadable(total(changes for _, changes in readings)):
        logger.warning("%s", line)
    words = {word for reading, _ in readings for word in reading.vocabulary} - NOT_WORDS
    if known is None:
        return Lexicon.graphemic(words)
    filled, name = filled_lexicon(words, known, variants=variants), str(source or "the CMU dictionary")
    for line in report(filled, name):
        logger.warning("%s", line)
    return filled.lexicon


def lm(
    text: str | Path,
    *,
    order: int = 3,
    vocabulary: str | Path | Iterable[str] | None = None,
    prune: float = 0.0,
    test: str | Path | None = None,
    out: str | Path | None = None,
    reading: str = PLAIN,
) -> LanguageModel:
    """Return the n-gram model of a text: interpolated modified Kneser-Ney, with ``<unk>`` for unknown words.

    Parameters
    ----------
    text : file with a sentence on each line (``.gz`` too), Kaldi's ``text``, or a corpus, of which train is
        taken
    order : length of the longest n-grams
    vocabulary : the words, or a file of them or of their pronunciations; all words of the text by default
    prune : n-grams are left out without which the perplexity rises by less than this share of itself, such as
        1e-5 for texts of ten thousands of words, 1e-8 for millions
    test : a text, or a corpus, of which test is taken, to measure the perplexity on
    out : ARPA file to write (``.gz`` too)
    reading : how words are read, as the option ``text``
    """
    if not prune >= 0:
        raise ConfigError(f"lm: prune: expected 0 or more, got {prune}; the longer the text, the smaller")
    check_text(reading)
    if isinstance(vocabulary, str | Path):
        vocabulary = read_vocabulary(Path(vocabulary))
    model = language_model(
        Path(text),
        order=order,
        vocabulary=None if vocabulary is None else frozenset(vocabulary),
        threshold=prune,
        test=None if test is None else Path(test),
        text=reading,
    )
    if out is not None:
        model.ngram.write(out)
    return model


def info(
    experiment: str | Path, *, model: str | None = None, measure: str | Path | None = None
) -> dict[str, object]:
    """Return what a model is made of, what it was trained on, how good and how fast it is.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    model : name; by default the one that was best on dev
    measure : recording that is decoded now to see how fast that is
    """
    return model_info(experiment, model=model, measure=measure)
