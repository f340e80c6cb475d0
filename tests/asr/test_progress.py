"""Bars on standard error where a person watches, silence where nobody does."""

from collections.abc import Iterator

import pytest

from asr.progress import progress_bar, step_bar


def slowly(items: list[int]) -> Iterator[int]:
    yield from items


def test_nothing_is_written_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress_bar(slowly([3, 1, 2]), 3, "features")) == [3, 1, 2]
    with step_bar("training", 5) as bar:
        bar.update()
    assert capsys.readouterr() == ("", "")


def test_a_person_sees_label_and_total(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    items = progress_bar(slowly([3, 1, 2]), 3, "features")
    assert next(items) == 3
    out, errors = capsys.readouterr()
    assert out == ""
    assert "features:   0%|" in errors
    assert "| 0/3 [" in errors
    assert list(items) == [1, 2]
    assert capsys.readouterr().err.endswith("\r")  # the bar leaves no trace


def test_a_bar_moved_by_hand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with step_bar("training", 5) as bar:
        bar.update(2)
        bar.set_postfix_str("log-likelihood -30.5")
        assert (bar.n, bar.total) == (2, 5)
    errors = capsys.readouterr().err
    assert "training:  40%|" in errors
    assert "2/5 [" in errors
    assert "log-likelihood -30.5]" in errors


def test_items_are_taken_when_they_are_asked_for() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for n in range(3):
            taken.append(n)
            yield n

    bar = progress_bar(items(), 3, "features")
    assert taken == []
    assert next(bar) == 0
    assert taken == [0]
