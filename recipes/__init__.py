"""Recipes: one readable script for each corpus."""
