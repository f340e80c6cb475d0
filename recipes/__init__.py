"""Recipes: one readable script for each corpus, and the papers' tables of discriminants."""
