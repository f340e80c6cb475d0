"""Recipes: how one raw corpus becomes data directories, and the configuration that suits it.

Those that come with the package are found by what their scripts say, without importing them. Another package
adds its own under the entry point group ``asr.recipes``: the name of the entry point is the name for ``asr
train``, its object a `Recipe`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from acoustic.ways import meant, note_on
from asr.errors import ConfigError, ExperimentError
from asr.files import check_outside
from foundation.errors import suggestion
from foundation.version import code_of

if TYPE_CHECKING:  # the command line reads the names of recipes, and should not wait for the models
    from acoustic.emissions.aligned_frames import HybridConfig
    from asr.config import ExperimentConfig

BUILT_IN_PACKAGE = "recipes"
GROUP = "asr.recipes"


def _defaults() -> ExperimentConfig:
    from asr.config import ExperimentConfig

    return ExperimentConfig()


def _hybrid_of_thesis() -> HybridConfig:
    from acoustic.emissions.aligned_frames import THESIS

    return THESIS


@dataclass(frozen=True)
class Recipe:
    """What a recipe script defines under the name ``RECIPE``.

    Attributes
    ----------
    prepare : ``prepare(corpus_dir, output_dir)`` writes ``train``, ``dev`` and ``test`` data directories,
        ``lexicon.txt`` and, if the task has them, ``commands.txt``, ``word_pairs.txt``, ``*.arpa``,
        ``*.jsgf`` or ``*.slf``; if it takes ``speakers``, it is given the option of that name, for
        `read_parts`
    config : what differs from the defaults
    thesis : the hybrid of the preset ``thesis``
    models : names of the models that are trained if none are asked for
    needs_corpus : False if the recipe makes its own recordings
    is_synthetic : True if these are not recordings of people; results say so
    """

    prepare: Callable[..., None]
    config: ExperimentConfig = field(default_factory=_defaults)
    thesis: HybridConfig = field(default_factory=_hybrid_of_thesis)
    models: tuple[str, ...] = ("gmm", "pools")
    needs_corpus: bool = True
    is_synthetic: bool = False

    @property
    def asks_for_speakers(self) -> bool:
        """Whether ``prepare`` takes an argument that says who speaks; other recipes know it."""
        return "speakers" in inspect.signature(self.prepare).parameters


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe with its name and the text it was read from (of an installed one: which code it is).

    ``script`` is the path of a script that is not among the package's own or installed ones.
    """

    name: str
    recipe: Recipe
    source: str
    script: Path | None = None


def built_in_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package, sorted."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in names if _defines_recipe(built_in_script(name))))


def installed_recipes() -> dict[str, EntryPoint]:
    """Return the recipes that other packages add, by name, those of the package's own names left out."""
    own = built_in_recipes()
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return {entry.name: entry for entry in found if entry.name not in own}


def built_in_script(name: str) -> Path:
    """Return the path of ``recipes/NAME.py``."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    return Path(str(package.__path__[0])) / f"{name}.py"


def _defines_recipe(script: Path) -> bool:
    """Return whether a script has a line ``RECIPE = …``, without importing it."""
    return script.is_file() and any(
        line.startswith("RECIPE") for line in script.read_text(encoding="utf-8").splitlines()
    )


def load_recipe(name_or_path: str) -> LoadedRecipe:
    """Return the recipe with this name, built in or a plugin's, or that of the script at this path."""
    if name_or_path in built_in_recipes():
        name, path = name_or_path, built_in_script(name_or_path)
        module = importlib.import_module(f"{BUILT_IN_PACKAGE}.{name}")
    elif Path(name_or_path).suffix == ".py":
        path = Path(name_or_path)
        name, module = path.stem, _import_script(path)
    elif name_or_path in (installed := installed_recipes()):
        return _load_installed(installed[name_or_path])
    else:
        known = (*built_in_recipes(), *installed)
        hint = suggestion(name_or_path, [*_folders_beside(name_or_path), *known])
        raise ExperimentError(
            f'no folder or recipe "{name_or_path}"{hint}; expected a folder of recordings, one of '
            f"{', '.join(known)}, or the path of a .py file"
        )
    recipe = getattr(module, "RECIPE", None)
    if not isinstance(recipe, Recipe):
        raise ExperimentError(
            f"{name_or_path}: no recipe in it; expected RECIPE = asr.Recipe(prepare=…); add one"
        )
    script = None if name_or_path in built_in_recipes() else path.absolute()
    return LoadedRecipe(name, recipe, path.read_text(encoding="utf-8"), script)


def _folders_beside(path: str) -> list[str]:
    """Return the directories beside one that is not there, as it is written."""
    head, _ = os.path.split(path.rstrip("/" + os.sep))
    with suppress(OSError, ValueError):
        found = (entry.name for entry in os.scandir(head or ".") if entry.is_dir())
        return [os.path.join(head, name) for name in sorted(found) if not name.startswith(".")]
    return []


def recipe_and_corpus(recipe: str, corpus: str | Path | None) -> tuple[str, Path | None]:
    """Return the recipe and the corpus that are meant: a corpus in the recipe's place is one of ``folder``.

    Where a recipe and a directory have the same name, the recipe is meant, and a line says so.
    """
    place = Path(recipe)
    if is_known_recipe(recipe):
        if corpus is None and place.is_dir():
            _say_which_is_meant(recipe)
    elif recipe and place.suffix != ".py" and place.exists():
        if corpus is not None:
            raise ConfigError(
                f"{recipe}: a corpus in the place of the recipe, and --corpus {corpus}, expected one; leave "
                "one out, or name the recipe that reads it"
            )
        if (place / "config.json").is_file() and (place / "stages").is_dir():
            raise ConfigError(
                f"{recipe}: an experiment, expected a recipe or a folder of recordings; to train more models "
                f"into it give its corpus and --out {recipe}"
            )
        return "folder", place
    return recipe, None if corpus is None else Path(corpus)


@cache
def _say_which_is_meant(recipe: str) -> None:
    from asr.progress import say  # not for the names of recipes

    say(f"{recipe}: the recipe of this name is meant, not the directory; write ./{recipe} for that")


def is_known_recipe(name: object) -> bool:
    """Return whether this is the name of a recipe of the package or of an installed one, and no path."""
    return name in (*built_in_recipes(), *installed_recipes())


def _load_installed(entry: EntryPoint) -> LoadedRecipe:
    """Return the recipe that another package adds."""
    try:
        recipe = entry.load()
    except Exception as error:
        raise ExperimentError(
            f"recipe {entry.name}: {entry.value} fails on import ({type(error).__name__}: {error}); "
            "install its package again, or ask its author"
        ) from error
    if not isinstance(recipe, Recipe):
        raise ExperimentError(
            f"recipe {entry.name}: {entry.value} ({GROUP}) is a {type(recipe).__name__}, expected an "
            "asr.Recipe; ask its author"
        )
    return LoadedRecipe(entry.name, recipe, code_of(entry.module))


def _import_script(path: Path) -> ModuleType:
    if not path.is_file():
        raise ExperimentError(f"{path}: no such file; expected a recipe script; check the path")
    spec = spec_from_file_location(f"asr_recipe_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ExperimentError(f"{path}: cannot be imported; expected a Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise ExperimentError(
            f"{path}: fails on import ({type(error).__name__}: {error}); correct the script"
        ) from error
    return module


def models_of(loaded: LoadedRecipe, models: str | Sequence[str], preset: str) -> tuple[str, ...]:
    """Return the names of the models that are asked for, the recipe's own if none are.

    A name that means another model in the preset is replaced by that one's, and a line says so.
    """
    from asr.progress import say  # not for the names of recipes

    asked = dict.fromkeys(([models] if isinstance(models, str) else models) or loaded.recipe.models)
    for note in filter(None, (note_on(name, preset) for name in asked)):
        say(note)
    return tuple(dict.fromkeys(meant(name, preset) for name in asked))


def check_corpus(loaded: LoadedRecipe, corpus: str | Path | None, out: str | Path | None) -> None:
    """Raise an error if a recipe's corpus is not there, or the experiment directory lies in it."""
    if loaded.recipe.needs_corpus and corpus is None:
        raise ConfigError(f'recipe "{loaded.name}" needs a corpus; expected --corpus DIR')
    if corpus is None:
        return
    if not Path(corpus).exists():
        raise ConfigError(f"{corpus}: no such directory; expected the corpus; check --corpus")
    if out is not None:
        check_outside(out, corpus)
