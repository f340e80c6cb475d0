"""The formats of the discs' documents: sentences, word pairs, and lists of recordings.

The documents write the apostrophe as a plus sign, ``GRIDLEY+S``; here it is an apostrophe. Lines that begin
with a semicolon are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from asr.errors import CorpusError
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START
from decoder.grammars.word_pair import WordPairGrammar

Words = tuple[str, ...]

BOUNDARY = "SENTENCE-END"  # in wp_gram.txt: as a heading the start of a sentence, as a successor its end
_SENTENCE = re.compile(r"(.+?)\s*\((\w+)\)\s*")


def read_sentences(path: Path) -> dict[str, Words]:
    """Return the words of each sentence by its name in capitals, from lines ``SHOW ALL SHIPS (SR009)``."""
    sentences: dict[str, Words] = {}
    for number, line in lines(path):
        found = _SENTENCE.fullmatch(line)
        if found is None:
            raise CorpusError(f'{path}:{number}: expected "WORD … (NAME)", got "{line[:60]}"; copy it again')
        sentences[found[2].upper()] = tuple(map(as_word, found[1].split()))
    return sentences


def read_word_pairs(path: Path) -> WordPairGrammar:
    """Return the grammar of a list of headings ``>WORD``, each followed by lines with one successor.

    What stands above the first heading explains the format.
    """
    successors: dict[str, list[str]] = {}
    following: list[str] | None = None
    for _, line in lines(path):
        word = as_word(line.strip().lstrip(">").strip())
        if line.startswith(">"):
            following = successors.setdefault(SENTENCE_START if word == BOUNDARY else word, [])
        elif following is not None:
            following.append(SENTENCE_END if word == BOUNDARY else word)
    if SENTENCE_START not in successors:
        raise CorpusError(f'{path}: no line ">{BOUNDARY}", expected one above the first words; copy it again')
    return WordPairGrammar(successors)


def read_index(path: Path) -> list[str]:
    """Return the recordings that an index lists, one a line, as paths from the top of their disc."""
    return [line.strip() for _, line in lines(path)]


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that say something."""
    for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), start=1):
        if line.strip() and not line.startswith(";"):
            yield number, line


def as_word(written: str) -> str:
    """Return a word as transcripts, grammar and lexicon have it in common.

    >>> as_word("gridley+s")
    "GRIDLEY'S"
    """
    return written.upper().replace("+", "'")
