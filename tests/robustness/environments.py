"""Every verb where something that programs take for granted is missing: streams, a home, files, time.

    nice python tests/robustness/environments.py --out tests/robustness/measured/environments.json

A tiny experiment is trained on tones. Then verbs are run as processes of their own in one environment after
the other, and compared with a run in the usual one. Counted are runs that (1) end with the same exit code,
print the same and write the same bytes, (2) are refused with exit code 2 and one line, where the environment
keeps the verb from its work, and (3) do anything else: a traceback, another result, more lines, a file of the
experiment that has changed. It takes half an hour, Linux, and root for the environments of other users.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from asr.corpora.tones import write_tones
from benchmarks.report import argument_parser, print_table, write_report

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    *("--set", "gmm.mixtures=1,8", "--set", "gmm.iterations=2,1"),
    *("--set", "tuning.word_penalties=0", "--set", "tuning.lm_scales=5,10"),
)
# What is run, in a folder with a corpus, a data directory, an experiment `exp`, and `new` to write into.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "completion": ("completion", "bash"),
    "help": ("--help",),
    "no verb": ("train", "--nonsense"),
    "doctor": ("doctor", "--brief"),
    "validate": ("validate", "corpus"),
    "lexicon": ("lexicon", "corpus"),
    "lm": ("lm", "text.txt", "--out", "new/lm.arpa"),
    "plan": ("plan", "folder", "--corpus", "corpus", "--model", "gmm", *SETTINGS),
    "train": ("train", "folder", "--corpus", "corpus", "--out", "new", "--model", "gmm", *SETTINGS),
    "train pools": ("train", "folder", "--corpus", "corpus", "--out", "new", "--model", "pools", *SETTINGS),
    "info": ("info", "exp"),
    "sparsity": ("sparsity", "exp", "--model", "pools", "--centers", "5"),  # the report shows it
    "report": ("report", "exp"),
    "clean": ("clean", "exp"),
    "decode": ("decode", "exp", *(f"corpus/speaker {n}/{m}.wav" for n in range(3) for m in range(3))),
    "decode --json": ("decode", "exp", "corpus/speaker 0/0.wav", "--json"),
    "decode no such file": ("decode", "exp", "corpus/none.wav"),
    "align": ("align", "exp", "corpus/speaker 0/0.wav", "corpus/speaker 0/0.txt"),
    "evaluate": ("evaluate", "exp", "--corpus", "corpus"),
    "score": ("score", "ref.txt", "ref.txt"),
    "export": ("export", "exp", "--what", "alignments", "--corpus", "corpus", "--out", "new"),
    "listen": ("listen", "exp", "--input", "corpus/speaker 0/0.wav"),
}
QUICK = ("info", "decode", "validate", "decode no such file")
READING = ("info", "decode", "decode no such file", "align", "evaluate", "report", "listen", "clean")
WORKING = ("train", "decode", "evaluate", "export", "report", "doctor", "lm")
CHANGING = ("seconds", "wall", "cpu", "costs")  # of JSON lines that no two runs have in common
ESTIMATES = ("plan",)  # commands all of whose numbers are of the moment
SECONDS = re.compile(rb" *\d+(\.\d+)?( ms| s\b| min| MB| GB| GHz)|0\.\d{3}|\d\d:\d\d")


@dataclass(frozen=True)
class Environment:
    """What is other than usual.

    Attributes
    ----------
    says : in words, for the page
    shell : a command of sh that runs ``"$@"``
    variables : of the environment; None takes one away
    commands : which are run in it; None: all
    output : whether what is printed can be compared
    refuses : whether one line and exit code 2 is as good as the usual result
    files : whether the files that are written can be compared
    """

    says: str
    shell: str = '"$@"'
    variables: Mapping[str, str | None] = field(default_factory=dict)
    commands: Sequence[str] | None = None
    output: bool = True
    refuses: bool = False
    files: bool = True


@dataclass
class Ending:
    """How a command ended."""

    code: int
    out: bytes
    errors: str
    files: dict[str, str]


# Run before the program, by Python's own sitecustomize.
CLOCK = """
import itertools, time
_real, _n = time.time, itertools.count()
_jumps = (0.0, -86400.0, 86400.0, -5e8, 3e9)
time.time = lambda: _real() + _jumps[next(_n) % len(_jumps)]
"""
ONE_CORE = "import os; os.cpu_count = lambda: 1"
OTHER = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"

ENVIRONMENTS: Mapping[str, Environment] = {
    "output closed": Environment("standard output closed", 'exec "$@" >&-', output=False),
    "errors closed": Environment("standard error closed", 'exec "$@" 2>&-'),
    "input closed": Environment(
        "standard input closed", 'exec "$@" <&-', commands=("decode", "listen", "train")
    ),
    "all closed": Environment("all three closed", 'exec "$@" <&- >&- 2>&-', output=False),
    "output and errors closed": Environment(
        "output and error closed", 'exec "$@" >&- 2>&-', output=False, commands=QUICK
    ),
    "input and output closed": Environment(
        "input and output closed", 'exec "$@" <&- >&-', output=False, commands=QUICK
    ),
    "output full": Environment(
        "standard output a full device",
        'exec "$@" >/dev/full',
        output=False,
        refuses=True,
        commands=("help", "no verb", *QUICK),
    ),
    "errors full": Environment(
        "standard error a full device", 'exec "$@" 2>/dev/full', commands=("train", *QUICK)
    ),
    "output unread": Environment(
        "nobody reads the standard output",
        '{ "$@"; echo $? >.code; } | true; exit $(cat .code)',
        output=False,
        commands=("train", "help", *QUICK),
    ),
    "errors unread": Environment(
        "nobody reads the standard error",
        '{ { "$@" 2>&3; echo $? >.code; } 3>&1 >&4 | true; } 4>&1; exit $(cat .code)',
        commands=("train", *QUICK),
    ),
    "cron": Environment(
        "as cron starts it: a session without terminal, HOME or TERM, with LANG=C and a short PATH",
        'exec setsid -w "$@" </dev/null',
        {"HOME": None, "TERM": None, "LANG": "C", "LC_ALL": None, "PATH": "/usr/bin:/bin", "USER": None},
        commands=WORKING,
    ),
    "nohup": Environment("under nohup", 'exec nohup "$@" </dev/null', commands=QUICK),
    "latin-1": Environment(
        "a locale that is not UTF-8",
        variables={
            "LC_ALL": "POSIX",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
            "PYTHONIOENCODING": "latin-1",
        },
        commands=WORKING,
    ),
    "no home": Environment(
        "no home folder",
        variables={"HOME": "/proc/none", "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None},
        commands=WORKING,
    ),
    "no temporary directory": Environment(
        "no temporary directory",
        'exec unshare -m sh -c \'mount -t tmpfs -o ro none /var/tmp; cd "$0" && exec "$@"\' "$PWD" "$@"',
        {"TMPDIR": "/nonexistent"},
        refuses=True,
        commands=WORKING,
    ),
    "32 files": Environment("32 file handles", 'ulimit -n 32; exec "$@"', refuses=True, commands=WORKING),
    "12 files": Environment("12 file handles", 'ulimit -n 12; exec "$@"', refuses=True, commands=QUICK),
    "another user": Environment(
        "another user, who may only read",
        f'exec {OTHER} "$@"',
        {"HOME": "/proc/none"},
        refuses=True,
        commands=("train", *READING),
    ),
    "no cache": Environment(
        "no place for compiled code",
        variables={"NUMBA_CACHE_DIR": "/proc/none"},
        commands=("decode", "train"),
    ),
    "clock": Environment(
        "a clock that jumps by days and decades, back too",
        variables={"SITE": CLOCK},
        commands=("train pools", "plan", "decode", "report"),
    ),
    "one core": Environment(
        "one core", 'exec taskset -c 0 "$@"', {"SITE": ONE_CORE}, commands=("train pools", "decode")
    ),
    "1 GB": Environment("1 GB of memory", 'ulimit -v 1000000; exec "$@"', refuses=True, commands=WORKING),
    "300 MB": Environment("300 MB of memory", 'ulimit -v 300000; exec "$@"', refuses=True, commands=QUICK),
    "hash seed": Environment(
        "other hashes of strings",
        variables={"PYTHONHASHSEED": "4242"},
        commands=("train pools", "decode", "lm", "lexicon", "report"),
    ),
    "no folder": Environment(
        "a current folder that was deleted",
        'mkdir gone && cd gone && rmdir ../gone && exec "$@"',
        commands=("doctor", "completion", "help", "no verb"),
        refuses=True,
    ),
}


def laid_out(directory: Path) -> Path:
    """Return a folder with all that commands need: a corpus, texts and an experiment of two models."""
    corpus = write_tones(directory / "corpus", n_speakers=6, n_each=3)
    texts = sorted(corpus.rglob("*.txt"))
    (directory / "text.txt").write_text("".join(path.read_text() for path in texts))
    (directory / "ref.txt").write_text("".join(f"u{n} {path.read_text()}" for n, path in enumerate(texts)))
    for model in ("gmm", "pools"):
        made = ("train", "folder", "--corpus", "corpus", "--out", "exp", "--model", model, *SETTINGS)
        subprocess.run(
            [sys.executable, "-m", "asr", *made, "-q"], cwd=directory, env=variables({}), check=True
        )
    return directory


def variables(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of a command."""
    usual = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    found = {**os.environ, **usual, **changes}
    return {name: value for name, value in found.items() if value is not None and name != "SITE"}


def digests(directory: Path) -> dict[str, str]:
    """Return the hash of each file, but for those that tell of the run itself."""
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(_compared(path)).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("log.txt", ".lock", "used.json", "stage.json")
    }


def _compared(path: Path) -> bytes:
    """Return the content of a file without what it took."""
    if path.suffix != ".json" and path.suffix != ".html":
        return path.read_bytes()
    lines = path.read_bytes().splitlines()
    return b"\n".join(line for line in lines if not any(word.encode() in line for word in CHANGING))


def ended(directory: Path, command: str, environment: Environment) -> Ending:
    """Return how a command ends in an environment; `new` is empty before it."""
    new = directory / "new"
    shutil.rmtree(new, ignore_errors=True)
    if command != "train":
        new.mkdir()
        new.chmod(0o755)
    before = digests(directory / "exp")
    with site(environment.variables.get("SITE")) as place:
        changes = dict(environment.variables)
        if place:
            changes["PYTHONPATH"] = os.pathsep.join([str(place), str(ROOT)])
        words = ("sh", "-c", environment.shell, "sh", sys.executable, "-m", "asr", *COMMANDS[command])
        done = subprocess.run(words, cwd=directory, env=variables(changes), capture_output=True, timeout=600)
    written = digests(new) if new.is_dir() else {}
    shutil.rmtree(new, ignore_errors=True)
    errors = done.stderr.decode(errors="replace")
    changed = {
        name for name, digest in digests(directory / "exp").items() if before.get(name, digest) != digest
    }
    return Ending(
        done.returncode, done.stdout, errors, {**written, **{f"exp/{name}": "changed" for name in changed}}
    )


@contextmanager
def site(code: str | None) -> Iterator[Path | None]:
    """Yield a folder whose sitecustomize runs some code first."""
    if code is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as place:
        Path(place, "sitecustomize.py").write_text(code)
        yield Path(place)


def wrong(usual: Ending, found: Ending, environment: Environment, command: str) -> tuple[str, str]:
    """Return ``same`` or ``refused``, and nothing; or ``wrong`` and why."""
    for sign in ("Traceback", "Exception ignored", "Fatal", "Warning:", "Error:"):
        if sign in found.errors and sign not in usual.errors:
            return "wrong", f"{sign}: {found.errors[-700:]}"
    if found.code == usual.code:
        if environment.output and _steady(found.out, command) != _steady(usual.out, command):
            return "wrong", f"prints {found.out[-300:]!r}, expected {usual.out[-300:]!r}"
        if environment.files and found.files != usual.files:
            names = sorted(
                n for n in {*found.files, *usual.files} if found.files.get(n) != usual.files.get(n)
            )
            return "wrong", f"writes other files: {', '.join(names[:5])}"
        return "same", ""
    own = [line for line in found.errors.splitlines() if line.startswith("asr: ")]
    if environment.refuses and found.code == 2 and len(own) == 1:
        return "refused", own[0]
    return "wrong", f"ends with {found.code}, expected {usual.code}: {found.errors[-700:]}"


def _steady(out: bytes, command: str) -> bytes:
    """Return what is printed without times, sizes and what is compiled already."""
    kept, is_cost = [], False
    if command in ESTIMATES:
        out = re.sub(rb" *\d+([.,]\d+)*", b"N", out)
    for line in out.splitlines():
        is_cost = b" CPU s" in line or (is_cost and bool(line.strip()))  # the table, and its rows below
        if not is_cost and b"compiled code" not in line:
            kept.append(SECONDS.sub(b"N", line))
    return b"\n".join(kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all commands in all environments, write the counts, and return 1 if anything went wrong."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--only", nargs="+", metavar="ENVIRONMENT", help="names of environments")
    parser.add_argument("--commands", nargs="+", metavar="COMMAND", help="names of commands")
    options = parser.parse_args(arguments)
    started, rows, lines = time.perf_counter(), {}, []
    with tempfile.TemporaryDirectory(prefix="asr-environments-") as directory:
        os.chmod(directory, 0o755)  # noqa: S103  # another user shall see it
        place = laid_out(Path(directory))
        usual: dict[str, Ending] = {}
        for name, environment in ENVIRONMENTS.items():
            if options.only and name not in options.only:
                continue
            counts = dict.fromkeys(("runs", "same", "refused", "wrong"), 0)
            for command in environment.commands or COMMANDS:
                if options.commands and command not in options.commands:
                    continue
                if command not in usual:
                    usual[command] = ended(place, command, Environment(""))
                what, why = wrong(usual[command], ended(place, command, environment), environment, command)
                counts["runs"] += 1
                counts[what] += 1
                lines += [f"{name}: asr {command}: {why}"] if what == "wrong" else []
                print(f"{name}: {command}: {what} {why}", flush=True)
            rows[name] = {"says": environment.says, **counts}
    print_table(
        ("environment", "runs", "same", "refused", "wrong"),
        [(n, *list(r.values())[1:]) for n, r in rows.items()],
    )
    report = {"environments": rows, "commands": len(COMMANDS), "wrong": lines}
    write_report(options.out, {**report, "seconds": round(time.perf_counter() - started, 1)})
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
