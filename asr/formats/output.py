"""What the command line prints: words, alignments, scores, tables, in the format that was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asr.corpora.corpus import Problem
from asr.corpora.validation import validate
from asr.errors import ConfigError, ScoringError
from asr.files import as_plain, read_json, write_text
from asr.formats.alignment_formats import Interval, to_ctm, to_mlf, to_textgrid
from asr.formats.tiers import AlignedUtterance
from asr.formats.transcripts import read_transcripts, write_transcripts
from asr.scoring.results import RESULTS, Result, format_results
from asr.scoring.score_table import format_comparison, format_score, to_json
from asr.scoring.scoring import Score, compare, score
from decoder.decoder import Hypothesis
from decoder.lexicon import Lexicon

_TEXT_SUFFIXES = (".txt", ".lab")

Decoded = Sequence[tuple[Path, Hypothesis]]


def decoded(pairs: Decoded, file_format: str, *, with_path: bool = True, with_rank: bool = False) -> str:
    """Return hypotheses as ``text`` (the words, on request after path, rank and score) or another format."""
    if file_format == "json":
        return (
            json.dumps([_json_hypothesis(path, h) for path, h in pairs], indent=1, ensure_ascii=False) + "\n"
        )
    if file_format == "trn":
        return "".join(f"{' '.join([*h.text, f'({name})'])}\n" for name, h in _named(pairs))
    if file_format == "ctm":
        return "".join(_ctm(name, h) for name, h in _named(pairs))
    return "".join(_text(path, h, with_path=with_path, with_rank=with_rank) for path, h in pairs)


def _named(pairs: Decoded) -> list[tuple[str, Hypothesis]]:
    """Return the hypotheses with names for formats that have ids in place of paths."""
    return list(zip(recording_names([path for path, _ in pairs]), (h for _, h in pairs), strict=True))


def recording_names(paths: Sequence[Path]) -> list[str]:
    """Return for each recording its name without suffix and white space, with folders where others share it.

    >>> recording_names([Path("anna/1.wav"), Path("ben/1.wav")])
    ['anna-1', 'ben-1']
    """
    parts = [["_".join(part.split()) for part in path.with_suffix("").parts] for path in paths]
    for depth in range(1, max(map(len, parts), default=0)):
        names = ["-".join(some[-depth:]) for some in parts]
        if len(set(names)) == len(set(paths)):
            return names
    return ["-".join(all_parts) for all_parts in parts]


def _text(path: Path, hypothesis: Hypothesis, *, with_path: bool, with_rank: bool) -> str:
    """Return one line; with ranks one line a hypothesis."""
    prefix = f"{path}\t" if with_path else ""
    mark = "" if hypothesis.complete else "\t[incomplete]"
    if not with_rank:
        return f"{prefix}{' '.join(hypothesis.text)}{mark}\n"
    ranked = [hypothesis, *hypothesis.alternatives]
    return "".join(
        f"{prefix}{n}\t{h.log_score:.2f}\t{' '.join(h.text)}{mark}\n" for n, h in enumerate(ranked, 1)
    )


def _ctm(name: str, hypothesis: Hypothesis) -> str:
    intervals = [Interval(w.start_s, w.end_s, w.word) for w in hypothesis.words]
    confidences = [1.0 if w.confidence is None else w.confidence for w in hypothesis.words]
    return to_ctm(name, intervals, confidences=confidences)


def _json_hypothesis(path: Path, hypothesis: Hypothesis) -> dict[str, Any]:
    return {"recording": str(path), **_json_words(hypothesis)} | (
        {"alternatives": [_json_words(h) for h in hypothesis.alternatives]} if hypothesis.alternatives else {}
    )


def _json_words(hypothesis: Hypothesis) -> dict[str, Any]:
    words = [
        {
            "word": w.word,
            "start_s": round(w.start_s, 3),
            "end_s": round(w.end_s, 3),
            "confidence": None if w.confidence is None else round(w.confidence, 4),
        }
        for w in hypothesis.words
    ]
    return {
        "text": " ".join(hypothesis.text),
        "words": words,
        "log_score": round(hypothesis.log_score, 3),
        "complete": hypothesis.complete,
    }


def word_times(hypothesis: Hypothesis) -> str:
    """Return a table of words with their times and confidences."""
    lines = [f"{'start s':>8} {'end s':>8}  {'confidence':>10}  word"]
    for w in hypothesis.words:
        sure = "" if w.confidence is None else f"{w.confidence:.2f}"
        lines.append(f"{w.start_s:8.2f} {w.end_s:8.2f}  {sure:>10}  {w.word}")
    return "\n".join(lines)


def write_aligned(aligned: Sequence[AlignedUtterance], file_format: str, out: Path | None) -> str:
    """Return alignments as text for standard output, or write them to ``out`` and return nothing."""
    if file_format == "textgrid":
        texts = {a.utterance_id: to_textgrid(a.tiers, a.duration_s) for a in aligned}
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            for utterance_id, text in texts.items():
                write_text(out / f"{utterance_id}.TextGrid", text)
            return ""
        return "".join(texts.values())
    if file_format == "ctm":
        text = "".join(to_ctm(a.utterance_id, a.tiers["words"]) for a in aligned)
    else:
        text = to_mlf({a.utterance_id: a.tiers for a in aligned}, ("states", "phones", "words"))
    if out is None:
        return text
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    return ""


def text_or_file(text: str) -> str:
    """Return a transcript given as itself or as the path of the file (``.txt``, ``.lab``) that holds it."""
    if Path(text).suffix.lower() not in _TEXT_SUFFIXES:
        return text
    try:
        return Path(text).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{text}: {error.strerror}; expected a transcript; check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{text}: not UTF-8; expected a transcript; convert it with iconv") from None


def score_files(
    reference: Path,
    hypothesis: Path,
    *,
    against: Path | None,
    file_format: Any,
    utt2spk: Path | None,
    ignore_case: bool,
    as_json: bool,
) -> str:
    """Return the score of a file of transcripts, with ``against`` the comparison with another, too."""
    references = read_transcripts(reference, file_format)
    hypotheses = read_transcripts(hypothesis, file_format)
    speakers = None if utt2spk is None else _speakers(utt2spk)
    first = score(references, hypotheses, speakers=speakers, normalize_case=ignore_case)
    if against is None:
        return json.dumps(to_json(first), indent=1, ensure_ascii=False) if as_json else format_score(first)
    others = read_transcripts(against, file_format)
    comparison = compare(references, hypotheses, others, normalize_case=ignore_case)
    if as_json:
        second = score(references, others, speakers=speakers, normalize_case=ignore_case)
        both = {"a": to_json(first), "b": to_json(second), "comparison": as_plain(comparison)}
        return json.dumps(both, indent=1, ensure_ascii=False)
    return f"{format_score(first)}\n\n{format_comparison(comparison)}"


def _speakers(path: Path) -> dict[str, str]:
    table = read_transcripts(path, "kaldi")
    wrong = [utterance for utterance, words in table.items() if len(words) != 1]
    if wrong:
        raise ScoringError(f'{path}: "{wrong[0]}" has no single speaker, expected lines "utterance speaker"')
    return {utterance: words[0] for utterance, words in table.items()}


def write_hypotheses(hypotheses: Mapping[str, Hypothesis], path: Path) -> None:
    """Write words as a Kaldi text file."""
    write_transcripts(path, {i: h.text for i, h in hypotheses.items()})


def evaluation(result: Score, hypotheses: Mapping[str, Hypothesis], *, as_json: bool) -> str:
    """Return a score; what ended without a complete sentence is counted."""
    incomplete = sorted(i for i, h in hypotheses.items() if not h.complete)
    if as_json:
        return json.dumps({**to_json(result), "incomplete": incomplete}, indent=1, ensure_ascii=False)
    note = f"\n\n{len(incomplete)} incomplete: {', '.join(incomplete[:10])}" if incomplete else ""
    return format_score(result) + note


def results_table(results: Sequence[Result], directory: Path) -> str:
    """Return the table of an experiment's results and where they lie."""
    synthetic = bool(read_json(directory / RESULTS)["synthetic"])
    return f"{format_results(results, synthetic=synthetic)}\n\n{directory / RESULTS}"


def problems(corpus: Path, lexicon: Path | None) -> tuple[list[str], bool]:
    """Return a line for each problem of a corpus with a summary at the end, and whether any is an error."""
    found = validate(corpus, lexicon=None if lexicon is None else Lexicon.read(lexicon))
    lines = [_problem_line(p) for p in found]
    n_errors = sum(p.severity == "error" for p in found)
    return [*lines, f"{corpus}: {n_errors} error(s), {len(found) - n_errors} warning(s)"], n_errors > 0


def _problem_line(problem: Problem) -> str:
    return f"{problem.severity}: {problem}"


def description(record: Mapping[str, object]) -> str:
    """Return a record as indented lines."""
    return "\n".join(_lines(as_plain(record), ""))


def _lines(record: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key}: {value}")
    return lines
