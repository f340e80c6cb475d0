"""The command line: ``asr VERB …``. Results go to standard output, everything else to standard error.

Exit codes: 0 done, 2 bad input (one line says which; `validate` found errors; a point of `sweep`, a check of
`doctor` or one recording of several failed), 130, 143, 129 ended by the interrupt key, SIGTERM, SIGHUP.

To add a verb: a function ``_add_…`` and a row of `VERBS`, with an example, in the module of its group in
`asr.arguments`; its function and a row of `COMMANDS` in the module of that name in `asr.commands`; its JSON
in `asr.command_page`. To add a group: such a module in both, a row of `VERBS` below and of `COMMANDS` in
`asr.commands`.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Mapping, Sequence

from asr.arguments import begin, data, live, models, other_tools, recordings
from asr.endings import exit_code_of, stopped_at_once, stopped_by_exception
from asr.parsing import CommandLine, Entry, VerbParser
from asr.version import package_version
from foundation.errors import AsrError

VERBS: Mapping[str, Mapping[str, Entry]] = {
    "begin": begin.VERBS,
    "data": data.VERBS,
    "models": models.VERBS,
    "recordings": recordings.VERBS,
    "live": live.VERBS,
    "other tools": other_tools.VERBS,
}
GROUPS = {group: tuple(entries) for group, entries in VERBS.items()}
EXAMPLES = {verb: entry.example for entries in VERBS.values() for verb, entry in entries.items()}
WITHOUT_JSON = ("completion",)  # what they print is for programs anyway


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    _speak_utf8()
    with stopped_at_once():
        options = command_line().parse(sys.argv[1:] if arguments is None else arguments)
        return exit_code_of(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    """Run a verb; only now is imported what it needs, for help shall not wait for it."""
    if options.verb == "demo" and not options.quiet:  # imports take seconds
        print("a small corpus is synthesised, two models are trained and tested: minutes", file=sys.stderr)
    command = _command(options.verb)
    from asr.logs import terminal_messages

    with stopped_by_exception(), terminal_messages(verbose=options.verbose, quiet=options.quiet):
        code = command(options)
        sys.stdout.flush()
        return code


def _command(verb: str) -> Callable[[argparse.Namespace], int]:
    """Return what carries out a verb; `doctor` works where other imports fail."""
    from asr.own_commands import OWN_COMMANDS

    if verb in OWN_COMMANDS:
        return lambda options: OWN_COMMANDS[verb](options, command_line())
    try:
        from asr.commands import COMMANDS
    except ImportError as error:
        raise AsrError(
            f"{error}; expected all packages to be installed; asr doctor says what is wrong"
        ) from None
    return COMMANDS[verb]


def _speak_utf8() -> None:
    """Write UTF-8 and plain line feeds whatever the system: what is printed is the same everywhere."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def command_line() -> CommandLine:
    """Return the parser of all verbs."""
    line = CommandLine(
        "Speech recognition and forced alignment from small transcribed corpora.", GROUPS, EXAMPLES
    )
    line.parser.add_argument("--version", action="version", version=f"asr {package_version()}")
    for entries in VERBS.values():
        for entry in entries.values():
            entry.add(line.verbs)
    for verb, parser in line.parsers.items():
        _add_common_options(verb, parser)
    line.finish()
    return line


def _add_common_options(verb: str, command: VerbParser) -> None:
    """Add what every verb has."""
    if verb not in WITHOUT_JSON:
        command.add_argument("--json", action="store_true", help="print the result as JSON, for programs")
    messages = command.add_mutually_exclusive_group()
    messages.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    messages.add_argument("-v", "--verbose", action="store_true", help="say what is being done")


if __name__ == "__main__":
    sys.exit(main())
