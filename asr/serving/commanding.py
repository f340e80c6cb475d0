"""How commands are learned from a few takes: enough of each, units of their own, what suits little data.

Each word has units of its own in place of letters or phones: with five takes of ten digits by one speaker
that is right for 92 to 99.5 words of 100 where letters are for 89 to 98 (``docs/howto/live.md``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from asr.experiment import CONFIG
from asr.files import check_outside, read_json, write_text
from asr.serving.refusals import CONFLICT, Refusal
from asr.serving.takes import Take, counts, plain_words
from decoder.lexicon import Lexicon
from foundation.errors import AsrError

LEXICON = "lexicon.txt"
LEAST_TAKES, LEAST_PROMPTS, LEAST_IN_ALL = 3, 2, 10
FEWEST_UNITS, MOST_UNITS = 3, 12
OWN_UNIT = "~"  # between a word and the number of its unit, so that no letter is taken for one


def units_of(word: str) -> tuple[str, ...]:
    """Return a word's own units, as many as it has letters, within bounds.

    >>> units_of("on")
    ('on~1', 'on~2', 'on~3')
    """
    n_units = min(max(len(word), FEWEST_UNITS), MOST_UNITS)
    return tuple(f"{word}{OWN_UNIT}{n}" for n in range(1, n_units + 1))


def write_lexicon(folder: Path, prompts: Sequence[str]) -> None:
    """Write the lexicon of the prompts' words, unless the folder has one that was not made here."""
    path = folder / LEXICON
    if os.path.lexists(path) and not is_made_here(path):
        return
    words = {word for prompt in prompts for word in plain_words(prompt)}
    write_text(path, _lexicon_of(words).format())


def is_made_here(path: Path) -> bool:
    """Return whether a lexicon is one that `write_lexicon` wrote and nobody has changed since.

    A unit with the mark of ours in it says nothing: SAMPA writes nasal vowels ``o~``.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return text == _lexicon_of(Lexicon.read(path).words).format()
    except (OSError, UnicodeDecodeError, AsrError):  # the training says what is wrong with it
        return False


def _lexicon_of(words: Iterable[str]) -> Lexicon:
    return Lexicon({word: [units_of(word)] for word in sorted(words)})


def lacking(takes: Sequence[Take], prompts: Sequence[str]) -> list[str]:
    """Return what must still be recorded before anything can be trained."""
    found = counts(takes, prompts)
    few = [f"{prompt}: {n} of {LEAST_TAKES} takes" for prompt, n in found.items() if n < LEAST_TAKES]
    if len(found) < LEAST_PROMPTS:
        few.append(f"{len(found)} prompt(s), expected at least {LEAST_PROMPTS}")
    if len(takes) < LEAST_IN_ALL:
        few.append(f"{len(takes)} takes in all, expected at least {LEAST_IN_ALL}")
    return few


def check_place(experiment: Path, folder: Path) -> None:
    """Refuse to train over an experiment that was made from something else."""
    check_outside(experiment, folder)
    if not (experiment / CONFIG).is_file():
        return
    record = read_json(experiment / CONFIG)
    corpus = record.get("corpus") if isinstance(record, dict) else None
    if corpus is None or Path(corpus).resolve() != folder.resolve():
        raise Refusal(
            f'the experiment "{experiment.name}" was trained from other recordings, expected an empty '
            "one, or one of these takes; start asr serve with another EXP",
            CONFLICT,
        )


def command_line(experiment: Path, folder: Path) -> list[str]:
    """Return the arguments of ``asr`` that train on the takes."""
    out = str(experiment.absolute())
    return ["train", "folder", "--corpus", str(folder.absolute()), "--out", out, "--model", "npd", "-v"]
