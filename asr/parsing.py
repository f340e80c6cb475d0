"""The parser of a command line of verbs: help in groups, options anywhere, mistakes in one line."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn, TypeAlias

from foundation.errors import did_you_mean

BAD_USAGE = 2
Groups: TypeAlias = Mapping[str, Sequence[str]]  # verbs by what they are for


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
        print(said, file=sys.stderr)
        sys.exit(BAD_USAGE)

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
            self.error(f'unknown option "{named}"{did_you_mean(_near(named, known))}')
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
        return did_you_mean(_near(match[2], [str(c) for each in choices if each for c in each]))


Verbs: TypeAlias = "argparse._SubParsersAction[VerbParser]"  # where verbs are added


class Entry(NamedTuple):
    """A verb of a command line.

    Attributes
    ----------
    add : adds its parser, with what it takes
    example : a command line that people may begin from
    """

    add: Callable[[Verbs], None]
    example: str


class CommandLine:
    """All verbs.

    Parameters
    ----------
    description : what the program does
    groups : the verbs in groups, in the order of the help
    examples : a command line for each verb
    """

    def __init__(self, description: str, groups: Groups, examples: Mapping[str, str]) -> None:
        self.groups = groups
        self.examples = examples
        self.description = description
        self.parser = VerbParser(prog="asr", usage="asr VERB …", formatter_class=_Help)
        self._verbs = self.parser.add_subparsers(
            dest="verb", prog="asr", help=argparse.SUPPRESS, parser_class=VerbParser
        )

    @property
    def verbs(self) -> Verbs:
        """Where verbs are added: ``verbs.add_parser(name, help=…)``."""
        return self._verbs

    @property
    def parsers(self) -> dict[str, VerbParser]:
        """The parser of each verb, in the order of the help; those in no group come last."""
        known = [verb for group in self.groups.values() for verb in group]
        found = dict(self._verbs.choices)
        return {verb: found[verb] for verb in dict.fromkeys([*known, *found]) if verb in found}

    @property
    def purposes(self) -> dict[str, str]:
        """What each verb does, in a line."""
        return {action.dest: action.help or "" for action in self._verbs._choices_actions}

    @property
    def grouped(self) -> dict[str, list[str]]:
        """The verbs by what they are for."""
        listed = {verb for group in self.groups.values() for verb in group}
        others = [verb for verb in self.parsers if verb not in listed]
        groups = {name: [v for v in verbs if v in self.parsers] for name, verbs in self.groups.items()}
        return {**groups, **({"others": others} if others else {})}

    def finish(self) -> None:
        """Write the help, once all verbs have been added."""
        purposes = self.purposes
        for verb, parser in self.parsers.items():
            parser.verb, parser.example, parser.formatter_class = verb, self.examples.get(verb, ""), _Help
            purpose = purposes[verb][:1].upper() + purposes[verb][1:] + "."
            parser.description = parser.description or purpose
            parser.epilog = f"example:\n\n  {parser.example}" if parser.example else None
        width = max(map(len, purposes))
        lines = []
        for group, verbs in self.grouped.items():
            lines += [f"  {group}", *(f"    {verb:{width}}  {purposes[verb]}" for verb in verbs), ""]
        table = "\n".join(lines).rstrip()
        self.parser.description = (
            f"{self.description}\n\n{table}\n\nasr VERB --help says more, with an example."
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the verb and its options; exits for help, the version and what cannot be understood."""
        verb, *rest = arguments or [""]
        if verb in self.parsers:
            return self.parsers[verb].parse(rest)
        if verb in ("-h", "--help", "--version"):
            return self.parser.parse_args([verb])
        return self.parser.error(self._missing(verb))

    def _missing(self, word: str) -> str:
        """Return what is wrong with a first word that is no verb."""
        if not word:
            return "a verb is missing, expected asr VERB …"
        if word.startswith("-"):
            return f'"{word}" stands before the verb, expected asr VERB … {word}'
        hint = did_you_mean(_near(word, list(self.parsers)))
        return f'no verb "{word}"{hint}; expected one of: {", ".join(self.parsers)}'


def _near(name: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name, known, n=1)


def _place(action: argparse.Action) -> str:
    """Return how a positional argument is called in the help."""
    return str(action.metavar or action.dest)
