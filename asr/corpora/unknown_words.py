"""Words of transcripts that no lexicon pronounces: who says them, and whether lexicon and transcripts match.

An utterance with such a word is still worth learning from as long as something else in it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from acoustic.hmm.topology import NOISE_WORD
from asr.corpora.corpus import Corpus, Utterance
from asr.errors import CorpusError
from asr.text.forms import NOT_WORDS
from decoder.lexicon import Lexicon
from foundation.errors import did_you_mean, listed

MOST_UNKNOWN = 0.5  # of all words that are spoken; with more, the lexicon is that of other transcripts
_N_NAMED = 10


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
            f"of them there; it does not belong to these transcripts: {named(unknown, lexicon)}; "
            "give the lexicon of this corpus, or make one with asr lexicon"
        )


def named(unknown: Counter[str], lexicon: Lexicon, n_named: int = _N_NAMED) -> str:
    """Return unknown words with what they may be misspelled for and their number, the most frequent first."""
    ranked = sorted(unknown, key=lambda word: (-unknown[word], word))
    hints = {word: did_you_mean(lexicon.nearest(word)) for word in ranked[:n_named]}
    return listed([f'"{word}"{hints.get(word, "")} {unknown[word]} time(s)' for word in ranked], n_named)


def report(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> str:
    """Return one line that names the unknown words and counts the utterances; empty if all are known."""
    fate = "not in lexicon.txt and are taken for any sequence of phones"
    return _line(transcripts, lexicon, fate, "add them or correct the transcripts")


def report_of_test(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> str:
    """Return the same of words that a model shall recognise, whose lexicon is what it is."""
    fate = "not in the model's lexicon and cannot be recognised"
    return _line(transcripts, lexicon, fate, "correct the transcripts or train with these words")


def _line(transcripts: Sequence[Sequence[str]], lexicon: Lexicon, fate: str, cure: str) -> str:
    unknown = unknown_words(transcripts, lexicon)
    if not unknown:
        return ""
    n_utterances = sum(any(word in unknown for word in words) for words in transcripts)
    what = f"{len(unknown)} word(s) of {n_utterances} utterance(s) are {fate}"
    return f"{what}: {named(unknown, lexicon)}; {cure}"


def _is_known(word: str, lexicon: Lexicon) -> bool:
    return word in lexicon or word == NOISE_WORD
