"""Decoding of scores that arrive piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from decoder.decoder import Decoder, Hypothesis, check_scores
from decoder.search.word_ends import SILENCE


@dataclass(frozen=True)
class PartialWord:
    """A word of a sentence that is not over: it may still change.

    Attributes
    ----------
    word : the word as it is written in the lexicon
    start_s, end_s : seconds; the end of an open word is that of what was heard
    is_open : whether it is still being said
    """

    word: str
    start_s: float
    end_s: float
    is_open: bool = False


@dataclass(frozen=True)
class PartialHypothesis:
    """The best path through the frames of a sentence up to now.

    Attributes
    ----------
    words : in order of time; an open word is left out where several are still possible
    pause_s : how long it has been silent since the last word, or since the start
    is_dead : whether the grammar allows nothing that was heard
    """

    words: tuple[PartialWord, ...]
    pause_s: float
    is_dead: bool


class DecoderStream:
    """Finds the words of one sentence after the other, frame by frame; nothing is computed twice.

    What `finish` returns is what the decoder finds in all scores of the sentence at once, bit for bit.

    Parameters
    ----------
    decoder : it stays as it is, and many streams may share it

    Examples
    --------
    ::

        stream = DecoderStream(decoder)
        for scores in blocks:  # (T, S) each
            stream.accept(scores)
            print([word.word for word in stream.partial().words])
        print(stream.finish().text)
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._search = decoder.search()

    def accept(self, scores: ArrayLike) -> None:
        """Take in the log emission scores (T, S) of the next frames."""
        self._search.advance(check_scores(scores, self.decoder.network.n_states))

    def partial(self) -> PartialHypothesis:
        """Return the words heard so far."""
        path, names = self._search.open_path(), self.decoder.network.words
        shift = self.decoder.config.frame_shift_s
        ended = [(word, start, end) for word, start, end in path.words if word >= 0]
        words = [PartialWord(names[word], start * shift, end * shift) for word, start, end in ended]
        pause = 0
        if path.open_word == SILENCE:
            pause = path.boundary - (ended[-1][2] if ended else 0)
        elif path.open_word is not None:
            start_s, end_s = path.open_start * shift, path.boundary * shift
            words.append(PartialWord(names[path.open_word], start_s, end_s, is_open=True))
        return PartialHypothesis(tuple(words), pause * shift, path.is_dead)

    def finish(self) -> Hypothesis:
        """Return the words of the sentence; the next scores begin a new one."""
        found = self.decoder.outcome(self._search)
        self._search = self.decoder.search()
        return found
