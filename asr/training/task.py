"""The steps that prepare a task: its data directories, words, cepstra and grammars; and what these hold.

The first two, ``task`` and ``words``, take moments. What they have found, `Found`, decides which further
steps there are: which splits have utterances, which words the lexicon lacks, which grammars are brought.

What later steps read of the task comes as a `Speech`: the directories of its parts by their names.
`read_speech` reads each of them once in a run.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.corpora.marks import Marks, check_unchanged, differences, recording_marks, source_marks
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
from asr.files import as_stage_wrote, read_json, write_json
from asr.language.grammars import check_grammar, grammar_names, sentences_outside, write_grammar
from asr.language.pronunciations import spelled
from asr.text.forms import EXACT, NOT_WORDS, without_remarks
from asr.transcribe import warn_of_low_rates
from decoder.grammars.grammar import Grammar
from decoder.lexicon import Lexicon, may_be_entry
from features.frontend import FrontEndConfig
from foundation.errors import AsrError

if TYPE_CHECKING:
    from asr.recipe import LoadedRecipe
    from asr.systems import GrammarName

LEXICON, LEFT_OUT = "lexicon.txt", "left_out.json"

# The directories of ``task``, ``words``, ``lexicon``, of the features of each split by its name ("train 1.07"
# for copies with frequencies warped), and of ``left_out``, which says what of these is not learned from.
Speech: TypeAlias = Mapping[str, Path]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """The recipe and the raw corpus that a task is made from.

    Attributes
    ----------
    loaded : the recipe
    corpus_dir : raw corpus, None if the recipe makes its own
    root : the experiment directory, which a recipe without a corpus gets in its place
    marks : those of the raw corpus's files when the run began
    """

    loaded: LoadedRecipe
    corpus_dir: Path | None
    root: Path
    marks: Marks

    def changed(self) -> list[str]:
        """Return the names of the raw corpus's files that are no longer as they were when the run began."""
        return differences(self.marks, source_marks(self.corpus_dir)) if self.corpus_dir else []

    def check_unchanged(self) -> None:
        """Raise an error if the raw corpus is no longer as it was when this run began."""
        if self.corpus_dir:
            check_unchanged(self.marks, source_marks(self.corpus_dir))


@dataclass(frozen=True)
class Found:
    """What the first two steps have found in a task.

    Attributes
    ----------
    corpora : the utterances of each split, none where the task has none
    missing : words of train and dev that the lexicon lacks
    grammars : the grammars that are evaluated: those asked for, and those that the corpus brings
    recordings : marks of the recordings of each split
    """

    corpora: Mapping[str, Corpus]
    missing: tuple[str, ...]
    grammars: tuple[GrammarName, ...]
    recordings: Mapping[str, Marks]

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that have utterances."""
        return tuple(split for split, corpus in self.corpora.items() if len(corpus))

    def marks_of(self, split: str) -> str:
        """Return the marks of a split's recordings, those that have any, in the order of its utterances."""
        marks, paths = self.recordings[split], [str(u.audio_path) for u in self.corpora[split]]
        return json.dumps([f"{path} {marks[path]}" for path in paths if path in marks])


def prepare(directory: Path, *, source: Source) -> None:
    """Let the recipe write ``train``, perhaps ``dev``, ``test``, ``lexicon.txt`` and grammar files.

    A mistake in the recipe is one line, its traceback is in the log.
    """
    name = source.loaded.name
    try:
        source.loaded.recipe.prepare(source.corpus_dir or source.root, directory)
    except (AsrError, OSError, MemoryError):
        raise
    except Exception as error:
        logger.info("recipe %s", name, exc_info=True)
        raise ExperimentError(
            f"recipe {name}: prepare fails ({type(error).__name__}: {error}); correct the script; "
            f"where it fails is in {source.root / 'log.txt'}"
        ) from error
    source.check_unchanged()
    if not (directory / "train").exists():
        raise ExperimentError(
            f"recipe {name}: prepare wrote no train; expected it, and dev, test and {LEXICON} if there "
            "are any; correct the script"
        )


def find_words(directory: Path, task: Path, *, text: str) -> None:
    """Write the transcripts in the words of the lexicon, and the lexicon; without one, words in letters."""
    brought = None
    if (task / LEXICON).exists():
        brought = Lexicon.read(task / LEXICON)
        words = brought.words if text == EXACT else without_remarks(brought)  # remarks are no words
        brought = brought if len(words) == len(brought) else brought.restricted_to(words)
    splits = {split: _as_prepared(task, split) for split in SPLITS}
    forms = forms_for(text, brought, splits.values())
    readings = {split: worded(corpus, forms) for split, corpus in splits.items()}
    for line in wording_notes(total(changes for _, changes in readings.values())):
        logger.warning("%s", line)
    corpora = {split: corpus for split, (corpus, _) in readings.items()}
    for split, corpus in corpora.items():
        write_wording(corpus, directory / f"{split}.json")
    lexicon = spelled(_spellable(corpora.values())) if brought is None else brought
    check_lexicon_belongs(corpora["train"], lexicon)
    lexicon.write(directory / LEXICON)


def found_in(task: Path, words: Path, grammars: Sequence[GrammarName]) -> Found:
    """Return what the first two steps have found, where some grammars are asked for."""
    known = Lexicon.read(words / LEXICON)
    corpora = {split: read_corpus_of(task, words, split) for split in SPLITS}
    heard = _vocabulary(corpora[split] for split in ("train", "dev"))
    missing = sorted(word for word in heard if word not in known and may_be_entry(word))
    recordings = {split: recording_marks(corpus, task) for split, corpus in corpora.items()}
    return Found(corpora, tuple(missing), grammar_names(grammars, task), recordings)


def compute_features(
    directory: Path,
    task: Path,
    *,
    corpus: Corpus,
    marks: Marks,
    source: Source,
    split: str,
    label: str,
    front_end: FrontEndConfig,
    most_unusable: float,
) -> None:
    """Write the cepstra of one split's corpus; ``label`` is the split, with the warp of frequencies if any.

    The marks are those of the recordings when the run began: one that has changed since is an error.
    """
    data = compute_cepstra(
        corpus,
        front_end,
        label,
        most_left_out=most_unusable,
        marks=marks,
        tells_silences=label == split,
    )
    source.check_unchanged()
    if label == "train":
        warn_of_low_rates((u.audio_path for u in data.corpus), front_end.mfcc.sample_rate)
    save_cepstra(data, directory, split)


def write_grammars(
    directory: Path, speech: Speech, *, names: Sequence[GrammarName], splits: Sequence[str], text: str
) -> None:
    """Write the grammars; n-grams are estimated from the text of some splits."""
    lexicon = read_lexicon(speech)
    corpora = {split: read_corpus_of(speech["task"], speech["words"], split) for split in SPLITS}
    sentences = [u.spoken for split in splits for u in corpora[split]]
    forms = forms_for(text, lexicon, ())
    for name in names:
        grammar = write_grammar(
            name, directory, task_dir=speech["task"], sentences=sentences, lexicon=lexicon, forms=forms
        )
        if tuple(splits) == ("train",):
            check_grammar(name, grammar, lexicon)
        for split in (s for s in SPLITS if s not in splits):
            _tell_of_sentences_outside(name, grammar, lexicon, split, corpora[split])


def _tell_of_sentences_outside(
    name: str, grammar: Grammar, lexicon: Lexicon, split: str, corpus: Corpus
) -> None:
    """Log how many sentences of a split that is evaluated a grammar does not allow."""
    sentences = [u.spoken for u in corpus]
    if outside := sentences_outside(grammar, lexicon, sentences):
        logger.info(
            "grammar %s: %d of %d sentences of %s are not allowed; what is decoded of them counts "
            "like the rest, with an error at least",
            name,
            len(outside),
            len(sentences),
            split,
        )


def write_left_out(directory: Path, ids: Iterable[str]) -> None:
    """Write the ids of utterances that are not learned from."""
    write_json(directory / LEFT_OUT, sorted(ids))


def read_left_out(directory: Path) -> frozenset[str]:
    """Return the ids that `write_left_out` wrote."""
    with as_stage_wrote(directory / LEFT_OUT):
        return frozenset(map(str, read_json(directory / LEFT_OUT)))


def read_speech(speech: Speech, warp: float | None = None) -> SpeechData:
    """Return the utterances and cepstra of all splits together, but for what is not learned from.

    With a ``warp``, the cepstra are those of the copies whose frequencies are warped.
    """
    return _read_speech(tuple(speech.items()), warp)


@lru_cache(6)
def _read_speech(parts: tuple[tuple[str, Path], ...], warp: float | None) -> SpeechData:
    speech, total = dict(parts), SpeechData(Corpus(()), ())
    for split in (s for s in SPLITS if s in speech):
        corpus = read_corpus_of(speech["task"], speech["words"], split)
        features = speech[split if warp is None else f"{split} {warp:g}"]
        total = total + load_cepstra(corpus, features, split)
    unwanted = read_left_out(speech["left_out"]) if "left_out" in speech else ()
    return total.without(unwanted) if unwanted else total


def read_lexicon(speech: Speech) -> Lexicon:
    """Return the task's pronunciations, with those of words of train and dev that the recipe's lacks."""
    return _lexicon(speech["lexicon"] / LEXICON)


@lru_cache(2)
def _lexicon(path: Path) -> Lexicon:
    return Lexicon.read(path)


@lru_cache(8)
def read_corpus_of(task: Path, words: Path, split: str) -> Corpus:
    """Return a split in the words of the lexicon, empty where the task has none."""
    corpus = _as_prepared(task, split)
    return read_wording(corpus, words / f"{split}.json") if len(corpus) else corpus


def forget() -> None:
    """Forget what was read of a task, at the end of a run."""
    for read in (_lexicon, read_corpus_of, _read_speech):
        read.cache_clear()


def _as_prepared(task: Path, split: str) -> Corpus:
    """Return a split as the recipe wrote it."""
    return read_corpus(task / split) if (task / split).is_dir() else Corpus(())


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
