"""What one recording raises costs no others."""

from collections.abc import Sequence

import pytest

from acoustic.errors import ModelError
from asr.decoding.failures import decoded_or_errors
from decoder.decoder import Hypothesis
from decoder.errors import DecodingError

NAMES = ("a", "b", "c")
WORDS = [Hypothesis((), -float(n), complete=True) for n in range(3)]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (DecodingError("no path"), DecodingError, "b: no path"),
        (ZeroDivisionError("by 0"), ModelError, "b: ZeroDivisionError: by 0; expected a recording that can"),
        (MemoryError("much"), ModelError, "b: MemoryError: much; expected a recording that can"),
    ],
)
def test_the_one_that_fails_is_named(error: Exception, kind: type[Exception], said: str) -> None:
    def decode(places: Sequence[int]) -> list[Hypothesis]:
        if 1 in places:
            raise error
        return [WORDS[n] for n in places]

    first, second, third = decoded_or_errors(NAMES, decode)
    assert (first, third) == (WORDS[0], WORDS[2])
    assert type(second) is kind
    assert str(second).startswith(said)


def test_without_errors_all_are_decoded_at_once() -> None:
    calls = []

    def decode(places: Sequence[int]) -> list[Hypothesis]:
        calls.append(list(places))
        return [WORDS[n] for n in places]

    assert decoded_or_errors(NAMES, decode) == WORDS
    assert calls == [[0, 1, 2]]
    assert decoded_or_errors((), decode) == []


def test_an_error_of_all_together_is_raised() -> None:
    def decode(places: Sequence[int]) -> list[Hypothesis]:
        if len(places) > 1:
            raise DecodingError("too many")
        return [WORDS[n] for n in places]

    with pytest.raises(DecodingError, match=r"^too many$"):
        decoded_or_errors(NAMES, decode)
