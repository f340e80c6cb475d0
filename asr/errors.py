"""Errors of corpora, configuration, experiments and scoring; and problems, of which a corpus may have many.

An error ends what is under way. A problem is one line of what is wrong with a file: readers return all that
they find, so that a person can mend them together.
"""

from dataclasses import dataclass
from typing import Literal

from foundation.errors import AsrError, in_a_line, shortened

__all__ = [
    "AsrError",
    "ClusterError",
    "ConfigError",
    "CorpusError",
    "ExperimentError",
    "Problem",
    "ScoringError",
    "Severity",
]

Severity = Literal["error", "warning", "note", "summary"]


class CorpusError(AsrError):
    """A corpus on disk cannot be used."""


class ConfigError(AsrError):
    """An option is unknown or out of range."""


class ClusterError(AsrError):
    """A scheduler or its workers cannot be used."""


class ExperimentError(AsrError):
    """An experiment directory or a recipe cannot be used."""


class ScoringError(AsrError):
    """References and hypotheses do not fit together."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with a corpus: where it is, what it is and what to do, in one line.

    A note says what is worth knowing of it, and a summary how much there is and what comes next. What
    concerns a corpus as a whole is at ``.``.
    """

    where: str
    what: str
    severity: Severity = "error"

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", in_a_line(self.where))
        object.__setattr__(self, "what", in_a_line(self.what))

    def __str__(self) -> str:
        return shortened(f"{self.where}: {self.what}")
