"""The models that can be trained by name (``asr train --model NAME``)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from acoustic.emissions.kinds import plugin_names
from acoustic.emissions.sklearn_model import PREFIX, make_classifier
from asr.errors import ConfigError
from features.frontend import Projection
from foundation.errors import did_you_mean


@dataclass(frozen=True)
class GmmSystem:
    """A monophone GMM-HMM.

    Attributes
    ----------
    n_components : Gaussians per state
    projection : of the front end
    adapts : frames to the speaker when it decodes
    """

    n_components: int
    projection: Projection = "none"
    adapts: bool = False


@dataclass(frozen=True)
class HybridSystem:
    """Discriminants as emission scores, on frames that a GMM has aligned.

    Attributes
    ----------
    way : of training them, as of `acoustic.emissions.hybrid.train_emissions`
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
    "krls": HybridSystem("krls"),
    "svm": HybridSystem("svm"),
}
PRESETS = ("best", "thesis")
_NUMBERED = re.compile(r"gmm(-lda)?([1-9][0-9]{0,4})(-cmllr)?")


def find_system(name: str, preset: str = "best") -> System:
    """Return the system of a name: one of `SYSTEMS`, or with another number of Gaussians, as ``gmm4``.

    ``npd`` has centres that all pairs of a state share in the preset ``best``, each pair's own in ``thesis``.
    """
    if preset not in PRESETS:
        raise ConfigError(f'preset "{preset}" is not known; expected one of: {", ".join(PRESETS)}')
    if preset == "best" and name == "npd":
        return HybridSystem("pools")
    if preset == "best" and name == "orols":
        raise ConfigError(
            'model "orols" belongs to the preset thesis, where each pair selects its centres; in the preset '
            "best it would be npd by another name; expected --model npd, or --preset thesis"
        )
    if name in SYSTEMS:
        return SYSTEMS[name]
    if numbered := _NUMBERED.fullmatch(name):
        return GmmSystem(int(numbered[2]), "lda" if numbered[1] else "none", bool(numbered[3]))
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
