"""Models by name."""

import pytest

from asr.errors import ConfigError
from asr.systems import SYSTEMS, GmmSystem, find_system


def test_names() -> None:
    assert {name: find_system(name) for name in SYSTEMS} == SYSTEMS
    assert find_system("gmm4") == GmmSystem(4)
    assert find_system("gmm-lda32") == GmmSystem(32, "lda")
    assert find_system("gmm-lda4-cmllr") == GmmSystem(4, "lda", adapts=True)
    assert find_system("gmm8") == find_system("gmm")


@pytest.mark.parametrize(
    "name", ["", "gm", "gmm0", "gmm-1", "GMM", "gmm-ldax", "gmm2.5", "gmm999999", "gmm٣"]
)
def test_unknown(name: str) -> None:
    with pytest.raises(
        ConfigError, match=r"is not known.*expected one of: gmm, gmm16, gmm-lda, gmm-lda16, gmm-cmllr"
    ):
        find_system(name)


def test_nearest() -> None:
    with pytest.raises(ConfigError, match=r'"gmm-lad" is not known \(did you mean "gmm-lda"\?\)'):
        find_system("gmm-lad")
