"""The Resource Management corpus on its discs: the task of the thesis, and the formats of the discs."""

from recipes.rm1.rm1 import RECIPE

__all__ = ["RECIPE"]
