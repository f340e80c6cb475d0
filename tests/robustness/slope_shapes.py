"""The files of `slopes`: what is largest, deepest or longest in them grows with the number of bytes."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TypeAlias

import numpy as np
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


Maker: TypeAlias = Callable[[int], bytes]  # of files with so many bytes, more or less


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
    make: Maker


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


def repeated(unit: bytes, head: bytes = b"", tail: bytes = b"") -> Maker:
    """Return a maker of files that say one thing over and over, between a head and a tail."""
    return lambda n: head + unit * (n // len(unit)) + tail


def numbered(pattern: str, head: str = "", tail: str = "", *, braces: bool = False) -> Maker:
    """Return a maker of files of a pattern with a number, from 0 on, ``{n}``, and the next, ``{m}``.

    Of a pattern with braces of its own the number is ``[n]``.
    """

    def make(n: int) -> bytes:
        pieces, size = [head], len(head) + len(tail)
        for number in count():
            piece = pattern.replace("[n]", str(number)) if braces else pattern.format(n=number, m=number + 1)
            size += len(piece)
            if size > n:
                break
            pieces.append(piece)
        return "".join([*pieces, tail]).encode()

    return make


def nested(opening: bytes, closing: bytes, head: bytes = b"", inner: bytes = b"", tail: bytes = b"") -> Maker:
    """Return a maker of files in which something is within itself as often as the bytes allow."""

    def make(n: int) -> bytes:
        depth = n // (len(opening) + len(closing))
        return head + opening * depth + inner + closing * depth + tail

    return make


def in_one(unit: bytes, head: bytes, tail: bytes) -> Maker:
    """Return a maker of files of one long word, line or string between a head and a tail."""
    return repeated(unit, head, tail)


def packed(make: Maker) -> Maker:
    """Return a maker of gzip files of what another makes; the bytes are those before they are packed."""
    return lambda n: gzip.compress(make(n), compresslevel=1, mtime=0)


def arpa(order: int = 1, *, backoff: bool = True) -> Maker:
    """Return a maker of language models of many different words, in n-grams of an order beside unigrams."""

    def make(n: int) -> bytes:
        weight = "\t-0.5" if backoff else ""
        n_words = max(n // (22 if order == 1 else 50 + 10 * order), 4)
        tables = [[(f"w{k}",) for k in range(n_words)]]
        for length in range(2, order + 1):
            tables.append([tuple(f"w{(k + j) % n_words}" for j in range(length)) for k in range(n_words)])
        lines = ["\\data\\", *(f"ngram {k}={len(table)}" for k, table in enumerate(tables, 1))]
        for k, table in enumerate(tables, 1):
            lines += [
                "",
                f"\\{k}-grams:",
                *(f"-1\t{' '.join(g)}{weight if k < order else ''}" for g in table),
            ]
        return "\n".join([*lines, "", "\\end\\", ""]).encode()

    return make


def slf(silent: bool) -> Maker:
    """Return a maker of lattices of a row of nodes, each with arcs to the next two."""

    def make(n: int) -> bytes:
        n_nodes = max(n // 60, 4)
        words = [
            "!NULL" if (silent and k % 1000) or k in (0, n_nodes - 1) else f"w{k}" for k in range(n_nodes)
        ]
        links = [(k, k + d) for k in range(n_nodes) for d in (1, 2) if k + d < n_nodes]
        lines = ["VERSION=1.0", f"N={n_nodes} L={len(links)}"]
        lines += [f"I={k} W={word}" for k, word in enumerate(words)]
        lines += [f"J={k} S={a} E={b} l=-0.7" for k, (a, b) in enumerate(links)]
        return "\n".join(lines).encode() + b"\n"

    return make


def textgrid(n_tiers: bool) -> Maker:
    """Return a maker of TextGrids of many labels, or of many tiers of one."""

    def make(n: int) -> bytes:
        many = max(n // 60, 1)
        tiers, labels = (many, 1) if n_tiers else (1, many)
        lines = ['"ooTextFile"', '"TextGrid"', "0", str(labels), "<exists>", str(tiers)]
        for tier in range(tiers):
            lines += ['"IntervalTier"', f'"speaker {tier}"', "0", str(labels), str(labels)]
            for label in range(labels):
                lines += [str(label), str(label + 1), f'"word{label} and so on"']
        return "\n".join(lines).encode()

    return make


def elan(pattern: str, head: str = "", tail: str = "") -> Maker:
    """Return a maker of ELAN files of annotations."""
    slots = '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/>'
    slots += '<TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="20"/></TIME_ORDER>'
    return numbered(
        pattern, f"<ANNOTATION_DOCUMENT>{slots}{head}", f"{tail}</ANNOTATION_DOCUMENT>", braces=True
    )


_LABEL = '<TIER TIER_ID="s[n]"><ANNOTATION><ALIGNABLE_ANNOTATION TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">'
_LABEL += "<ANNOTATION_VALUE>yes [n]</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"
_WORD = b"YES" * 10
_G = "#JSGF V1.0; grammar g; public <s> = "
_MFC = b"\0\0\0\0\0\x01\x86\xa0\0\x04\0\x09"


def htk(n: int) -> bytes:
    """Return a parameter file of many frames of one number."""
    n_frames = n // 4
    return struct.pack(">iihh", n_frames, 100000, 4, 9) + np.ones(n_frames, ">f4").tobytes()


def ark(of_many: bool) -> Maker:
    """Return a maker of archives of many small matrices, or of a large one."""

    def make(n: int) -> bytes:
        rows = 1 if of_many else n // 4
        matrix = b"\0BFM " + struct.pack("<bibi", 4, rows, 4, 1) + np.ones(rows, "<f4").tobytes()
        return b"".join(f"u{k} ".encode() + matrix for k in range(n // (len(matrix) + 8) if of_many else 1))

    return make


_JSON_DEEP = {
    "deep lists": nested(b"[", b"]"),
    "deep objects": nested(b'{"a":', b"}", inner=b"1"),
    "one long text": in_one(b"a", b'{"id": "', b'"}'),
    "one long number": in_one(b"1", b'{"id": ', b"}"),
}
_LINES_OF_JSON = {
    **_JSON_DEEP,
    "many keys": numbered('"k[n]": [n], ', "{", '"z": 1}', braces=True),
}
_SPEECH = {"one long word": in_one(b"a", b"", b"\n"), "one long line": repeated(b"yes ", b"", b"\n")}

# For each reader what is large, the maker, and the file if there are several.
_LEGAL: dict[str, dict[str, Maker | tuple[str, Maker]]] = {
    "lexicon": {
        "words": numbered("w{n} A B C\n"),
        "pronunciations of a word": numbered("w A{n} B{m}\n"),
        "phones of a word": repeated(b"A ", b"w "),
        "faulty lines": numbered("w{n}\n"),
        "letters of a word": in_one(b"a", b"", b" A\n"),
        "variants": numbered("w({n}) A{n}\n"),
        "the same line": repeated(b"w A B\n"),
    },
    "transcripts": {
        "utterances": numbered("u{n} YES NO\n"),
        "the same id": repeated(b"u1 YES\n"),
        "trn": numbered("YES NO (u{n})\n"),
        "words of an utterance": repeated(b"YES ", b"u1 "),
        "letters of a word": in_one(b"a", b"u1 ", b"\n"),
        "open brackets": repeated(b"( ", b"", b"(u1)\n"),
        "faulty lines": numbered("YES (u{n})\n", "u0 YES\n"),
    },
    "wording": {
        "different words": numbered("w{n} ", "u1 "),
        "numerals": numbered("{n},{m} ", "u1 "),
        "digits of a numeral": in_one(b"7", b"u1 ", b"\n"),
        "open remarks": repeated(b"[( <", b"u1 ", b"\n"),
        "hyphens": in_one(b"a-", b"u1 ", b"a\n"),
        "apostrophes": in_one(b"l'", b"u1 ", b"a\n"),
        "accents": in_one(b"\xcc\x81\xcc\xa3", b"u1 a", b"\n"),
        "punctuation": in_one(b"a,", b"u1 ", b"\n"),
    },
    "vocabulary": {"words": numbered("w{n}\n"), "one long word": in_one(b"a", b"", b"\n")},
    "scoring": {
        "utterances": ("ref", numbered("u{n} YES NO\n")),
        "hypotheses of nothing": ("hyp", numbered("v{n} YES NO\n")),
        "letters of an id": ("hyp", in_one(b"u", b"", b"1 YES\n")),
    },
    "arpa": {
        "unigrams": arpa(),
        "trigrams": arpa(3),
        "ten-grams": arpa(10),
        "one long word": in_one(b"a", b"\\data\\\nngram 1=1\n\n\\1-grams:\n-1 ", b"\n\n\\end\\\n"),
        "orders": numbered("ngram {m}=1\n", "\\data\\\n"),
    },
    "arpa.gz": {"unigrams": packed(arpa()), "zeros": packed(repeated(b"\0"))},
    "jsgf": {
        "alternatives": numbered("w{n} | ", _G, "x;"),
        "a loop of alternatives": numbered("w{n} | ", _G + "(", "x)*;"),
        "a row of words": numbered("w{n} ", _G, ";"),
        "a row of options": numbered("[w{n}] ", _G, "x;"),
        "a row of the same option": repeated(b"[a] ", _G.encode(), b"x;"),
        "a row of choices": repeated(b"(a|b) ", (_G + "(a|b)* a ").encode(), b";"),
        "nested groups": nested(b"(", b")", _G.encode(), b"a", b";"),
        "nested options": nested(b"[", b" a]", _G.encode(), b"a", b";"),
        "nested repeats": nested(b"(", b")*", _G.encode(), b"a", b";"),
        "rules in rules": numbered("<r{n}> = <r{m}> a;", _G + "<r0>;"),
        "rules twice in rules": numbered("<r{n}> = <r{m}> <r{m}>;", _G + "<r0>;"),
        "rules that are used once": numbered("<r{n}> = a{n};", _G + "a;"),
        "public rules": numbered("public <r{n}> = a{n};", "#JSGF V1.0; grammar g;"),
        "rules that are not there": numbered("<x{n}> ", _G, ";"),
        "tags": repeated(b"{t}", (_G + "a ").encode(), b";"),
        "weights": repeated(b"/1/ a | ", _G.encode(), b"/1/ b;"),
        "open comments": repeated(b")/*", (_G + "a /*").encode()),
        "an open quotation": in_one(b"a ", (_G + '"').encode(), b""),
        "an open tag": in_one(b"\\}", (_G + "a {").encode(), b""),
        "recursion": numbered("a{n} | ", _G, "a <s>;"),
    },
    "slf": {
        "words": slf(silent=False),
        "nodes without words": slf(silent=True),
        "a line without a field": in_one(b"a", b"VERSION=1.0\n", b"\n"),
        "an open quotation": in_one(b'\\"', b'VERSION=1.0\nI=0 W="', b"\n"),
    },
    "word pairs": {
        "words": numbered("w{n}: w{m} </s>\n", "<s>: w0\n"),
        "words after a word": numbered("w{n}: </s>\n", "<s>: w0 w1\n"),
        "successors": numbered("w{n} ", "<s>: a\na: "),
        "words that have no line": numbered("w{n}: x{n}\n", "<s>: w0\n"),
    },
    "mlf": {
        "utterances": numbered('"*/u{n}.lab"\n0 100000 A\n.\n', "#!MLF!#\n"),
        "rows": numbered("{n}00000 {m}00000 A YES\n", '#!MLF!#\n"*/u1.lab"\n', ".\n"),
        "labels of a row": repeated(b"A ", b'#!MLF!#\n"*/u1.lab"\n0 1 ', b"\n.\n"),
        "digits": in_one(b"1", b'#!MLF!#\n"*/u1.lab"\n0 1 ', b"x\n.\n"),
        "an open quotation": repeated(b'\\" ', b'#!MLF!#\n"*/u1.lab"\n0 1 "', b"\n.\n"),
        "octal characters": in_one(b"\\303", b'#!MLF!#\n"*/u1.lab"\n0 1 "', b'"\n.\n'),
    },
    "mmf": {
        "an open quotation": in_one(b'\\"', b'~h "', b""),
        "macros": numbered('~u "u{n}" <MEAN> 1 0.5\n', "~o <VECSIZE> 1 <MFCC>\n"),
        "angle brackets": repeated(b"<a ", b"~o "),
        "nested": nested(b"<BEGINHMM>", b"<ENDHMM>", b'~h "a" '),
    },
    "htk configuration": {"spaces": in_one(b" ", b"A", b"\n"), "settings": numbered("A{n} = 1\n")},
    "htk dictionary": {
        "words": numbered("w{n} A B\n"),
        "digits": in_one(b"1", b"w ", b"x A\n"),
        "open brackets": repeated(b"[ ", b"w A ", b"\n"),
        "an open quotation": repeated(b'\\" ', b'"', b"\n"),
        "pronunciations of a word": numbered("w A{n}\n"),
    },
    "cluster": {
        "deep lists": nested(b"[", b"]", b"a = "),
        "deep tables": nested(b"{a=", b"}", b"a = ", b"1"),
        "dotted keys": in_one(b"a.", b"", b"b = 1\n"),
        "options": numbered("k{n} = {n}\n", "[options]\n"),
        "one long number": in_one(b"1", b"jobs = ", b"\n"),
        "one long text": in_one(b"a", b'kind = "', b'"\n'),
        "tables": numbered("[t{n}]\n"),
        "deep headers": numbered("[a.b{n}.c]\n"),
    },
    "settings": {
        "unknown keys": numbered("gmm.mixtures{n}=1\n"),
        "one long key": in_one(b"a", b"", b"=1\n"),
        "one long list": in_one(b"1,", b"gmm.mixtures=", b"2\n"),
        "deep lists": nested(b"[", b"]", b"gmm.mixtures="),
        "one long number": in_one(b"1", b"hybrid.sigma=", b"\n"),
    },
    "htk features": {"frames": htk},
    "kaldi archive": {
        "matrices": ark(of_many=True),
        "a large matrix": ark(of_many=False),
        "rows of text": repeated(b"1 2\n", b"u1 [\n", b"]\n"),
        "a line of text": repeated(b"1 ", b"u1 [ ", b"]\n"),
        "integers of text": repeated(b"1 ", b"u1 ", b"\n"),
        "rows of several lengths": numbered("1\n1 2\n", "u1 [\n", "]\n"),
        "keys": numbered("u{n} 1 2\n"),
    },
    "kaldi index": {
        "entries": numbered("u{n} a.ark:3\n"),
        "one long name": in_one(b"a/", b"u1 ", b"a.ark:3\n"),
    },
    "model": {name: ("model.json", make) for name, make in _JSON_DEEP.items()},
    "results": {**_LINES_OF_JSON},
    "kaldi directory": {
        "utterances": ("text", numbered("v{n} YES NO\n")),
        "segments": ("segments", numbered("u{n} r1 0 0.01\n")),
        "recordings": ("wav.scp", numbered("r{n} a.wav\n")),
        "speakers": ("utt2spk", numbered("u{n} s{n}\n")),
    },
    "texts": {**_SPEECH, "speakers": ("utt2spk", numbered("u{n} s{n}\n"))},
    "textgrid": {
        "labels": textgrid(n_tiers=False),
        "tiers": textgrid(n_tiers=True),
        "one long label": in_one(b'""', b'"ooTextFile" "TextGrid" 0 1 <exists> 1 "', b'"'),
        "an open label": in_one(b"a", b'"ooTextFile" "TextGrid" 0 1 <exists> 1 "', b""),
        "spaces in a name": in_one(
            b" ", b'"ooTextFile" "TextGrid" 0 1 <exists> 1 "IntervalTier" "a', b'b" 0 1 1 0 1 "x"'
        ),
        "numbers": repeated(b"1 "),
        "digits": in_one(b"1", b'"ooTextFile" "TextGrid" ', b"x"),
        "angle brackets": in_one(b"<a", b'"ooTextFile" "TextGrid" ', b""),
    },
    "elan": {
        "tiers": elan(_LABEL),
        "labels": elan(
            '<ANNOTATION><ALIGNABLE_ANNOTATION TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2"><ANNOTATION_VALUE>'
            "yes [n]</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>",
            '<TIER TIER_ID="a">',
            "</TIER>",
        ),
        "deep elements": nested(b"<TIER>", b"</TIER>"),
        "attributes": elan(' a[n]="1"', "<TIER", "/>"),
        "entities": repeated(b"&amp;", b"<ANNOTATION_DOCUMENT>", b"</ANNOTATION_DOCUMENT>"),
        "namespaces": elan(' xmlns:a[n]="b[n]"', "<TIER", "/>"),
        "an open declaration": repeated(b"<?xml ", b"", b""),
    },
    "stm": {
        "utterances": numbered("a 1 s{n} {n} {m} yes no\n"),
        "channels": numbered("a {n} s 0 1 yes\n"),
        "recordings": numbered("a{n} 1 s 0 1 yes\n"),
        "faulty lines": numbered("a{n} 1\n"),
    },
    "ctm": {
        "words": numbered("a 1 {n} 1 yes\n"),
        "words at once": repeated(b"a 1 0 1 yes\n"),
        "channels": numbered("a {n} 0 1 yes\n"),
        "recordings": numbered("a{n} 1 0 1 yes\n"),
        "huge numbers": repeated(b"a 1 1e308 1e400 yes\n"),
    },
    "srt": {
        "captions": numbered("{n}\n00:00:00,000 --> 00:00:00,020\nyes {n}\n\n"),
        "open tags": repeated(b"<i ", b"1\n00:00:00,000 --> 00:00:00,020\n"),
        "open braces": repeated(b"{\\", b"1\n00:00:00,000 --> 00:00:00,020\n"),
        "lines of a caption": repeated(b"a\n", b"1\n00:00:00,000 --> 00:00:00,020\n"),
        "spaces before an arrow": in_one(b" ", b"1\n00:00:00,000", b"-->\n"),
    },
    "vtt": {
        "captions": numbered("00:00:00.000 --> 00:00:00.020\nyes {n}\n\n", "WEBVTT\n\n"),
        "open voices": repeated(b"<v ", b"WEBVTT\n\n00:00:00.000 --> 00:00:00.020\n"),
        "voices": numbered("<v s{n}>a ", "WEBVTT\n\n00:00:00.000 --> 00:00:00.020\n"),
        "open entities": repeated(b"&#1", b"WEBVTT\n\n00:00:00.000 --> 00:00:00.020\n"),
        "one long entity": in_one(b"1", b"WEBVTT\n\n00:00:00.000 --> 00:00:00.020\n&#", b";\n"),
        "spaces in a voice": in_one(b" ", b"WEBVTT\n\n00:00:00.000 --> 00:00:00.020\n<v", b"<"),
    },
    "csv": {
        "rows": numbered("a{n}.wav,yes,s{n},train\n", "path,sentence,client_id,split\n"),
        "rows of one recording": repeated(b"a.wav,yes,anna,train\n", b"path,sentence,client_id,split\n"),
        "columns": numbered("c{n},", "path,sentence,", "x\na.wav,yes\n"),
        "an open quotation": in_one(b"a\n", b'path,sentence\na.wav,"', b""),
        "folders of a path": in_one(b"a/", b"path,sentence\n", b"a.wav,yes\n"),
    },
    "tsv": {
        "rows": numbered("s{n}\ta{n}.wav\tyes\t1\n", "client_id\tpath\tsentence\tup_votes\n"),
        "folders of a path": in_one(b"a/", b"path\tsentence\n", b"a.wav\tyes\n"),
        "quotes": in_one(b'""', b"path\tsentence\na.wav\t", b"\n"),
    },
    "jsonl": {
        "rows": numbered('{"audio": "a[n].wav", "text": "yes"}\n', braces=True),
        "deep lists": nested(b"[", b"]", b'{"audio": ', b"", b', "text": "yes"}\n'),
        **_LINES_OF_JSON,
    },
    "lhotse": {
        "recordings": (
            "recordings.jsonl",
            numbered(
                '{"id": "a[n]", "sources": [{"type": "file", "channels": [0], "source": "a.wav"}], '
                '"sampling_rate": 16000, "num_samples": 60, "duration": 0.00375}\n',
                braces=True,
            ),
        ),
        "supervisions": (
            "supervisions.jsonl",
            numbered(
                '{"id": "u[n]", "recording_id": "a", "start": 0.0, "duration": 0.002, "text": "YES"}\n',
                braces=True,
            ),
        ),
        **{name: ("recordings.jsonl", make) for name, make in _LINES_OF_JSON.items()},
    },
    "sphinx": {
        "recordings": ("x-train.fileids", numbered("a{n}\n")),
        "sentences": ("x-train.transcription", numbered("<s> YES </s> (a{n})\n")),
        "open brackets": ("x-train.transcription", repeated(b"(a", b"<s> YES ", b" (a)\n")),
    },
    "ljspeech": {"rows": numbered("a{n}|Yes, no|yes no\n"), "bars": repeated(b"|", b"a", b"\n")},
    "list": {"rows": numbered("a{n}.wav yes no\n"), "one long line": repeated(b"yes ", b"a.wav ", b"\n")},
    "librispeech": {"rows": numbered("1-2-{n} YES NO\n")},
}


def legal_shapes(reader: str) -> list[Shape]:
    """Return the shapes of a reader that are made by hand."""
    first = next(iter(targets()[reader].seeds))
    shapes = []
    for name, made in _LEGAL.get(reader, {}).items():
        file, make = made if isinstance(made, tuple) else (first, made)
        shapes.append(Shape(name, file, make))
    return shapes
