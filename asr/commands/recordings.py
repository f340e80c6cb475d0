"""The verbs that use a model on recordings: ``decode``, ``keywords``, ``align``, ``evaluate``, ``score``."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from asr.commands.parsing import (
    Verb,
    add_experiment,
    add_judging,
    add_model,
    add_model_and_grammar,
    add_reject,
    add_speakers,
)
from asr.commands.printing import (
    WORD_KEYS,
    format_or_json,
    print_found,
    print_result,
    put,
    tell_of_failed,
    to_json,
)
from asr.errors import ConfigError, CorpusError, Problem, ScoringError
from asr.files import as_plain, check_target
from asr.formats.outputs import (
    ALIGN_FORMATS,
    CAPTIONS,
    DECODE_FORMATS,
    MLF_ROWS,
    ONE_EACH,
    Decoded,
    decoded,
    write_aligned,
    write_decoded,
    write_hypotheses,
)
from asr.formats.transcripts import Format, read_transcripts, text_or_file
from foundation.errors import AsrError, listed, names_arguments, shown

if TYPE_CHECKING:
    from asr.config import Speakers
    from asr.corpora.corpus import Corpus, Utterance
    from asr.corpora.speech_data import SpeechData
    from asr.formats.aligned import AlignedUtterance
    from asr.formats.intervals import Interval
    from asr.recognizer import Recognizer
    from asr.scoring.edit_distance import Rule
    from asr.scoring.results import Contestant
    from asr.scoring.scoring import WordAccuracy
    from decoder.decoder import Hypothesis
    from decoder.lexicon import Lexicon

logger = logging.getLogger(__name__)

_N_NAMED_OF_A_KIND = 10  # of utterances that cannot be decoded, where none can


def _takes_decode(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument(
        "recordings", nargs="+", type=Path, metavar="WAV", help="recordings of any usual format"
    )
    add_model_and_grammar(parser)
    parser.add_argument("--format", choices=DECODE_FORMATS, default="text", help="of the output (text)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write one file a recording, instead of to standard output"
    )
    parser.add_argument(
        "--nbest", type=int, default=1, metavar="N", help="also print the next best sentences"
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--same-speaker", action="store_true", help="one person speaks in all recordings")
    add_speakers(who, "each recording by itself")
    add_judging(parser)


@names_arguments
def decode(
    experiment: str | Path,
    recordings: Sequence[str | Path],
    *,
    model: str | None = None,
    grammar: str | None = None,
    n_best: int = 1,
    same_speaker: bool = False,
    speakers: Speakers = "auto",
    reject: bool | None = None,
    keywords: bool = False,
) -> list[Hypothesis | AsrError]:
    """Return for each recording its words with times and confidences, or the error that prevented it.

    Where nothing is spoken there are no words, and ``no_speech`` of the hypothesis says why.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    recordings : paths
    model, grammar : names; by default the best on dev, and the last one of the recipe
    n_best : number of sentences wanted; those after the first are its ``alternatives``
    same_speaker : one person speaks in all recordings, as with ``speakers="one"``
    speakers : whose recordings are normalised together and adapted to at once, as of `asr.read_corpus`; by
        default each is taken by itself
    reject : whether words that were probably not spoken are left out (`Recognizer.with_rejection`); None: as
        by default, where the model has a list of commands
    keywords : find the keywords that `asr.keywords` has chosen, and nothing else
    """
    from asr.recognizer import Recognizer

    recognizer = Recognizer.load(experiment, model, grammar)
    if n_best > 1 and (reject or keywords):
        raise ConfigError("decode: got --nbest with --reject or --keywords; expected one of them")
    if n_best > 1 and recognizer.one_each:
        raise ConfigError("decode: got --nbest with a list of commands; expected --grammar bigram or another")
    recognizer = recognizer.with_options(n_best=n_best).sure(reject=reject, keywords=keywords)
    who = None
    if speakers != "auto":
        from asr.corpora.layouts.recordings import speakers_of_files

        who = speakers_of_files([Path(recording) for recording in recordings], speakers)
    return recognizer.transcribe_all(recordings, same_speaker=same_speaker, speakers=who)


def _run_decode(options: argparse.Namespace) -> int:
    output = format_or_json(options, "text")
    if output in CAPTIONS and options.out is None and len(options.recordings) > 1:
        raise ConfigError(f"decode: {output} is one file a recording; expected --out DIR for several")
    found = decode(
        options.experiment,
        options.recordings,
        model=options.model,
        grammar=options.grammar,
        n_best=options.nbest,
        same_speaker=options.same_speaker,
        speakers=options.speakers or "auto",
        reject=options.reject,
        keywords=options.keywords,
    )
    several = len(options.recordings) > 1

    def write(pairs: Decoded) -> str:
        if options.out is not None:
            write_decoded(pairs, output, options.out)
            return ""
        return decoded(pairs, output, with_path=several, with_rank=options.nbest > 1)

    return print_found(options.recordings, found, write, is_json=options.json)


def _takes_keywords(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument(
        "--words",
        nargs="+",
        default=[],
        metavar="WORD",
        help="the keywords; without any a rule for decode --reject is learned",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        required=True,
        help="transcribed speech with them, that did not train the model",
    )
    parser.add_argument(
        "--other",
        type=Path,
        nargs="+",
        default=[],
        metavar="PATH",
        help="recordings, or directories of them, without any keyword: other speech and noise",
    )
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--false-alarms", type=float, metavar="N", help="wanted, an hour (1)")
    wanted.add_argument("--detection", type=float, metavar="PERCENT", help="wanted, instead")
    add_model(parser)


def _run_keywords(options: argparse.Namespace) -> int:
    from asr.spotting.keywords import as_record, format_keywords, keywords

    found = keywords(
        options.experiment,
        options.words,
        corpus=options.corpus,
        other=options.other,
        false_alarms=options.false_alarms,
        detection=options.detection,
        model=options.model,
    )
    print_result(options, lambda: as_record(found), lambda: format_keywords(found))
    return 0


def _takes_align(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("recording", nargs="?", type=Path, metavar="WAV", help="a recording")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the transcript, or a file that holds it")
    parser.add_argument("--corpus", type=Path, help="align a whole data directory or folder")
    add_speakers(parser)
    add_model(parser)
    parser.add_argument(
        "--format", choices=ALIGN_FORMATS, default="textgrid", help="of the output (textgrid)"
    )
    parser.add_argument("--rows", choices=MLF_ROWS, help="what the rows of mlf are; states by default")
    parser.add_argument(
        "--out",
        type=Path,
        help="file (ctm, mlf; of one recording also NAME.TextGrid, NAME.eaf, …) or directory (textgrid, eaf, "
        "srt, vtt); default: standard output",
    )


@names_arguments
def align(
    experiment: str | Path, recording: str | Path, text: str | Sequence[str], *, model: str | None = None
) -> AlignedUtterance:
    """Return when each word, phone and state of a transcript is spoken in a recording."""
    from asr.formats.aligned import aligned_utterance
    from asr.recognizer import Recognizer

    recognizer = Recognizer.load(experiment, model)
    words = recognizer.read(text if isinstance(text, str) else " ".join(text), recording)
    if not words:
        raise CorpusError("empty transcript, expected the words spoken; give them")
    _warn_of_unknown_words([[found.word for found in words]], recognizer.lexicon)
    name = "_".join(Path(recording).stem.split())  # ids have no white space
    alignment, confidences = recognizer.align_with_confidences(
        recognizer.frames(recording), [found.word for found in words]
    )
    written = [found.written for found in words]
    aligned = aligned_utterance(name, recognizer.model, written, alignment, confidences)
    return replace(aligned, recording=Path(recording))


@names_arguments
def align_corpus(
    experiment: str | Path, corpus: str | Path, *, model: str | None = None, speakers: Speakers = "auto"
) -> Iterator[tuple[str, AlignedUtterance | AsrError]]:
    """Yield for each utterance of a corpus its id and alignment, or the reason why there is none.

    ``speakers`` are those of `asr.read_corpus`; where nothing is known, as training was told.

    No word is surer than training is of its utterance's text: what learned a wrong text believes its words.
    """
    from asr.corpora.corpus import read_corpus
    from asr.corpora.speech_data import usable_cepstra
    from asr.corpora.wording import worded
    from asr.formats.aligned import aligned_utterance
    from asr.formats.model_directories import model_directory, speakers_as_trained
    from asr.recognizer import Recognizer
    from foundation.threads import parallel_map

    recognizer = Recognizer.load(experiment, model)
    before = speakers_as_trained(model_directory(Path(experiment), model))
    read = _as_trained(Path(experiment), Path(corpus), read_corpus(corpus, speakers, before))
    speech, _ = worded(read, recognizer.forms)
    _warn_of_unknown_words([u.words for u in speech], recognizer.lexicon)
    data, errors = usable_cepstra(speech, recognizer.model.front_end.config)
    frames = recognizer.model.front_end.transformed(data.cepstra, data.speakers)
    place_of = {name: n for n, name in enumerate(data.corpus.ids)}
    doubts = _doubts(Path(experiment))

    def one(utterance: Utterance) -> tuple[str, AlignedUtterance | AsrError]:
        name, words = utterance.utterance_id, utterance.words
        if name in errors:
            return name, errors[name]
        if not words:
            return name, CorpusError(f"{name}: empty transcript, expected the words spoken; write them")
        try:
            alignment, sure = recognizer.align_with_confidences(frames[place_of[name]], words)
        except AsrError as error:
            return name, type(error)(f"{name}: {error}")
        written = utterance.written or words
        if sure is not None and (doubt := doubts.get((name, " ".join(written)))) is not None:
            sure = tuple(min(each, doubt) for each in sure)
        aligned = aligned_utterance(name, recognizer.model, written, alignment, sure)
        return name, replace(aligned, recording=utterance.audio_path, origin_s=utterance.start_s)

    return parallel_map(one, speech.utterances)


def _as_trained(experiment: Path, directory: Path, corpus: Corpus) -> Corpus:
    """Return a corpus with the transcripts that a person has corrected, if it is the one of an experiment."""
    from asr.experiment import CONFIG
    from asr.files import read_object
    from asr.training.task import corrected, read_corrections

    path = experiment / CONFIG
    trained_on = read_object(path).get("corpus") if path.is_file() else None
    if trained_on is None or Path(str(trained_on)).resolve() != directory.resolve():
        return corpus
    return corrected({"": corpus}, read_corrections(experiment))[""]


def _doubts(experiment: Path) -> dict[tuple[str, str], float]:
    """Return how probable texts are that training found suspicious, by utterance and text."""
    from asr.training.fit import SUSPICIOUS, read_suspicious

    rows = read_suspicious(experiment)[0] if (experiment / SUSPICIOUS).is_file() else []
    return {(row.utterance_id, row.text): row.probability for row in rows if row.probability is not None}


def _warn_of_unknown_words(transcripts: Sequence[Sequence[str]], lexicon: Lexicon) -> None:
    """Log the words that are aligned without a pronunciation."""
    from asr.corpora.wording import unknown_words_note

    known = [words for words in transcripts if any(word in lexicon for word in words)]
    if message := unknown_words_note(known, lexicon):
        logger.warning("%s", message)


def _check_suffix(out: Path | None, output: str) -> None:
    """Raise an error if a file of one recording is named as one of another format."""
    kinds = {suffix.lower(): (kind, suffix) for kind, (suffix, _) in ONE_EACH.items()}
    found = kinds.get(out.suffix.lower()) if out is not None and not out.is_dir() else None
    if found is not None and found[0] != output:
        expected = ONE_EACH[output][0] if output in ONE_EACH else f".{output}"
        raise ConfigError(
            f"align: {out}: a name of {found[0]}, expected one that ends in {expected}; change it, or take "
            f"--format {found[0]}"
        )


def _run_align(options: argparse.Namespace) -> int:
    from asr.progress import say

    output = format_or_json(options, "textgrid")
    if options.corpus is not None:
        if options.recording is not None:
            raise ConfigError("align: got both WAV and --corpus; expected one of them")
        if output in ONE_EACH and options.out is None:
            raise ConfigError(f"align: {output} is one file an utterance; expected --out DIR for a corpus")
        pairs = list(
            align_corpus(
                options.experiment, options.corpus, model=options.model, speakers=options.speakers or "auto"
            )
        )
    else:
        if options.recording is None or options.text is None:
            raise ConfigError("align: expected WAV and TEXT, or --corpus DIR")
        _check_suffix(options.out, output)
        text = text_or_file(options.text)
        aligned = align(options.experiment, options.recording, text, model=options.model)
        pairs = [(aligned.utterance_id, aligned)]

    def write(good: list[tuple[str, AlignedUtterance]]) -> str:
        found = [aligned for _, aligned in good]
        if output == "json":
            return to_json(alignments_record(found)) + "\n"
        is_one = options.corpus is None
        return write_aligned(found, output, options.out, rows=options.rows, of_recording=is_one)

    code = print_found(
        [name for name, _ in pairs], [result for _, result in pairs], write, is_json=options.json
    )
    if options.out is not None:
        n_aligned = sum(not isinstance(result, AsrError) for _, result in pairs)
        say(f"{n_aligned} of {len(pairs)} utterances aligned: {options.out}")
    return code


def alignments_record(aligned: Iterable[AlignedUtterance]) -> list[dict[str, Any]]:
    """Return the words and phones of utterances with their times."""

    def times(what: str, interval: Interval) -> dict[str, Any]:
        start_s, end_s = round(interval.start_s, 3), round(interval.end_s, 3)
        return {what: interval.label, "start_s": start_s, "end_s": end_s}

    def words(each: AlignedUtterance) -> list[dict[str, Any]]:
        tier = each.tiers["words"]
        sure = [None if c is None else round(c, 4) for c in each.confidences or [None] * len(tier)]
        return [{**times("word", i), "confidence": c} for i, c in zip(tier, sure, strict=True)]

    return [
        {
            "utterance": each.utterance_id,
            "duration_s": each.duration_s,
            "words": words(each),
            "phones": [times("phone", interval) for interval in each.tiers["phones"]],
        }
        for each in aligned
    ]


def _takes_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        type=Path,
        nargs="+",
        metavar="EXP",
        help="experiment directory that asr train wrote; several are compared, utterance by utterance",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="directory of the corpus")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        help="name of the model; the best on dev by default; may be repeated: all of them are compared",
    )
    parser.add_argument("--grammar", help="name of the grammar; the recipe's last by default")
    add_speakers(parser)
    add_reject(parser)
    parser.add_argument("--hypotheses", type=Path, metavar="FILE", help="also write the words (Kaldi text)")


@names_arguments
def evaluate(
    experiment: str | Path,
    corpus: str | Path,
    *,
    model: str | None = None,
    grammar: str | None = None,
    reject: bool | None = None,
    speakers: Speakers = "auto",
) -> tuple[WordAccuracy, dict[str, Hypothesis | AsrError]]:
    """Return the word accuracy on a corpus, and by utterance id the words or the error that prevented them.

    The accuracy leaves out utterances that cannot be decoded; its ``not_decoded`` has their numbers of words.
    An error is raised if nothing can be decoded. All that can is decoded, even where `Recognizer.transcribe`
    would find no speech: a transcript says that there is some.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    corpus : a corpus in any layout
    model, grammar : names; by default the best on dev, and the last one of the recipe
    reject : whether words that were probably not spoken are left out (`Recognizer.with_rejection`); None: as
        by default, where the model has a list of commands
    speakers : who speaks, as of `asr.read_corpus`; where nothing is known, as training was told
    """
    from asr.corpora.corpus import read_corpus
    from asr.corpora.speech_data import usable_cepstra
    from asr.corpora.wording import unknown_test_words_note, worded
    from asr.formats.model_directories import model_directory, speakers_as_trained, trained_by
    from asr.recognizer import Recognizer
    from asr.scoring.scoring import accuracy_of
    from features.audio import warn_of_low_rates

    recognizer = Recognizer.load(experiment, model, grammar)
    if reject is not None:
        recognizer = recognizer.sure(reject=reject)
    before = speakers_as_trained(model_directory(Path(experiment), model))
    speech, _ = worded(read_corpus(corpus, speakers, before), recognizer.forms)
    if message := unknown_test_words_note([u.words for u in speech], recognizer.lexicon):
        logger.warning("%s", message)
    config = recognizer.model.front_end.config
    warn_of_low_rates((u.audio_path for u in speech), config.mfcc.sample_rate)
    data, errors = usable_cepstra(speech, config, tells_silences=True)
    if known := trained_by(model_directory(Path(experiment), model), data.corpus.ids):
        logger.warning(
            "%s: %d of these %d utterances trained this model (by their ids): this is not a test",
            experiment,
            len(known),
            len(data.corpus),
        )
    found: dict[str, Hypothesis | AsrError] = {**errors, **_words_or_errors(recognizer, data)}
    in_order = {name: found[name] for name in speech.ids}
    words = {name: h for name, h in in_order.items() if not isinstance(h, AsrError)}
    failed = {name: str(error) for name, error in in_order.items() if isinstance(error, AsrError)}
    if failed and not any(u.spoken for u in speech if u.utterance_id in words):
        raise CorpusError(_nothing_decoded(corpus, failed))
    accuracy = accuracy_of(speech.subset(words), list(words.values()))
    not_decoded = {u.utterance_id: len(u.spoken) for u in speech if u.utterance_id not in words}
    return replace(accuracy, not_decoded=not_decoded), in_order


def _words_or_errors(recognizer: Recognizer, data: SpeechData) -> dict[str, Hypothesis | AsrError]:
    """Return the words of each utterance by its id, or why it cannot be decoded."""
    from asr.transcribe import decoded_or_errors, scored_speech

    def decode(places: Sequence[int]) -> list[Hypothesis]:
        if recognizer.one_each:
            return [recognizer.hear_command(data.corpus.utterances[n]) for n in places]
        cepstra, speakers = [data.cepstra[n] for n in places], [data.speakers[n] for n in places]
        return recognizer.decode(scored_speech(cepstra, speakers, recognizer.model))

    return dict(zip(data.corpus.ids, decoded_or_errors(data.corpus.ids, decode), strict=True))


def _nothing_decoded(corpus: str | Path, failed: Mapping[str, str]) -> str:
    """Return a line that says so, and lines for the first problems of each kind, given by utterance id."""
    from asr.corpora.problems import first_of_each_kind

    lines = [f"{corpus}: none of {len(failed)} utterance(s) can be decoded, expected some; correct them"]
    problems = (Problem(name, what.removeprefix(f"{name}: ")) for name, what in failed.items())
    for problem, n_more in first_of_each_kind(problems, _N_NAMED_OF_A_KIND):
        lines += [failed[problem.where], *([f"  and {n_more} more of this kind"] if n_more else [])]
    return "\n".join(lines)


def evaluate_together(
    systems: Sequence[tuple[Path, str | None]],
    corpus: str | Path,
    *,
    grammar: str | None = None,
    reject: bool | None = None,
    speakers: Speakers = "auto",
) -> tuple[list[Contestant], dict[str, str]]:
    """Return the word accuracies of several models on the same utterances, each compared with the first.

    With them comes why other utterances are left out, by their ids: a model cannot decode them, or reads
    their transcript as other words than the first one.

    Parameters
    ----------
    systems : of each the experiment directory, and the name of the model (None: the best on dev)
    corpus, grammar, reject, speakers : those of `evaluate`
    """
    from asr.formats.model_directories import DECODING, decoding_options, model_directory
    from asr.scoring.results import Contestant
    from asr.scoring.scoring import compare, score

    places = [model_directory(experiment, model) for experiment, model in systems]
    resolved = [place.resolve() for place in places]
    if twice := next((p for n, p in enumerate(places) if resolved[n] in resolved[:n]), None):
        raise ConfigError(
            f"evaluate: {twice} twice, expected different models to compare; give another EXP or --model, or "
            "this one alone"
        )
    spoken: list[dict[str, tuple[str, ...]]] = []
    heard: list[dict[str, tuple[str, ...]]] = []
    left_out: dict[str, str] = {}
    for experiment, model in systems:
        accuracy, found = evaluate(
            experiment, corpus, model=model, grammar=grammar, reject=reject, speakers=speakers
        )
        spoken.append(
            {u.utterance_id: tuple(said for said, _ in u.pairs if said) for u in accuracy.utterances}
        )
        heard.append({name: h.text for name, h in found.items() if not isinstance(h, AsrError)})
        errors = {name: str(error) for name, error in found.items() if isinstance(error, AsrError)}
        left_out |= {name: said.removeprefix(f"{name}: ") for name, said in errors.items()}
    first, *others = spoken
    for name, words in first.items():
        folded = [word.casefold() for word in words]
        if any([word.casefold() for word in other.get(name, ())] != folded for other in others):
            left_out.setdefault(name, "its transcript is read as different words")
    reference = {name: words for name, words in first.items() if name not in left_out}
    if not any(reference.values()):
        why = next((f"{name}: {said}" for name, said in left_out.items()), "there are no words")
        raise CorpusError(f"{corpus}: no utterance to compare these models on; {why}")
    in_any_case = any(other[name] != first[name] for other in others for name in reference)
    contestants: list[Contestant] = []
    for (experiment, _), place, words_heard in zip(systems, places, heard, strict=True):
        own = {name: words_heard[name] for name in reference}
        contestants.append(
            Contestant(
                str(experiment),
                place.name,
                decoding_options(place / DECODING, grammar)[0],
                score(reference, own, normalize_case=in_any_case),
                compare(reference, {n: heard[0][n] for n in reference}, own, normalize_case=in_any_case)
                if contestants
                else None,
            )
        )
    return contestants, left_out


def _run_evaluate(options: argparse.Namespace) -> int:
    systems = list(product(options.experiment, options.model or [None]))
    if len(systems) > 1 and options.hypotheses is not None:
        raise ConfigError(
            "evaluate: --hypotheses takes the words of one model; expected one EXP and one --model"
        )
    if options.hypotheses is not None:
        check_target(options.hypotheses, "--hypotheses")
    if len(systems) > 1:
        return _run_together(systems, options)
    ((experiment, model),) = systems
    accuracy, found = evaluate(
        experiment,
        options.corpus,
        model=model,
        grammar=options.grammar,
        reject=options.reject,
        speakers=options.speakers or "auto",
    )
    put(evaluation(accuracy, found, as_json=options.json))
    code = tell_of_failed(found.values())
    if options.hypotheses is not None:
        write_hypotheses(found, options.hypotheses)
    return code


def _run_together(systems: Sequence[tuple[Path, str | None]], options: argparse.Namespace) -> int:
    from asr.scoring.results import contest_record, format_contest

    found, left_out = evaluate_together(
        systems,
        options.corpus,
        grammar=options.grammar,
        reject=options.reject,
        speakers=options.speakers or "auto",
    )
    print_result(options, lambda: contest_record(found, left_out), lambda: format_contest(found, left_out))
    return 0


def evaluation(result: WordAccuracy, found: Mapping[str, Hypothesis | AsrError], *, as_json: bool) -> str:
    """Return a word accuracy; what was not decoded, or ended without a complete sentence, is counted."""
    from asr.scoring.results import accuracy_record, format_accuracy

    failed = {name: error for name, error in found.items() if isinstance(error, AsrError)}
    incomplete = sorted(name for name, h in found.items() if not isinstance(h, AsrError) and not h.complete)
    if as_json:
        named = [
            {"utterance": name, "words": result.not_decoded[name], "error": str(error)}
            for name, error in failed.items()
        ]
        record = {**accuracy_record(result), "incomplete": incomplete, "failed": named}
        return json.dumps(record, indent=1, ensure_ascii=False)
    if not incomplete:
        return format_accuracy(result)
    what = "ended without a complete sentence, the best partial words were scored"
    return f"{format_accuracy(result)}\n\n{len(incomplete)} {what}: {listed(incomplete)}"


def _takes_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", type=Path, metavar="REF", help="file of what was said")
    parser.add_argument("hypothesis", type=Path, metavar="HYP", help="file of what was recognised")
    parser.add_argument("--format", choices=get_args(Format), help="of both files; guessed by default")
    parser.add_argument(
        "--against", type=Path, metavar="HYP2", help="compare with a second recogniser, paired"
    )
    parser.add_argument(
        "--as",
        dest="rule",
        choices=("nist", "htk"),
        default="nist",
        help="whose counts: those of sclite (nist, default), or of HResults (htk)",
    )
    parser.add_argument("--utt2spk", type=Path, help="speakers, for a table of them")
    parser.add_argument("--ignore-case", action="store_true", help="take A and a for one word")
    parser.add_argument("--plain", action="store_true", help="disregard case, punctuation and [remarks]")


def _run_score(options: argparse.Namespace) -> int:
    print(
        accuracy_of_files(
            options.reference,
            options.hypothesis,
            against=options.against,
            rule=options.rule,
            file_format=options.format,
            utt2spk=options.utt2spk,
            ignore_case=options.ignore_case,
            in_plain_form=options.plain,
            as_json=options.json,
        )
    )
    return 0


def accuracy_of_files(
    reference: Path,
    hypothesis: Path,
    *,
    against: Path | None,
    rule: Rule,
    file_format: Format | None,
    utt2spk: Path | None,
    ignore_case: bool,
    in_plain_form: bool,
    as_json: bool,
) -> str:
    """Return the word accuracy of a file of transcripts, with ``against`` how another compares, too."""
    from asr.progress import coloured_difference
    from asr.scoring.results import accuracy_record, format_accuracy, format_comparison, hresults_lines
    from asr.scoring.scoring import compare, score

    def read(path: Path) -> dict[str, tuple[str, ...]]:
        found = read_transcripts(path, file_format)
        if not in_plain_form:
            return found
        from asr.text.forms import comparable

        return {name: comparable(" ".join(words)) for name, words in found.items()}

    references, hypotheses = read(reference), read(hypothesis)
    for path, transcripts in ((hypothesis, hypotheses), (against, {} if against is None else read(against))):
        if path is not None and not transcripts:
            raise ScoringError(f"{path}: no utterance in it, expected those of {reference}; check the file")
    speakers = None if utt2spk is None else _speakers(utt2spk)
    first = score(references, hypotheses, speakers=speakers, normalize_case=ignore_case, rule=rule)
    as_hresults = ["", *hresults_lines(first)] if rule == "htk" else []
    if against is None:
        record = accuracy_record(first)
        return shown(
            json.dumps(record, indent=1, ensure_ascii=False)
            if as_json
            else "\n".join([format_accuracy(first), *as_hresults]),
            sys.stdout,
        )
    others = read(against)
    comparison = compare(references, hypotheses, others, normalize_case=ignore_case, rule=rule)
    if as_json:
        second = score(references, others, speakers=speakers, normalize_case=ignore_case, rule=rule)
        compared = {**as_plain(comparison), "difference": comparison.difference}
        both = {"a": accuracy_record(first), "b": accuracy_record(second), "comparison": compared}
        return shown(json.dumps(both, indent=1, ensure_ascii=False), sys.stdout)
    accuracies, by_how_much, *rest = format_comparison(comparison).splitlines()
    before = [format_accuracy(first), *as_hresults, "", accuracies]
    difference = coloured_difference(by_how_much, *comparison.interval, sys.stdout)
    return "\n".join([*(shown(line, sys.stdout) for line in before), difference, *rest])


def _speakers(path: Path) -> dict[str, str]:
    """Return the speaker of each utterance, from a file ``utt2spk``."""
    table = read_transcripts(path, "kaldi")
    wrong = [utterance for utterance, words in table.items() if len(words) != 1]
    if wrong:
        raise ScoringError(f'{path}: "{wrong[0]}" has no single speaker, expected lines "utterance speaker"')
    return {utterance: words[0] for utterance, words in table.items()}


VERBS: Mapping[str, Verb] = {
    "decode": Verb(
        "print the words of recordings",
        _takes_decode,
        _run_decode,
        "asr decode exp/mine my_recordings/anna/*.wav --format ctm",
        prints={
            "recording": "path",
            "text": "the words",
            "words": f"of each word {WORD_KEYS}",
            "log_score": "of the best path",
            "complete": "whether it is a whole sentence of the grammar",
            "no_speech": "why nothing is spoken in it; empty if something is",
            "rejected": "words that were found, and count as not spoken",
            "alternatives": "with --nbest: the next best, with the keys `text`, `words`, `log_score`, "
            "`complete`",
        },
        each="a list, of each element",
    ),
    "keywords": Verb(
        "choose words to be found among any sounds, and how sure to be",
        _takes_keywords,
        _run_keywords,
        "asr keywords exp/mine --words YES NO STOP --corpus dev --other radio noise --false-alarms 1",
        prints={
            "model": "its name",
            "words": "the keywords",
            "filler_cost": "what fillers cost in the search for them",
            "rejection": "`threshold` of the log odds, `weights` of the evidence, `offset`, `of_words`",
            "spoken": "how often they are in the transcripts",
            "hours": "duration of all recordings",
            "threshold": "the one chosen",
            "detected": "how many of them are found with it",
            "detection": "in percent",
            "detection_interval": "of it",
            "false_alarms": "how many other words are found",
            "false_alarms_per_hour": "their rate",
            "false_alarms_interval": "of it",
            "curve": "the last seven of other thresholds, the strictest first",
        },
        description="Choose words that decode --keywords finds among any other sounds. What tells them from "
        "other sounds is learned from transcribed speech and other recordings; the threshold is the one with "
        "the wanted false alarms an hour, or the wanted detection. It is kept beside the model.",
    ),
    "align": Verb(
        "find when each word and phone of a transcript is spoken",
        _takes_align,
        _run_align,
        "asr align exp/mine anna/u01.wav anna/u01.txt --out u01.TextGrid",
        prints={
            "utterance": "its id",
            "duration_s": "end of the last frame",
            "words": f"of each word {WORD_KEYS}",
            "phones": "of each phone `phone`, `start_s`, `end_s`",
        },
        each="a list, of each element",
    ),
    "evaluate": Verb(
        "decode and score a data directory or folder",
        _takes_evaluate,
        _run_evaluate,
        "asr evaluate exp/mine --corpus new_recordings --hypotheses hyp.txt",
        prints={
            "(keys of score)": "",
            "incomplete": "ids of what ended without a whole sentence",
            "failed": "of what could not be decoded, and is in no count, `utterance`, `words` (how many its "
            "transcript has) and `error`",
        },
        also_prints={
            "EXP EXP2": {
                "systems": "of each `experiment`, `model`, `grammar`, `word_accuracy`, `interval`, `words`, "
                "`substitutions`, `deletions`, `insertions`, `sentence_accuracy`, and `difference` to the "
                "first (null of that one): `points`, `interval`, `p_value`, `sign_test_p_value`",
                "utterances": "number of those that all were scored on",
                "left_out": "why the others are not, by id",
            },
        },
        description="Decode a data directory or folder and say the word accuracy. Several experiments, or "
        "models (--model several times), are compared on the same utterances, each with the first, in one "
        "table.",
    ),
    "score": Verb(
        "word accuracy of hypotheses against references",
        _takes_score,
        _run_score,
        "asr score ref.txt hyp.txt --against hyp2.txt",
        prints={
            "word_accuracy": "in percent",
            "interval": "95 %, over utterances",
            "words": "words of the reference",
            "substitutions": "wrong words",
            "deletions": "missing words",
            "insertions": "words too many",
            "sentence_accuracy": "utterances without an error, in percent",
            "utterances": "number of utterances",
            "missing": "ids without hypothesis, counted as deleted",
            "speakers": "with --utt2spk: by speaker the counts, `utterances` and `correct_utterances`",
            "confusions": "of each kind of error `reference`, `hypothesis` (null: none), `count`",
        },
        also_prints={
            "--against": {
                "a": "the first hypothesis, as above",
                "b": "the second",
                "comparison": "`difference` of b over a, its `interval` and `p_value` (over utterances), "
                "`accuracy_a`, `accuracy_b`, `n_better_a`, `n_better_b`, `n_equal` utterances, "
                "`sign_test_p_value`, `missing_a`, `missing_b`",
            },
        },
    ),
}
