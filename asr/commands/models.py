"""The verbs that make models and look into them, from ``plan`` to ``clean``."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from acoustic.ways import PRESETS
from asr.commands.parsing import Verb, add_experiment, add_model, add_speakers, settings_of
from asr.commands.printing import print_result
from asr.files import as_plain, read_json
from asr.recipe import built_in_recipes, installed_recipes
from asr.systems import SPARSITY_SIZES, SYSTEMS
from foundation.errors import names_arguments

if TYPE_CHECKING:
    from asr.reports.finished import ModelSize
    from asr.scoring.results import Result

_CENTRED = ("pools", "forward")  # sections of ways whose number of centres can be chosen
_ROW = (
    "`model`, `preset`, `split`, `grammar`, `word_accuracy`, `interval`, `words`, `substitutions`, "
    "`deletions`, `insertions`, `sentence_accuracy`, `utterances`, `incomplete`"
)


def _takes_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", help="as of train: its name, or a folder of recordings")
    parser.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    parser.add_argument("--out", type=Path, help="experiment directory, to keep the prepared task for train")
    parser.add_argument("--model", action="append", default=[], help="as of train; may be repeated")
    parser.add_argument("--preset", choices=PRESETS, default="best", help="as of train")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="as of train"
    )
    add_speakers(parser)
    parser.add_argument("--workers", type=int, metavar="N", help="threads to tell of, beside 1, 2 and 4")


def _run_plan(options: argparse.Namespace) -> int:
    from asr.planning.plan import plan
    from asr.planning.table import plan_json, plan_table

    found = plan(
        options.recipe,
        corpus=options.corpus,
        out=options.out,
        models=options.model,
        preset=options.preset,
        settings=settings_of(options),
        workers=options.workers,
    )
    print_result(options, lambda: plan_json(found), lambda: plan_table(found))
    return 0


def _takes_train(parser: argparse.ArgumentParser) -> None:
    _add_training_options(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="change an option; may be repeated",
    )
    add_speakers(parser)


def _add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add what ``train`` and ``sweep`` have in common."""
    known = (*built_in_recipes(), *installed_recipes())
    parser.add_argument(
        "recipe",
        help=f"one of {', '.join(known)}, or the path of a recipe script; or a folder of recordings, which "
        "means folder --corpus of it",
    )
    parser.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    parser.add_argument(
        "--out", type=Path, help="experiment directory; exp/NAME by default, of the recordings or the recipe"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        help=f"one of {', '.join(SYSTEMS)}; may be repeated. npd and orols are the thesis's with --preset "
        "thesis, otherwise other names of pools. Also a plugin's name, gmmN with N Gaussians a state, or "
        "sklearn:module.Class, a classifier with predict_proba that a model file may hold (not SVC, trees or "
        "nearest neighbours; docs/plugins.md lists them)",
    )
    parser.add_argument(
        "--preset", choices=PRESETS, default="best", help="best (default), or as in the thesis"
    )
    _add_engine_options(parser)


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add where the work is done; the results do not depend on it."""
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument("--workers", type=int, metavar="N", help="threads of this machine (one a core)")
    engine.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute")
    engine.add_argument("--cluster", type=Path, metavar="FILE", help="TOML that describes a cluster to start")


@names_arguments
def train(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    out: str | Path | None = None,
    models: str | Sequence[str] = (),
    preset: str = "best",
    settings: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Return the results of a recipe: prepare, train, tune on dev, evaluate on test, or resume an earlier
    run.

    ``with asr.running_on(scheduler=…):`` around it lets a cluster compute.

    Parameters
    ----------
    recipe : name of a built-in recipe, path of a script, or a folder of recordings, read by ``folder``
    corpus : raw corpus; not for recipes that make their own
    out : experiment directory; ``exp/NAME`` by default, of the recordings or the recipe
    models : name or names of models; the recipe's own by default
    preset : ``best``, or ``thesis`` (see `asr.config.with_preset`)
    settings : options ``key=value`` (see `asr.config.ExperimentConfig`)

    Returns
    -------
    The rows of ``OUT/results.json``
    """
    from asr.experiment import default_out, experiment_of
    from asr.recipe import load_recipe, models_of, recipe_and_corpus

    recipe, corpus = recipe_and_corpus(recipe, corpus)
    place = default_out(recipe, corpus) if out is None else Path(out)
    loaded = load_recipe(recipe)
    names = models_of(loaded, models, preset)
    return experiment_of(loaded, corpus, place, names, preset, settings).run(names)


def _run_train(options: argparse.Namespace) -> int:
    from asr.scoring.results import RESULTS

    recipe, corpus, out = _asked(options)
    with _engine(options):
        results = train(
            recipe,
            corpus=corpus,
            out=out,
            models=options.model,
            preset=options.preset,
            settings=settings_of(options),
        )
    print_result(
        options,
        lambda: {**read_json(out / RESULTS), "models": model_sizes(out)},
        lambda: results_table(results, out),
    )
    return 0


def _asked(options: argparse.Namespace) -> tuple[str, Path | None, Path]:
    """Return the recipe, the corpus and the experiment directory that the options mean."""
    from asr.experiment import default_out
    from asr.recipe import recipe_and_corpus

    recipe, corpus = recipe_and_corpus(options.recipe, options.corpus)
    return recipe, corpus, default_out(recipe, corpus) if options.out is None else options.out


def _engine(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context in which is computed where the options say."""
    from asr.engines.clusters import running_on

    return running_on(options.workers, options.scheduler, options.cluster)


def model_sizes(directory: Path) -> list[ModelSize]:
    """Return what the models of an experiment cost; nothing where their stages are gone."""
    from asr.errors import ExperimentError
    from asr.reports.finished import Finished

    try:
        return list(Finished.read(directory).sizes.values())
    except ExperimentError:
        return []


def format_sizes(sizes: Sequence[ModelSize], results: Sequence[Result], directory: Path) -> str:
    """Return the word accuracy of each model beside what it costs, as a table in plain text."""
    from acoustic.ways import WAYS
    from asr.scoring.results import columns

    known = [size for size in sizes if size.megabytes is not None]
    if not known:
        return ""
    split = "test" if any(row.split == "test" for row in results) else "dev"
    last = {row.model: row for row in results if row.split == split}  # with the last grammar, the default
    head = ["model", f"{split} acc %", "centres", "MB", "training CPU s", "decoding CPU s per s"]
    rows = [
        [
            size.model,
            f"{last[size.model].word_accuracy:.2f}" if size.model in last else "–",
            "–" if size.n_centers is None else f"{size.n_centers:,}",
            f"{size.megabytes:.1f}",
            "–" if size.training_cpu_s is None else f"{size.training_cpu_s:,.0f}",
            "–" if size.decoding_cpu_s_per_s is None else f"{size.decoding_cpu_s_per_s:.3f}",
        ]
        for size in known
    ]
    grammars = ", ".join(dict.fromkeys(row.grammar for row in last.values()))
    notes = [f"accuracy with {grammars}; centres of an SVM are its support vectors, of a GMM its Gaussians"]
    sparse = [size.model for size in known if size.model in WAYS and WAYS[size.model].section in _CENTRED]
    if sparse:
        place = shlex.quote(str(directory))
        notes.append(f"accuracy with fewer centres: asr sparsity {place} --model {sparse[0]}")
    return "\n".join([*columns([head, *rows], "<>>>>>"), *notes])


def results_table(results: Sequence[Result], directory: Path) -> str:
    """Return the table of an experiment's results, what its models are, and where the results lie."""
    from asr.formats.model_directories import MODELS, trained_in_words
    from asr.scoring.results import RESULTS, format_results, is_synthetic

    models = {row.model: directory / MODELS / row.model for row in results}
    blocks = [
        format_results(results, synthetic=is_synthetic(directory)),
        format_sizes(model_sizes(directory), results, directory),
        "\n".join(f"{name}: {trained_in_words(place)}" for name, place in models.items() if place.is_dir()),
        str(directory / RESULTS),
    ]
    return "\n\n".join(filter(None, blocks))


def _takes_info(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    add_model(parser)
    parser.add_argument("--measure", type=Path, metavar="WAV", help="also measure how fast it decodes this")


def _run_info(options: argparse.Namespace) -> int:
    from asr.commands.model_info import format_info, info

    found = info(options.experiment, model=options.model, measure=options.measure)
    print_result(options, lambda: found, lambda: format_info(found))
    return 0


def _takes_report(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("--model", help="the model that is looked into; the best on dev by default")
    parser.add_argument("--out", type=Path, metavar="FILE.html", help="the page; EXP/report.html by default")
    parser.add_argument("--split", choices=("test", "dev"), help="test by default, where there is one")
    parser.add_argument(
        "--utterances",
        type=int,
        metavar="N",
        help="show so many, the worst, with pictures and sound (as many as fit into 2 MB)",
    )
    parser.add_argument(
        "--audio",
        choices=("beside", "embed", "none"),
        help="sounds in the page (embed, the default), beside it, or none",
    )


def _run_report(options: argparse.Namespace) -> int:
    from asr.reports.report import report

    page = report(
        options.experiment,
        model=options.model,
        out=options.out,
        split=options.split,
        utterances=options.utterances,
        audio=options.audio,
    )
    if options.json or not options.quiet:
        print_result(options, lambda: {"path": page}, lambda: str(page))
    return 0


def _takes_sweep(parser: argparse.ArgumentParser) -> None:
    _add_training_options(parser)
    parser.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        dest="settings",
        help="values of an option, separated by commas; those of an option that is itself a list by "
        'semicolons: "mixtures=1,2;1,2,4"; one value is common to all points; may be repeated',
    )
    parser.add_argument(
        "--against",
        metavar='"KEY=VALUE …"',
        help="the point that the others are compared with; the first by default",
    )


def _run_sweep(options: argparse.Namespace) -> int:
    from asr.commands.sweeps import format_sweep, sweep

    recipe, corpus, out = _asked(options)
    with _engine(options):
        found = sweep(
            recipe,
            corpus=corpus,
            out=out,
            settings=options.settings,
            models=options.model,
            preset=options.preset,
            against=options.against,
        )
    # A file or a pipe takes lines of any length.
    width = shutil.get_terminal_size(fallback=(sys.maxsize, 24)).columns
    print_result(
        options,
        lambda: found,
        lambda: format_sweep(found.rows, found.against, found.place, width=width, synthetic=found.synthetic),
    )
    return 2 if any(row.error for row in found.rows) else 0


def _takes_sparsity(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument(
        "--model", default="pools", help="pools (default), or npd or orols of the preset thesis"
    )
    parser.add_argument("--recipe", help="the recipe script, if one trained the experiment")
    parser.add_argument(
        "--centers",
        type=int,
        nargs="+",
        default=list(SPARSITY_SIZES),
        help=f"{', '.join(map(str, SPARSITY_SIZES))} by default",
    )


def _run_sparsity(options: argparse.Namespace) -> int:
    from asr.commands.sparsity import format_sparsity, sparsity

    rows = sparsity(options.experiment, model=options.model, sizes=options.centers, recipe=options.recipe)
    print_result(
        options,
        lambda: {"model": options.model, "rows": rows},
        lambda: format_sparsity(rows, options.experiment),
    )
    return 0


def _takes_clean(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("--yes", action="store_true", help="remove it; without this it is only listed")


def _run_clean(options: argparse.Namespace) -> int:
    from asr.commands.leftovers import clean, format_leftovers

    leftovers = clean(options.experiment, yes=options.yes)
    print_result(
        options,
        lambda: {**as_plain(leftovers), "n_bytes": leftovers.n_bytes},
        lambda: format_leftovers(leftovers, options.experiment),
    )
    return 0


VERBS: Mapping[str, Verb] = {
    "plan": Verb(
        "say what a training will cost, in time, memory and disk",
        _takes_plan,
        _run_plan,
        "asr plan folder --corpus my_recordings",
        prints={
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
            "unit_costs": "CPU seconds of a unit of each step's work, as measured",
            "steps": "the list of steps: `name`, `says`, `from`, `done`, `why`, `group`, `units` of work, "
            "what a `unit` is, `cpu_s`",
        },
    ),
    "train": Verb(
        "train, tune and test by a recipe; goes on where it stopped",
        _takes_train,
        _run_train,
        "asr train my_recordings --out exp/mine",
        prints={
            "results": f"a row for each model, split and grammar: {_ROW}",
            "inputs": "stands for the recordings, transcripts and lexicon that all rows are of",
            "synthetic": "whether the recordings are not of people",
            "models": "what each costs: `model`, `n_centers` (support vectors, Gaussians), `megabytes`, "
            "`training_cpu_s`, `decoding_cpu_s_per_s` (of a second of test); null is not known",
        },
    ),
    "info": Verb(
        "say what a model is made of",
        _takes_info,
        _run_info,
        "asr info exp/mine --measure my_recordings/anna/u01.wav",
        prints={
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
            "what": "what was trained, in words",
            "kind": "kind of the emission model; more keys describe it, such as `pairs` and `centers`",
        },
    ),
    "report": Verb(
        "one page that shows what the models hear and where they go wrong",
        _takes_report,
        _run_report,
        "asr report exp/mine",
        prints={"path": "the page that was made"},
    ),
    "sweep": Verb(
        "train every combination of some settings, and compare them",
        _takes_sweep,
        _run_sweep,
        "asr sweep folder --corpus my_recordings --out exp/sweep --set gmm.beam=200,300",
        prints={
            "rows": "a row for each point, model and grammar, as in `EXP/sweep.json`",
            "against": "name of the point that the others are compared with",
            "synthetic": "whether the recordings are not of people",
            "place": "path of `sweep.json`",
        },
        description="Train every combination of some settings, sharing what they have in common, and print "
        "a table that compares them. Goes on where it stopped. Exit code 2 if a point failed; the others "
        "are in the table all the same.",
    ),
    "sparsity": Verb(
        "accuracy on dev against the number of centres",
        _takes_sparsity,
        _run_sparsity,
        "asr sparsity exp/mine --centers 25 50 100",
        prints={
            "model": "name",
            "rows": "of each `n_centers`, `distinct_centers`, `grammar`, `word_accuracy`, `interval`, and "
            "`what` was trained, in words",
        },
    ),
    "clean": Verb(
        "list, or remove, what an experiment's results do not need",
        _takes_clean,
        _run_clean,
        "asr clean exp/mine --yes",
        prints={
            "found": "of each `path`, `n_bytes`, `why`",
            "foreign": "paths that are left alone",
            "removed": "whether what was found has been removed",
            "n_bytes": "sum of what was found",
        },
    ),
}
