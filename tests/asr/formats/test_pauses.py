"""Utterances made of words with times."""

from asr.formats.intervals import Passage, joined_at_pauses


def words(*times: tuple[float, float]) -> list[Passage]:
    return [Passage(start, end, f"w{i}", f"line {i}") for i, (start, end) in enumerate(times)]


def test_words_are_parted_at_long_pauses_with_some_of_the_silence() -> None:
    found = joined_at_pauses(words((1.0, 1.5), (1.9, 2.0), (2.5, 3.0), (20.1, 20.2)), 20.3)
    assert [(s.start_s, s.end_s, s.text, s.where) for s in found] == [
        (0.8, 2.2, "w0 w1", "line 0"),
        (2.3, 3.2, "w2", "line 2"),
        (19.9, 20.25, "w3", "line 3"),
    ]


def test_nothing_is_added_beyond_an_end_that_is_not_known() -> None:
    (found,) = joined_at_pauses(words((0.0, 0.4), (0.3, 0.5), (0.35, 0.45)))
    assert (found.start_s, found.end_s, found.text) == (0.0, 0.5, "w0 w1 w2")


def test_a_short_recording_is_one_utterance() -> None:
    (found,) = joined_at_pauses(words((1.0, 1.5), (5.0, 5.5)), 15.0)
    assert (found.start_s, found.end_s, found.text) == (0.0, None, "w0 w1")
    assert joined_at_pauses([]) == ()
