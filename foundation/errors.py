"""The one base class of the errors we raise on a user's data; each package has its own below it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TextIO, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


_LONGEST_NAME = 200  # characters; longer ones take long to be compared, and are no slips of the keyboard
_LONGEST_LINE, _LONGEST_END = 1000, 300  # characters; by feel


class AsrError(Exception):
    """An error in what the user gave; its one line says what is wrong, what was expected and what to do.

    Of a line that shows a word of a million letters, the beginning and the end are left.

    >>> len(str(AsrError("x" * 10**6)))
    1000
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= _LONGEST_LINE else "\n".join(map(shortened, text.split("\n")))


def shortened(line: str) -> str:
    """Return a line as it is shown: the middle of one that is too long is left out."""
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE - _LONGEST_END - 3]} … {line[-_LONGEST_END:]}"


# What a terminal, an editor or a browser would obey: control characters but for tabs and ends of lines, marks
# that turn the direction of all that follows, separators of lines, bytes that are no text.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str, stream: TextIO | None = None) -> str:
    r"""Return a text as people may see it: characters that would be obeyed in place of shown are escaped.

    Names and words come from files that anybody may have made. JSON stays JSON, for it has the same escapes.
    What goes to a stream is changed if that is a terminal: a pipe or a file gets words and names as they are.

    >>> print(shown("a\x1b[2Jb\u202ec"), shown("žluťoučký kůň"))
    a\u001b[2Jb\u202ec žluťoučký kůň
    """
    if stream is not None and not stream.isatty():
        return text
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", whole_letters(text))


def whole_letters(text: str) -> str:
    """Return a text with the letters of names in UTF-8, which are read as bytes where the locale is another.

    >>> whole_letters("gr\\udcc3\\udcbcn")
    'grün'
    """
    with suppress(UnicodeEncodeError):
        return text.encode(errors="surrogateescape").decode(errors="surrogateescape")
    return text


def in_a_line(name: str) -> str:
    r"""Return a name as people may see it, on one line: line breaks, tabs and spaces of no width are escaped.

    >>> print(in_a_line("a\nb\t\x1bc\ufeff"))
    a\nb\t\u001bc\ufeff
    """
    return shown(name).translate(_IN_A_LINE)


_IN_A_LINE = str.maketrans(
    {"\n": r"\n", "\t": r"\t", **{c: f"\\u{ord(c):04x}" for c in "\u200b\u2060\ufeff"}}
)


def did_you_mean(names: Iterable[str]) -> str:
    """Return the hint an error puts behind an unknown name, or nothing if there is no name like it.

    >>> did_you_mean(["ONE", "NINE"])
    ' (did you mean "ONE" or "NINE"?)'
    """
    listed = " or ".join(f'"{name}"' for name in names)
    return f" (did you mean {listed}?)" if listed else ""


def near(name: str, known: Iterable[str], n: int = 1) -> list[str]:
    """Return the names most like one that is not known, first those that differ from it in case alone.

    >>> near("GMM", ["gmm", "gmm-lda"]), near("studnt", ["pools", "Student"]), near("x", ["pools"])
    (['gmm'], ['Student'], [])
    """
    folded: dict[str, list[str]] = {}
    for each in known:
        folded.setdefault(each.casefold(), []).append(each)
    wanted = str(name).casefold()  # a damaged file has anything in the place of a name
    if len(wanted) > _LONGEST_NAME and wanted not in folded:
        return []
    folded = {key: names for key, names in folded.items() if len(key) <= _LONGEST_NAME or key == wanted}
    found = [wanted] if wanted in folded else get_close_matches(wanted, folded, n)
    return [each for key in found for each in folded[key]][:n]


def suggestion(name: str, known: Iterable[str], n: int = 1) -> str:
    """Return the hint an error puts behind a name that is not known: which are most like it, if any are.

    >>> suggestion("GMM", ["gmm", "pools"]), suggestion("gmm", [])
    (' (did you mean "gmm"?)', '')
    """
    return did_you_mean(near(name, known, n))


def unexpected_argument(name: str, known: Iterable[str]) -> str:
    """Return what an error says of a named argument that is not taken: the one most like it, or all.

    >>> print(unexpected_argument("model", ["recipe", "models"]))
    got an unexpected keyword argument 'model' (did you mean "models"?)
    >>> print(unexpected_argument("x", ["recipe", "models"]))
    got an unexpected keyword argument 'x'; expected some of: recipe, models
    """
    known = [*known]
    usual = f"; expected some of: {', '.join(known)}" if known else "; expected none"
    hint = suggestion(name, known) or usual
    return f"got an unexpected keyword argument '{name}'{hint}"


def names_arguments(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that says which arguments it takes where it is given one that it does not."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def checked(*given: _P.args, **named: _P.kwargs) -> _T:
        if unknown := [name for name in named if name not in known]:
            raise TypeError(f"{function.__name__}() {unexpected_argument(unknown[0], known)}")
        return function(*given, **named)

    return checked


def listed(names: Sequence[object], n: int = 10) -> str:
    """Return the first names (or paths), and how many more there are; those are not looked at.

    >>> listed(["ONE", "TWO", "NINE"], 2)
    'ONE, TWO and 1 more'
    """
    return ", ".join(map(str, names[:n])) + (f" and {len(names) - n} more" if len(names) > n else "")
