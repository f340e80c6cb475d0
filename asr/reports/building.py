"""Makes the page of ``asr report`` from a finished experiment, with the sounds inside it or beside it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from asr.corpora.amounts import read_data
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.utterances import are_speakers_known
from asr.errors import ConfigError, ExperimentError
from asr.files import read_json, storage_errors, write_json, write_text
from asr.formats.model_directories import MODELS
from asr.progress import progress_bar
from asr.recognizer import Recognizer
from asr.reports.accuracies import (
    results_section,
    sparsity_section,
    speakers_section,
    words_section,
    worst_first,
)
from asr.reports.costs import costs_section, training_section, transcripts_section
from asr.reports.finished import Choice, Finished
from asr.reports.hearing import HeardUtterance, StatePhones, evaluated_recognizer, heard_utterances
from asr.reports.page import Page, Section, interval, listed_words, percent, render
from asr.reports.phones import Sample, calibration_section, phones_section, sample_of
from asr.reports.report import Audio
from asr.reports.views import Plain, as_flac, line, short, sound_url, view
from asr.scoring.scoring import too_few
from asr.store import RECORD
from features.audio import read_audio
from foundation.arrays import Singles
from foundation.errors import AsrError, listed
from foundation.files import write_whole

logger = logging.getLogger(__name__)
INDEX = "asr-report.json"
MOST_SHOWN = 100  # utterances, unless their number is asked for; by feel
MOST_EMBEDDED = 1_300_000  # characters of pictures and sounds in a page, unless their number is asked for
_N_NAMED = 5  # by feel
_GRAMMARS = {
    "loop": "any word may follow any (loop)",
    "unigram": "any word may follow any, frequent ones sooner (unigram)",
    "bigram": "it knows which words followed which in the training text (bigram)",
    "word-pair": "only pairs of words that the corpus lists may follow each other (word-pair)",
}


def build(
    directory: Path,
    page: Path,
    model: str | None,
    split: str | None,
    n_shown: int | None,
    audio: Audio | None,
) -> Path:
    """Write the page, and perhaps the sounds beside it; return its path. Parameters as of `asr.report`."""
    beside = SoundsBeside(page)
    if audio == "beside":
        beside.check()
    chosen = Choice.of(Finished.read(directory), model, split)
    recognizer = evaluated_recognizer(chosen.finished, chosen.model, chosen.split, chosen.grammar)
    named = are_speakers_known(chosen.corpus) and not chosen.is_one_person
    lines = [
        line(u.utterance_id, chosen.speakers[u.utterance_id] if named else "", u.pairs)
        | _others(chosen, u.utterance_id)
        for u in worst_first(chosen.accuracy.utterances)
    ]
    ids = [str(entry["id"]) for entry in lines]
    asked = MOST_SHOWN if n_shown is None else n_shown
    sounds = _sounds(chosen.corpus, ids[:asked], recognizer.model.front_end.config.mfcc.sample_rate)
    sample, views = _looked_into(chosen, recognizer, sample_of(ids), sounds)
    with storage_errors(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        _keep_sounds(chosen.corpus, lines, views, sounds, recognizer, beside, audio)
        if n_shown is None:
            views = _as_many_as_fit(views, ids)
        title, said = chosen.finished.directory.resolve().name, (verdict(chosen), learned_from(chosen))
        found = Page(title, *said, _facts(chosen), tuple(sections(chosen, sample)), tuple(lines), views)
        write_text(page, render(found))
        beside.remove_earlier()
    return page


def sections(chosen: Choice, sample: Sample) -> Iterator[Section]:
    """Yield the sections in the order of the page."""
    if are_speakers_known(chosen.corpus) and len(chosen.corpus.speakers) > 1:
        yield speakers_section(chosen)
    yield words_section(chosen)
    yield from phones_section(chosen, sample)
    yield calibration_section(chosen, sample)
    yield from transcripts_section(chosen)
    yield results_section(chosen)
    yield from training_section(chosen)
    yield sparsity_section(chosen)
    yield from costs_section(chosen)


def verdict(chosen: Choice) -> str:
    """Return in a sentence how good the model is on its test, and how sure that is."""
    found = chosen.accuracy
    caution = too_few(found.interval, len(found.utterances))
    return (
        f"{chosen.model} reaches a word accuracy of {percent(found.word_accuracy)} % on {chosen.split} "
        f"(95 % interval {interval(found.interval)}): {_counted(found.counts.errors, 'error')} in "
        f"{_counted(found.words, 'word')} of {_who(chosen)}; "
        f"{_GRAMMARS.get(chosen.grammar, chosen.grammar)}.{f' {caution}.' if caution else ''}"
    )


def _who(chosen: Choice) -> str:
    """Return whose words these are, and whether the model has learned from the same voices."""
    if not are_speakers_known(chosen.corpus):
        return "speakers who are not known, perhaps those it has learned from"
    mine = set(chosen.corpus.speakers)
    n_speakers = "the one speaker" if chosen.is_one_person else _counted(len(mine), "speaker")
    # What decoded dev had not yet learned from it.
    splits = [split for split in chosen.finished.left_out(chosen.model).splits if split != chosen.split]
    trained = [chosen.finished.corpus(split) for split in splits]
    heard = {speaker for corpus in trained for speaker in corpus.speakers}
    if mine <= heard:
        return f"{n_speakers}, whom it has learned from"
    if not all(are_speakers_known(corpus) for corpus in trained):
        return f"{n_speakers}, whom it has perhaps learned from"
    if len(mine) == 1:
        return f"{n_speakers}, whom it has not learned from"
    return f"{n_speakers}, {'some' if mine & heard else 'none'} of whom it has learned from"


def learned_from(chosen: Choice) -> tuple[str, ...]:
    """Return what the model has learned from, when, and what was left out of it."""
    finished, model = chosen.finished, chosen.model
    corpus = finished.config.get("corpus")
    name = Path(str(corpus)).name if corpus else f"the recipe {finished.config['recipe']}"
    data, left_out = read_data(finished.directory / MODELS / model), finished.left_out(model)
    amounts = [] if data is None else [f"{split}, {data.amounts[split]}" for split in data.trained_on]
    day = datetime.fromtimestamp((finished.evaluation(model, chosen.split) / RECORD).stat().st_mtime)
    from_what = f"{name}: {'; '.join(amounts)}" if amounts else name
    lines = [f"Learned on {day.day} {day:%B %Y} from {from_what}."]
    if finished.synthetic:
        lines.append("The speech is SYNTHETIC: no figure is comparable with that of recordings of people.")
    parts = []
    if left_out.ids:
        named = listed(left_out.ids, _N_NAMED)
        parts.append(f"{len(left_out.ids)} whose text is not what is heard, or in no known words ({named})")
    if left_out.by_hand:
        parts.append(f"{len(left_out.by_hand)} by hand ({listed(left_out.by_hand, _N_NAMED)})")
    if left_out.n_unread:
        unread = finished.unread(left_out.splits)
        named = f" ({listed(unread, _N_NAMED)})" if len(unread) == left_out.n_unread else ""
        parts.append(f"{left_out.n_unread} that cannot be read{named}")
    last = f" and {parts[-1]}" if len(parts) > 1 else ""
    said = f"left out: {', '.join(parts[:-1] or parts)}{last}" if parts else "none was left out"
    said = f"Of {_counted(left_out.n_all, 'utterance')} of {listed_words(left_out.splits)} {said}."
    if corrected := finished.corrected_by_hand(left_out.splits):
        transcripts = _counted(len(corrected), "transcript")
        said += f" Corrected by hand: {transcripts} ({listed(corrected, _N_NAMED)})."
    return (*lines, said)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _facts(chosen: Choice) -> tuple[tuple[str, str, str], ...]:
    """Return what a person wants to know first: name, value, remark."""
    found = chosen.accuracy
    who = str(len(found.speakers)) if are_speakers_known(chosen.corpus) else "not known"
    return (
        ("Word accuracy", f"{percent(found.word_accuracy)} %", interval(found.interval)),
        ("Errors", str(found.counts.errors), f"of {found.words:,} words"),
        ("Right sentences", f"{percent(found.sentence_accuracy)} %", f"of {len(found.utterances):,}"),
        ("Speakers", who, f"in {chosen.split}"),
        ("Model", chosen.model, f"grammar {chosen.grammar}"),
    )


def _others(chosen: Choice, name: str) -> Plain:
    """Return what the other models have recognised in an utterance."""
    found = {model: short(pairs[name]) for model, pairs in chosen.others.items() if name in pairs}
    return {"others": found} if found else {}


def _looked_into(
    chosen: Choice, recognizer: Recognizer, wanted: Collection[str], sounds: dict[str, Singles]
) -> tuple[Sample, dict[str, Plain]]:
    """Return what a sample of the utterances says, and views of those whose sound is there."""
    phones = StatePhones.of(recognizer.model.topology)
    sample, views = Sample(phones), {}
    front_end = recognizer.model.front_end
    rate, shift_s = front_end.config.mfcc.sample_rate, front_end.frame_shift_s
    for heard in _compared(chosen, recognizer, {*wanted, *sounds}, phones):
        name, alignment = heard.utterance.utterance_id, heard.alignment
        labels = None if alignment is None else phones.labels(alignment.labels())
        if name in wanted:
            sample.add(heard, labels)
        if name in sounds:
            views[name] = view(heard, sounds[name], rate, phones.names, labels, shift_s)
    return sample, views


def _compared(
    chosen: Choice, recognizer: Recognizer, wanted: Collection[str], phones: StatePhones
) -> Iterator[HeardUtterance]:
    """Yield what is heard in some utterances; that it is not what the evaluation heard is logged."""
    recognised = chosen.finished.recognised(chosen.model, chosen.split, chosen.grammar)
    n_other = 0
    for heard in heard_utterances(recognizer, chosen.finished.data(chosen.split), wanted, phones):
        n_other += heard.hypothesis.text != tuple(recognised[heard.utterance.utterance_id])
        yield heard
    if n_other:
        logger.warning(
            "%d of %d utterances are recognised in other words now than in the evaluation: list and tables "
            "show the evaluation's, the pictures of single utterances today's; run asr train again",
            n_other,
            len(wanted),
        )


def _sounds(corpus: Corpus, ids: Sequence[str], sample_rate: int) -> dict[str, Singles]:
    """Return the samples of some utterances; those that cannot be read are counted."""
    found, problems = {}, []
    utterances = {u.utterance_id: u for u in corpus}
    for name in progress_bar(iter(ids), len(ids), "recordings"):
        try:
            found[name] = _samples(utterances[name], sample_rate)
        except AsrError as error:
            problems.append(str(error))
    if problems:
        logger.warning("%d recording(s) cannot be shown, such as %s", len(problems), problems[0])
    return found


def _samples(utterance: Utterance, sample_rate: int) -> Singles:
    return read_audio(utterance.audio_path, sample_rate, utterance.start_s, utterance.end_s)


def _keep_sounds(
    corpus: Corpus,
    lines: Sequence[Plain],
    views: dict[str, Plain],
    sounds: dict[str, Singles],
    recognizer: Recognizer,
    beside: SoundsBeside,
    audio: Audio | None,
) -> None:
    """Put sounds into the views, or beside the page with their paths in the lines of the list.

    Beside the page there are those of all utterances, in it only those that are shown.
    """
    rate = recognizer.model.front_end.config.mfcc.sample_rate
    if audio == "beside":
        _write_beside(corpus, lines, {name: as_flac(sounds[name], rate) for name in views}, rate, beside)
    elif audio != "none":
        for name, found in views.items():
            found["audio"] = sound_url(sounds[name], rate)


def _as_many_as_fit(views: dict[str, Plain], ids: Sequence[str]) -> dict[str, Plain]:
    """Return the views of the first utterances that make no large page together, of one at least."""
    kept: dict[str, Plain] = {}
    n_left = MOST_EMBEDDED
    for name in (name for name in ids if name in views):
        n_left -= len(json.dumps(views[name]))
        if kept and n_left < 0:
            break
        kept[name] = views[name]
    return kept


def _write_beside(
    corpus: Corpus, lines: Sequence[Plain], files: dict[str, bytes], rate: int, beside: SoundsBeside
) -> None:
    utterances = {u.utterance_id: u for u in corpus}
    names = [file_name(place, str(entry["id"])) for place, entry in enumerate(lines, 1)]
    beside.begin(names)
    for file, entry in zip(names, progress_bar(iter(lines), len(lines), "sounds"), strict=True):
        name = str(entry["id"])
        content = files.get(name)
        if content is None:
            try:
                content = as_flac(_samples(utterances[name], rate), rate)
            except AsrError:
                continue  # named already, if it is one of those that are shown
        path = beside.write(file, content)
        entry["audio"] = quote(f"{path.parent.name}/{path.name}")


class SoundsBeside:
    """The folder of sounds beside a page, ``FILE_audio/``; its index says which files are ours.

    A name is in the index before the file is there and until it is gone, so that a killed run leaves nothing
    that the next one does not know. A folder without an index is not ours, and stays as it is.

    Parameters
    ----------
    page : the page

    Attributes
    ----------
    directory : the folder, whether it is there or not
    """

    def __init__(self, page: Path) -> None:
        self.directory = sounds_directory(page)
        self._earlier = _indexed(self.directory)
        self._written: set[str] = set()

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else made the folder."""
        return self._earlier is None and self.directory.exists()

    def check(self) -> None:
        """Raise an error if sounds cannot lie there, before time is spent on them."""
        if self.is_foreign:
            raise ConfigError(
                f"{self.directory}: not a folder that asr report made, expected none of this name or "
                f"one with {INDEX}; choose another name with --out, or --audio embed"
            )

    def begin(self, names: Collection[str]) -> None:
        """Make the folder, and note that files of these names are ours; others' files are not overwritten."""
        earlier = self._earlier or frozenset()
        for name in names:
            if name not in earlier and (self.directory / name).exists():
                raise ConfigError(
                    f"{self.directory / name}: not a file that asr report wrote, expected none; move it away"
                )
        self.directory.mkdir(exist_ok=True)
        self._earlier = earlier.union(names)
        self._write_index(self._earlier)

    def write(self, name: str, content: bytes) -> Path:
        """Return the path of a file that has been written; its name was noted before."""
        path = self.directory / name
        write_whole(path, content)
        self._written.add(name)
        return path

    def remove_earlier(self) -> None:
        """Remove what only an earlier page had here, and the folder if nothing is left in it."""
        if self._earlier is None:
            return
        for name in self._earlier - self._written:
            (self.directory / name).unlink(missing_ok=True)
        if any(path.name != INDEX for path in self.directory.iterdir()):
            self._write_index(self._written)
        else:
            (self.directory / INDEX).unlink()
            self.directory.rmdir()

    def _write_index(self, names: Collection[str]) -> None:
        write_json(self.directory / INDEX, {"files": sorted(names)})


def _indexed(directory: Path) -> frozenset[str] | None:
    """Return the names of the files that are ours; None where there is no index that we wrote."""
    try:
        record = read_json(directory / INDEX)
    except ExperimentError:
        return None
    names = record.get("files") if isinstance(record, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_sound(name) for name in names):
        return None
    return frozenset(names)


def _is_sound(name: str) -> bool:
    """Return whether a name is one of a sound in the folder itself."""
    return Path(name).name == name and name.endswith(".flac")


def file_name(place: int, utterance_id: str) -> str:
    """Return a file name that any system and any URL can hold.

    >>> file_name(7, "añ/1 <b>")
    '0007-a-1-b-.flac'
    """
    return f"{place:04d}-{re.sub(r'[^A-Za-z0-9_]+', '-', utterance_id)[:60]}.flac"


def sounds_directory(page: Path) -> Path:
    """Return the folder of those sounds that are kept beside a page."""
    return page.with_name(f"{page.stem}_audio")
