"""The experiments behind the papers' tables and figures; ``recipes/tables.py`` composes them."""
