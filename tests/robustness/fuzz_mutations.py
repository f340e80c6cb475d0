"""Damage to files as `fuzz` does it: bits, cuts, splices, repetition, extreme numbers, strange marks.

Valid files put together, and cut where their parts border on each other, are a damage of their own kind: what
is read of them must be all that is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

LARGEST = 1 << 16  # bytes of an input, so that thousands are tried in a second
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NUMBERS = [
    *(b"0", b"-1", b"1", b"-0.0", b"nan", b"-inf", b"inf", b"1e308", b"-1e308", b"1e-400", b"1e999", b"0x10"),
    *(b"32768", b"65536", b"2147483647", b"2147483648", b"4294967295", b"9223372036854775808", b"1_000"),
    *("²".encode(), "٣".encode(), b"9" * 40, b"9" * 5000, b"1.", b".5", b"1,5", b"-", b"1e", b"00000001"),
]
_MARKS = [
    *(b"\0", b"\r", b"\n\n", b"\t", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\x1a", b"\x1b[31m", b"\\"),
    *(
        "\u2028".encode(),
        "\x85".encode(),
        "\u200b".encode(),
        "\u0301".encode(),
        "İ".encode(),
        b"\xed\xa0\x80",
    ),
    *(
        b'"',
        b"'",
        b"<",
        b">",
        b"&",
        b"]]>",
        b"<!--",
        b"&#x110000;",
        b"%",
        b"/",
        b"../",
        b"|",
        b"#",
        b";",
        b":",
    ),
    *(b"(", b")", b"[", b"]", b"{", b"}", b"*", b"+", b"=", b",", b"$", b"!", b"--", b"-->", b"<s>", b"</s>"),
    *(b"A" * 5000, b"a " * 2000, b"(" * 3000, b"[" * 3000, b'{"a":' * 1500, b"<a>" * 1500, b"((a|" * 700),
    *(b"null", b"true", b"[]", b"{}", b'""', b"NaN", b"-Infinity", b"1e400", b'"\\ud800"', b"/dev/zero"),
]
# With which parts of files begin: chunks, pages, frames, tags, lines, elements.
_BORDER = re.compile(
    rb"OggS|RIFF|RF64|FORM|fLaC|caff|NIST_1A|\.snd|riff|data|fmt |fact|PEAK|ds64|LIST|SSND|COMM|FVER|desc"
    rb"|free|ID3|TAG|APETAGEX|Xing|Info|\xff[\xe0-\xff]|end_head|\n|[<>{}()\[\],|]",
)
TAGS = (
    b"TAG" + b"a title".ljust(125, b"\0"),
    b"ID3\x04\0\0\0\0\0\x20TIT2\0\0\0\x06\0\0\0title" + bytes(16),
    b"APETAGEX" + bytes([0xD0, 7, 0, 0, 72, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xA0]) + bytes(8) + b"x" * 72,
    bytes(16),
    bytes(3000),
)
MOST_TOGETHER = 4
_WIDTHS = (1, 2, 4, 8)
_MOST_BITS, _MOST_DAMAGES = 8, 4

Damage = Callable[[bytearray, Random, Sequence[bytes]], bytes | bytearray]


def damaged(content: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return a file's content with one to four damages; ``others`` are contents of the same kind."""
    found = bytearray(content)
    for _ in range(random.randint(1, _MOST_DAMAGES)):
        found = bytearray(random.choice(_DAMAGES)(found, random, others))[:LARGEST]
    return bytes(found)


def put_together(content: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return one to four valid files one behind another, tags or zeros between some, the last one often cut.

    It is cut where a part of it begins or ends, or anywhere.
    """
    found = content
    for _ in range(random.randrange(MOST_TOGETHER)):
        found += random.choice(TAGS) if random.random() < 0.3 else b""
        found += random.choice([content, *others])
    action = random.randrange(4)
    if action == 0:
        return found + random.choice(TAGS)
    if action == 1:
        return found[: random.randint(1, len(found))]
    return found if action == 2 else bytes(_cut_at_border(bytearray(found), random, others))


def _bits(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    for _ in range(random.randint(1, _MOST_BITS) if content else 0):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return content


def _head_bits(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    """Flip bits where most formats have their headers."""
    for _ in range(random.randint(1, 3) if content else 0):
        content[random.randrange(min(len(content), 64))] ^= 1 << random.randrange(8)
    return content


def _cut(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    return content[: random.randint(0, len(content))]


def _cut_at_border(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    """Cut before or behind a mark with which a part begins, most often one of the last ones."""
    places = [place for match in _BORDER.finditer(content) for place in match.span()]
    return content[: places[-1 - min(int(random.expovariate(0.2)), len(places) - 1)]] if places else content


def _joined(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    return content + (random.choice(others) if others else content)


def _without_block(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    start, stop = _block(content, random)
    return content[:start] + content[stop:]


def _repeated_block(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    start, stop = _block(content, random)
    times = random.choice((1, 1, 2, 20))
    return content[:stop] + content[start:stop] * times + content[stop:]


def _spliced(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    other = random.choice(others) if others else bytes(content)
    return content[: random.randint(0, len(content))] + other[random.randint(0, len(other)) :]


def _number(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    """Replace a number in digits by an extreme one."""
    found = list(_NUMBER.finditer(content))
    if not found:
        return _binary_number(content, random, others)
    match = random.choice(found)
    return content[: match.start()] + random.choice(_NUMBERS) + content[match.end() :]


def _binary_number(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    """Replace a number of one to eight bytes by an extreme one, in either order of bytes."""
    width = random.choice(_WIDTHS)
    if len(content) < width:
        return content
    top = (1 << (8 * width)) - 1
    value = random.choice(
        (0, 1, top, top >> 1, (top >> 1) + 1, top - 1, random.randint(0, top), 1 << (4 * width))
    )
    last = len(content) - width
    place = random.randint(0, last if random.random() < 0.5 else min(last, 64))
    content[place : place + width] = value.to_bytes(width, random.choice(("little", "big")))
    return content


def _marked(content: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    place = random.randint(0, len(content))
    return content[:place] + random.choice(_MARKS) + content[place:]


def _lines(content: bytearray, random: Random, others: Sequence[bytes]) -> bytes:
    """Repeat, leave out or exchange lines."""
    lines = bytes(content).split(b"\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(3)
    if action == 0:
        lines.insert(second, lines[first])
    elif action == 1:
        del lines[first]
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _fields(content: bytearray, random: Random, others: Sequence[bytes]) -> bytes:
    """Exchange a field of a line for one of another line."""
    fields = re.split(rb"([\s,|=<>:]+)", bytes(content))
    first, second = (2 * random.randrange((len(fields) + 1) // 2) for _ in range(2))
    fields[first] = fields[second]
    return b"".join(fields)


def _block(content: bytearray, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(content))
    return start, min(start + int(2 ** random.uniform(0, 10)), len(content))


_DAMAGES: tuple[Damage, ...] = (
    *(_bits, _head_bits, _cut, _without_block, _repeated_block, _spliced, _joined, _cut_at_border),
    *(_number, _number, _binary_number, _marked, _lines, _fields),
)
