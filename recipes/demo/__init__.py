"""The synthetic corpus of the demo: its task, its voices, its recipe."""

from recipes.demo.demo import RECIPE

__all__ = ["RECIPE"]
