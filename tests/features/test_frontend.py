"""The front end: normalisation by recording, speaker or corpus; projection; refused configurations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features.errors import FeatureError
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig, mfcc
from features.normalization import Standardizer
from features.projection import LinearProjection
from features.recording import Recording


def recordings(*lengths: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(3.0 * i, 1.0 + i, (n, 39)).astype(np.float32) for i, n in enumerate(lengths)]


class TestCepstra:
    def test_as_mfcc(self) -> None:
        samples = np.random.default_rng(1).normal(0, 0.1, 8000).astype(np.float32)
        config = FrontEndConfig(MfccConfig(sample_rate=8000))
        front_end = FrontEnd(config)
        assert_array_equal(front_end.cepstra(samples), mfcc(samples, config.mfcc))
        assert front_end.frame_shift_s == 0.01


class TestNormalize:
    def test_each_recording(self) -> None:
        for options in ({"normalize": "utterance"}, {"normalize": "speaker"}):  # the speaker is not known
            frames = FrontEnd(FrontEndConfig(**options)).transform(recordings(50, 80))  # type: ignore[arg-type]
            for one in frames:
                assert one.dtype == np.float32
                assert_allclose(one.mean(axis=0), 0, rtol=0, atol=1e-5)
                assert_allclose(one.std(axis=0), 1, rtol=1e-5, atol=0)

    def test_each_speaker(self) -> None:
        cepstra = recordings(50, 80, 60)
        frames = FrontEnd(FrontEndConfig()).transform(cepstra, ["a", "b", "a"])
        of_a = np.concatenate([frames[0], frames[2]])
        assert_allclose(of_a.mean(axis=0), 0, rtol=0, atol=1e-5)
        assert abs(frames[0].mean()) > 0.1
        assert_allclose(frames[1].mean(axis=0), 0, rtol=0, atol=1e-5)

    def test_mean_alone(self) -> None:
        (frames,) = FrontEnd(FrontEndConfig(normalize_variance=False)).transform(recordings(0, 90)[1:])
        assert_allclose(frames.mean(axis=0), 0, rtol=0, atol=1e-4)
        assert frames.std() > 1.5

    def test_corpus(self) -> None:
        config, cepstra = FrontEndConfig(normalize="global"), recordings(50, 80)
        front_end = FrontEnd(config, Standardizer().fit(cepstra))
        frames = np.concatenate(front_end.transform(cepstra, ["a", "b"]))
        assert_allclose(frames.mean(axis=0), 0, rtol=0, atol=1e-5)
        assert_allclose(frames.std(axis=0), 1, rtol=1e-5, atol=0)
        with pytest.raises(FeatureError, match="global normalisation needs training statistics"):
            FrontEnd(config).transform(cepstra)

    def test_none(self) -> None:
        cepstra = recordings(50)
        assert_array_equal(FrontEnd(FrontEndConfig(normalize="none")).transform(cepstra)[0], cepstra[0])

    def test_nothing(self) -> None:
        assert FrontEnd(FrontEndConfig()).transform([]) == []


class TestProjection:
    def test_of_static_cepstra_in_context(self) -> None:
        config = FrontEndConfig(normalize="none", projection="lda", context=1, n_components=13)
        middle = np.zeros((39, 13), np.float32)
        middle[13:26] = np.eye(13, dtype=np.float32)  # takes the frame itself out of its window
        front_end = FrontEnd(config, projection=LinearProjection(middle, np.ones(13, np.float32), 1))
        (cepstra,) = recordings(20)
        assert_allclose(front_end.transform([cepstra])[0], cepstra[:, :13] + 1, rtol=1e-6, atol=1e-6)

    def test_cepstra_kept_behind_the_projection(self) -> None:
        matrix = np.random.default_rng(3).normal(size=(39, 4)).astype(np.float32)
        projection = LinearProjection(matrix, np.zeros(4, np.float32), 1)
        config = FrontEndConfig(projection="lda", context=1, n_components=4)
        own = recordings(40, 60)
        alone = FrontEnd(config, projection=projection).transform(own)
        plain = FrontEnd(replace(config, projection="none")).transform(own)
        both = FrontEnd(replace(config, keep_cepstra=True), projection=projection).transform(own)
        for a, b, c in zip(alone, plain, both, strict=True):
            assert_allclose(c, np.column_stack([a, b]), rtol=1e-6, atol=1e-6)


class TestBlocks:
    @pytest.mark.parametrize("projected", [False, True])
    def test_a_recording_in_blocks_has_the_frames_of_the_whole(self, projected: bool) -> None:
        rng = np.random.default_rng(0)
        samples = rng.normal(0, 0.1, 16000 * 3).astype(np.float32)
        options: dict[str, Any] = {"projection": "lda", "context": 2, "n_components": 5} if projected else {}
        projection = LinearProjection(rng.normal(size=(65, 5)).astype(np.float32), np.zeros(5, np.float32), 2)
        front_end = FrontEnd(FrontEndConfig(**options), projection=projection if projected else None)
        recording = Recording.of(samples, front_end.config.mfcc)
        (whole,) = front_end.transform([front_end.cepstra(samples)])
        (one,) = front_end.frame_blocks(recording, len(recording))
        assert_array_equal(one, whole)
        blocks = front_end.frame_blocks(recording, 70)
        assert sum(map(len, blocks)) == len(whole)
        assert {len(block) for block in blocks[:-1]} == {70}
        assert_allclose(np.concatenate(list(blocks)), whole, rtol=0, atol=1e-4)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"normalize": "speakers"}, r'normalize is "speakers" .*, expected one of: none, utterance'),
            ({"projection": "pca"}, r'projection is "pca", expected one of: none, lda'),
            ({"context": -1}, r"context: expected at least 0, got -1"),
            ({"n_components": 0}, r"n_components: expected at least 1, got 0"),
        ],
    )
    def test_at_construction(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(FeatureError, match=message):
            FrontEndConfig(**options)

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            (FrontEndConfig(projection="lda", context=1), "n_components: expected at most 39 .*, got 60"),
            (FrontEndConfig(MfccConfig(n_channels=0)), "n_channels: expected at least 1"),
        ],
    )
    def test_before_the_first_recording(self, config: FrontEndConfig, message: str) -> None:
        with pytest.raises(FeatureError, match=message):
            FrontEnd(config)

    def test_silence_about_what_is_not_used(self) -> None:
        # No window of two columns has the 60 of n_components, but there is no projection.
        front_end = FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=2, energy=False), context=0))
        frames = np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32)
        (found,) = front_end.transform([frames])
        assert_allclose(found, (frames - frames.mean(axis=0)) / frames.std(axis=0), rtol=1e-4, atol=1e-5)
