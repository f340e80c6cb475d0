"""The papers' tables of discriminants beside ours."""
