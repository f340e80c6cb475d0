"""Scripts that complete ``asr …`` in a shell, made from the parser: verbs, options, their values.

A script is text that holds all it needs, so that a key press starts no Python; after an update of the package
it is to be printed again. To add a shell: a function here and a row of `SCRIPTS`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from asr.commands.parsing import CommandLine

SHELLS = ("bash", "zsh", "fish")


class Option(NamedTuple):
    """An option of a verb.

    Attributes
    ----------
    names : how it may be written
    said : what it is, in a line
    takes_value : whether a value follows it
    values : what the value may be, empty for files and free text
    repeats : whether it may be given again
    """

    names: tuple[str, ...]
    said: str
    takes_value: bool
    values: tuple[str, ...]
    repeats: bool


class CompletedVerb(NamedTuple):
    """A verb with its options; ``first`` holds the values of its first argument, empty for files."""

    name: str
    said: str
    options: tuple[Option, ...]
    first: tuple[str, ...]


def script(shell: str, line: CommandLine, offered: Mapping[str, Sequence[str]]) -> str:
    """Return the script for a shell.

    Parameters
    ----------
    shell : its name
    line : the command line
    offered : for an argument's ``dest`` the values to offer where the parser knows none
    """

    def values(action: argparse.Action) -> tuple[str, ...]:
        return tuple(map(str, action.choices or offered.get(action.dest, ())))

    verbs = []
    for name, parser in line.parsers.items():
        options = tuple(
            Option(
                tuple(action.option_strings),
                (action.help or "").replace("%%", "%"),
                action.nargs != 0,
                values(action) if action.nargs != 0 else (),
                type(action).__name__ == "_AppendAction",
            )
            for action in parser.actions
            if action.option_strings
        )
        places = [action for action in parser.actions if not action.option_strings]
        verbs.append(
            CompletedVerb(name, line.verbs[name].purpose, options, values(places[0]) if places else ())
        )
    return SCRIPTS[shell](verbs)


_BASH = """# Completion of asr in bash, made by: asr completion bash
_asr() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
    local verb="" options="" first="" values=""
    COMPREPLY=()
    # bash takes --option=value for three words
    if [ "$current" = "=" ]; then
        current=""
    elif [ "$previous" = "=" ] && [ "$COMP_CWORD" -gt 2 ]; then
        previous="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    if [ "$COMP_CWORD" -lt 2 ]; then
        COMPREPLY=($(compgen -W "@verbs --help --version" -- "$current"))
        return
    fi
    verb="${COMP_WORDS[1]}"
    case "$verb" in
@options
        *) return ;;
    esac
    case "$verb:$previous" in
@values
    esac
    if [ -n "$values" ]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
        case "${COMPREPLY[0]-}" in *=) compopt -o nospace 2>/dev/null ;; esac
    elif [ "${current#-}" != "$current" ]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [ "$COMP_CWORD" = 2 ] && [ -n "$first" ]; then
        COMPREPLY=($(compgen -W "$first" -- "$current"))
    fi
}
# Where nothing is known, names of files are offered.
complete -o default -o bashdefault -F _asr asr
"""


def _bash(verbs: Sequence[CompletedVerb]) -> str:
    options, values = [], []
    for verb in verbs:
        names = " ".join(name for option in verb.options for name in option.names)
        options.append(f"        {verb.name}) options='{names}' first='{' '.join(verb.first)}' ;;")
        for option in (option for option in verb.options if option.takes_value):
            cases = "|".join(f"{verb.name}:{name}" for name in option.names)
            known = f"values='{' '.join(option.values)}'" if option.values else "return"
            values.append(f"        {cases}) {known} ;;")
    return (
        _BASH.replace("@verbs", " ".join(verb.name for verb in verbs))
        .replace("@options", "\n".join(options))
        .replace("@values", "\n".join(values))
    )


_ZSH = """#compdef asr
# Completion of asr in zsh, made by: asr completion zsh
_asr() {
    local -a verbs
    verbs=(
@verbs
    )
    if (( CURRENT == 2 )); then
        _describe verb verbs
        return
    fi
    local verb="$words[2]"
    shift words
    (( CURRENT-- ))
    case "$verb" in
@cases
    esac
}
if [ "$funcstack[1]" = _asr ]; then _asr "$@"; else compdef _asr asr; fi
"""


def _zsh(verbs: Sequence[CompletedVerb]) -> str:
    named = [f"        '{verb.name}:{_in_zsh(verb.said)}'" for verb in verbs]
    arguments = {verb.name: [*map(_zsh_option, verb.options), _zsh_first(verb)] for verb in verbs}
    cases = [f"        {name}) _arguments -s {' '.join(specs)} ;;" for name, specs in arguments.items()]
    return _ZSH.replace("@verbs", "\n".join(named)).replace("@cases", "\n".join(cases))


def _zsh_option(option: Option) -> str:
    """Return the specification of an option: what it excludes, its names, what it is, its value."""
    value = f":value:{_zsh_values(option.values)}" if option.takes_value else ""
    others = "*" if option.repeats else f"({' '.join(option.names)})"
    joins = "=" if option.takes_value else ""
    names = (f"{name}{joins}" if name.startswith("--") else name for name in option.names)
    return " ".join(f"'{others}{name}[{_in_zsh(option.said)}]{value}'" for name in names)


def _zsh_first(verb: CompletedVerb) -> str:
    return f"'1:first:{_zsh_values(verb.first)}' '*:file:_files'" if verb.first else "'*:file:_files'"


def _zsh_values(values: Sequence[str]) -> str:
    if not values:
        return "_files"
    if values[0].endswith("="):
        return f'{{compadd -S "" -- {" ".join(values)}}}'
    return f"({' '.join(values)})"


def _in_zsh(text: str) -> str:
    """Return a text as it stands in single quotes between brackets."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


_FISH = """# Completion of asr in fish, made by: asr completion fish
function __asr_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end
function __asr_no_verb
    test (count (commandline -opc)) -eq 1
end
complete -c asr -n __asr_no_verb -f
"""


def _fish(verbs: Sequence[CompletedVerb]) -> str:
    lines = [f"complete -c asr -n __asr_no_verb -a {v.name} -d '{_in_fish(v.said)}'" for v in verbs]
    for verb in verbs:
        here = f"complete -c asr -n '__asr_verb {verb.name}'"
        lines += [f"{here} {_fish_option(option)}" for option in verb.options]
        lines += [f"{here} -a '{' '.join(verb.first)}'"] if verb.first else []
    return _FISH + "\n".join([*lines, ""])


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" if option.takes_value else ""
    return f"{names}{value} -d '{_in_fish(option.said)}'"


def _in_fish(text: str) -> str:
    """Return a text as it stands in single quotes."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


SCRIPTS: dict[str, Callable[[Sequence[CompletedVerb]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
