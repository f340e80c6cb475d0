"""Every word after every word."""

import numpy as np
import pytest

from decoder import GrammarError, WordLoop


def test_loop_is_uniform_and_ends_freely():
    tables = WordLoop(["B", "A", "B", "C"]).compile({"A", "B", "C"})
    assert tables.words == ("A", "B", "C")
    np.testing.assert_allclose(tables.sentence_log_prob(["A", "C"]), -2 * np.log(3), rtol=1e-15, atol=0)
    assert tables.sentence_log_prob([]) == 0.0
    assert tables.sentence_log_prob(["D"]) == -np.inf


def test_an_empty_loop_is_refused():
    with pytest.raises(GrammarError, match="expected at least one word, got none"):
        WordLoop([])
