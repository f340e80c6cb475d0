"""The grammars of a task by the names they have on the command line.

`GRAMMARS` says of each name how the grammar is made and kept in a file beside the model, how it is read back,
and whether it has probabilities to scale. To add a grammar: a module in `decoder.grammars` with the grammar
itself, its name in `asr.systems.GrammarName`, and a row of the table here. Modules of grammars are imported
by the functions of their rows: a run needs few of them.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from acoustic.hmm.topology import Topology
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.files import write_text
from asr.formats.tables import read_text
from decoder.decoder import Decoder
from decoder.grammars.grammar import Grammar
from decoder.lexicon import Lexicon
from foundation.errors import listed, suggestion

if TYPE_CHECKING:
    from asr.systems import GrammarName
    from asr.text.forms import WordForms
    from decoder.grammars.finite_state import FiniteStateGrammar
    from decoder.grammars.smoothing import Smoothing

WORD_PAIRS = "word_pairs.txt"
COMMANDS: Final = "commands"  # a grammar's name; the file is called so, too, one command a line
COMMANDS_FILE = f"{COMMANDS}.txt"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskText:
    """The material that a grammar can be made from.

    Attributes
    ----------
    directory : directory of the task, with the grammar files of its corpus
    sentences : words of the training transcripts
    lexicon : every word that can be recognised
    forms : in which forms the grammar files of the corpus may write the words; None takes them as they stand
    """

    directory: Path
    sentences: Iterable[tuple[str, ...]]
    lexicon: Lexicon
    forms: WordForms | None = None

    def names_of(self, words: Iterable[str]) -> dict[str, str]:
        """Return the lexicon's words for those that it has in another form only, such as another case."""
        find = self.forms.find if self.forms is not None else lambda word: None
        found = {word: find(word) for word in words if word not in self.lexicon}
        return {word: name for word, name in found.items() if name is not None}


@dataclass(frozen=True)
class GrammarKind:
    """How a grammar of one name is made, kept and weighed.

    Attributes
    ----------
    write : makes the grammar from a task and writes what `read` needs into a directory
    read : returns the grammar from such a directory and the lexicon
    has_lm_scale : whether it has probabilities that a scale should weigh
    brought_as : name pattern of the file in which a corpus provides the grammar; if there is such a file, the
        grammar is evaluated without being asked for
    """

    write: Callable[[TaskText, Path], Grammar]
    read: Callable[[Path, Lexicon], Grammar]
    has_lm_scale: bool
    brought_as: str | None = None


def _write_loop(task: TaskText, directory: Path) -> Grammar:
    return _read_loop(directory, task.lexicon)


def _read_loop(directory: Path, lexicon: Lexicon) -> Grammar:
    from decoder.grammars.grammar import WordLoop

    return WordLoop(lexicon.words)


def _write_estimate(file: str, order: int, smoothing: Smoothing, task: TaskText, directory: Path) -> Grammar:
    from decoder.grammars.ngram import NGram

    model = NGram.estimate(task.sentences, order, vocabulary=task.lexicon.words, smoothing=smoothing)
    model.write(directory / file)
    return model


def _read_ngram(file: str, directory: Path, lexicon: Lexicon) -> Grammar:
    from decoder.grammars.ngram import NGram

    return NGram.read(directory / file)


def _write_arpa(task: TaskText, directory: Path) -> Grammar:
    from decoder.grammars.ngram import NGram

    file = _the_only_file("arpa", task.directory)
    model = NGram.read(file)
    renamed = task.names_of(model.words)
    if renamed:
        model = model.renamed(renamed)
        model.write(directory / "arpa.arpa")
    else:
        shutil.copyfile(file, directory / "arpa.arpa")
    return model


def _the_only_file(suffix: str, directory: Path) -> Path:
    """Return the file of a suffix in the task's directory; there must be one."""
    files = sorted(directory.glob(f"*.{suffix}"))
    if len(files) != 1:
        names = listed([f.name for f in files]) or "none"
        raise ExperimentError(
            f"grammar {suffix}: .{suffix} files of the corpus: {names}; expected exactly one; "
            "lay it beside the recordings or ask for another grammar"
        )
    return files[0]


def _write_word_pairs(task: TaskText, directory: Path) -> Grammar:
    from decoder.grammars.word_pair import WordPairGrammar

    brought = task.directory / WORD_PAIRS
    if brought.is_file():
        grammar = WordPairGrammar.read(brought)
    elif said := [words for words in task.sentences if words]:
        grammar = WordPairGrammar.from_sentences(said)
    else:
        raise ExperimentError(
            f"grammar word-pair: no {WORD_PAIRS} in the corpus and no words in its transcripts, expected "
            "one of them; lay the file beside the recordings or ask for another grammar"
        )
    grammar = grammar.renamed(task.names_of(grammar.words))
    grammar.write(directory / WORD_PAIRS)
    return grammar


def _read_word_pairs(directory: Path, lexicon: Lexicon) -> Grammar:
    from decoder.grammars.word_pair import WordPairGrammar

    return WordPairGrammar.read(directory / WORD_PAIRS)


def read_commands(directory: Path) -> list[tuple[str, ...]]:
    """Return the commands in a directory's ``commands.txt``, the words of each; empty lines are none."""
    path = directory / COMMANDS_FILE
    text, problems = read_text(path, str(path), "a command a line")
    found = [tuple(line.split()) for line in (text or "").splitlines() if line.strip()]
    if problems or not found:
        what = problems[0] if problems else f"{path}: no command in it, expected one a line; write them"
        raise CorpusError(str(what))
    return list(dict.fromkeys(found))


def _write_commands(task: TaskText, directory: Path) -> Grammar:
    brought = read_commands(task.directory)
    names = task.names_of({word for words in brought for word in words})
    lines = [" ".join(names.get(word, word) for word in words) for words in brought]
    write_text(directory / COMMANDS_FILE, "".join(f"{line}\n" for line in lines))
    return _read_commands(directory, task.lexicon)


def _read_commands(directory: Path, lexicon: Lexicon) -> Grammar:
    from decoder.grammars.finite_state import FiniteStateGrammar

    return FiniteStateGrammar.of_sentences(read_commands(directory))


def _jsgf(file: Path) -> FiniteStateGrammar:
    from decoder.grammars.jsgf import read_jsgf

    return read_jsgf(file)


def _slf(file: Path) -> FiniteStateGrammar:
    from decoder.grammars.finite_state import read_slf

    return read_slf(file)


def _write_brought(
    suffix: str, read: Callable[[Path], FiniteStateGrammar], task: TaskText, directory: Path
) -> Grammar:
    """Return the finite-state grammar that a corpus brings; what is kept is its word network."""
    from decoder.grammars.finite_state import write_slf

    file = _the_only_file(suffix, task.directory)
    grammar = read(file)
    grammar = grammar.renamed(task.names_of(grammar.words))
    write_slf(directory / f"{suffix}.slf", grammar.compile(task.lexicon.words))
    return _slf(directory / f"{suffix}.slf")


def _read_network(file: str, directory: Path, lexicon: Lexicon) -> Grammar:
    return _slf(directory / file)


def _brought(suffix: str, read: Callable[[Path], FiniteStateGrammar]) -> GrammarKind:
    """Return the kind of finite-state grammar that is read from files of a suffix."""
    return GrammarKind(
        partial(_write_brought, suffix, read),
        partial(_read_network, f"{suffix}.slf"),
        has_lm_scale=True,
        brought_as=f"*.{suffix}",
    )


def _estimated(name: str, order: int, smoothing: Smoothing) -> GrammarKind:
    """Return the kind of n-gram of an order that is estimated from the training transcripts."""
    file = f"{name}.arpa"
    write = partial(_write_estimate, file, order, smoothing)
    return GrammarKind(write, partial(_read_ngram, file), has_lm_scale=True)


GRAMMARS: Mapping[GrammarName, GrammarKind] = {
    "loop": GrammarKind(_write_loop, _read_loop, has_lm_scale=False),
    "unigram": _estimated("unigram", 1, "witten-bell"),
    "bigram": _estimated("bigram", 2, "witten-bell"),
    "trigram": _estimated("trigram", 3, "modified-kneser-ney"),
    "arpa": GrammarKind(
        _write_arpa, partial(_read_ngram, "arpa.arpa"), has_lm_scale=True, brought_as="*.arpa"
    ),
    "word-pair": GrammarKind(_write_word_pairs, _read_word_pairs, has_lm_scale=False, brought_as=WORD_PAIRS),
    "jsgf": _brought("jsgf", _jsgf),
    "slf": _brought("slf", _slf),
    COMMANDS: GrammarKind(_write_commands, _read_commands, has_lm_scale=False, brought_as=COMMANDS_FILE),
}


def grammar_kind(name: str) -> GrammarKind:
    """Return the row of `GRAMMARS` for a grammar's name."""
    for known, kind in GRAMMARS.items():
        if known == name:
            return kind
    hint = suggestion(name, GRAMMARS)
    raise ConfigError(f'grammar "{name}" is not known{hint}; expected one of: {", ".join(GRAMMARS)}')


def has_lm_scale(name: str) -> bool:
    """Return whether a grammar has probabilities that a scale should weigh."""
    return grammar_kind(name).has_lm_scale


def grammar_names(asked: Iterable[GrammarName], task_dir: Path) -> tuple[GrammarName, ...]:
    """Return the grammars asked for, and those that the task provides in files."""
    brought = (name for name, kind in GRAMMARS.items() if _is_brought(kind, task_dir))
    return tuple(dict.fromkeys([*asked, *brought]))


def _is_brought(kind: GrammarKind, task_dir: Path) -> bool:
    return kind.brought_as is not None and any(task_dir.glob(kind.brought_as))


def write_grammar(
    name: GrammarName,
    directory: Path,
    *,
    task_dir: Path,
    sentences: Iterable[tuple[str, ...]],
    lexicon: Lexicon,
    forms: WordForms | None = None,
) -> Grammar:
    """Write the file a grammar needs into a directory (a loop needs none) and return the grammar."""
    return grammar_kind(name).write(TaskText(task_dir, sentences, lexicon, forms), directory)


def read_grammar(name: str, directory: Path, lexicon: Lexicon) -> Grammar:
    """Return a grammar that `write_grammar` wrote."""
    return grammar_kind(name).read(directory, lexicon)


def sentences_outside(grammar: Grammar, lexicon: Lexicon, sentences: Iterable[tuple[str, ...]]) -> list[int]:
    """Return the positions of the sentences that a grammar does not allow.

    They cannot be recognised as they were said: what is decoded is the best of what the grammar allows, and
    at least one word of it counts as an error.
    """
    tables = grammar.compile(set(lexicon.words))
    return [n for n, words in enumerate(sentences) if tables.sentence_log_prob(words) == -np.inf]


def check_grammar(name: str, grammar: Grammar, lexicon: Lexicon) -> None:
    """Raise the error that a decoder would raise for a grammar; log the words it would leave out."""
    decoder = Decoder(lexicon, grammar, Topology.monophones(lexicon.phones))
    if dropped := decoder.words_without_pronunciation:
        logger.warning(
            "grammar %s: %d word(s) are not in the lexicon and cannot be recognised: %s; add what is said",
            name,
            len(dropped),
            listed(dropped),
        )
