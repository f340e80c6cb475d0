"""Models by name."""

import pytest

from asr.errors import ConfigError
from asr.systems import SYSTEMS, GmmSystem, HybridSystem, find_system


def test_names() -> None:
    assert {name: find_system(name, "thesis") for name in SYSTEMS} == SYSTEMS
    recommended = {name: find_system(name) for name in SYSTEMS if name != "orols"}
    assert {name for name in recommended if recommended[name] != SYSTEMS[name]} == {"npd"}
    assert find_system("npd") == HybridSystem("pools")
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


def test_no_two_names_for_one_thing() -> None:
    with pytest.raises(ConfigError, match=r'"orols" belongs to the preset thesis.*--model npd, or --preset'):
        find_system("orols", "best")


def test_unknown_preset() -> None:
    with pytest.raises(ConfigError, match='preset "fast" is not known; expected one of: best, thesis'):
        find_system("npd", "fast")
