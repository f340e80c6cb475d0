"""The steps that prepare a task: its data directories, its words, its grammars; and what they have found.

The first two, ``task`` and ``words``, take moments. What they have found, `Found`, decides which further
steps there are: which splits have utterances, which words the lexicon lacks, which grammars are brought.

Reading what they wrote, and the cepstra, are in `asr.training.speech`.

A person who finds a wrong transcript corrects it, or leaves the utterance out, by `change_transcripts`. That
is kept in ``corrections.txt`` of the experiment directory and applied by ``words``; the corpus stays as it
is.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from asr.config import Speakers
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.marks import Marks, check_unchanged, differences, recording_marks, source_marks
from asr.corpora.wording import (
    check_lexicon_belongs,
    forms_for,
    total,
    worded,
    wording_notes,
    write_wording,
)
from asr.errors import CorpusError, ExperimentError
from asr.files import write_text
from asr.formats.transcripts import parse_transcripts
from asr.language.grammars import check_grammar, grammar_names, sentences_outside, write_grammar
from asr.language.pronunciations import spelled
from asr.text.forms import EXACT, NOT_WORDS, WordForms, forms_of_text, without_remarks
from asr.training.speech import LEXICON, Speech, corpus_as_prepared, read_corpus_of, read_lexicon
from decoder.grammars.grammar import Grammar
from decoder.lexicon import Lexicon, may_be_entry
from foundation.errors import AsrError, listed, suggestion
from foundation.files import composed, text_of

if TYPE_CHECKING:
    from asr.recipe import LoadedRecipe
    from asr.systems import GrammarName

FEWEST_TAKES, MOST_WHOLE_WORDS = 3, 50  # for words as wholes; by feel: pools has pairs of all their states

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
    speakers : who speaks in it, as of `read_corpus`, where the recipe asks for that
    """

    loaded: LoadedRecipe
    corpus_dir: Path | None
    root: Path
    marks: Marks
    speakers: Speakers = "auto"

    def changed(self) -> list[str]:
        """Return the names of the raw corpus's files that are no longer as they were when the run began."""
        return differences(self.marks, source_marks(self.corpus_dir)) if self.corpus_dir else []

    def check_unchanged(self) -> None:
        """Raise an error if the raw corpus is no longer as it was when this run began."""
        if self.corpus_dir:
            check_unchanged(self.marks, source_marks(self.corpus_dir))


CORRECTIONS = "corrections.txt"
_N_HINTS = 10  # words whose likeness to others is looked for; by feel
_HEAD = """\
# What asr train changes in the transcripts of this experiment; the corpus itself stays as it is.
# An utterance's id and words correct its transcript, its id alone leaves it out. Delete a line to undo it.
"""

# The true words of some utterances by id; None leaves an utterance out.
Corrections: TypeAlias = Mapping[str, tuple[str, ...] | None]


def change_transcripts(experiment: Path, texts: Mapping[str, str | None]) -> None:
    """Correct the transcripts of some utterances of an experiment, or leave utterances out.

    The next ``asr train`` into the directory applies it and makes anew what depends on it. What was said of
    the utterances before is replaced. Nothing is changed if one of them cannot be.

    Parameters
    ----------
    experiment : directory that ``asr train`` has begun
    texts : the true words of utterances of train, dev or test, by their ids; None leaves an utterance out
    """
    task = _last_task(experiment)
    known = {u.utterance_id: u.words for split in SPLITS for u in corpus_as_prepared(task, split)}
    if unknown := [name for name in texts if name not in known]:
        hint = suggestion(unknown[0], known)
        raise CorpusError(
            f'{experiment}: no utterance "{unknown[0]}"{hint}, expected one of the {len(known)} of its '
            f"corpus; asr validate {experiment} --suspicious shows ids"
            + (f"; not there either: {listed(unknown[1:])}" if unknown[1:] else "")
        )
    changed = {name: None if text is None else tuple(composed(text).split()) for name, text in texts.items()}
    if empty := [name for name, words in changed.items() if words == ()]:
        raise CorpusError(
            f"{empty[0]}: the corrected transcript is empty, expected words; give them, or leave the "
            f"utterance out: asr validate {experiment} --leave-out {empty[0]}"
        )
    corrections = {**read_corrections(experiment), **changed}
    lexicon = Lexicon.read(task / LEXICON) if (task / LEXICON).is_file() else None
    for name, words in changed.items():
        others = {other: corrected for other, corrected in corrections.items() if other != name}
        _warn_of_new_words(name, words or (), [*known.values(), *filter(None, others.values())], lexicon)
    lines = [" ".join((name, *(found or ()))) for name, found in sorted(corrections.items())]
    written = _HEAD + "\n".join(lines) + "\n"
    kept = _parsed_corrections(written, str(experiment / CORRECTIONS))
    if lost := [name for name in changed if name not in kept or kept[name] != changed[name]]:
        raise CorpusError(
            f'the id "{lost[0]}" cannot stand in {CORRECTIONS}, where "#" begins a remark; rename the '
            "recording"
        )
    write_text(experiment / CORRECTIONS, written)


def read_corrections(experiment: Path) -> Corrections:
    """Return what `change_transcripts` was told of an experiment; nothing where there is no file."""
    path = experiment / CORRECTIONS
    if not path.is_file():
        return {}
    try:
        content = text_of(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(
            f"{path}: cannot be read ({error}), expected text in UTF-8; correct or remove it"
        ) from error
    return _parsed_corrections(content, str(path))


def _parsed_corrections(content: str, name: str) -> Corrections:
    """Return the corrections in the text of a file; "#" before a space, or alone, begins a remark."""
    lines = [line for line in content.split("\n") if line.split()[:1] != ["#"]]
    return {
        key: words or None for key, words in parse_transcripts("\n".join(lines), "kaldi", name=name).items()
    }


def _warn_of_new_words(
    name: str, words: Sequence[str], transcripts: Iterable[Sequence[str]], lexicon: Lexicon | None
) -> None:
    """Log the words of a corrected transcript that no other one and no lexicon has: some are mistyped."""
    if not words:
        return
    known = forms_of_text(map(" ".join, transcripts)).words | frozenset(lexicon or ())
    found = [each.word for each in WordForms(known).read(" ".join(words))]
    if new := [word for word in dict.fromkeys(found) if word not in known | NOT_WORDS]:
        in_order = sorted(known)
        hints = {word: suggestion(word, in_order) for word in new[:_N_HINTS]}
        named = listed([f'"{word}"{hints.get(word, "")}' for word in new], _N_HINTS)
        nor = f" and not in {LEXICON}" if lexicon is not None else ""
        logger.warning("%s: in no other transcript%s: %s; if mistyped, correct it again", name, nor, named)


def _last_task(experiment: Path) -> Path:
    """Return the task that the last training of an experiment has read."""
    # Not through `asr.store`, whose code decides nothing that a task is made of.
    tasks = sorted((experiment / "stages").glob("task-*"), key=lambda path: path.stat().st_mtime)
    if not tasks:
        raise ExperimentError(
            f"{experiment}: no training was begun there, expected an experiment directory; check the path "
            "or run asr train"
        )
    return tasks[-1]


def corrected(corpora: Mapping[str, Corpus], corrections: Corrections) -> dict[str, Corpus]:
    """Return the splits with corrected transcripts and without what is left out; the log counts them."""
    known = {name for corpus in corpora.values() for name in corpus.ids}
    n_out = sum(words is None for name, words in corrections.items() if name in known)
    if used := known & corrections.keys():
        said = f"{len(used) - n_out} transcript(s) corrected, {n_out} utterance(s) left out"
        logger.warning("%s: %s", CORRECTIONS, said)
    if unused := sorted(corrections.keys() - known):
        logger.warning("%s: not in the corpus, and ignored: %s", CORRECTIONS, listed(unused))
    return {
        split: Corpus(
            tuple(
                replace(u, words=words)
                for u in corpus
                for words in [corrections.get(u.utterance_id, u.words)]
                if words is not None
            )
        )
        for split, corpus in corpora.items()
    }


@dataclass(frozen=True)
class Found:
    """What the first two steps have found in a task.

    Attributes
    ----------
    corpora : the utterances of each split, none where the task has none
    missing : words of train and dev that the lexicon lacks
    lexicon : what the words' pronunciations are: a ``lexicon`` that the corpus brings, ``letters``, or of
        commands that were recorded on the page ``words`` as wholes
    why_letters : why words can only be learned by their letters; empty if they can be as wholes, too
    grammars : the grammars that are evaluated: those asked for, and those that the corpus brings
    recordings : marks of the recordings of each split
    """

    corpora: Mapping[str, Corpus]
    missing: tuple[str, ...]
    grammars: tuple[GrammarName, ...]
    recordings: Mapping[str, Marks]
    lexicon: Literal["lexicon", "letters", "words"] = "lexicon"
    why_letters: str = ""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that have utterances."""
        return tuple(split for split, corpus in self.corpora.items() if len(corpus))

    @property
    def n_utterances(self) -> int:
        """The number of utterances of all splits together."""
        return sum(map(len, self.corpora.values()))

    def marks_of(self, split: str) -> str:
        """Return the marks of a split's recordings, those that have any, in the order of its utterances."""
        marks, paths = self.recordings[split], [str(u.audio_path) for u in self.corpora[split]]
        return json.dumps([f"{path} {marks[path]}" for path in paths if path in marks])


def prepare(directory: Path, *, source: Source) -> None:
    """Let the recipe write ``train``, perhaps ``dev``, ``test``, ``lexicon.txt`` and grammar files.

    A mistake in the recipe is one line, its traceback is in the log.
    """
    name, recipe = source.loaded.name, source.loaded.recipe
    options = {"speakers": source.speakers} if recipe.asks_for_speakers else {}
    try:
        recipe.prepare(source.corpus_dir or source.root, directory, **options)
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


def find_words(directory: Path, task: Path, *, text: str, corrections: Corrections) -> None:
    """Write the transcripts in the words of the lexicon, and the lexicon; without one, words in letters.

    Transcripts that a person has corrected are those; what is left out by hand is in no later step.
    """
    brought = None
    if (task / LEXICON).exists():
        brought = Lexicon.read(task / LEXICON)
        words = brought.words if text == EXACT else without_remarks(brought)  # remarks are no words
        brought = brought if len(words) == len(brought) else brought.restricted_to(words)
    prepared = {split: corpus_as_prepared(task, split) for split in SPLITS}
    splits = corrected(prepared, corrections)
    forms = forms_for(text, brought, splits.values())
    readings = {split: worded(corpus, forms) for split, corpus in splits.items()}
    for line in wording_notes(total(changes for _, changes in readings.values())):
        logger.warning("%s", line)
    corpora = {split: corpus for split, (corpus, _) in readings.items()}
    for split, corpus in corpora.items():
        write_wording(
            corpus, directory / f"{split}.json", left_out=set(prepared[split].ids) - set(corpus.ids)
        )
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
    return Found(
        corpora,
        tuple(missing),
        grammar_names(grammars, task),
        recordings,
        "letters" if not (task / LEXICON).exists() else "words" if known.is_of_wholes else "lexicon",
        why_letters(corpora, known),
    )


def why_letters(corpora: Mapping[str, Corpus], lexicon: Lexicon) -> str:
    """Return why words without a lexicon can only be learned by their letters; empty if as wholes, too.

    A whole is learned from recordings of that very word: there must be some in train, and enough of them with
    those of dev.
    """
    if len(lexicon) > MOST_WHOLE_WORDS:
        return f"they are {len(lexicon):,}, expected {MOST_WHOLE_WORDS} at most"
    takes = Counter(word for split in ("train", "dev") for u in corpora.get(split, ()) for word in u.spoken)
    if few := [word for word in lexicon if takes[word] < FEWEST_TAKES]:
        named, least = (
            listed([f"{word} ({takes[word]})" for word in few], 5),
            f"fewer than {FEWEST_TAKES} times",
        )
        return f"{len(few)} of {len(lexicon)} are recorded {least} in train and dev: {named}"
    if untrained := sorted(set(lexicon) - set(corpora["train"].vocabulary)):
        return f"{len(untrained)} of {len(lexicon)} are not recorded in train: {listed(untrained, 5)}"
    return ""


def may_be_whole(found: Found, wanted: str) -> bool:
    """Return whether there are words as wholes, or a choice: by what is wanted, ``auto`` leaves it open.

    Words of commands that were recorded on the page are wholes already, if only by the number of letters.
    """
    if found.lexicon == "letters":
        return wanted == "words" or (wanted == "auto" and not found.why_letters)
    return found.lexicon == "words"


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
