from pathlib import Path

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.serving.refusals import Refusal
from asr.serving.served import Served


def test_there_is_a_model_once_it_is_loaded(trained: Path) -> None:
    served = Served(trained)
    assert not served.is_ready
    with pytest.raises(Refusal, match="there is no model yet") as refused:
        _ = served.recognizer
    assert refused.value.status == 409
    served.load()
    assert (served.recognizer.name, served.recognizer.decoder.config.confidence) == ("gmm2", True)


def test_words_are_rejected_and_keywords_spotted_if_wanted(trained: Path) -> None:
    served = Served(trained, reject=True)
    served.load()
    assert served.recognizer.rejection is not None
    with pytest.raises(ExperimentError, match="no keywords are chosen"):
        Served(trained, keywords=True).load()
    with pytest.raises(ConfigError, match="both reject and keywords"):
        Served(trained, reject=True, keywords=True).load()


def test_what_cannot_be_loaded_says_so_and_leaves_the_model_before_it(trained: Path, tmp_path: Path) -> None:
    served = Served(trained)
    served.load()
    before = served.recognizer
    served.experiment = tmp_path
    with pytest.raises(ExperimentError, match="no trained model in it"):
        served.load()
    assert served.recognizer is before
