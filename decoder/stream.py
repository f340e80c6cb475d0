"""Recordings decoded in parts: scores that arrive piece by piece, and stretches joined to a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from decoder.decoder import Decoder, Hypothesis, HypothesisWord, check_scores
from decoder.errors import DecodingError
from decoder.search.word_ends import SILENCE
from foundation.threads import OneAtATime

# Which sentence of each stretch is taken, the last one first.
_Choice = tuple[int, "_Choice | None"]


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

    What `finish` returns is what the decoder finds in all scores of the sentence at once, bit for bit. One
    thread at a time may use it.

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
        self._use = OneAtATime("decoder stream", DecodingError)

    def accept(self, scores: ArrayLike) -> None:
        """Take in the log emission scores (T, S) of the next frames."""
        checked = check_scores(scores, self.decoder.network.n_states)
        with self._use:
            self._search.advance(checked)

    def partial(self) -> PartialHypothesis:
        """Return the words heard so far."""
        with self._use:
            path = self._search.open_path()
        names = self.decoder.network.words
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
        with self._use:
            found = self.decoder.outcome(self._search)
            self._search = self.decoder.search()
        return found


def joined(
    stretches: Sequence[Hypothesis], starts: Sequence[int], frame_shift_s: float, n_best: int = 1
) -> Hypothesis:
    """Return the hypothesis of a recording, and its next best sentences.

    Parameters
    ----------
    stretches : hypotheses of stretches one behind the other, each as long as those of one recording
    starts : the first frame of each stretch
    frame_shift_s : time between frames
    n_best : number of word sequences wanted
    """
    if len(stretches) == 1 and starts[0] == 0:
        return stretches[0]
    moved = [_moved(h, start, frame_shift_s) for h, start in zip(stretches, starts, strict=True)]
    best = _one_behind_the_other(moved)
    others: dict[tuple[str, ...], Hypothesis] = {}
    for choice in _choices(stretches, n_best):
        found = _one_behind_the_other([_sentences(h)[k] for h, k in zip(moved, choice, strict=True)])
        if found.text != best.text:
            others.setdefault(found.text, found)
    return replace(best, alternatives=tuple(others.values())[: n_best - 1])


def _choices(stretches: Sequence[Hypothesis], n_best: int) -> list[list[int]]:
    """Return which sentence of each stretch to take, for the best totals of log scores, the best first."""
    if n_best == 1:
        return []
    kept: list[tuple[float, _Choice | None]] = [(0.0, None)]
    for hypothesis in stretches:
        scores = [sentence.log_score for sentence in _sentences(hypothesis)]
        longer: list[tuple[float, _Choice | None]] = [
            (total + score, (k, before)) for total, before in kept for k, score in enumerate(scores)
        ]
        kept = sorted(longer, key=lambda one: -one[0])[:n_best]
    return [_places(choice) for _, choice in kept]


def _places(choice: _Choice | None) -> list[int]:
    places = []
    while choice is not None:
        places.append(choice[0])
        choice = choice[1]
    return places[::-1]


def _sentences(hypothesis: Hypothesis) -> tuple[Hypothesis, ...]:
    return (hypothesis, *hypothesis.alternatives)


def _moved(hypothesis: Hypothesis, start: int, shift_s: float) -> Hypothesis:
    """Return a hypothesis of a stretch that begins at a frame with times from the recording's beginning."""

    def later(time_s: float) -> float:
        return (round(time_s / shift_s) + start) * shift_s

    def word_later(word: HypothesisWord) -> HypothesisWord:
        return replace(word, start_s=later(word.start_s), end_s=later(word.end_s))

    others = tuple(_moved(other, start, shift_s) for other in hypothesis.alternatives)
    return replace(
        hypothesis,
        words=tuple(map(word_later, hypothesis.words)),
        rejected=tuple(map(word_later, hypothesis.rejected)),
        alternatives=others,
    )


def _one_behind_the_other(sentences: Sequence[Hypothesis]) -> Hypothesis:
    words = tuple(word for sentence in sentences for word in sentence.words)
    is_empty = all(s.no_speech for s in sentences)
    return Hypothesis(
        words,
        sum(s.log_score for s in sentences),
        all(s.complete for s in sentences),
        no_speech=sentences[0].no_speech if is_empty else "",
        rejected=tuple(word for sentence in sentences for word in sentence.rejected),
    )
