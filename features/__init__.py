"""The front end: recordings to frames, their normalisation and projection, feature files."""

import lazy_loader

# What __init__.pyi lists is imported when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
