"""The command line: ``asr VERB …``. Results go to standard output, everything else to standard error.

Exit codes: 0 done, 2 bad input (one line says which; `validate` found errors; a point of `sweep`, a check of
`doctor` or one recording of several failed), 130, 143, 129 ended by the interrupt key, SIGTERM, SIGHUP.

`asr.commands` says how to add a verb.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence

from asr.commands import begin, data, live, models, other_tools, recordings
from asr.commands.parsing import CommandLine, Verb
from foundation.endings import exit_code_of, hold_standard_streams, stopped_at_once, stopped_by_exception
from foundation.errors import AsrError
from foundation.version import one_version, package_version

# The verbs by what they are for, in the order of the help.
GROUPS: Mapping[str, Mapping[str, Verb]] = {
    "begin": begin.VERBS,
    "data": data.VERBS,
    "models": models.VERBS,
    "recordings": recordings.VERBS,
    "live": live.VERBS,
    "other tools": other_tools.VERBS,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    hold_standard_streams()
    for stream in (sys.stdout, sys.stderr):  # what is printed is the same in every locale, on every system
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    with stopped_at_once():
        return exit_code_of(lambda: _parsed_and_run(sys.argv[1:] if arguments is None else arguments))


def command_line() -> CommandLine:
    """Return the parser of all verbs."""
    said = "Speech recognition and forced alignment from small transcribed corpora."
    return CommandLine(said, GROUPS, version=f"asr {package_version()}")


def _parsed_and_run(arguments: Sequence[str]) -> int:
    line = command_line()
    try:
        options = line.parse(arguments)
    except SystemExit:  # help is printed, or what is wrong with the arguments
        sys.stdout.flush()
        raise
    return _run(line.verbs[options.verb], options)


def _run(verb: Verb, options: argparse.Namespace) -> int:
    """Run a verb; only now is imported what it needs, for help shall not wait for it."""
    try:
        from asr.progress import terminal_messages

        with (
            one_version(),
            stopped_by_exception(),
            terminal_messages(verbose=options.verbose, quiet=options.quiet),
        ):
            code = verb.run(options)
            sys.stdout.flush()
            return code
    except ImportError as error:
        raise AsrError(
            f"{error}; expected all packages to be installed; asr doctor says what is wrong"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
