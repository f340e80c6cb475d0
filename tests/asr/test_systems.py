"""Models by name."""

from importlib.metadata import version
from types import SimpleNamespace

import pytest

from acoustic.emissions import kinds
from acoustic.emissions.kinds import EmissionKind
from acoustic.ways import ALIASES, PRESETS, WAYS, meant, note_on
from asr.errors import ConfigError
from asr.systems import SYSTEMS, GmmSystem, HybridSystem, find_system, other_code


def test_names() -> None:
    assert {name: find_system(name, "thesis") for name in SYSTEMS} == SYSTEMS
    recommended = {name: find_system(name) for name in SYSTEMS}
    assert {name for name in recommended if recommended[name] != SYSTEMS[name]} == {"npd", "orols"}
    assert find_system("npd") == find_system("orols") == HybridSystem("pools")
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
    for name, meant_name in {"gmm-lad": "gmm-lda", "GMM": "gmm", "Pool": "pools", "SVM": "svm"}.items():
        with pytest.raises(ConfigError, match=rf'"{name}" is not known \(did you mean "{meant_name}"\?\)'):
            find_system(name)
    with pytest.raises(ConfigError, match=r'preset "Thesys" is not known \(did you mean "thesis"\?\)'):
        find_system("gmm", "Thesys")


def test_plugins_are_among_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "plugin_names", lambda: ("student",))
    with pytest.raises(
        ConfigError, match=r'"studnt" is not known \(did you mean "student"\?\); .*, student,'
    ):
        find_system("studnt")


@pytest.mark.parametrize("preset", PRESETS)
def test_two_names_for_one_thing_are_those_of_the_table(preset: str) -> None:
    for name, system in SYSTEMS.items():
        assert find_system(name, preset) == SYSTEMS[meant(name, preset)]
        assert (find_system(name, preset) == system) == (note_on(name, preset) == "")
    assert {name for names in ALIASES.values() for name in names} <= set(WAYS)


def test_unknown_preset() -> None:
    with pytest.raises(ConfigError, match='preset "fast" is not known; expected one of: best, thesis'):
        find_system("npd", "fast")


def test_other_code_is_that_of_scikit_learn() -> None:
    name = "sklearn:linear_model.LogisticRegression"
    assert find_system(name) == HybridSystem(name)
    (code,) = other_code(name)
    assert code.startswith(f"scikit-learn {version('scikit-learn')} ")
    assert [way for way in WAYS if other_code(way)] == ["svm"]


def test_other_code_is_that_of_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    model, train = type("Model", (), {"__module__": "soundfile"}), lambda frames: None
    train.__module__ = "joblib.parallel"
    kind = EmissionKind(model, lambda model: ({}, {}), lambda tensors, options: model(), train)
    entry = SimpleNamespace(name="constant", value="plugin:kind", load=lambda: kind)
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    kinds.find_kind.cache_clear()
    assert find_system("constant") == HybridSystem("constant")
    joblib, soundfile = other_code("constant")
    kinds.find_kind.cache_clear()
    assert joblib.startswith(f"joblib {version('joblib')} ")
    assert soundfile.startswith(f"soundfile {version('soundfile')} ")
