r"""The ARPA text format of backoff n-gram models, base-10 logarithms as in the file.

The format is that of the SRI toolkit, http://www.speech.sri.com/projects/srilm/manpages/ngram-format.5.html::

    \data\
    ngram 1=4
    ngram 2=2

    \1-grams:
    -0.5 WORD -0.3
    …
    \end\

Values of -99 and below mean probability zero. Words are brought to Unicode normal form C, as in the lexicon.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from decoder.errors import GrammarError
from foundation.files import content_of, unpacked, write_whole

Ngram = tuple[str, ...]
LOG10_ZERO = -99.0

_COUNT = re.compile(r"ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,18})")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")


def read_arpa(path: str | Path) -> tuple[list[dict[Ngram, float]], dict[Ngram, float]]:
    """Return the log10 probabilities, a mapping for each order, and the log10 backoff weights of a file."""
    lines = _lines(Path(path))
    counts, (number, line) = _read_counts(path, lines)
    log_probs: list[dict[Ngram, float]] = [{} for _ in counts]
    backoffs: dict[Ngram, float] = {}
    for order, count in enumerate(counts, start=1):
        section = _SECTION.fullmatch(line)
        if not section or int(section[1]) != order:
            raise _error(path, number, f'expected "\\{order}-grams:"', line, "restore the section")
        for number, line in lines:
            if line[0] == "\\":
                break
            _read_ngram(path, number, line, order, len(counts), log_probs[order - 1], backoffs)
        else:
            raise _error(
                path, number, 'expected "\\end\\" at the end', "the end of the file", "get the whole file"
            )
        if len(log_probs[order - 1]) != count:
            found = f"{len(log_probs[order - 1])} {order}-grams before this line"
            raise _error(
                path, number, f"expected {count} {order}-grams", found, "correct the count or the list"
            )
    if line != "\\end\\":
        raise _error(path, number, 'expected "\\end\\"', line, "correct the counts or end the file there")
    return log_probs, backoffs


def write_arpa(
    path: str | Path, log_probs: Sequence[Mapping[Ngram, float]], backoffs: Mapping[Ngram, float]
) -> None:
    """Write log10 probabilities and backoff weights, packed if ``.gz``; they are read bit for bit."""
    lines = ["\\data\\", *(f"ngram {n}={len(table)}" for n, table in enumerate(log_probs, start=1))]
    for order, table in enumerate(log_probs, start=1):
        lines += ["", f"\\{order}-grams:"]
        for ngram in sorted(table):
            backoff = [_number(backoffs[ngram])] if ngram in backoffs else []
            lines.append("\t".join([_number(table[ngram]), " ".join(ngram), *backoff]))
    text = "\n".join([*lines, "", "\\end\\", ""])
    data, path = text.encode(), Path(path)
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _number(log10: float) -> str:
    return repr(max(float(log10), LOG10_ZERO))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a plain or gzip file that are not empty."""
    try:
        data = content_of(path)
        text = (unpacked(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise GrammarError(f"{path}: expected a readable ARPA file, got: {error}; check the path") from error
    except UnicodeDecodeError as error:
        raise GrammarError(f"{path}: expected UTF-8 text, got {error}; convert the file to UTF-8") from error
    for number, line in enumerate(unicodedata.normalize("NFC", text).split("\n"), start=1):
        if line.strip():
            yield number, line.strip()


def _read_counts(path: str | Path, lines: Iterator[tuple[int, str]]) -> tuple[list[int], tuple[int, str]]:
    """Return the declared number of n-grams of each order, and the line after them."""
    for _, line in lines:
        if line == "\\data\\":
            break
    else:
        raise GrammarError(f'{path}: expected a line "\\data\\", got none; give an ARPA language model')
    counts: list[int] = []
    for number, line in lines:
        match = _COUNT.fullmatch(line)
        if not match:
            break
        if int(match[1]) != len(counts) + 1:
            raise _error(
                path, number, f'expected "ngram {len(counts) + 1}=…"', line, "list the orders from 1"
            )
        counts.append(int(match[2]))
    else:
        raise GrammarError(f'{path}: expected "\\1-grams:", got the end of the file; get the whole file')
    if not counts:
        raise _error(path, number, 'expected "ngram 1=…"', line, "declare the number of n-grams")
    return counts, (number, line)


def _read_ngram(
    path: str | Path,
    number: int,
    line: str,
    order: int,
    max_order: int,
    log_probs: dict[Ngram, float],
    backoffs: dict[Ngram, float],
) -> None:
    """Add the n-gram of one line to the tables."""
    fields = line.split()
    n_weights = len(fields) - order - 1
    try:
        log10 = float(fields[0])
        weight = float(fields[-1]) if n_weights else 0.0
    except ValueError:
        n_weights = -1
    if n_weights != 0 and (n_weights != 1 or order == max_order):
        expected = f"expected a log10 probability, {order} words"
        weights = " and perhaps a backoff weight" if order < max_order else ""
        raise _error(path, number, expected + weights, f'"{line}"', "correct the line")
    if not (log10 <= 0 and weight < np.inf):  # false of NaN, too
        raise _error(
            path, number, "expected a log10 probability of at most 0", f'"{line}"', "correct the line"
        )
    ngram = tuple(fields[1 : order + 1])
    if ngram in log_probs:
        raise _error(path, number, "expected each n-gram once", f'"{" ".join(ngram)}" again', "remove one")
    log_probs[ngram] = log10 if log10 > LOG10_ZERO else -np.inf
    if n_weights:
        backoffs[ngram] = weight if weight > LOG10_ZERO else -np.inf


def _error(path: str | Path, number: int, expected: str, got: str, cure: str) -> GrammarError:
    return GrammarError(f"{path}:{number}: {expected}, got {got}; {cure}")
