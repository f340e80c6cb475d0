"""The models that can be trained by name (``asr train --model NAME``)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asr.errors import ConfigError
from asr.version import code_of
from foundation.errors import did_you_mean

if TYPE_CHECKING:
    from features.frontend import Projection

# Functions import what they need, so that asking for the names does not load numpy and scikit-learn.


@dataclass(frozen=True)
class GmmSystem:
    """A monophone GMM-HMM.

    Attributes
    ----------
    n_components : Gaussians per state
    projection : projection of the front end
    adapts : whether frames are adapted to the speaker when it decodes
    """

    n_components: int
    projection: Projection = "none"
    adapts: bool = False


@dataclass(frozen=True)
class HybridSystem:
    """Discriminants as emission scores, on frames that a GMM has aligned.

    Attributes
    ----------
    way : way of training the discriminants, see `acoustic.emissions.hybrid.train_emissions`
    """

    way: str


System = GmmSystem | HybridSystem

SYSTEMS: dict[str, System] = {
    "gmm": GmmSystem(8),
    "gmm16": GmmSystem(16),
    "gmm-lda": GmmSystem(8, "lda"),
    "gmm-lda16": GmmSystem(16, "lda"),
    "gmm-cmllr": GmmSystem(8, adapts=True),
    "gmm-lda-cmllr": GmmSystem(8, "lda", adapts=True),
    "npd": HybridSystem("npd"),
    "orols": HybridSystem("orols"),
    "pools": HybridSystem("pools"),
    "krls": HybridSystem("krls"),
    "svm": HybridSystem("svm"),
}
PRESETS = ("best", "thesis")
SPARSITY_SIZES = (25, 50, 100, 200)  # numbers of centres that ``asr sparsity`` tries
_NUMBERED = re.compile(r"gmm(-lda)?([1-9][0-9]{0,4})(-cmllr)?")


def find_system(name: str, preset: str = "best") -> System:
    """Return the system of a name: one of `SYSTEMS`, or with another number of Gaussians, as ``gmm4``.

    In the preset ``best`` all pairs of a state share the centres that ``npd`` or ``orols`` selects for it; in
    ``thesis`` each pair has its own.
    """
    if preset not in PRESETS:
        raise ConfigError(f'preset "{preset}" is not known; expected one of: {", ".join(PRESETS)}')
    if preset == "best" and name in ("npd", "orols"):
        return HybridSystem(f"{name}-pools")
    if name in SYSTEMS:
        return SYSTEMS[name]
    if numbered := _NUMBERED.fullmatch(name):
        return GmmSystem(int(numbered[2]), "lda" if numbered[1] else "none", bool(numbered[3]))
    from acoustic.emissions.kinds import plugin_names
    from acoustic.emissions.sklearn_model import PREFIX, make_classifier

    if name.startswith(PREFIX):
        make_classifier(name)
        return HybridSystem(name)
    if name in plugin_names():
        return HybridSystem(name)
    hint = did_you_mean(difflib.get_close_matches(name, SYSTEMS, n=1))
    raise ConfigError(
        f'model "{name}" is not known{hint}; expected one of: {", ".join(SYSTEMS)}, '
        "gmmN, gmm-ldaN with N Gaussians a state, or sklearn:module.Class"
    )


def other_code(way: str) -> list[str]:
    """Return which code besides this package's a way of training hybrids runs (see `asr.version.code_of`)."""
    return [code_of(module) for module in sorted(_modules(way))]


def _modules(way: str) -> set[str]:
    """Return the modules of other packages that train and score in a way of training."""
    from acoustic.emissions.kinds import find_kind, plugin_names
    from acoustic.emissions.sklearn_model import PREFIX, make_classifier

    if way == "svm":
        return {"sklearn.svm"}
    if way.startswith(PREFIX):
        return {type(make_classifier(way)).__module__}
    if way in plugin_names():
        kind = find_kind(way)
        return {part.__module__ for part in (kind.type, kind.train) if part is not None}
    return set()
