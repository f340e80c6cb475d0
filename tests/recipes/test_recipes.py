"""Every built-in recipe is short, loads, and brings a configuration its models can be trained with."""

import pytest

import recipes
from asr.recipe import BUILT_IN_PACKAGE, built_in_recipes, built_in_script, load_recipe
from asr.systems import GmmSystem, find_system

MAX_LINES = 300


def test_names() -> None:
    assert set(built_in_recipes()) >= {"an4", "demo", "folder", "fsdd"}
    assert recipes.__name__ == BUILT_IN_PACKAGE


@pytest.mark.parametrize("name", built_in_recipes())
class TestRecipe:
    def test_is_one_readable_script(self, name: str) -> None:
        lines = load_recipe(name).source.splitlines()
        assert len(lines) <= MAX_LINES
        assert lines[0].startswith('"""')

    def test_models_fit_the_configuration(self, name: str) -> None:
        recipe = load_recipe(name).recipe
        assert recipe.models
        for model in recipe.models:
            system = find_system(model)
            projection = recipe.config.hybrid.input_projection
            if isinstance(system, GmmSystem):
                assert system.n_components in recipe.config.gmm.mixtures
                projection = system.projection
            recipe.config.front_end.front_end(projection).check()

    def test_by_path_as_by_name(self, name: str) -> None:
        path = built_in_script(name)
        assert load_recipe(str(path)).source == load_recipe(name).source
        assert load_recipe(str(path)).name == name
