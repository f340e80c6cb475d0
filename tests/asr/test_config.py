"""Configurations: what is out of range is said at once."""

import json
from collections.abc import Callable
from dataclasses import asdict

import pytest

from acoustic.hmm.training import GmmConfig
from asr.config import ExperimentConfig, FrontEndOptions, TuningConfig, with_settings
from asr.errors import ConfigError
from asr.files import as_plain
from decoder.decoder import DecoderConfig
from features.frontend import FrontEndConfig
from foundation.errors import AsrError


class TestFrontEnd:
    def test_what_only_a_projection_uses_changes_no_other(self) -> None:
        wide, narrow = FrontEndOptions(context=9, n_components=30), FrontEndOptions()
        assert wide.front_end() == narrow.front_end() == FrontEndConfig()
        assert wide.front_end("lda") == FrontEndConfig(projection="lda", context=9, n_components=30)


class TestConstruction:
    @pytest.mark.parametrize(
        ("build", "message"),
        [
            (lambda: TuningConfig(lm_scales=()), "lm_scales"),
            (lambda: ExperimentConfig(grammars=()), "grammars"),
            (lambda: ExperimentConfig(grammars=("lop",)), "grammars: .*got lop"),  # type: ignore[arg-type]
            (lambda: ExperimentConfig(unusable="ignore"), 'unusable: .* got "ignore"'),
            (lambda: ExperimentConfig(unusable="1.5"), 'unusable: .* got "1.5"'),
            (lambda: ExperimentConfig(text="plian"), 'text: expected plain, exact .* got "plian"'),
            (lambda: GmmConfig(beam=0.0), "beam"),
            (lambda: DecoderConfig(n_best=0), "n_best"),
            (lambda: FrontEndConfig(normalize="x"), "normalize"),  # type: ignore[arg-type]
        ],
    )
    def test_names_the_field(self, build: Callable[[], object], message: str) -> None:
        with pytest.raises(AsrError, match=message):
            build()

    def test_defaults_are_json(self) -> None:
        assert json.loads(json.dumps(as_plain(ExperimentConfig())))["gmm"] == as_plain(asdict(GmmConfig()))

    def test_errors_are_one_line(self) -> None:
        with pytest.raises(ConfigError, match=r"\A[^\n]*lm_scales: [^\n]*\Z"):
            with_settings(ExperimentConfig(), ["tuning.lm_scales="])


@pytest.mark.parametrize(("unusable", "share"), [("stop", 0.0), ("skip", 1.0), ("0.25", 0.25), ("0", 0.0)])
def test_share_that_may_be_unusable(unusable: str, share: float) -> None:
    assert ExperimentConfig(unusable=unusable).most_unusable == share
