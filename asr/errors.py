"""Errors of corpora, configuration, experiments and scoring."""

from foundation.errors import AsrError

__all__ = ["AsrError", "ClusterError", "ConfigError", "CorpusError", "ExperimentError", "ScoringError"]


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
