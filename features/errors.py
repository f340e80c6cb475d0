"""Errors of recordings and the front end."""

from foundation.errors import AsrError

__all__ = ["AsrError", "AudioError", "FeatureError"]


class AudioError(AsrError):
    """A recording cannot be used."""


class FeatureError(AsrError):
    """A front-end configuration, feature file or feature array cannot be used."""
