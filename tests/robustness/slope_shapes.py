"""The files of `slopes`: what is largest, deepest or longest in them grows with the number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from fuzz_targets import targets

_UNITS = [
    *(
        b"\n",
        b" ",
        b"\t",
        b"a",
        b"A ",
        b"1",
        b"-",
        b"--",
        b"...",
        b"0.",
        b"1e",
        b"1 ",
        b'"',
        b"'",
        b'""',
        b"\\",
        b"\\\\",
    ),
    *(
        b"(",
        b")",
        b"((",
        b"()",
        b"[",
        b"]",
        b"{",
        b"}",
        b"<",
        b">",
        b"<a",
        b"<a>",
        b"/",
        b"//",
        b"/*",
        b"*",
        b"+",
        b"|",
    ),
    *(
        b"=",
        b"a=",
        b";",
        b":",
        b",",
        b"_",
        b"&",
        b"&amp;",
        b"<v ",
        b"<i>",
        b"-->",
        b"#",
        b"# guessed ",
        b"\r",
        b"\r\n",
    ),
    *(
        b"\xc3\xa9",
        b"e\xcc\x81",
        b"\xcc\x81",
        b"\xcd\x85",
        b"\0",
        b"1,000,",
        b"1-",
        b"a-",
        b"l'",
        b"~",
        b"%",
        b"\xef\xbb\xbf",
    ),
]


@dataclass(frozen=True)
class Shape:
    """A file of a reader that is made in any size.

    Attributes
    ----------
    name : what is large in it
    file : name of the file
    make : function of the number of bytes, which it has about as many of
    """

    name: str
    file: str
    make: Callable[[int], bytes]


def stretches(reader: str, seed: int, n: int) -> Iterator[Shape]:
    """Yield small valid files in which something at a random place is said over and over."""
    target = targets()[reader]
    for number in range(n):
        random = Random(f"{seed} {reader} {number}")
        file = random.choice(sorted(target.seeds))
        content = random.choice(target.seeds[file])
        place = random.randrange(len(content) + 1)
        unit = random.choice(_UNITS)
        if random.random() < 0.4 and content:
            start = random.randrange(len(content))
            unit = content[start : start + random.choice((1, 2, 3, 8, 20, 60, 200))]
        if random.random() < 0.3:
            unit += random.choice(_UNITS)
        yield _stretch(f"stretch {number} at {place} of {unit[:30]!r}", file, content, place, unit)


def _stretch(name: str, file: str, content: bytes, place: int, unit: bytes) -> Shape:
    def make(n: int) -> bytes:
        return content[:place] + unit * (n // len(unit)) + content[place:]

    return Shape(name, file, make)


def repeated(unit: bytes, head: bytes = b"", tail: bytes = b"") -> Callable[[int], bytes]:
    """Return a maker of files that say one thing over and over, between a head and a tail."""
    return lambda n: head + unit * (n // len(unit)) + tail


def numbered(pattern: str, head: str = "", tail: str = "") -> Callable[[int], bytes]:
    """Return a maker of files of a pattern with a number, from 0 on, ``{n}`` and the next ``{m}``."""

    def make(n: int) -> bytes:
        pieces, size = [head], len(head) + len(tail)
        for number in count():
            piece = pattern.format(n=number, m=number + 1)
            size += len(piece)
            if size > n:
                break
            pieces.append(piece)
        return "".join([*pieces, tail]).encode()

    return make


def legal_shapes(reader: str) -> list[Shape]:
    """Return the shapes of a reader that are made by hand."""
    file = next(iter(targets()[reader].seeds))
    return [Shape(name, where or file, make) for name, (make, where) in _LEGAL.get(reader, dict)().items()]


_LEGAL = {}
