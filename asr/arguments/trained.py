"""What verbs take that use a trained model: which one, with which grammar, and how sure it has to be."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_experiment(command: argparse.ArgumentParser) -> None:
    """Add where the model is."""
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )


def add_model(command: argparse.ArgumentParser) -> None:
    """Add which of an experiment's models it is."""
    command.add_argument("--model", help="name of the model; the best on dev by default")


def add_model_and_grammar(command: argparse.ArgumentParser) -> None:
    """Add which model it is, and which of its grammars words are searched with."""
    add_model(command)
    command.add_argument("--grammar", help="name of the grammar; the recipe's last by default")


def add_reject(options: argparse._ActionsContainer) -> None:
    """Add whether words that were probably not spoken are left out."""
    options.add_argument(
        "--reject", action="store_true", help="leave out words that were probably not spoken"
    )


def add_judging(command: argparse.ArgumentParser) -> None:
    """Add which words are left out after the search."""
    what = command.add_mutually_exclusive_group()
    add_reject(what)
    what.add_argument(
        "--keywords", action="store_true", help="find the words chosen by asr keywords, and nothing else"
    )
