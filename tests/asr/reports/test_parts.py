"""Numbers as people write them."""

import pytest

from asr.reports.parts import interval, p_value, percent, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(99.96), "100.0"),
        (percent(5, 2), "5.00"),
        (interval((-3.04, -1.0)), "−3.0 to −1.0"),
        (interval((0.0, 100.0), 0), "0–100"),
        (p_value(0.001), "0.001"),
        (p_value(1.0), "1.000"),
        (seconds(59.94), "59.9 s"),
        (seconds(60.0), "1 min 0 s"),
        (seconds(3600.0), "1 h 0 min"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert text == expected
