from pathlib import Path
from typing import Any

import pytest

import asr
from asr.errors import ConfigError
from asr.serving.limits import Limits


def test_what_is_wrong_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="--port: 70000, expected 0 to 65535"):
        asr.serve(port=70000)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file, expected a folder"):
        asr.serve(folder=tmp_path / "file")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(ConfigError, match="is a link to nothing, expected a folder"):
        asr.serve(folder=tmp_path / "link")
    monkeypatch.setattr("asr.serving.serve.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs fastapi, uvicorn, websockets.*\[serve\]"):
        asr.serve()


def test_an_experiment_has_the_name_of_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    class Fake:
        lacking = list

        @staticmethod
        def run(experiment: Path, **options: Any) -> None:
            given.append((experiment, options))

    monkeypatch.setattr("asr.serving.serve.import_module", lambda name: Fake)
    asr.serve(folder="a/lamp")
    asr.serve("exp/x", model="gmm", port=0, limits=Limits(streams=3))
    assert [experiment for experiment, _ in given] == [Path("exp/lamp"), Path("exp/x")]
    assert (given[1][1]["model"], given[1][1]["port"], given[1][1]["limits"].streams) == ("gmm", 0, 3)
    assert given[0][1]["folder"] == Path("a/lamp")
    assert given[0][1]["host"] == "127.0.0.1"
