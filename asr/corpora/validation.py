"""All problems of a corpus on disk, reported at once before training takes hours.

The order of the problems depends on the corpus alone: structure, utterances by id, words, then the corpus
as a whole; train before dev before test. It depends on no locale, no file system and no number of threads.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from asr.config import ExperimentConfig, FrontEndOptions, Speakers
from asr.corpora.amounts import NEXT, judgement
from asr.corpora.corpus import Corpus, Problem, Utterance, lexicon_of, scan_parts
from asr.corpora.sound_faults import no_speech
from asr.corpora.utterances import are_speakers_known
from asr.corpora.wording import forms_for, total, worded, wording_notes
from asr.progress import progress_bar
from asr.text.forms import EXACT, NOT_WORDS, PLAIN
from asr.text.plain import BETWEEN_WORDS, plain
from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, spelling_fault
from features.audio import audio_info, read_audio
from features.errors import AudioError
from features.samples import why_no_speech_in
from foundation.arrays import Singles
from foundation.errors import did_you_mean, listed
from foundation.threads import default_workers, parallel_map

__all__ = ["Problem", "validate"]

MEND = "correct or remove what has errors"

MIN_DURATION_S = 0.1  # by feel
MAX_S_PER_WORD = 10.0  # by feel
# Hardly anybody speaks more than 20 letters a second; with more the text belongs to another recording.
MAX_LETTERS_PER_S = 25.0
STATES_PER_PHONE = 3
FRAME_SHIFT_S, FRAME_LENGTH_S = 0.010, 0.025
_MAX_WORDS = 20  # missing words that get a line of their own; by feel
_MAX_THREADS = 8  # each holds a whole recording; by feel


def validate(
    corpus_dir: str | Path,
    *,
    lexicon: Lexicon | None = None,
    text: str = PLAIN,
    n_threads: int | None = None,
    speakers: Speakers = "auto",
) -> tuple[Problem, ...]:
    """Return everything that is wrong with a corpus; none is an empty tuple.

    Parameters
    ----------
    corpus_dir : a corpus in any layout that `read_corpus` knows, or a directory with ``train`` and perhaps
        ``dev`` and ``test`` of any
    lexicon : pronunciations of the words; None takes the corpus's own (`lexicon_of`) if there is one
    text : how transcripts are read (`asr.config.ExperimentConfig`)
    n_threads : how many recordings are read at once
    speakers : who speaks, as of `read_corpus`

    Raises
    ------
    CorpusError
        If ``corpus_dir`` does not exist, or which layout it has cannot be told.
    """
    root = Path(corpus_dir)
    problems: list[Problem] = []
    own = lexicon_of(root)
    if lexicon is None and own is not None:
        lexicon, problems = _read_lexicon(own)
    corpora, structural = scan_parts(root, speakers)
    problems += structural
    forms = forms_for(text, lexicon, corpora.values())
    readings = {name: worded(corpus, forms) for name, corpus in corpora.items()}
    corpora = {name: corpus for name, (corpus, _) in readings.items()}
    rates: Counter[int] = Counter()
    seconds: dict[str, dict[str, float]] = {name: {} for name in corpora}
    n_unusable = n_of_recordings = 0  # utterances with errors; these errors
    n_threads = n_threads or min(_MAX_THREADS, default_workers())
    for name, corpus in corpora.items():
        groups = _recordings(corpus)
        checked = parallel_map(lambda us: _check_recording(us, lexicon), groups, n_threads)
        found: list[tuple[str, Problem]] = []
        bar = progress_bar(checked, len(groups), f"reading {name}".strip())
        for group, recording in zip(groups, bar, strict=True):
            found += recording.problems
            wrong = [where for where, problem in recording.problems if problem.severity == "error"]
            n_of_recordings += len(wrong)
            n_unusable += len(set(wrong)) if recording.sample_rates else len(group)
            rates.update(recording.sample_rates)
            seconds[name].update(recording.seconds)
        in_order = sorted(found, key=lambda pair: pair[0])
        problems += _located(name, [*_name_problems(corpus), *(problem for _, problem in in_order)])
        heard = {word for other, each in corpora.items() if other != "test" for word in each.vocabulary}
        problems += _located(name, _word_problems(corpus, lexicon, heard, text))
    problems += [Problem(".", line, "note") for line in wording_notes(total(c for _, c in readings.values()))]
    problems += _shared_between_splits(corpora)
    problems += _whole_corpus_problems(next(iter(corpora.values())), lexicon, rates)
    problems += [replace(p, where=p.where or ".") for p in judgement(corpora, seconds, lexicon)]
    if n_of_recordings and n_of_recordings == sum(p.severity == "error" for p in problems):
        n_all = sum(map(len, corpora.values()))
        problems.append(Problem(".", NEXT + _fate_of_unusable(n_unusable, n_all), "summary"))
    return tuple(problems)


def transcripts_as_read(
    corpus_dir: str | Path, *, lexicon: Lexicon | None = None, text: str = PLAIN
) -> Iterator[tuple[str, str, str]]:
    """Yield id, transcript and words of each utterance whose transcript is read as other words.

    Parameters are those of `validate`.
    """
    root = Path(corpus_dir)
    if lexicon is None and (own := lexicon_of(root)) is not None:
        lexicon, _ = _read_lexicon(own)
    corpora = scan_parts(root, "recordings")[0].values()
    forms = forms_for(text, lexicon, corpora)
    for given in corpora:
        for before, after in zip(given, worded(given, forms)[0], strict=True):
            if before.words != after.words:
                yield before.utterance_id, " ".join(before.words), " ".join(after.words)


def differs_in_words(before: str, after: str) -> bool:
    """Return whether two forms of a transcript differ in more than case and punctuation.

    >>> differs_in_words("Yes, no!", "yes no"), differs_in_words("7 well-known", "seven well known")
    (False, True)
    """
    one, other = (list(filter(None, map(plain, BETWEEN_WORDS.sub(" ", t).split()))) for t in (before, after))
    return one != other


def _fate_of_unusable(n_unusable: int, n_all: int) -> str:
    """Return what to do about utterances with errors where nothing else is wrong, as training takes them."""
    most = ExperimentConfig().most_unusable
    how_many = f"{n_unusable} of {n_all} utterance(s), at most {100 * most:g} % of the corpus"
    if n_unusable <= most * n_all:
        return f"{MEND}, or not: asr train leaves it out by itself ({how_many})"
    return f"{MEND}, then run this again; it is more than asr train leaves out by itself ({how_many})"


def _located(split: str, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with the split before their place."""
    if not split:
        return list(problems)
    return [replace(p, where=split if p.where == "." else f"{split}/{p.where}") for p in problems]


def _read_lexicon(path: Path) -> tuple[Lexicon | None, list[Problem]]:
    try:
        lexicon = Lexicon.read(path)
    except LexiconError as error:
        lines = [line.removeprefix(f"{path.parent}{os.sep}") for line in str(error).splitlines()]
        return None, [Problem(*_where_and_what(line, path.name)) for line in lines]
    if not lexicon.n_duplicates:
        return lexicon, []
    what = (
        f"{lexicon.n_duplicates} pronunciations are repeated, expected each once; the repetitions are ignored"
    )
    return lexicon, [Problem(path.name, what, "warning")]


def _where_and_what(line: str, name: str) -> tuple[str, str]:
    where, separator, what = line.partition(": ")
    return (where, what) if separator and where.startswith(name) else (name, line)


@dataclass(frozen=True)
class _Recording:
    """The problems found by reading one recording, with the utterance ids they are sorted by."""

    problems: tuple[tuple[str, Problem], ...]
    sample_rates: tuple[int, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()


def _recordings(corpus: Corpus) -> list[tuple[Utterance, ...]]:
    """Return the utterances grouped by recording, each group and all groups in order of utterance id."""
    groups: dict[Path, list[Utterance]] = {}
    for utterance in corpus:
        groups.setdefault(utterance.audio_path, []).append(utterance)
    return [tuple(group) for group in groups.values()]


def _check_recording(utterances: Sequence[Utterance], lexicon: Lexicon | None) -> _Recording:
    """Return the problems of a recording's utterances; one that cannot be opened is named once."""
    first = utterances[0].utterance_id
    problems = [(u.utterance_id, problem) for u in utterances for problem in _transcript_problems(u)]
    try:
        sample_rate = audio_info(utterances[0].audio_path).sample_rate
    except AudioError as error:
        several = f" (it has {len(utterances)} utterances)" if len(utterances) > 1 else ""
        return _Recording((*problems, (first, Problem(first, f"{error}{several}"))))
    seconds = []
    for utterance in utterances:
        name = utterance.utterance_id
        try:
            samples = read_audio(utterance.audio_path, None, utterance.start_s, utterance.end_s)
        except AudioError as error:
            problems.append((name, Problem(name, str(error))))
            continue
        seconds.append((name, len(samples) / sample_rate))
        problems += [(name, p) for p in _audio_problems(utterance, samples, sample_rate, lexicon)]
    return _Recording(tuple(problems), (sample_rate,), tuple(seconds))


def _name_problems(corpus: Corpus) -> Iterator[Problem]:
    """Yield a note if other systems would take names of recordings for one."""
    first: dict[str, str] = {}
    alike = [
        (first[form], u.utterance_id)
        for u in corpus
        if (form := unicodedata.normalize("NFC", u.utterance_id).casefold()) in first
        or first.setdefault(form, u.utterance_id) != u.utterance_id
    ]
    if alike:
        one, other = alike[0]
        what = f"{len(alike)} id(s) differ from others in capitals or in how accents are written alone, as"
        cure = "macOS and Windows take such names for one; rename one if the files are to be copied there"
        yield Problem(".", f'{what} "{other}" from "{one}"; {cure}', "note")


def _transcript_problems(utterance: Utterance) -> list[Problem]:
    if utterance.words:
        return []
    what = "empty transcript, expected the words spoken; write them or remove the utterance"
    return [Problem(utterance.utterance_id, what)]


def _audio_problems(
    utterance: Utterance, samples: Singles, sample_rate: int, lexicon: Lexicon | None
) -> list[Problem]:
    if not samples.any():
        what = f"{utterance.audio_path}: all samples are zero, expected speech; record it again or remove it"
        return [Problem(utterance.utterance_id, what)]
    problems = list(_duration_problems(utterance, len(samples) / sample_rate, lexicon))
    if utterance.spoken and (why := why_no_speech_in(samples, sample_rate)):
        problems.append(Problem(utterance.utterance_id, no_speech(utterance, why), "warning"))
    return problems


def _duration_problems(utterance: Utterance, duration_s: float, lexicon: Lexicon | None) -> Iterator[Problem]:
    """Yield the problems of an utterance whose duration does not fit its words."""
    where = utterance.utterance_id
    cure = "correct the transcript or the times, or remove it"
    if duration_s < MIN_DURATION_S:
        yield Problem(where, f"{duration_s:.3f} s of audio, expected at least {MIN_DURATION_S} s; {cure}")
    elif lexicon is not None:
        n_frames = max(0, int((duration_s - FRAME_LENGTH_S) / FRAME_SHIFT_S + 1e-6) + 1)
        n_states = STATES_PER_PHONE * _least_phones(utterance.words, lexicon)
        if n_states > n_frames:
            what = f"transcript too long for its audio: {len(utterance.words)} words need {n_states} frames"
            yield Problem(where, f"{what}, got {n_frames} ({duration_s:.2f} s); {cure}")
    elif (n_letters := sum(map(len, utterance.words))) > MAX_LETTERS_PER_S * duration_s:
        what = f"transcript too long for its audio: {n_letters} letters in {duration_s:.2f} s"
        yield Problem(where, f"{what}, expected at most {MAX_LETTERS_PER_S:g} a second; {cure}")
    if utterance.words and duration_s > MAX_S_PER_WORD * len(utterance.words):
        what = f"{duration_s:.1f} s of audio for {len(utterance.words)} word(s)"
        yield Problem(where, f"{what}, expected less than {MAX_S_PER_WORD:g} s a word; {cure}", "warning")


def _least_phones(words: Iterable[str], lexicon: Lexicon) -> int:
    """Return the least number of phones of the words; words outside the lexicon count as none."""
    return sum(min(map(len, lexicon.pronunciations(word))) for word in words if word in lexicon)


def _word_problems(
    corpus: Corpus, lexicon: Lexicon | None, heard: Collection[str], text: str
) -> list[Problem]:
    """Return the words without a pronunciation, the most frequent first.

    Those that are heard in train or dev are guessed from the lexicon or aligned to whatever phones are heard;
    others only count as recognition errors.
    """
    if lexicon is None:
        return [*_spelling_problems(corpus), *(_case_problems(corpus) if text == EXACT else [])]
    times = Counter(w for u in corpus for w in u.spoken if w not in lexicon)
    users: dict[str, list[str]] = {}
    for utterance in corpus:
        for word in sorted(times.keys() & set(utterance.words)):
            users.setdefault(word, []).append(utterance.utterance_id)
    problems = []
    in_order = sorted(times, key=lambda w: (-times[w], w))
    for word in in_order[:_MAX_WORDS]:
        count = f"{times[word]} time(s) in {len(users[word])} utterance(s)"
        hint = did_you_mean(lexicon.nearest(word))
        fate = "its pronunciation is guessed if that can be done" if word in heard else "cannot be recognised"
        what = f'word "{word}" is not in the lexicon{hint}, {count}; {fate}; add it or correct the transcript'
        problems.append(Problem(users[word][0], what, "warning"))
    if others := in_order[_MAX_WORDS:]:
        n_times = sum(times[word] for word in others)
        what = f"{len(others)} more words ({n_times} times) are not in the lexicon: {_listed(others)}"
        problems.append(Problem(".", f"{what}; asr lexicon CORPUS --from LEXICON lists all", "warning"))
    return problems


def _spelling_problems(corpus: Corpus) -> list[Problem]:
    """Return the words that cannot be spelled by letters, as they are when there is no lexicon."""
    faults = {word: spelling_fault(word) for word in sorted(set(corpus.vocabulary) - NOT_WORDS)}
    user = _first_users(corpus)
    return [
        Problem(user[word], f'word "{word}" {fault}', "warning") for word, fault in faults.items() if fault
    ]


def _first_users(corpus: Corpus) -> dict[str, str]:
    """Return the first utterance that has each word."""
    return {word: u.utterance_id for u in reversed(corpus.utterances) for word in u.words}


def _case_problems(corpus: Corpus) -> list[Problem]:
    """Return the words that differ from a more frequent one in case alone: they count as two."""
    times = Counter(word for u in corpus for word in u.words)
    forms: dict[str, list[str]] = {}
    for word in sorted(times, key=lambda w: (-times[w], w)):
        forms.setdefault(word.casefold(), []).append(word)
    problems = []
    user = _first_users(corpus)
    for usual, *others in forms.values():
        for word in others:
            what = (
                f'word "{word}" ({times[word]} time(s)) differs only in case from "{usual}" '
                f"({times[usual]} time(s)), expected one spelling; they are taken for two words"
            )
            problems.append(Problem(user[word], what, "warning"))
    return problems


def _shared_between_splits(corpora: dict[str, Corpus]) -> list[Problem]:
    """Return the utterances (errors) and speakers (warnings) that are in two splits."""
    problems = []
    for (name, corpus), (other_name, other) in combinations(corpora.items(), 2):
        both = f"in both {name} and {other_name}"
        if shared := sorted(set(corpus.ids) & set(other.ids)):
            what = f"{len(shared)} duplicate utterance id(s) {both}: {_listed(shared)}"
            problems.append(Problem(other_name, f"{what}; expected distinct ids; remove or rename them"))
        if not (are_speakers_known(corpus) and are_speakers_known(other)):
            continue
        if shared := sorted(set(corpus.speakers) & set(other.speakers)):
            what = f"{len(shared)} speaker(s) {both}: {_listed(shared)}; expected different speakers"
            cure = "results hold for known speakers only; split by speaker if that is not meant"
            problems.append(Problem(other_name, f"{what}; {cure}", "warning"))
    return problems


def _whole_corpus_problems(train: Corpus, lexicon: Lexicon | None, rates: Counter[int]) -> Iterator[Problem]:
    """Yield the problems that concern the corpus as a whole."""
    if len(train) == 1:
        yield Problem(".", "one utterance to train on, expected many; record more", "warning")
    if lexicon is not None and len(train):
        trained = {p for w in train.vocabulary if w in lexicon for v in lexicon.pronunciations(w) for p in v}
        if untrained := sorted(set(lexicon.phones) - trained):
            what = f"{len(untrained)} phone(s) are in no training utterance: {_listed(untrained)}"
            cure = "record words that have them, or remove the words with them from the lexicon"
            yield Problem("lexicon.txt", f"{what}; expected each at least once; {cure}", "warning")
    if len(rates) > 1:
        counts = listed([f"{rate} Hz ({rates[rate]} recording(s))" for rate in sorted(rates)])
        yield Problem(".", f"sample rates are mixed: {counts}; expected one; all are resampled", "warning")
    if rates and (highest := max(rates)) < (usual := FrontEndOptions.sample_rate):
        what = f"recordings have {highest} samples a second at most, the front end expects {usual}"
        yield Problem(".", f"{what}; train with --set sample_rate={highest}", "note")


def _listed(names: Sequence[str]) -> str:
    return listed([f'"{name}"' for name in names])
