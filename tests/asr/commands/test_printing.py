"""What was found is printed, and what was not is named."""

from collections.abc import Callable

import pytest

from asr.cli import main
from asr.errors import CorpusError
from decoder.decoder import Hypothesis
from foundation.errors import AsrError

Heard = Callable[[str], Hypothesis]


@pytest.mark.parametrize(
    ("names", "failing", "n_best", "starts"),
    [
        (["0"], [], 1, [""]),
        (["0", "1"], [], 1, ["0\t", "1\t"]),
        (["0", "1"], ["0"], 1, ["1\t"]),
        (["0", "1"], ["0", "1"], 1, []),
        (["0"], [], 2, ["1\t"]),
    ],
)
def test_what_was_heard_is_printed_and_what_was_not_is_named(
    names: list[str],
    failing: list[str],
    n_best: int,
    starts: list[str],
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = {name: CorpusError(f"{name}: no sound") if name in failing else heard(f"speaker 0/{name}")
             for name in names}  # fmt: skip
    monkeypatch.setattr("asr.commands.recordings.decode", lambda *given, **named: list(found.values()))
    code = main(["decode", "exp", *names, "--nbest", str(n_best)])
    out, errors = capsys.readouterr()
    assert code == (2 if failing else 0)
    assert errors == "".join(f"asr: {name}: no sound\n" for name in failing)
    heard_words = [" ".join(h.text) for h in found.values() if not isinstance(h, AsrError)]
    for line, start, words in zip(out.splitlines(), starts, heard_words, strict=True):
        assert line.startswith(start)
        assert line.endswith(words)
