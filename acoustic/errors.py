"""Errors of the acoustic models."""

from foundation.errors import AsrError


class ModelError(AsrError):
    """An acoustic model or its file cannot be used."""


class ParameterError(ModelError, ValueError):
    """An argument of an estimator is wrong; to scikit-learn's callers it is a ValueError."""


class TrainingError(AsrError):
    """A model cannot be trained from what was given."""


class AlignmentError(AsrError):
    """An utterance cannot be aligned with its transcript."""
