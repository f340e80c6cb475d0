"""Recordings that are still going on: words while they are spoken."""
