"""Errors of lexicon, grammar and search."""

from foundation.errors import AsrError


class LexiconError(AsrError):
    """A pronunciation lexicon cannot be used."""


class GrammarError(AsrError):
    """A grammar or language model cannot be used."""


class DecodingError(AsrError):
    """A score matrix cannot be decoded."""
