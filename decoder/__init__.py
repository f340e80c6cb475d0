"""Lexicon, grammars and search: from a (T, S) matrix of emission scores to words."""

import lazy_loader

# What __init__.pyi lists is imported when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
