"""Corpora in the words of a lexicon: what their transcripts' spelling changes to, and words that it lacks.

An utterance with a word that no lexicon pronounces is still worth learning from as long as something else in
it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from acoustic.hmm.topology import NOISE_WORD
from asr.corpora.utterances import Corpus, Utterance
from asr.errors import CorpusError, ExperimentError
from asr.files import as_stage_wrote, read_object, write_json
from asr.text.forms import NOT_WORDS, Change, Spellings, Word, WordForms, word_forms
from decoder.lexicon import Lexicon
from foundation.errors import did_you_mean, listed
from foundation.records import record_of

# Of all words that are spoken; with more, the lexicon is that of other transcripts; by feel.
MOST_UNKNOWN = 0.5
_N_NAMED = 10  # by feel
_SAID: Mapping[Change, str] = {
    "case": "{} in another case",
    "punctuation": "{} with punctuation or other marks",
    "taken apart": "{} parts of words that the lexicon has not as a whole",
    "numeral": "{} of numerals spelt out",
}


@dataclass
class Changes:
    """What reading transcripts changed.

    Attributes
    ----------
    n_words : number of words in all
    counts : number of words that each kind of change is found in
    noises, unreadable : words that stand for a noise, or for what cannot be read, as they were written, with
        the utterances that have them
    """

    n_words: int = 0
    counts: Counter[Change] = field(default_factory=Counter)
    noises: dict[str, list[str]] = field(default_factory=dict)
    unreadable: dict[str, list[str]] = field(default_factory=dict)

    def add(self, utterance_id: str, word: Word) -> None:
        """Count one word."""
        self.n_words += 1
        self.counts.update(word.changes)
        if word.word in NOT_WORDS:
            named = self.noises if word.word == NOISE_WORD else self.unreadable
            named.setdefault(word.written, []).append(utterance_id)


def forms_for(text: str, lexicon: Lexicon | None, corpora: Iterable[Corpus]) -> WordForms | None:
    """Return the forms by which the words of corpora are found, as `word_forms` does."""
    return word_forms(text, lexicon, (" ".join(u.words) for corpus in corpora for u in corpus))


def worded(corpus: Corpus, forms: WordForms | None) -> tuple[Corpus, Changes]:
    """Return a corpus in the words that the forms find, and what that changed."""
    changes = Changes()
    return Corpus(tuple(_worded(u, forms, changes) for u in corpus)), changes


class _Wording(NamedTuple):
    """What is kept of an utterance: its words, and how they were written where that differs."""

    words: tuple[str, ...]
    written: tuple[str, ...]


def write_wording(corpus: Corpus, path: Path, left_out: Iterable[str] = ()) -> None:
    """Write the words of each utterance, how they were written where that differs, and what is left out."""
    kept = {u.utterance_id: {"words": u.words, "written": u.written} for u in corpus}
    write_json(path, kept | dict.fromkeys(sorted(left_out)))


def read_wording(corpus: Corpus, path: Path) -> Corpus:
    """Return a corpus with the words that `write_wording` wrote, without what is left out."""
    with as_stage_wrote(path):
        kept = read_object(path)
        return Corpus(
            tuple(
                replace(u, words=found.words, written=found.written)
                for u in corpus
                if kept[u.utterance_id] is not None
                for found in [record_of(_Wording, kept[u.utterance_id], ExperimentError)]
            )
        )


def _worded(utterance: Utterance, forms: WordForms | None, changes: Changes) -> Utterance:
    if forms is None:
        return utterance
    found = forms.read(" ".join(utterance.words))
    for word in found:
        changes.add(utterance.utterance_id, word)
    words, written = tuple(w.word for w in found), tuple(w.written for w in found)
    return replace(utterance, words=words, written=() if words == written else written)


def total(changes: Iterable[Changes]) -> Changes:
    """Return the sum of the changes of several corpora."""
    result = Changes()
    for each in changes:
        result.n_words += each.n_words
        result.counts += each.counts
        for mine, theirs in ((result.noises, each.noises), (result.unreadable, each.unreadable)):
            for written, ids in theirs.items():
                mine.setdefault(written, []).extend(ids)
    return result


def wording_notes(changes: Changes) -> Iterator[str]:
    """Yield what a person should know of the changes; nothing if there are none."""
    said = [text.format(f"{changes.counts[kind]:,}") for kind, text in _SAID.items() if changes.counts[kind]]
    if said:
        yield (
            f"transcripts are compared in plain form: of {changes.n_words:,} words {', '.join(said)} "
            "(--set text=exact takes them as they stand)"
        )
    if changes.noises:
        yield f"{_named(changes.noises)}: taken for noise, which gets a model of its own"
    yield from unreadable(changes)


def unreadable(changes: Changes) -> Iterator[str]:
    """Yield a line with the words that cannot be read, if there are any."""
    if changes.unreadable:
        yield (
            f"{_named(changes.unreadable)}: cannot be read, and aligned to whatever phones are heard; write "
            "out what is said (numerals: --set text=en or another language, with the extra numerals)"
        )


def _named(tokens: Mapping[str, list[str]]) -> str:
    """Return how many there are, and the most frequent with an utterance that has each."""
    in_order = sorted(tokens, key=lambda token: (-len(tokens[token]), token))
    listed = ", ".join(f'"{token}" ({tokens[token][0]})' for token in in_order[:_N_NAMED])
    more = f" and {len(in_order) - _N_NAMED} more kinds" if len(in_order) > _N_NAMED else ""
    return f"{sum(map(len, tokens.values())):,} word(s) in transcripts, {listed}{more}"


def spelling(corpora: Iterable[Corpus]) -> dict[str, str]:
    """Return the words that transcripts always write in one way, other than the lexicon's."""
    ways = Spellings()
    for utterance in (u for corpus in corpora for u in corpus):
        for place, word in enumerate(utterance.words):
            written = utterance.written[place] if utterance.written else word
            if word not in NOT_WORDS:
                ways.add(word, written, begins=place == 0 and len(utterance.words) > 1)
    return {word: written for word, written in ways.spelling.items() if written != word}


def unknown_words(transcripts: Iterable[Sequence[str]], lexicon: Lexicon) -> Counter[str]:
    """Return how often each word is said that the lexicon has not; what is no word is not counted."""
    return Counter(w for words in transcripts for w in words if w not in lexicon and w not in NOT_WORDS)


def is_all_unknown(utterance: Utterance, lexicon: Lexicon) -> bool:
    """Return whether an utterance has words, and none of them is known."""
    return bool(utterance.words) and not any(_is_known(word, lexicon) for word in utterance.words)


def check_lexicon_belongs(corpus: Corpus, lexicon: Lexicon) -> None:
    """Raise an error if most words of a corpus are unknown: nothing would be learned from it."""
    unknown, n_words = unknown_words((u.words for u in corpus), lexicon), sum(len(u.spoken) for u in corpus)
    if unknown.total() > MOST_UNKNOWN * n_words:
        raise CorpusError(
            f"{unknown.total()} of {n_words} words of the transcripts are not in lexicon.txt, expected most "
            f"of them there; it does not belong to these transcripts: {named_unknown(unknown, lexicon)}; "
            "give the lexicon of this corpus, or make one with asr lexicon"
        )


def named_unknown(unknown: Counter[str], lexicon: Lexicon, n_named: int = _N_NAMED) -> str:
    """Return unknown words with what they may be misspelled for and their number, the most frequent first."""
    ranked = sorted(unknown, key=lambda word: (-unknown[word], word))
    hints = {word: did_you_mean(lexicon.nearest(word)) for word in ranked[:n_named]}
    return listed([f'"{word}"{hints.get(word, "")} {unknown[word]} time(s)' for word in ranked], n_named)


def unknown_words_note(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> str:
    """Return one line that names the unknown words and counts the utterances; empty if all are known."""
    fate = "not in lexicon.txt and are taken for any sequence of phones"
    return _unknown_words_line(transcripts, lexicon, fate, "add them or correct the transcripts")


def unknown_test_words_note(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> str:
    """Return such a line for a text that a trained model is to recognise, whose lexicon is given."""
    fate = "not in the model's lexicon and cannot be recognised"
    return _unknown_words_line(
        transcripts, lexicon, fate, "correct the transcripts or train with these words"
    )


def _unknown_words_line(transcripts: Sequence[Sequence[str]], lexicon: Lexicon, fate: str, cure: str) -> str:
    unknown = unknown_words(transcripts, lexicon)
    if not unknown:
        return ""
    n_utterances = sum(any(word in unknown for word in words) for words in transcripts)
    what = f"{len(unknown)} word(s) of {n_utterances} utterance(s) are {fate}"
    return f"{what}: {named_unknown(unknown, lexicon)}; {cure}"


def _is_known(word: str, lexicon: Lexicon) -> bool:
    return word in lexicon or word == NOISE_WORD
