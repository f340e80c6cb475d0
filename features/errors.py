"""The one base class of the errors we raise on a user's data, and those of this package."""


class AsrError(Exception):
    """Something is wrong with what the user gave: one line says what, expected, got, what to do."""


class AudioError(AsrError):
    """A recording cannot be used."""


class FeatureError(AsrError):
    """A front-end configuration, feature file or feature array cannot be used."""
