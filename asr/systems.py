"""What is chosen by name: the models that can be trained (``asr train --model NAME``), and grammars."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from acoustic.ways import PRESETS, SCIKIT_LEARN, WAYS, find_way, meant
from asr.errors import ConfigError
from foundation.errors import suggestion
from foundation.version import code_of

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
    way : way of training the discriminants, see `acoustic.ways.train_emissions`
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
    **{name: HybridSystem(name) for name in WAYS},
}
GrammarName = Literal["loop", "unigram", "bigram", "trigram", "word-pair", "arpa", "jsgf", "slf", "commands"]
SPARSITY_SIZES = (25, 50, 100, 200)  # numbers of centres that ``asr sparsity`` tries; by feel
_NUMBERED = re.compile(r"gmm(-lda)?([1-9][0-9]{0,4})(-cmllr)?")


def find_system(name: str, preset: str = "best") -> System:
    """Return the system with this name: one of `SYSTEMS`, or with another number of Gaussians, as ``gmm4``.

    What a name means in a preset says `acoustic.ways.meant`.
    """
    if preset not in PRESETS:
        hint = suggestion(preset, PRESETS)
        raise ConfigError(f'preset "{preset}" is not known{hint}; expected one of: {", ".join(PRESETS)}')
    name = meant(name, preset)
    if name in SYSTEMS:
        return SYSTEMS[name]
    if numbered := _NUMBERED.fullmatch(name):
        return GmmSystem(int(numbered[2]), "lda" if numbered[1] else "none", bool(numbered[3]))
    from acoustic.emissions.kinds import plugin_names

    plugins = plugin_names()
    if name in plugins:
        return HybridSystem(name)
    if name.startswith(SCIKIT_LEARN):
        find_way(name)  # an error if there is no such classifier
        return HybridSystem(name)
    known = [*SYSTEMS, *plugins]
    raise ConfigError(
        f'model "{name}" is not known{suggestion(name, known)}; expected one of: {", ".join(known)}, '
        "gmmN, gmm-ldaN with N Gaussians a state, or sklearn:module.Class"
    )


def other_code(way: str) -> list[str]:
    """Return which other code than ours a way of training runs (`foundation.version.code_of`)."""
    return [code_of(module) for module in sorted(find_way(way).libraries)]
