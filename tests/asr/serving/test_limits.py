from dataclasses import fields, replace

import pytest

from asr.errors import ConfigError
from asr.serving.limits import Limits


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_is_above_zero(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected at least"):
        replace(Limits(), **{name: 0})
    assert getattr(Limits(), name) > 0
