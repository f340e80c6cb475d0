"""Grids of settings: what is one value and what are several, what points are called, how one is named."""

import pytest

from asr.commands.sweeps import Point, find_point, grid
from asr.config import ExperimentConfig, known_keys, short_key, with_settings
from asr.errors import ConfigError


def texts(*settings: str) -> list[str]:
    return [str(point) for point in grid(settings)]


class TestValues:
    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("gmm.beam=300,400", ["300", "400"]),
            ("gmm.beam = 300 , 400", ["300", "400"]),
            ("gmm.beam=300;400", ["300", "400"]),
            ("retrain_with_dev=true,false", ["true", "false"]),
            ("high_hz=none,4000", ["none", "4000"]),
            ("gmm.mixtures=1,2;1,2,4", ["1,2", "1,2,4"]),
            ("gmm.mixtures=1, 2; 1, 2, 4,", ["1,2", "1,2,4"]),
            ("grammars=loop;bigram", ["loop", "bigram"]),
        ],
    )
    def test_of_an_option_that_varies(self, setting: str, expected: list[str]) -> None:
        points = grid([setting])
        assert [value for point in points for value in point.values.values()] == expected
        assert all(point.common == () for point in points)

    @pytest.mark.parametrize(
        "setting", ["mixtures=1,2,4", "grammars=loop,bigram", "word_penalties=0,-20", "text=en"]
    )
    def test_one_value_is_common_to_all(self, setting: str) -> None:
        points = grid([setting, "gmm.beam=1,2"])
        assert [(point.values, point.common) for point in points] == [
            ({"gmm.beam": "1"}, (setting,)),
            ({"gmm.beam": "2"}, (setting,)),
        ]

    def test_settings_of_a_point_make_its_configuration(self) -> None:
        (*_, last) = grid(["mixtures=1,2;1,4", "n_channels=20,30", "gmm.iterations=3,2"])
        config = with_settings(ExperimentConfig(), last.settings)
        assert (config.gmm.mixtures, config.front_end.n_channels, config.gmm.iterations) == (
            (1, 4),
            30,
            (3, 2),
        )

    def test_the_first_option_changes_last(self) -> None:
        assert texts("gmm.beam=1,2", "text=en,de,fr")[:4] == [
            "gmm.beam=1 text=en",
            "gmm.beam=1 text=de",
            "gmm.beam=1 text=fr",
            "gmm.beam=2 text=en",
        ]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (["gmm.beam="], r'--set "gmm\.beam=": a value is empty, expected gmm\.beam=VALUE,VALUE'),
            (["gmm.beam=1,,2"], "a value is empty"),
            (["gmm.beam=1,2,"], "a value is empty"),
            (["mixtures=1,2;"], "a value is empty"),
            (["gmm.beam=1,2,1"], "1 is there twice"),
            (["mixtures=1,2;1, 2"], "1,2 is there twice"),
            (["gmm.beam=1,2", "gmm.beam=3,4"], r"--set gmm\.beam: given twice, expected once"),
            (["mixtures=1;2", "gmm.mixtures=4"], "--set mixtures: given twice"),
            (["gmm.bean=1,2"], r"unknown option; did you mean gmm\.beam"),
            (["gmm.beam"], 'no "=", expected key=value'),
            (["beam=1,2"], r"ambiguous, expected one of: gmm\.beam, decoder\.beam"),
            (
                ["gmm.beam=1"],
                r"no option has several values, expected one, such as .* asr train runs a single",
            ),
            (["mixtures=1,2"], 'mixtures=1,2 is one list, .* by semicolons: "mixtures=1,2;…"'),
        ],
    )
    def test_refused(self, settings: list[str], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            grid(settings)


class TestNames:
    def test_of_directories(self) -> None:
        assert [point.name for point in grid(["mixtures=1,2;1", "gmm.beam=1e+3"])] == [
            "mixtures=1,2",
            "mixtures=1",
        ]
        assert grid(["gmm.beam=1,2", "n_channels=3,4"])[1].name == "gmm.beam=1+n_channels=4"

    def test_are_safe_and_different_whatever_the_values(self) -> None:
        values = ["../../x", "a/b", "a b", "a:b", "x" * 300, "x" * 301]
        names = [Point({"text": value}, ()).name for value in values]
        assert len(set(names)) == len(values)
        assert all(len(name) < 130 and not set(name) & set('/\\: *?"<>|') for name in names)

    def test_short_names_are_those_of_one_option(self) -> None:
        keys = known_keys(ExperimentConfig())
        short = [short_key(key) for key in keys]
        assert len(set(short)) == len(keys)
        assert {"mixtures", "gmm.beam", "decoder.beam", "text"} <= set(short)


class TestFindPoint:
    POINTS = grid(["gmm.beam=1,2", "mixtures=1,2;1"])

    @pytest.mark.parametrize(
        "wanted", ["gmm.beam=2 mixtures=1", "mixtures=1  gmm.beam=2", "gmm.beam=2 gmm.mixtures=1"]
    )
    def test_by_its_settings(self, wanted: str) -> None:
        assert find_point(self.POINTS, wanted) is self.POINTS[3]

    def test_by_those_that_decide(self) -> None:
        points = grid(["gmm.beam=1,2", "n_channels=3"])
        assert find_point(points, "gmm.beam=2") is find_point(points, "n_channels=3 gmm.beam=2") is points[1]

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            (
                "gmm.beam=2",
                'several points are like that, .* "gmm.beam=2 mixtures=1,2"; "gmm.beam=2 mixtures=1"; name',
            ),
            ("gmm.beam=3 mixtures=1", 'no point is like that, expected one of: "gmm.beam=1 mixtures=1,2"; '),
            ("n_channels=3", "no point is like that"),
            ("", "several points are like that"),
            ("gmm.bean=2", r"did you mean gmm\.beam"),
            ("second", 'no "="'),
        ],
    )
    def test_refused(self, wanted: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            find_point(self.POINTS, wanted)
