import logging

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from whole_word import WholeWordRecognizer

from acoustic import ModelError, TrainingError
from features import MfccConfig, mfcc, normalize, read_audio

N_FEATURES = 3


def drawn_words(n_each, seed=0, n_words=4):
    """Return recordings of words that differ in the course of three steps, and the words."""
    rng = np.random.default_rng(0)
    steps = rng.normal(0.0, 2.0, (n_words, 3, N_FEATURES))
    rng = np.random.default_rng(seed)
    utterances, words = [], []
    for word in range(n_words):
        for _ in range(n_each):
            path = np.repeat(np.arange(3), rng.integers(3, 9, 3))
            utterances.append(steps[word, path] + rng.normal(size=(len(path), N_FEATURES)))
            words.append(f"w{word}")
    return utterances, words


@pytest.mark.parametrize("n_components", [1, 2])
def test_recognises_drawn_words(n_components):
    recognizer = WholeWordRecognizer(n_states=3, n_components=n_components, n_iterations=5)
    assert recognizer.fit(*drawn_words(20)) is recognizer
    assert recognizer.words_ == ("w0", "w1", "w2", "w3")
    utterances, words = drawn_words(10, seed=1)
    n_right = sum(h == w for h, w in zip(recognizer.predict(utterances), words, strict=True))
    assert n_right >= 0.95 * len(words)


@pytest.mark.parametrize("n_components", [1, 2])
def test_models_stay_left_to_right_and_above_the_floor(n_components):
    utterances, words = drawn_words(6)
    recognizer = WholeWordRecognizer(4, n_components, variance_floor=0.2).fit(utterances, words)
    floor = 0.2 * np.concatenate(utterances).var(axis=0)
    for model in recognizer.models_:
        off = ~(np.eye(4, dtype=bool) | np.eye(4, k=1, dtype=bool))
        assert_array_equal(model.transmat_[off], 0.0)
        assert_array_equal(model.startprob_, [1, 0, 0, 0])
        variances = model.covars_ if n_components > 1 else np.diagonal(model.covars_, axis1=1, axis2=2)
        assert (variances >= floor * (1 - 1e-12)).all()


def test_em_makes_the_training_data_likelier():
    utterances, words = drawn_words(10)
    totals = []
    for n_iterations in (1, 2, 4, 8):
        recognizer = WholeWordRecognizer(4, n_iterations=n_iterations).fit(utterances, words)
        own = [recognizer.words_.index(word) for word in words]
        totals.append(recognizer.log_likelihoods(utterances)[np.arange(len(words)), own].sum())
    assert (np.diff(totals) > 0).all()


@pytest.mark.parametrize("n_components", [1, 2])
def test_same_seed_same_model_and_nothing_is_said(n_components, caplog):
    utterances, words = drawn_words(5)
    fitted = [
        WholeWordRecognizer(3, n_components, 3, seed=7).fit(utterances, words).log_likelihoods(utterances)
        for _ in range(2)
    ]
    assert_array_equal(*fitted)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_constant_feature():
    utterances, words = drawn_words(5)
    for x in utterances:
        x[:, 0] = 1.0
    recognizer = WholeWordRecognizer(3).fit(utterances, words)
    assert np.isfinite(recognizer.log_likelihoods(utterances)).all()


def test_no_recordings_no_words():
    assert WholeWordRecognizer(3).fit(*drawn_words(3)).predict([]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, w: (x, w[:-1]), "expected one word for each recording, got 12 recordings and 11 words"),
        (lambda x, w: ([], []), "expected one word for each recording, got 0"),
        (lambda x, w: ([x[0][:2], *x[1:]], w), r'recording 0 \("w0"\): expected 3 frames or more, got 2'),
        (lambda x, w: ([*x[:-1], x[-1][:, :2]], w), r"recording 11 .*expected finite frames"),
        (lambda x, w: ([*x[:-1], x[-1] * np.nan], w), r"recording 11 .*expected finite frames"),
        (lambda x, w: ([*x[:-1], x[-1][:, 0]], w), r"recording 11 .*expected finite frames"),
    ],
)
def test_faulty_training_data(change, message):
    with pytest.raises(TrainingError, match=message):
        WholeWordRecognizer(3).fit(*change(*drawn_words(3)))


@pytest.mark.parametrize(
    "options", [{"n_states": 0}, {"n_components": 0}, {"n_iterations": 0}, {"variance_floor": 0.0}]
)
def test_faulty_parameters(options):
    (name,) = options
    with pytest.raises(TrainingError, match=f"{name}: expected"):
        WholeWordRecognizer(**options).fit(*drawn_words(3))


def test_faulty_test_data():
    recognizer = WholeWordRecognizer(3)
    utterances, words = drawn_words(3)
    with pytest.raises(ModelError, match="call fit first"):
        recognizer.predict(utterances)
    recognizer.fit(utterances, words)
    for bad in (utterances[0][:0], utterances[0][:, :2], utterances[0] * np.nan):
        with pytest.raises(ModelError, match=r"recording 1: expected finite frames \(T, 3\)"):
            recognizer.predict([utterances[0], bad])


@pytest.mark.slow
def test_spoken_digits(shared):
    config = MfccConfig(sample_rate=8000)
    parts = {"train": ([], []), "test": ([], [])}
    for path in sorted((shared / "data" / "fsdd" / "recordings").glob("*.wav")):
        digit, _, index = path.stem.split("_")
        frames, digits = parts["test" if int(index) < 5 else "train"]
        frames.append(normalize(mfcc(read_audio(path, 8000), config), variance=False))
        digits.append(digit)
    frames, digits = parts["test"]
    assert (len(parts["train"][0]), len(frames)) == (2700, 300)
    recognizer = WholeWordRecognizer(8).fit(*parts["train"])
    n_right = sum(h == d for h, d in zip(recognizer.predict(frames), digits, strict=True))
    assert n_right / len(digits) >= 0.93  # measured: 94.67 %
