"""What the verbs take that look at data before a training: ``validate``, ``lexicon``, ``lm``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.parsing import Entry, Verbs


def _add_validate(verbs: Verbs) -> None:
    command = verbs.add_parser("validate", help="list everything that is wrong with a corpus")
    command.add_argument("corpus", type=Path, help="the corpus; an experiment directory with --suspicious")
    command.add_argument("--lexicon", type=Path, help="pronunciations; lexicon.txt of the corpus by default")
    command.add_argument("--text", default="plain", help="how transcripts are read, as --set text=… of train")
    command.add_argument(
        "--show-text", action="store_true", help="show the transcripts that are read as other words"
    )
    command.add_argument(
        "--suspicious", action="store_true", help="list the utterances whose text or sound looks wrong"
    )


def _add_lexicon(verbs: Verbs) -> None:
    command = verbs.add_parser("lexicon", help="print a lexicon for the words of a corpus")
    command.add_argument("corpus", type=Path, help="directory of the corpus")
    command.add_argument("--english", action="store_true", help="phones of the CMU dictionary, not letters")
    command.add_argument(
        "--from",
        type=Path,
        metavar="LEXICON",
        dest="source",
        help="phones of this lexicon; words that it (or the CMU dictionary) lacks are guessed from it",
    )
    command.add_argument(
        "--variants", type=int, default=1, metavar="N", help="pronunciations guessed for a word (1)"
    )


def _add_lm(verbs: Verbs) -> None:
    command = verbs.add_parser("lm", help="make an n-gram model of a text (ARPA), or measure how good one is")
    command.add_argument("text", type=Path, help="a file with a sentence on each line, or a corpus")
    command.add_argument(
        "--order", type=int, default=3, metavar="N", help="length of the longest n-grams (3)"
    )
    command.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="lexicon or list of words; others are unknown"
    )
    command.add_argument(
        "--prune",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="leave out n-grams without which the perplexity rises by less than this share, such as 1e-6",
    )
    command.add_argument(
        "--test", type=Path, metavar="TEXT", help="say the perplexity of this text and its unknown words"
    )
    command.add_argument("--out", type=Path, metavar="FILE.arpa", help="where to write the model (.gz too)")
    command.add_argument(
        "--text", default="plain", dest="reading", help="how texts are read, as --set text=… of train"
    )


VERBS: Mapping[str, Entry] = {
    "validate": Entry(_add_validate, "asr validate my_recordings"),
    "lexicon": Entry(_add_lexicon, "asr lexicon my_recordings --english > lexicon.txt"),
    "lm": Entry(_add_lm, "asr lm text.txt --order 3 --test other.txt --out trigram.arpa"),
}
