"""The command line's parser: help in groups, options anywhere, mistakes in one line.

`Verb` is all that is known of a verb; `CommandLine` makes a parser of the verbs of all groups. Below stand
the options that several verbs share.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from foundation.errors import did_you_mean, in_a_line, suggestion

BAD_USAGE = 2
Keys: TypeAlias = Mapping[str, str]  # of a JSON object, and what they hold


class _Help(argparse.HelpFormatter):
    """Wraps paragraphs but for those that are indented: commands and tables."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        parts = (p if p.startswith(" ") else fill(p, width, indent) for p in text.split("\n\n"))
        return "\n\n".join(parts)


class VerbParser(argparse.ArgumentParser):
    """Parses what stands behind one verb.

    Attributes
    ----------
    verb : its name, empty for the whole command line
    example : a command line that people may begin from
    """

    verb = ""
    example = ""

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong, with the choice that is nearest to what was given."""
        example = f"; for example: {self.example}" if self.example else ""
        where = f"{self.verb}: " if self.verb else ""
        said = f"asr: {where}{message}{self._hint(message)}{example}; more: {self.prog} --help"
        with suppress(OSError):  # nobody is there to read it
            print(in_a_line(said), file=sys.stderr, flush=True)
        sys.exit(BAD_USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help; where argparse says nothing of an output that takes none, this is an error."""
        print(message, end="", file=file or sys.stderr)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the options; they may stand before, between and behind the other arguments."""
        given = argparse.Namespace(verb=self.verb)
        if "--" in arguments:  # what follows it may begin with a dash
            options, unknown = self.parse_known_args(list(arguments), given)
        else:
            options, unknown = self.parse_known_intermixed_args(list(arguments), given)
        wrong = [word for word in unknown if word.startswith("-") and len(word) > 1]
        if wrong:
            known = [name for action in self.actions for name in action.option_strings]
            named = wrong[0].partition("=")[0]
            self.error(f'unknown option "{named}"{suggestion(named, known)}')
        if unknown:
            places = " ".join(_place(action) for action in self.actions if not action.option_strings)
            is_corpus = any("--corpus" in action.option_strings for action in self.actions)
            hint = did_you_mean([f"--corpus {unknown[0]}"]) if is_corpus else ""
            self.error(f'unexpected "{" ".join(unknown)}"{hint}, expected no more than {places or "options"}')
        return options

    @property
    def actions(self) -> list[argparse.Action]:
        """What it takes: positional arguments and options, in order, but for those that are not shown."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    def _hint(self, message: str) -> str:
        match = re.match(r"argument (\S+): invalid choice: '(.*?)'", message)
        if match is None:
            return ""
        names = match[1].split("/")
        choices = (a.choices for a in self.actions if names[0] in (*a.option_strings, a.dest, a.metavar))
        return suggestion(match[2], [str(c) for each in choices if each for c in each])


@dataclass(frozen=True)
class Verb:
    """A verb of the command line.

    Attributes
    ----------
    purpose : what it does, in a line
    takes : adds its arguments to its parser
    run : does it, given the options, prints what comes back and returns the exit code
    example : a command line that people may begin from
    prints : keys of the JSON that ``--json`` prints; none of a verb that has no JSON
    also_prints : by option the keys of what is printed with it instead
    each : what has these keys
    description : what its help begins with; the purpose by default
    """

    purpose: str
    takes: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    example: str
    prints: Keys = field(default_factory=dict)
    also_prints: Mapping[str, Keys] = field(default_factory=dict)
    each: str = "an object"
    description: str = ""


class CommandLine:
    """All verbs.

    Parameters
    ----------
    description : what the program does
    groups : the verbs by what they are for, in the order of the help
    version : what ``--version`` prints
    """

    def __init__(self, description: str, groups: Mapping[str, Mapping[str, Verb]], version: str = "") -> None:
        self.groups = groups
        self.verbs = {name: verb for verbs in groups.values() for name, verb in verbs.items()}
        width = max(map(len, self.verbs))
        table = "\n\n".join(
            "\n".join(
                [f"  {group}", *(f"    {name:{width}}  {verb.purpose}" for name, verb in verbs.items())]
            )
            for group, verbs in groups.items()
        )
        self.parser = VerbParser(
            prog="asr",
            usage="asr VERB …",
            formatter_class=_Help,
            description=f"{description}\n\n{table}\n\nasr VERB --help says more, with an example.",
        )
        self.parser.add_argument("--version", action="version", version=version)

    @cached_property
    def parsers(self) -> dict[str, VerbParser]:
        """The parsers of all verbs, by name."""
        return {name: _parser_of(name, verb) for name, verb in self.verbs.items()}

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the verb and its options; exits for help, the version and what cannot be understood."""
        verb, *rest = arguments or ["--help"]  # as pip, cargo and kubectl do: whoever asks nothing gets help
        if verb in self.verbs:  # what other verbs take is of no matter
            return _parser_of(verb, self.verbs[verb]).parse(rest)
        if verb in ("-h", "--help", "--version"):
            return self.parser.parse_args([verb])
        return self.parser.error(self._missing(verb))

    def _missing(self, word: str) -> str:
        """Return what is wrong with a first word that is no verb."""
        if word.startswith("-"):
            return f'"{word}" stands before the verb, expected asr VERB … {word}'
        return f'no verb "{word}"{suggestion(word, self.verbs)}; expected one of: {", ".join(self.verbs)}'


def _parser_of(name: str, verb: Verb) -> VerbParser:
    """Return the parser of a verb: what it takes, and what every verb takes."""
    parser = VerbParser(
        prog=f"asr {name}",
        description=verb.description or f"{verb.purpose[:1].upper()}{verb.purpose[1:]}.",
        epilog=f"example:\n\n  {verb.example}" if verb.example else None,
        formatter_class=_Help,
    )
    parser.verb, parser.example = name, verb.example
    verb.takes(parser)
    if verb.prints:
        parser.add_argument("--json", action="store_true", help="print the result as JSON, for programs")
    messages = parser.add_mutually_exclusive_group()
    messages.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    messages.add_argument("-v", "--verbose", action="store_true", help="say what is being done")
    return parser


def _place(action: argparse.Action) -> str:
    """Return how a positional argument is called in the help."""
    return str(action.metavar or action.dest)


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``EXP``, which says where the model is."""
    parser.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--model``, which names one of an experiment's models."""
    parser.add_argument("--model", help="name of the model; the best on dev by default")


def add_model_and_grammar(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--model`` and ``--grammar``."""
    add_model(parser)
    parser.add_argument("--grammar", help="name of the grammar; the recipe's last by default")


def add_speakers(
    parser: argparse._ActionsContainer,
    usual: str = "what the corpus says, else what names show, else recordings",
) -> None:
    """Add the option ``--speakers``, which says who speaks."""
    parser.add_argument(
        "--speakers",
        choices=("one", "recordings", "folders", "prefix"),
        help="who speaks: one person, another in each of the recordings, or as folders or the first part of "
        f"names tell; by default {usual}",
    )


def settings_of(options: argparse.Namespace) -> list[str]:
    """Return the settings ``key=value`` that were given, that of ``--speakers`` with them."""
    return [*options.settings, *([f"speakers={options.speakers}"] if options.speakers else [])]


def add_reject(options: argparse._ActionsContainer) -> None:
    """Add ``--reject``, which leaves out words that were probably not spoken, and ``--no-reject``."""
    options.add_argument(
        "--reject",
        action=argparse.BooleanOptionalAction,
        help="leave out words that were probably not spoken (the default where the model has a list of "
        "commands)",
    )


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--reject`` and ``--keywords``, of which one may be given."""
    what = parser.add_mutually_exclusive_group()
    add_reject(what)
    what.add_argument(
        "--keywords", action="store_true", help="find the words chosen by asr keywords, and nothing else"
    )
