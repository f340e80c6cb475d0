"""Errors of the decoder are ours: the command line prints them in one line."""

import pytest

from decoder import DecodingError, GrammarError, LexiconError
from foundation.errors import AsrError


@pytest.mark.parametrize("error", [DecodingError, GrammarError, LexiconError])
def test_every_error_can_be_caught_as_ours(error: type[Exception]) -> None:
    with pytest.raises(AsrError, match=r"^what is wrong$"):
        raise error("what is wrong")
