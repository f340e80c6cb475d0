"""Records of plain values, checked: made of what JSON files hold, or configurations made in code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from foundation.errors import AsrError, listed, suggestion

Record = TypeVar("Record")
_LONG = 1 << 63
_LARGEST = 1e300  # what is larger is no number to compute with
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", NoneType: "null"}
_CURE = "train again or restore the file"


def record_of(
    kind: type[Record], content: object, error: type[AsrError], where: str = "", cure: str = _CURE
) -> Record:
    """Return a dataclass or named tuple made of a JSON object.

    Keys that are not there have the record's defaults.

    Parameters
    ----------
    kind : class of the record; its fields are plain values, tuples of them, or dataclasses
    content : what the JSON file holds
    error : kind of the error that names a value that the record cannot have
    where : name of the object in the file, for the error
    cure : what the error tells to do

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: float
    ...     name: str = ""
    >>> record_of(Point, {"x": 1.5}, AsrError)
    Point(x=1.5, name='')
    """
    types, required = _fields(kind)  # type: ignore[arg-type]  # types are hashable
    if not isinstance(content, Mapping):
        raise error(f"{where or kind.__name__}: expected an object, got {_said(content)}; {cure}")
    unknown, missing = sorted(set(content) - set(types)), sorted(required - set(content))
    if unknown or missing:
        hint = suggestion(str(unknown[0]), types) if unknown else ""
        problem = f"unknown key {listed(unknown)}{hint}" if unknown else f"no {listed(missing)}"
        raise error(f"{where or kind.__name__}: {problem}; expected {', '.join(types)}; {cure}")
    values = {key: _value(types[key], item, error, f"{where}{key}", cure) for key, item in content.items()}
    return kind(**values)


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of a record's fields, and the fields without a default."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        found = {f.name: hints[f.name] for f in fields(kind)}
        free = {f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING}
    else:
        found, free = {name: hints[name] for name in kind._fields}, set(kind._field_defaults)
    return found, frozenset(set(found) - free)


def _value(kind: Any, item: object, error: type[AsrError], where: str, cure: str) -> Any:
    """Return an item as the type has it."""
    if is_dataclass(kind) and isinstance(kind, type):
        return record_of(kind, item, error, f"{where}.", cure)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (tuple, Sequence) and isinstance(item, list | tuple):
        of_each = [inner[0]] * len(item) if origin is Sequence or inner[1:] == (...,) else list(inner)
        if len(of_each) == len(item):
            parts = zip(of_each, item, strict=True)
            return tuple(
                _value(part, entry, error, f"{where}[{n}]", cure) for n, (part, entry) in enumerate(parts)
            )
    if not _fits(kind, item):
        raise error(f"{where}: expected {_expected(kind)}, got {_said(item)}; {cure}")
    return float(item) if _is_long(item) and kind is not int and int not in get_args(kind) else item


def _is_long(item: object) -> TypeGuard[int]:
    """Return whether an item is a whole number of so many digits that it is none to numpy."""
    return type(item) is int and abs(item) >= _LONG


def _fits(kind: Any, item: object) -> bool:
    """Return whether an item is of a plain type, one of several, or one of some values."""
    if get_origin(kind) is Literal:
        return any(type(item) is type(known) and item == known for known in get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(part, item) for part in get_args(kind))
    if kind is float:
        is_number = isinstance(item, int | float) and not isinstance(item, bool)
        return is_number and (abs(item) <= _LARGEST or item == float("inf"))  # type: ignore[arg-type]
    return type(item) is kind


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of: " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_expected, get_args(kind)))
    return _NAMES.get(kind, "a list")


def _said(item: object) -> str:
    """Return an item as an error shows it, however long it is."""
    if isinstance(item, bool | NoneType):
        return {True: "true", False: "false", None: "null"}[item]
    if isinstance(item, int) and abs(item) > _LARGEST:
        return "a number of hundreds of digits"
    text = f'"{item}"' if isinstance(item, str) else str(item)
    if isinstance(item, list | Mapping):
        text = "a list" if isinstance(item, list) else "an object"
    return " ".join(text[:60].split())


def check_words(name: str, words: object, error: type[AsrError]) -> None:
    """Raise the error unless what a caller gives is a sequence of words; a text is none.

    >>> check_words("words", ("GO", "ON"), AsrError)
    """
    if isinstance(words, str):
        raise error(f"{name}: expected a sequence of words, got one string; split it first")
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise error(f"{name}: expected a sequence of words, got {_kinds_of(words)}; give a list of strings")


def check_sentences(name: str, sentences: object, error: type[AsrError]) -> None:
    """Raise the error unless what a caller gives is a mapping from names to sequences of words."""
    if not isinstance(sentences, Mapping):
        what = f"a {type(sentences).__name__}"
        raise error(f"{name}: expected a mapping from utterance ids to words, got {what}; give a dict")
    for key, words in sentences.items():
        check_words(f"{name}: {key}", words, error)


def _kinds_of(values: object) -> str:
    """Return of what type something is, and its items where it is a sequence."""
    found = f"a {type(values).__name__}"
    if isinstance(values, Sequence):
        found += f" of {listed(sorted({type(value).__name__ for value in values}))}"
    return found


# Texts of JSON that somebody may have damaged

# What code raises that takes the content of a file for what it should be.
CONTENT_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


def parsed_json(text: str) -> Any:
    """Return the content of a JSON text.

    Raises
    ------
    ValueError : it is no JSON, or lists and objects are in each other too deep to be read
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists or objects are too deep in each other") from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's words, or its kind if it has none.

    >>> first_line(ValueError("so\\nand so")), first_line(MemoryError())
    ('so', 'MemoryError')
    """
    return (str(error).splitlines() or [""])[0] or type(error).__name__


# Checks that several configurations share


def check_choices(config: object, error: type[AsrError]) -> None:
    """Raise the error if a field whose type is a Literal has another value.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Config:
    ...     colour: Literal["red", "blue"]
    >>> check_choices(Config("red"), AsrError)
    """
    for name, choices in _choices(type(config)).items():  # type: ignore[arg-type]  # types are hashable
        if (value := getattr(config, name)) not in choices:
            hint = suggestion(value, choices) if isinstance(value, str) else ""
            raise error(f'{name} is "{value}"{hint}, expected one of: {", ".join(choices)}')


def check_lowest(config: object, lowest: Mapping[str, float], error: type[AsrError]) -> None:
    """Raise the error if a field is below the number given for it, infinite or not a number."""
    for name, number in lowest.items():
        if not number <= (value := getattr(config, name)) < math.inf:
            raise error(f"{name}: expected at least {number}, got {value}; change it")


def check_highest(config: object, highest: Mapping[str, float], error: type[AsrError]) -> None:
    """Raise the error if a field is above the number given for it, or not a number; None is not looked at.

    The numbers are far from what anybody needs: they keep a slip of the keyboard from asking for more memory
    or time than there is.
    """
    for name, number in highest.items():
        if (value := getattr(config, name)) is not None and not value <= number:
            raise error(f"{name}: expected at most {number:,}, got {value}; change it")


@cache
def _choices(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the fields whose type is a Literal, with its values; reading types takes half a millisecond."""
    hints = get_type_hints(kind).items()
    return {name: get_args(hint) for name, hint in hints if get_origin(hint) is Literal}
