"""Remarks in transcripts, such as ``[noise]``, ``(laughs)``, ``<unk>``: what they say of the recording.

Square, angle and curly brackets and ``++…++`` always hold a remark. Round brackets and stars hold one if
it is of one or two words and one of them is in `NOISES` or `UNINTELLIGIBLE`; otherwise what they hold was
spoken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["noise", "unknown", "nothing"]

UNINTELLIGIBLE = frozenset(
    """unk unknown oov unintelligible inaudible incomprehensible indistinct unclear garbled foreign
    xxx""".split()  # noqa: SIM905
)
NOISES = frozenset(
    """noise noises laugh laughs laughing laughter laughed chuckle chuckles giggles cough coughs coughing
    breath breaths breathing breathes inhale inhales exhale exhales sigh sighs sneeze sneezes sniff sniffs
    throat smack smacks lipsmack click clicks music applause clapping crosstalk beep beeps bang door hum hums
    whistles yawn yawns gasp gasps groans crying sobs spn nsn""".split()  # noqa: SIM905
)
# Marks of the beginning, the end and silence, and the tags of subtitles, say nothing of a sound.
_NOTHING = frozenset(
    "s sil silence pause eps blank i b u em strong font c v br start end".split()  # noqa: SIM905
)
_ALWAYS = r"\[[^\[\]]*\]|<[^<>]*>|\{[^{}]*\}|\+\+[^+\s]+\+\+|!SIL\b"
_PERHAPS = r"\([^()]*\)|\*[^*\s]+\*"
_REMARK = re.compile(f"({_ALWAYS})|({_PERHAPS})")
_WORD = re.compile(r"[\w-]+")
_MAX_WORDS = 2  # of a remark in round brackets


def parts_of(text: str) -> Iterator[tuple[str, Kind | None]]:
    """Yield the stretches of a text in order, each with the kind of its remark, None for what was spoken.

    Examples
    --------
    >>> list(parts_of("so [door slams] (and so on) <unk>"))
    [('so ', None), ('[door slams]', 'noise'), (' (and so on) ', None), ('<unk>', 'unknown')]
    """
    spoken_from = 0
    for match in _REMARK.finditer(text):
        if match[1] is None and not _is_known(match[0]):
            continue
        if match.start() > spoken_from:
            yield text[spoken_from : match.start()], None
        yield match[0], kind_of(match[0])
        spoken_from = match.end()
    if spoken_from < len(text):
        yield text[spoken_from:], None


def kind_of(remark: str) -> Kind:
    """Return what a remark says.

    Examples
    --------
    >>> kind_of("<unk>"), kind_of("[silence]"), kind_of("</i>"), kind_of("(coughs)")
    ('unknown', 'nothing', 'nothing', 'noise')
    """
    words = _WORD.findall(remark.casefold())
    if not words or remark.startswith("</") or words[0] in _NOTHING:
        return "nothing"
    return "unknown" if UNINTELLIGIBLE.intersection(words) else "noise"


def is_remark(word: str) -> bool:
    """Return whether a word of a lexicon is a remark and no word.

    Examples
    --------
    >>> is_remark("<UNK>"), is_remark("!SIL"), is_remark("(a)"), is_remark("go")
    (True, True, False, False)
    """
    match = _REMARK.fullmatch(word)
    return match is not None and match[1] is not None


def _is_known(remark: str) -> bool:
    """Return whether round brackets or stars hold a remark."""
    words = _WORD.findall(remark.casefold())
    return len(words) <= _MAX_WORDS and bool((NOISES | UNINTELLIGIBLE).intersection(words))
