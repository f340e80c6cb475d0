"""Recordings that cannot be decoded cost no others: each has its words, or the error that prevents them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acoustic.errors import ModelError
from decoder.decoder import Hypothesis
from foundation.errors import AsrError

_OF_ONE = (AsrError, ArithmeticError, MemoryError)  # what one recording may raise


def decoded_or_errors(
    names: Sequence[str], decode: Callable[[Sequence[int]], Sequence[Hypothesis]]
) -> list[Hypothesis | AsrError]:
    """Return for each recording its hypothesis, or the error that kept it from being decoded.

    Parameters
    ----------
    names : what errors call each recording
    decode : returns the hypotheses of the recordings at some places
    """
    try:
        return list(decode(range(len(names))))
    except _OF_ONE:
        errors = [_error_of(n, name, decode) for n, name in enumerate(names)]
        if not any(errors):
            raise
    again = iter(decode([n for n, error in enumerate(errors) if error is None]))
    return [next(again) if error is None else error for error in errors]


def _error_of(
    place: int, name: str, decode: Callable[[Sequence[int]], Sequence[Hypothesis]]
) -> AsrError | None:
    """Return why a recording cannot be decoded by itself, None if it can."""
    try:
        decode([place])
    except AsrError as error:
        return type(error)(f"{name}: {error}")
    except _OF_ONE as error:
        what = f"{type(error).__name__}: {error}; expected a recording that can be scored; leave it out"
        return ModelError(f"{name}: {what}")
    return None
