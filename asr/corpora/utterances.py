"""Utterances and corpora in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from asr.errors import CorpusError
from asr.text.forms import NOT_WORDS
from foundation.errors import in_a_line

_UNDECODED = re.compile("[\ud800-\udfff]")  # bytes of a name that are no UTF-8, as Python has them
_BROKEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")  # but for tabs, which lists can hold
_TIMES = re.compile(r"-\d{7}-\d{7}(-\d+)?$")  # of a stretch, behind the id of its recording


@dataclass(frozen=True)
class Utterance:
    """One transcribed stretch of a recording.

    Attributes
    ----------
    utterance_id, speaker : names without white space
    audio_path : absolute path of the recording
    words : the transcript, possibly empty
    start_s, end_s : the stretch in seconds; ``end_s`` None is the end of the recording
    written : the words as the transcript spells them, empty where that is no different
    """

    utterance_id: str
    audio_path: Path
    words: tuple[str, ...]
    speaker: str
    start_s: float = 0.0
    end_s: float | None = None
    written: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """The words that a recogniser should find: without noises, and without what nobody could write."""
        return tuple(word for word in self.words if word not in NOT_WORDS)

    @property
    def is_whole_file(self) -> bool:
        """Whether the utterance is its whole recording."""
        return self.start_s == 0 and self.end_s is None


@dataclass(frozen=True)
class Corpus:
    """Utterances with distinct ids, kept sorted by id."""

    utterances: tuple[Utterance, ...]

    def __post_init__(self) -> None:
        in_order = tuple(sorted(self.utterances, key=lambda u: u.utterance_id))
        for first, second in pairwise(in_order):
            if first.utterance_id == second.utterance_id:
                raise CorpusError(
                    f'duplicate utterance id "{first.utterance_id}", expected distinct ids; rename one'
                )
        object.__setattr__(self, "utterances", in_order)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self.utterances)

    def __len__(self) -> int:
        return len(self.utterances)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """All utterance ids in order."""
        return tuple(u.utterance_id for u in self.utterances)

    @cached_property
    def speakers(self) -> tuple[str, ...]:
        """All speakers, sorted by code point."""
        return tuple(sorted({u.speaker for u in self.utterances}))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All words of the transcripts, sorted by code point."""
        return tuple(sorted({word for u in self.utterances for word in u.words}))

    @cached_property
    def text(self) -> Mapping[str, tuple[str, ...]]:
        """The words of each utterance that a recogniser should find, by its id."""
        return {u.utterance_id: u.spoken for u in self.utterances}

    def subset(self, ids: Iterable[str]) -> Corpus:
        """Return the utterances with these ids; unknown ids are an error."""
        wanted = set(ids)
        _require_known(wanted, self.ids, "utterance id")
        return Corpus(tuple(u for u in self.utterances if u.utterance_id in wanted))

    def of_speakers(self, speakers: Iterable[str]) -> Corpus:
        """Return the utterances of these speakers; unknown speakers are an error."""
        wanted = set(speakers)
        _require_known(wanted, self.speakers, "speaker")
        return Corpus(tuple(u for u in self.utterances if u.speaker in wanted))


def _require_known(wanted: set[str], known: tuple[str, ...], noun: str) -> None:
    unknown = sorted(wanted.difference(known))
    if unknown:
        listed = ", ".join(f'"{name}"' for name in unknown[:10])
        raise CorpusError(
            f"{len(unknown)} unknown {noun}(s): {listed}; expected some of the {len(known)} in the corpus"
        )


def recording_names(utterances: Iterable[Utterance]) -> dict[Path, str]:
    """Return a name of each recording, its utterance's id where it has only one; all are distinct."""
    found: dict[Path, str] = {}
    taken: set[str] = set()
    for u in utterances:
        if u.audio_path not in found:
            name = u.utterance_id if u.is_whole_file else _TIMES.sub("", u.utterance_id)
            found[u.audio_path] = u.utterance_id if name in taken else name
            taken.add(found[u.audio_path])
    return found


def name_fault(u: Utterance) -> str | None:
    """Return why the names of an utterance cannot stand in the lists of a training, a line each; else None.

    >>> from pathlib import Path
    >>> name_fault(Utterance("u", Path("/a\\tb.wav"), (), "anna"))
    >>> print(name_fault(Utterance("u", Path("/a\\nb.wav"), (), "anna")))
    the name "/a\\nb.wav" has a line break or another control character, expected none; rename it
    """
    path = str(u.audio_path)
    if _UNDECODED.search(path):
        what = "is not UTF-8, expected names and words in UTF-8; rename it, or set PYTHONUTF8=1 where the"
        return f'the name "{in_a_line(path)}" {what} locale is not UTF-8'
    if _BROKEN.search(path):
        what = "has a line break or another control character, expected none; rename it"
        return f'the name "{in_a_line(path)}" {what}'
    if path != path.rstrip() or path.endswith("|"):
        return f'the name "{path}" ends with "{path[-1]}", which lists cannot hold; rename it'
    for what, name in (("id", u.utterance_id), ("speaker", u.speaker)):
        if _BROKEN.search(name) or len(name.split()) > 1 or name.startswith("\ufeff"):
            return (
                f'the {what} "{in_a_line(name)}" has white space or characters that cannot be seen, expected '
                "none; rename it"
            )
    return None


def are_speakers_known(corpus: Corpus) -> bool:
    """Return whether it is known who speaks: where it is not, each recording is taken by itself."""
    names = recording_names(corpus)
    return any(u.speaker != names[u.audio_path] for u in corpus)
