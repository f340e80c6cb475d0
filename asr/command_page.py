"""The page of all verbs, made from the parser: ``python -m asr.command_page > docs/commands.md``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from asr.cli import WITHOUT_JSON, command_line
from asr.parsing import VerbParser

_HEAD = """# Commands

`asr VERB …`. Options may stand before, between and behind the other arguments. Results go to standard output,
everything else to standard error. This page is made by `python -m asr.command_page`.

| exit code | meaning |
|---|---|
| 0 | done |
| 2 | bad input or a wrong command line, said in one line `asr: …` |
| 2, with results | `validate` or `doctor` found errors; points of `sweep` or single recordings failed |
| 130, 143, 129 | ended by the interrupt key, SIGTERM, SIGHUP; the same command goes on where it was |

`--quiet` leaves errors alone on standard error: no warnings and no progress (an experiment's `log.txt` has
them). At terminals a few words are coloured that say the same without: never with `NO_COLOR`, in files and
pipes, too, with `FORCE_COLOR`.

With `--json` standard output holds one JSON text and nothing else; exit codes and errors are the same. Names
of times end in `_s`, accuracies are in percent, an `interval` is [low, high] (95 %), a number that is not
finite is null. `decode --json` is `decode --format json`. Keys may be added; the changelog says if one goes.

`asr completion bash > ~/.local/share/bash-completion/completions/asr` lets new shells complete verbs,
options, their values and the keys of `--set`.
"""

_WORD = "`word`, `start_s`, `end_s`, `confidence` (null if unknown)"
_ROW = (
    "`model`, `preset`, `split`, `grammar`, `word_accuracy`, `interval`, `words`, `substitutions`, "
    "`deletions`, `insertions`, `sentence_accuracy`, `utterances`, `incomplete`"
)
# For each verb the keys of the record it prints, or of each record in the list it prints, and what they hold.
SHAPES: Mapping[str, Mapping[str, str]] = {
    "demo": {
        "results": "as of train",
        "synthetic": "true: the speech is synthetic",
        "new": "the new recording: `spoken`, and the keys of decode but for `recording`",
    },
    "plan": {
        "recipe": "its name",
        "preset": "its name",
        "amounts": "by split `n_utterances`, `n_speakers`, `hours`, `n_words`, `n_different`",
        "lexicon": "number of its words",
        "missing_words": "words of train and dev that it lacks",
        "phones": "number of phones",
        "monophone_states": "number of their states",
        "grammars": "names of those that are tuned for and tested",
        "workers": "threads that training takes by itself",
        "models": "of each model asked for its costs, in seconds, bytes and numbers of states and pairs",
        "others": "the same of the last hybrid with other numbers of centres",
        "together_s": "CPU seconds of all models, whose common stages are made once",
        "unit_costs": "what was measured",
    },
    "train": {
        "results": f"a row for each model, split and grammar: {_ROW}",
        "synthetic": "whether the recordings are not of people",
    },
    "sweep": {
        "rows": "a row for each point, model and grammar, as in `EXP/sweep.json`",
        "against": "name of the point that the others are compared with",
        "synthetic": "whether the recordings are not of people",
        "place": "path of `sweep.json`",
    },
    "report": {"path": "the page that was made"},
    "decode": {
        "recording": "path",
        "text": "the words",
        "words": f"of each word {_WORD}",
        "log_score": "of the best path",
        "complete": "whether it is a whole sentence of the grammar",
        "no_speech": "why nothing is spoken in it; empty if something is",
        "alternatives": "with --nbest: the next best, with the keys `text`, `words`, `log_score`, `complete`",
    },
    "keywords": {
        "model": "its name",
        "words": "the keywords",
        "filler_cost": "what fillers cost in the search for them",
        "rejection": "`threshold` of the log odds, `weights` of the evidence, `offset`, `of_words`",
        "spoken": "how often they are in the transcripts",
        "hours": "duration of all recordings",
        "threshold": "the one chosen",
        "detected": "how many of them are found with it",
        "detection": "in percent",
        "detection_interval": "of it",
        "false_alarms": "how many other words are found",
        "false_alarms_per_hour": "their rate",
        "false_alarms_interval": "of it",
        "curve": "the last seven of other thresholds, the strictest first",
    },
    "align": {
        "utterance": "its id",
        "duration_s": "end of the last frame",
        "words": f"of each word {_WORD}",
        "phones": "of each phone `phone`, `start_s`, `end_s`",
    },
    "score": {
        "word_accuracy": "in percent",
        "interval": "by the bootstrap over utterances",
        "words": "words of the reference",
        "substitutions": "wrong words",
        "deletions": "missing words",
        "insertions": "words too many",
        "sentence_accuracy": "utterances without an error, in percent",
        "utterances": "number of utterances",
        "missing": "ids without hypothesis, counted as deleted",
        "speakers": "with --utt2spk: by speaker the counts, `utterances` and `correct_utterances`",
        "confusions": "of each kind of error `reference`, `hypothesis` (null: none), `count`",
    },
    "score --against": {
        "a": "the first hypothesis, as above",
        "b": "the second",
        "comparison": "`difference` of b over a, its `interval` and `p_value` (paired bootstrap), "
        "`accuracy_a`, `accuracy_b`, `n_better_a`, `n_better_b`, `n_equal` utterances, "
        "`sign_test_p_value`, `missing_a`, `missing_b`",
    },
    "evaluate": {
        "(keys of score)": "",
        "incomplete": "ids of what ended without a whole sentence",
        "failed": "of what could not be decoded, and is in no count, `utterance`, `words` (how many its "
        "transcript has) and `error`",
    },
    "export": {
        "path": "what was written",
        "n_utterances": "how many utterances it holds",
        "failed": "the errors of those that it does not hold",
    },
    "import": {"path": "the experiment directory that was made"},
    "validate": {
        "corpus": "its path",
        "errors": "number of errors",
        "warnings": "number of warnings",
        "problems": "of each `where`, `what`, `severity` (error, warning, note)",
    },
    "validate --suspicious": {
        "n_utterances": "how many were looked at",
        "suspicious": "the worst first: `utterance_id`, `text`, `probability`, `reasons`, `is_far_off`",
    },
    "validate --show-text": {"changed": "of each `utterance`, `written`, `read`"},
    "lexicon": {"words": "of each `word`, `pronunciations` (lists of phones), `guessed`"},
    "lm": {
        "ngrams": "number of n-grams of each length",
        "text": "`sentences`, `words`, `unknown` (words and how often)",
        "test": "the same with `perplexity` and `perplexity_with_unknown`; null without --test",
    },
    "info": {
        "experiment": "path",
        "model": "name",
        "recipe": "name; null of models of earlier versions, as the next three",
        "preset": "name",
        "trained_on": "splits",
        "data": "by split `hours`, `n_speakers`, `n_words`, `n_different` words, `n_utterances`",
        "training_minutes": "minutes of frames that have a state",
        "suspicious": "number of utterances that look wrong",
        "words": "words of the lexicon",
        "phones": "number of phones",
        "units": "number of units: phones, or phones in context",
        "states": "number of states",
        "bytes": "size of the model's files",
        "adapts_to_speakers": "whether frames are adapted",
        "sample_rate": "of the recordings it expects, in Hz",
        "front_end": "configuration of the features",
        "text": "how transcripts are read",
        "grammars": "names",
        "grammar": "name of the one in use",
        "decoder": "configuration of the decoder",
        "results": "as of train, of this model",
        "synthetic": "as of train",
        "tested_cpu_s_per_s": "CPU seconds for a second of the test set",
        "measured": "with --measure: `recording`, `duration_s`, `wall_s`, `cpu_s`",
        "kind": "kind of the emission model; more keys describe it, such as `pairs` and `centers`",
    },
    "sparsity": {
        "model": "name",
        "rows": "of each `n_centers`, `distinct_centers`, `grammar`, `word_accuracy`, `interval`",
    },
    "clean": {
        "found": "of each `path`, `n_bytes`, `why`",
        "foreign": "paths that are left alone",
        "removed": "whether what was found has been removed",
        "n_bytes": "sum of what was found",
    },
    "serve": {"address": "of the page", "ready": "whether there is a model already"},
    "listen": {
        "type": "partial: these words may still change; final: a finished sentence",
        "text": "the words",
        "words": f"of each word {_WORD}",
        "heard_s": "seconds of sound so far",
    },
    "doctor": {
        "errors": "number of errors",
        "warnings": "number of warnings",
        "findings": "of each `severity` (ok, warning, error), `what`, `cure` (null: nothing to do)",
    },
}
LISTS = ("decode", "align")  # these print a list of such records
_EACH = {
    **dict.fromkeys(LISTS, "a list, of each element"),
    "listen": "as it listens a line for each change, an object",
}


def command_page() -> str:
    """Return the page: each verb with its arguments, an example and the JSON that it prints."""
    line = command_line()
    parts = [_HEAD]
    for group, verbs in line.grouped.items():
        parts.append(f"## {group.capitalize()}\n")
        parts += [_section(line.parsers[verb]) for verb in verbs]
    return "\n".join(parts)


def _section(parser: VerbParser) -> str:
    rows = [_row(action) for action in parser.actions if action.dest not in _COMMON]
    lines = [
        f"### asr {parser.verb}\n",
        f"{parser.description}\n",
        f"```bash\n{parser.example}\n```\n",
        "| argument | what it is |",
        "|---|---|",
        *rows,
        "",
    ]
    if parser.verb not in WITHOUT_JSON:
        lines += [*_shapes(parser.verb), ""]
    return "\n".join(lines)


_COMMON = ("help", "json", "quiet", "verbose")


def _row(action: argparse.Action) -> str:
    """Return the row of an argument."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices:
        value = " or ".join(map(str, action.choices))
    if not action.option_strings:
        name = value if not action.choices else action.dest
        shown = f"`{name}{' …' if action.nargs == '+' else ''}`"
        what = f"{value}; {action.help}" if action.choices else action.help
    else:
        shown = (
            f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else ' ' + _short(action, value)}`"
        )
        choices = f": {', '.join(map(str, action.choices))}" if action.choices else ""
        what = f"{action.help}{choices}{' (required)' if action.required else ''}"
    return f"| {shown} | {str(what).replace('|', chr(92) + '|')} |"


def _short(action: argparse.Action, value: str) -> str:
    return action.dest.upper() if action.choices else value + (" …" if action.nargs == "+" else "")


def _shapes(verb: str) -> list[str]:
    """Return the JSON of a verb, and of those of its options that have one of their own."""
    lines = []
    for name, keys in SHAPES.items():
        if name.partition(" ")[0] == verb:
            option = f" with `{name.partition(' ')[2]}`" if " " in name else ""
            each = _EACH.get(verb, "an object")
            lines += [f"`--json`{option} prints {each}:\n", *_keys(keys), ""]
    return lines[:-1]


def _keys(keys: Mapping[str, str]) -> list[str]:
    return [f"- `{key}`: {what}" if what else f"- {key.strip('()')}" for key, what in keys.items()]


if __name__ == "__main__":
    print(command_page(), end="")
