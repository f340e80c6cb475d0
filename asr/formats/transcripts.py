"""Transcripts as text: Kaldi's `text` (`utt-id w1 w2 …`) and NIST's trn (`w1 w2 … (utt-id)`).

UTF-8, with or without byte order mark; any white space separates words; blank lines are skipped; words are
brought to Unicode normal form C, as in `asr.corpora.corpus`, so that equal letters compare equal. An
utterance may have no words. The order of the file is kept.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from asr.errors import ConfigError, CorpusError
from foundation.files import composed, content_of, text_of, write_whole

Format = Literal["kaldi", "trn"]

_TEXT_SUFFIXES = (".txt", ".lab")
_TRN_LINE = re.compile(r"(?:(.*)\s)?\(([^()\s]+)\)", re.DOTALL)


def read_transcripts(path: str | Path, format: Format | None = None) -> dict[str, tuple[str, ...]]:
    """Return the words of each utterance in a transcript file.

    Parameters
    ----------
    path : path
    format : "kaldi", "trn" or None
        None recognises trn by an id in parentheses at the end of every line.

    Raises
    ------
    CorpusError
        The file cannot be read, is not UTF-8, has an id twice, or mixes the formats.
    """
    path = Path(path)
    try:
        text = content_of(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}:{line}: expected UTF-8, got other bytes; convert the file, or give the one with the text"
        ) from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}; check the path") from error
    return parse_transcripts(text, format, name=str(path))


def write_transcripts(
    path: str | Path, transcripts: Mapping[str, Sequence[str]], format: Format = "kaldi"
) -> None:
    """Write the words of each utterance, one line each, UTF-8 without byte order mark."""
    text = format_transcripts(transcripts, format)
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise CorpusError(f"{path}: cannot be written: {error.strerror}; check the path") from error


def parse_transcripts(
    text: str, format: Format | None = None, *, name: str = "transcript"
) -> dict[str, tuple[str, ...]]:
    """Return the words of each utterance in a text; `name` stands for the file in errors.

    Examples
    --------
    >>> parse_transcripts("u1 GO LEFT\\nu2\\n")
    {'u1': ('GO', 'LEFT'), 'u2': ()}
    >>> parse_transcripts("THE DOOR (u1)\\n")
    {'u1': ('THE', 'DOOR')}
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if lines and lines[0][1] == "#!MLF!#":
        raise CorpusError(
            f"{name}: a master label file of HTK, expected a line for each utterance, "
            '"utterance-id words" or "words (utterance-id)"; write it so'
        )
    if format is None:
        format = _recognise_format(lines, name)
    _check_format(format)
    first_lines: dict[str, int] = {}
    repeated: list[tuple[int, str]] = []
    transcripts: dict[str, tuple[str, ...]] = {}
    for number, line in lines:
        if format == "kaldi":
            utterance_id, *words = line.split()
        elif match := _TRN_LINE.fullmatch(line):
            utterance_id, words = match[2], (match[1] or "").split()
        else:
            raise CorpusError(
                f'{name}:{number}: expected "words (utterance-id)", got "{line}"; add the id, or state kaldi'
            )
        if first_lines.setdefault(utterance_id, number) != number:
            repeated.append((number, utterance_id))
        transcripts[utterance_id] = tuple(composed(word) for word in words)
    _check_unique(repeated, first_lines, name)
    return transcripts


def format_transcripts(transcripts: Mapping[str, Sequence[str]], format: Format = "kaldi") -> str:
    """Return the text of transcripts, one line per utterance in their order.

    Examples
    --------
    >>> format_transcripts({"u1": ["GO", "LEFT"], "u2": []}, "trn")
    'GO LEFT (u1)\\n(u2)\\n'
    """
    _check_format(format)
    for utterance_id, words in transcripts.items():
        _check_writable(utterance_id, words, format)
    if format == "trn":
        return "".join(" ".join([*words, f"({key})"]) + "\n" for key, words in transcripts.items())
    return "".join(" ".join([key, *words]) + "\n" for key, words in transcripts.items())


def text_or_file(text: str) -> str:
    """Return a transcript given as itself or as the path of the file (``.txt``, ``.lab``) that holds it."""
    if Path(text).suffix.lower() not in _TEXT_SUFFIXES:
        return text
    try:
        return text_of(text)
    except OSError as error:
        raise ConfigError(f"{text}: {error.strerror}; expected a transcript; check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{text}: not UTF-8; expected a transcript; convert it with iconv") from None


def _check_format(format: str) -> None:
    if format not in get_args(Format):
        raise CorpusError(f'expected the transcript format "kaldi" or "trn", got "{format}"')


def _recognise_format(lines: Sequence[tuple[int, str]], name: str) -> Format:
    other = [number for number, line in lines if not _TRN_LINE.fullmatch(line)]
    if not lines or len(other) == len(lines):
        return "kaldi"
    if other:
        raise CorpusError(
            f"{name}:{other[0]}: expected an utterance id in parentheses at the end of every line (trn) or "
            f"of none (kaldi), got {len(lines) - len(other)} of {len(lines)} lines; state the format"
        )
    return "trn"


def _check_unique(repeated: Sequence[tuple[int, str]], first_lines: Mapping[str, int], name: str) -> None:
    if not repeated:
        return
    number, utterance_id = repeated[0]
    others = ", ".join(str(n) for n, _ in repeated[1:6]) + (", …" if len(repeated) > 6 else "")
    more = f"; {len(repeated) - 1} more repeated ids, on lines {others}" if len(repeated) > 1 else ""
    raise CorpusError(
        f'{name}:{number}: utterance id "{utterance_id}" is on line {first_lines[utterance_id]} already'
        f"{more}; give each utterance its own id"
    )


def _check_writable(utterance_id: str, words: Iterable[str], format: Format) -> None:
    forbidden = re.compile(r"[()\s\0\ufeff]" if format == "trn" else r"[\s\0\ufeff]")
    if not utterance_id or forbidden.search(utterance_id):
        raise CorpusError(
            f'expected an utterance id without white space or parentheses, got "{utterance_id}"'
        )
    for word in words:
        if word.split() != [word] or "\0" in word:
            raise CorpusError(f'utterance "{utterance_id}": expected words without white space, got "{word}"')
