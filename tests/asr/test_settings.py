"""Options as ``key=value``: what they mean, the nearest name of a misspelled one, whose models they are."""

import re
from collections.abc import Callable

import pytest

from acoustic.emissions.kinds import BUILT_IN
from acoustic.ways import PRESETS, WAYS
from asr.config import (
    HOMES,
    ExperimentConfig,
    FrontEndOptions,
    check_settings,
    home_of,
    known_keys,
    section_of,
    with_preset,
    with_settings,
)
from asr.errors import ConfigError
from asr.systems import HybridSystem, find_system
from features.mfcc import MfccConfig
from foundation.errors import AsrError


class TestSettings:
    @pytest.mark.parametrize(
        ("setting", "read", "expected"),
        [
            ("front_end.n_channels=40", lambda c: c.front_end.n_channels, 40),
            ("n_channels=40", lambda c: c.front_end.n_channels, 40),
            (" gmm.beam = 300 ", lambda c: c.gmm.beam, 300.0),
            ("gmm.mixtures=1, 2,4,", lambda c: c.gmm.mixtures, (1, 2, 4)),
            ("high_hz=none", lambda c: c.front_end.high_hz, None),
            ("high_hz=4000", lambda c: c.front_end.high_hz, 4000.0),
            ("normalize=global", lambda c: c.front_end.normalize, "global"),
            ("retrain_with_dev=No", lambda c: c.retrain_with_dev, False),
            ("hybrid.calibration.curve=gaussian", lambda c: c.hybrid.calibration.curve, "gaussian"),
            ("grammars=bigram,loop", lambda c: c.grammars, ("bigram", "loop")),
            ("decoder.beam=inf", lambda c: c.decoder.beam, float("inf")),
        ],
    )
    def test_read(self, setting: str, read: Callable[[ExperimentConfig], object], expected: object) -> None:
        assert read(with_settings(ExperimentConfig(), [setting])) == expected

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("gmm.beam", r'no "=", expected key=value'),
            ("gmm.bean=3", r"unknown option; did you mean gmm\.beam"),
            ("sampel_rate=8000", r"unknown option; did you mean front_end\.sample_rate\?"),
            ("gmm=3", r"--set gmm: unknown option"),
            ("xyzzy=3", r"unknown option; expected one of: front_end\.sample_rate, "),
            ("nosuch=1", r"unknown option; expected one of: front_end\.sample_rate, "),
            ("nus=1", r"unknown option; did you mean krls\.nu\?"),
            ("beam=3", r"ambiguous, expected one of: gmm\.beam, decoder\.beam; write it in full"),
            ("n_channels=4.5", r'"4\.5" does not fit, expected a whole number'),
            ("gmm.mixtures=1,x", r"expected a whole number, … separated by commas"),
            ("normalize=foo", r"expected one of: none, utterance, speaker, global"),
            ("pools.loss=hinge", r"expected one of: squared, squared-hinge"),
            ("retrain_with_dev=perhaps", r"expected true or false"),
            ("high_hz=x", r"expected a number or none"),
            ("grammars=loop,four-gram", r"expected one of: loop, unigram"),
            ("grammars=", r"grammars: expected one or more of loop, .*got none"),
            ("gmm.mixtures=2,1", r"mixtures: expected rising numbers, got \(2, 1\)"),
            ("gmm.mixtures=", r"mixtures: expected one number or more"),
            ("gmm.mixtures=0,1", r"mixtures: expected .*from 1 on"),
            ("gmm.iterations=-1", r"iterations: expected one number or more, from 1 on, got \(-1,\)"),
            ("gmm.variance_floor=0", r"variance_floor: expected more than 0"),
            ("gmm.beam=nan", r"beam: expected more than 0, got nan"),
            ("context=-1", r"context: expected at least 0, got -1"),
            ("n_components=0", r"n_components: expected at least 1, got 0"),
            ("tuning.lm_scales=", r"lm_scales: expected one finite number or more"),
            ("tuning.lm_scales=-1", r"lm_scales: expected numbers from 0 on"),
            ("tuning.word_penalties=nan", r"word_penalties: expected one finite number"),
            ("n_centers=9", r"ambiguous, expected one of: pools\.n_centers, forward\.n_centers"),
            ("hybrid.n_centers=9", r"unknown option; did you mean pools\.n_centers or forward\.n_centers\?"),
            ("pools.ridge=0", r"ridge is 0\.0, expected a finite number above 0"),
            ("svm.cost=-1", r"cost is -1\.0, expected a finite number above 0"),
            ("decoder.beam=-1", r"beam: expected at least 0"),
            ("n_channels=0", r"n_channels: expected at least 1, got 0"),
            ("sample_rate=-8000", r"sample_rate: expected 4000 to 768000 Hz"),
            ("sample_rate=0", r"^sample_rate: expected 4000 to 768000 Hz, got 0; change it$"),
            ("window_ms=nan", r"window_ms: expected a finite number, got nan"),
            ("high_hz=9000", r"high_hz: expected .*at most 8000"),
        ],
    )
    def test_refused(self, setting: str, message: str) -> None:
        with pytest.raises(AsrError, match=message):
            with_settings(ExperimentConfig(), [setting])

    def test_what_only_fits_together_may_come_in_any_order(self) -> None:
        narrow = ExperimentConfig(FrontEndOptions(high_hz=7600.0))
        config = with_settings(narrow, ["sample_rate=8000", "high_hz=3800"])
        assert config == with_settings(narrow, ["high_hz=3800", "sample_rate=8000"])
        assert config.front_end.front_end().mfcc == MfccConfig(sample_rate=8000, high_hz=3800.0)

    def test_the_last_of_two_counts(self) -> None:
        assert with_settings(ExperimentConfig(), ["gmm.beam=1", "gmm.beam=2"]).gmm.beam == 2

    def test_what_is_set_is_not_chosen(self) -> None:
        thesis = with_preset(ExperimentConfig(), "thesis")
        config = with_settings(thesis, ["hybrid.sigma=7", "svm.cost=2"])
        assert (config.hybrid.sigma, config.svm.cost) == (7.0, 2.0)
        assert set(thesis.chosen_on_dev) - set(config.chosen_on_dev) == {"hybrid.sigma", "svm.cost"}
        again = with_settings(config, ["chosen_on_dev=hybrid.sigma"])
        assert again.chosen_on_dev == ("hybrid.sigma",)
        with pytest.raises(
            ConfigError, match=r'"hybrid.seed" does not fit .*, expected one of: hybrid\.sigma, '
        ):
            with_settings(config, ["chosen_on_dev=hybrid.seed"])

    def test_every_key_is_known_by_its_full_name(self) -> None:
        config = ExperimentConfig()
        for key in known_keys(config):
            value = config
            for name in key.split("."):
                value = getattr(value, name)
            plain = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert with_settings(config, [f"{key}={plain}"]) == config


class TestHomes:
    """An option that changes none of the models is an error that says where it belongs."""

    @pytest.mark.parametrize(
        ("setting", "models", "preset"),
        [
            ("pools.ridge=1e-4", ["npd"], "best"),
            ("pools.ridge=1e-4", ["svm", "npd"], "best"),
            ("pools.n_centers=9", ["orols"], "best"),
            ("pools.n_centers=9", ["pools"], "thesis"),
            ("forward.n_centers=9", ["orols"], "thesis"),
            ("svm.cost=1", ["svm"], "thesis"),
            ("nu=0.1", ["krls"], "best"),
            ("gmm.beam=300", ["svm"], "best"),
            ("tying.max_states=90", ["sklearn:naive_bayes.GaussianNB"], "best"),
            ("hybrid.sigma=3", ["krls"], "best"),
            ("context=4", ["gmm-lda"], "thesis"),
            ("word_penalties=0", ["gmm"], "best"),
        ],
    )
    def test_at_home(self, setting: str, models: list[str], preset: str) -> None:
        config = with_settings(with_preset(ExperimentConfig(), preset), [setting])
        check_settings([setting], {name: find_system(name, preset) for name in models}, config)
        assert config != with_preset(ExperimentConfig(), preset)

    @pytest.mark.parametrize(
        ("setting", "models", "preset", "message"),
        [
            (
                "pools.ridge=1e-4",
                ["npd"],
                "thesis",
                "ridge: belongs to pools; got npd",
            ),
            ("pools.loss=squared", ["gmm", "svm"], "best", "belongs to pools; got gmm, svm"),
            ("epsilon=1", ["npd"], "best", "forward.epsilon: belongs to npd and orols of the preset thesis"),
            ("svm.cost=1", ["npd"], "best", "svm.cost: belongs to svm; got npd"),
            ("krls.nu=1", ["gmm"], "best", "krls.nu: belongs to krls; got gmm"),
            ("tying.max_states=9", ["npd"], "thesis", "belongs to hybrids with hybrid.units=context or"),
            ("hybrid.seed=9", ["gmm8"], "best", "belongs to hybrids: pools, npd, orols, svm, krls"),
            ("coupling=wu-lin-weng", ["krls"], "best", "hybrid.coupling: belongs to pools, npd, orols and"),
            (
                "sigma=2",
                ["sklearn:naive_bayes.GaussianNB"],
                "best",
                "belongs to pools, npd, orols, svm and krls",
            ),
            (
                "curve=gaussian",
                ["gmm"],
                "best",
                "hybrid.calibration.curve: belongs to pools, npd, orols, svm",
            ),
            ("context=4", ["gmm", "npd"], "thesis", "belongs to gmm-lda, and hybrids with hybrid.input_proj"),
        ],
    )
    def test_not_at_home(self, setting: str, models: list[str], preset: str, message: str) -> None:
        config = with_settings(with_preset(ExperimentConfig(), preset), [setting])
        systems = {name: find_system(name, preset) for name in models}
        with pytest.raises(ConfigError, match=re.escape(message)):
            check_settings([setting], systems, config)

    def test_every_home_is_that_of_an_option(self) -> None:
        keys = known_keys(ExperimentConfig())
        for name in HOMES:
            assert any(key == name or key.startswith(f"{name}.") for key in keys), name

    @pytest.mark.parametrize(
        ("key", "models"),
        [
            ("hybrid.seed", "hybrids: pools, npd, orols, svm, krls, sklearn:module.Class and plugins"),
            ("hybrid.calibration.curve", "pools, npd, orols, svm and krls"),  # the longest name counts
            ("svm.cost", "svm"),
        ],
    )
    def test_the_home_of_the_longest_name(self, key: str, models: str) -> None:
        home = home_of(key)
        assert home is not None
        assert home.models == models

    @pytest.mark.parametrize(
        ("model", "preset", "section"),
        [
            ("npd", "best", "pools"),
            ("orols", "best", "pools"),
            ("pools", "thesis", "pools"),
            ("npd", "thesis", "forward"),
            ("orols", "thesis", "forward"),
            ("svm", "best", "svm"),
            ("krls", "best", "krls"),
            ("gmm", "best", ""),
            ("sklearn:naive_bayes.GaussianNB", "best", ""),
        ],
    )
    def test_the_section_of_a_way_of_training(self, model: str, preset: str, section: str) -> None:
        assert section_of(find_system(model, preset)) == section

    @pytest.mark.parametrize("way", WAYS)
    def test_a_way_of_training_names_a_section_options_and_a_kind_that_there_are(self, way: str) -> None:
        row, config = WAYS[way], ExperimentConfig()
        assert config.of_way(way) == getattr(config, row.section)
        assert {f"{row.section}.{name}" for name in row.values} <= known_keys(config).keys()
        assert row.kind in BUILT_IN
        assert HybridSystem(way) in {find_system(way, preset) for preset in PRESETS}

    def test_what_all_models_use_has_no_home(self) -> None:
        sections = {key.partition(".")[0] for key in known_keys(ExperimentConfig()) if home_of(key) is None}
        assert sections == {
            "front_end",
            "gmm",
            "decoder",
            "tuning",
            "without_lexicon",
            "speakers",
            "grammars",
            "retrain_with_dev",
            "text",
            "unusable",
            "word_usage",
        }
