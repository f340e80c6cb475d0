"""Limits are above zero, places are given back, refusals tell no path."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from asr.errors import ConfigError
from asr.serving.limits import BUSY, Limits, Places, Refusal, told
from foundation.errors import AsrError


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_is_above_zero(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected at least"):
        replace(Limits(), **{name: 0})
    assert getattr(Limits(), name) > 0


def test_no_path_is_told() -> None:
    error = AsrError("/srv/x/u.wav: no samples; see /srv/x/u.wav")
    assert told(error, Path("/srv/x/u.wav"), "u") == "u: no samples; see u"
    assert told(error) == str(error)


def test_a_refusal_is_unusable_unless_it_says_otherwise() -> None:
    assert (Refusal("no").status, Refusal("no", BUSY).status) == (422, 503)


def test_places_are_given_back() -> None:
    places = Places(2, "streams")
    with places.one(), places.one():
        with pytest.raises(Refusal, match="busy with 2 streams") as refused, places.one():
            pass
        assert refused.value.status == 503
    assert places.taken == 0
    with places.one():
        assert places.taken == 1
