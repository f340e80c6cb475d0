"""The stages that prepare a task: its data directories, its cepstra, its grammars."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from asr.config import ExperimentConfig
from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.corpora.marks import Marks, check_unchanged, differences, digest_of, recording_marks, source_marks
from asr.corpora.speech_data import SpeechData, compute_cepstra, load_cepstra, save_cepstra
from asr.corpora.wording import (
    check_lexicon_belongs,
    forms_for,
    read_wording,
    total,
    worded,
    wording_notes,
    write_wording,
)
from asr.errors import CorpusError, ExperimentError
from asr.language.grammars import check_grammar, grammar_names, sentences_outside, write_grammar
from asr.language.pronunciations import spelled
from asr.recipe import LoadedRecipe
from asr.stages.store import StageOutput, StageStore
from asr.systems import GrammarName
from asr.text.forms import EXACT, NOT_WORDS, without_remarks
from asr.training.heard_words import learned_lexicon
from asr.transcribe import warn_of_low_rates
from decoder.grammars.grammar import Grammar
from decoder.lexicon import Lexicon, may_be_entry
from features.frontend import FrontEndConfig
from foundation.errors import AsrError

logger = logging.getLogger(__name__)

LEXICON = "lexicon.txt"


class TaskStages:
    """A recipe's task in an experiment; each stage runs when its output is first asked for.

    Parameters
    ----------
    store : store of the stages' outputs
    loaded : the recipe
    corpus_dir : raw corpus, None if the recipe makes its own
    config : resolved configuration
    """

    def __init__(
        self, store: StageStore, loaded: LoadedRecipe, corpus_dir: Path | None, config: ExperimentConfig
    ) -> None:
        self.store = store
        self.loaded = loaded
        self.corpus_dir = corpus_dir
        self.config = config
        self._corpora: dict[str, Corpus] = {}
        self._features: dict[tuple[str, float], StageOutput] = {}

    @cached_property
    def prepared(self) -> StageOutput:
        """``train``, perhaps ``dev``, ``test``, ``lexicon.txt`` and grammar files, made by the recipe."""
        # The location matters, since a data directory holds the absolute paths of its recordings.
        source = f"{self.corpus_dir.absolute()} {digest_of(self._source)}" if self.corpus_dir else ""
        return self.store.run(
            "task",
            self._prepare,
            inputs={"corpus": source, "recipe": self.loaded.source},
        )

    @cached_property
    def _source(self) -> Marks:
        """The marks of the raw corpus's files when they were first read."""
        return source_marks(self.corpus_dir) if self.corpus_dir else {}

    def changed_files(self) -> list[str]:
        """Return the names of the raw corpus's files that are no longer as they were when this run began."""
        return differences(self._source, source_marks(self.corpus_dir)) if self.corpus_dir else []

    def _check_source(self) -> None:
        """Raise an error if the raw corpus is no longer as it was when this run began."""
        if self.corpus_dir:
            check_unchanged(self._source, source_marks(self.corpus_dir))

    def _prepare(self, directory: Path) -> None:
        """Let the recipe write the task; a mistake in the recipe is one line, its traceback is in the log."""
        name = self.loaded.name
        try:
            self.loaded.recipe.prepare(self.corpus_dir or self.store.root, directory)
        except (AsrError, OSError, MemoryError):
            raise
        except Exception as error:
            logger.info("recipe %s", name, exc_info=True)
            raise ExperimentError(
                f"recipe {name}: prepare fails ({type(error).__name__}: {error}); correct the script; "
                f"where it fails is in {self.store.root / 'log.txt'}"
            ) from error
        self._check_source()
        if not (directory / "train").exists():
            raise ExperimentError(
                f"recipe {name}: prepare wrote no train; expected it, and dev, test and {LEXICON} if there "
                "are any; correct the script"
            )

    @cached_property
    def worded(self) -> StageOutput:
        """The transcripts in the words of the lexicon, and the lexicon; without one, words in letters."""

        def compute(directory: Path) -> None:
            brought = self._brought_lexicon
            splits = {split: self._read_split(split) for split in SPLITS}
            forms = forms_for(self.config.text, brought, splits.values())
            readings = {split: worded(corpus, forms) for split, corpus in splits.items()}
            for line in wording_notes(total(changes for _, changes in readings.values())):
                logger.warning("%s", line)
            corpora = {split: corpus for split, (corpus, _) in readings.items()}
            for split, corpus in corpora.items():
                write_wording(corpus, directory / f"{split}.json")
            lexicon = spelled(_spellable(corpora.values())) if brought is None else brought
            check_lexicon_belongs(corpora["train"], lexicon)
            lexicon.write(directory / LEXICON)

        return self.store.run(
            "words", compute, inputs={"task": self.prepared.digest}, config={"text": self.config.text}
        )

    @property
    def _brought_lexicon(self) -> Lexicon | None:
        """The lexicon that the recipe wrote, without entries that are remarks and no words."""
        path = self.prepared.path / LEXICON
        if not path.exists():
            return None
        lexicon = Lexicon.read(path)
        words = lexicon.words if self.config.text == EXACT else without_remarks(lexicon)
        return lexicon if len(words) == len(lexicon) else lexicon.restricted_to(words)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The task's pronunciations, with those of words of train and dev that the recipe's lexicon lacks."""
        return Lexicon.read(self._pronunciations.path / LEXICON)

    @cached_property
    def _pronunciations(self) -> StageOutput:
        """The stage with the final lexicon: that of the words, if train and dev have no others."""
        known = Lexicon.read(self.worded.path / LEXICON)
        heard = _vocabulary(map(self.corpus, ("train", "dev")))
        missing = sorted(word for word in heard if word not in known and may_be_entry(word))
        return self._learned(known, missing) if missing else self.worded

    def _learned(self, known: Lexicon, missing: Sequence[str]) -> StageOutput:
        """Return the lexicon with pronunciations of missing words, by their spelling and their sound."""
        front_end, gmm = self.config.front_end.front_end(), self.config.gmm

        def compute(directory: Path) -> None:
            data = self.data(("train", "dev"))
            learned_lexicon(data, known, missing, front_end, gmm).write(directory / LEXICON)

        return self.store.run(
            "pronunciations",
            compute,
            inputs=self._digests_of_data(("train", "dev")),
            config={"front_end": front_end, "gmm": gmm},
        )

    @cached_property
    def grammars(self) -> tuple[GrammarName, ...]:
        """The grammars that are evaluated."""
        return grammar_names(self.config.grammars, self.prepared.path)

    def corpus(self, split: str) -> Corpus:
        """Return a split, empty where the task has none."""
        if split not in self._corpora:
            corpus = self._read_split(split)
            wording = self.worded.path / f"{split}.json"
            self._corpora[split] = read_wording(corpus, wording) if len(corpus) else corpus
        return self._corpora[split]

    def _read_split(self, split: str) -> Corpus:
        """Return a split as the recipe wrote it."""
        directory = self.prepared.path / split
        return read_corpus(directory) if directory.is_dir() else Corpus(())

    def features(self, split: str, warp: float = 1.0) -> StageOutput:
        """Return the cepstra of one split, their frequencies warped beyond what the front end does."""
        if (split, warp) not in self._features:
            corpus, front_end = self.corpus(split), self._warped(warp)
            label = split if warp == 1.0 else f"{split}-warp-{warp:g}"
            recordings = recording_marks(corpus, self.prepared.path)

            def compute(directory: Path) -> None:
                most = self.config.most_unusable
                data = compute_cepstra(
                    corpus,
                    front_end,
                    label,
                    most_left_out=most,
                    marks=recordings,
                    tells_silences=label == split,
                )
                self._check_source()
                if label == "train":
                    warn_of_low_rates((u.audio_path for u in data.corpus), front_end.mfcc.sample_rate)
                save_cepstra(data, directory, split)

            self._features[split, warp] = self.store.run(
                f"features-{label}",
                compute,
                inputs={
                    "task": self.prepared.digest,
                    "recordings": recordings_digest(corpus, recordings),
                },
                config={"mfcc": front_end.mfcc, "unusable": self.config.most_unusable},
            )
        return self._features[split, warp]

    def _warped(self, warp: float) -> FrontEndConfig:
        front_end = self.config.front_end.front_end()
        return replace(front_end, mfcc=replace(front_end.mfcc, warp=front_end.mfcc.warp * warp))

    def data(self, splits: Sequence[str], warp: float = 1.0) -> SpeechData:
        """Return the utterances and cepstra of some splits together."""
        total = SpeechData(Corpus(()), ())
        for split in splits:
            if len(self.corpus(split)):
                total = total + load_cepstra(self.corpus(split), self.features(split, warp).path, split)
        return total

    def digests(self, splits: Sequence[str]) -> dict[str, str]:
        """Return what a stage is made from that uses the data of some splits, and the lexicon."""
        return {**self._digests_of_data(splits), "lexicon": self._pronunciations.digest}

    def _digests_of_data(self, splits: Sequence[str]) -> dict[str, str]:
        used = [split for split in splits if len(self.corpus(split))]
        task = {"task": self.prepared.digest, "words": self.worded.digest}
        return {**task, **{split: self.features(split).digest for split in used}}

    def grammar_files(self, splits: Sequence[str]) -> StageOutput:
        """Return the grammars; n-grams are estimated from the text of some splits."""

        def compute(directory: Path) -> None:
            sentences = [u.spoken for split in splits for u in self.corpus(split)]
            forms = forms_for(self.config.text, self.lexicon, ())
            for name in self.grammars:
                grammar = write_grammar(
                    name,
                    directory,
                    task_dir=self.prepared.path,
                    sentences=sentences,
                    lexicon=self.lexicon,
                    forms=forms,
                )
                if tuple(splits) == ("train",):
                    check_grammar(name, grammar, self.lexicon)
                self._tell_of_sentences_outside(name, grammar, splits)

        inputs = self.digests(())
        return self.store.run(split_name("grammars", splits), compute, inputs=inputs, config=self.grammars)

    def _tell_of_sentences_outside(self, name: str, grammar: Grammar, splits: Sequence[str]) -> None:
        """Log how many sentences of the splits that are evaluated a grammar does not allow."""
        for split in (s for s in SPLITS if s not in splits):
            sentences = [u.spoken for u in self.corpus(split)]
            outside = sentences_outside(grammar, self.lexicon, sentences)
            if outside:
                logger.info(
                    "grammar %s: %d of %d sentences of %s are not allowed; what is decoded of them counts "
                    "like the rest, with an error at least",
                    name,
                    len(outside),
                    len(sentences),
                    split,
                )


def _vocabulary(corpora: Iterable[Corpus]) -> set[str]:
    """Return the words of some corpora."""
    return {word for corpus in corpora for word in corpus.vocabulary} - NOT_WORDS


def _spellable(corpora: Iterable[Corpus]) -> set[str]:
    """Return the words of some corpora; that there are none is an error."""
    words = _vocabulary(corpora)
    if not words:
        raise CorpusError(
            "no transcript has a word that can be read; expected words in letters; write numbers out, or "
            "have them spelt out: --set text=en (or another language, with the extra numerals)"
        )
    return words


def split_name(stage: str, splits: Sequence[str]) -> str:
    """Return a stage's name, which includes the splits if it uses more than train."""
    return "-".join([stage, *(split for split in splits if split != "train")])


def recordings_digest(corpus: Corpus, marks: Marks) -> str:
    """Return the marks of the recordings of a corpus, those that have any, in the order of its utterances."""
    paths = [str(u.audio_path) for u in corpus]
    return json.dumps([f"{path} {marks[path]}" for path in paths if path in marks])
