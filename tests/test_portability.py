"""What would differ on another system is written out: the encoding of texts, and the ends of their lines."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asr.corpora.tones import write_tones

# A run of the command line that says what Windows would refuse: to rename or remove what is open or mapped.
AS_ON_WINDOWS = """
import os, shutil, sys, tempfile
import foundation.files
from pathlib import Path

foundation.files.fcntl = None

def held(path):
    place = os.path.realpath(path)
    with open("/proc/self/maps") as maps:
        names = [line.split(maxsplit=5)[5].strip() for line in maps if line.count("/")]
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            pass
    return [name for name in names if name == place or name.startswith(place + "/")]

def watched(owner, name):
    function = getattr(owner, name)
    def call(path, *args, **options):
        for place in (getattr(path, "name", path) if name == "cleanup" else path, *args[:1]):
            if isinstance(place, (str, Path)) and held(place):
                print(f"refused: {name} of {place}: {held(place)}", file=sys.stderr)
        return function(path, *args, **options)
    setattr(owner, name, call)

for owner, name in ((os, "replace"), (os, "rename"), (os, "unlink"), (shutil, "rmtree"), (Path, "unlink"),
                    (Path, "replace"), (tempfile.TemporaryDirectory, "cleanup")):
    watched(owner, name)

from asr.cli import main
sys.exit(main(sys.argv[1:]))
"""
# Two runs of one experiment with the locks of Windows, which are of bytes from where a file stands.
LOCKED_ON_WINDOWS = """
import importlib, os, sys, types
from pathlib import Path
import asr.store
from asr.errors import ExperimentError

held = set()

def locking(descriptor, mode, n_bytes):
    place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
    if place in held:
        raise OSError(36, "Resource deadlock avoided")
    held.add(place)

sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
sys.platform = "win32"
importlib.reload(asr.store)
root = Path(sys.argv[1])
with asr.store.lock(root):
    try:
        with asr.store.lock(root):
            print("two runs")
    except ExperimentError as error:
        print(error)
"""
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("acoustic", "asr", "decoder", "features", "foundation", "recipes")
OPENERS = ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile", "TextIOWrapper")
NO_TEXTS = ("archive", "gzip", "os", "tarfile", "wave", "_DECODED")  # whose ``open`` gives bytes
# What Windows lacks of modules that it has, and macOS of ``os``.
LACKING = {
    "os": (
        *(
            "chown",
            "fork",
            "forkpty",
            "getegid",
            "geteuid",
            "getgid",
            "getpgid",
            "getuid",
            "killpg",
            "lchown",
        ),
        *("mkfifo", "mknod", "nice", "register_at_fork", "sched_getaffinity", "sched_setaffinity", "setsid"),
        *(
            "statvfs",
            "sync",
            "uname",
            "wait",
            "waitid",
            "WNOHANG",
            "O_DIRECTORY",
            "O_NOFOLLOW",
            "posix_fadvise",
        ),
    ),
    "signal": (
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait"),
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP"),
        *("SIGUSR1", "SIGUSR2", "SIGWINCH"),
    ),
    "time": ("clock_gettime", "clock_settime", "pthread_getcpuclockid", "tzset"),
    "socket": ("AF_UNIX", "SO_REUSEPORT", "socketpair"),
    "multiprocessing": ("Pool", "Process", "get_context", "set_start_method"),  # forked here, spawned there
}
# Asked for first: below ``try`` or ``if hasattr``.
ASKED_FOR = {
    "foundation/threads.py": {"os.sched_getaffinity", "os.register_at_fork"},
    "foundation/compiled.py": {"os.geteuid"},
    "foundation/files.py": {"os.getuid"},  # where there is fcntl
}
ONLY_POSIX = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
ONLY_WINDOWS = ("msvcrt", "winreg")


def files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and fault of each call that leaves encoding or line ends to the system."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        is_method = isinstance(node.func, ast.Attribute)
        if is_method and name in ("read_text", "write_text") and "encoding" not in given:
            yield node.lineno, f"{name} without an encoding"
        if is_method and name == "write_text" and "newline" not in given:
            yield node.lineno, "write_text without newline"
        if name in OPENERS and owner not in NO_TEXTS:
            place = {"open": 0 if is_method else 1, "fdopen": 1}.get(name, 0)
            modes = [*node.args[place : place + 1], *([given["mode"]] if "mode" in given else [])]
            mode = next((m.value for m in modes if isinstance(m, ast.Constant)), "r")
            default_is_bytes = name in ("NamedTemporaryFile", "TemporaryFile") and not modes
            if not default_is_bytes and "b" not in str(mode) and "encoding" not in given:
                yield node.lineno, f"{name} of text without an encoding"
        if owner == "subprocess" and {"text", "universal_newlines"} & set(given) and "encoding" not in given:
            yield node.lineno, "text of a process without an encoding"


def test_texts_are_read_and_written_the_same_way_everywhere() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in files()
        for line, fault in faults(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("path.read_text()", "read_text without an encoding"),
        ("path.write_text(x, encoding='utf-8')", "write_text without newline"),
        ("open(path)", "open of text without an encoding"),
        ("path.open('w')", "open of text without an encoding"),
        ("tempfile.TemporaryFile('w+')", "TemporaryFile of text without an encoding"),
        ("subprocess.run(x, text=True)", "text of a process without an encoding"),
    ],
)
def test_what_is_left_to_the_system_is_found(code: str, fault: str) -> None:
    assert list(faults(ast.parse(code))) == [(1, fault)]


@pytest.mark.parametrize(
    "code",
    ["open(path, 'rb')", "path.open('wb')", "tempfile.TemporaryFile()", "open(path, encoding='utf-8')"],
)
def test_what_is_written_out_passes(code: str) -> None:
    assert list(faults(ast.parse(code))) == []


def test_temporary_folders_are_those_that_the_next_run_removes_if_this_one_is_killed() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files()
        if path != ROOT / "foundation" / "files.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name | ast.alias)
        and {"mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"}
        & {getattr(node, each, "") for each in ("attr", "id", "name")}
    ]
    assert found == []


def test_modules_of_one_system_are_imported_only_there() -> None:
    """Such an import stands below ``try`` or ``if``, never among those of the module."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
        if name.partition(".")[0] in (*ONLY_POSIX, *ONLY_WINDOWS)
    ]
    assert found == []


def test_what_some_systems_lack_is_not_used() -> None:
    found = [
        f"{name}:{node.lineno}: {node.value.id}.{node.attr}"
        for path in files()
        for name in [path.relative_to(ROOT).as_posix()]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.attr in LACKING.get(node.value.id, ())
        if f"{node.value.id}.{node.attr}" not in ASKED_FOR.get(name, ())
    ]
    assert found == []


def test_one_run_holds_an_experiment_on_windows(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOCKED_ON_WINDOWS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert b"another run is using this experiment directory" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has open")
def test_nothing_that_is_open_is_renamed_or_removed(tmp_path: Path) -> None:
    """Windows refuses that, of files that are mapped into memory, too."""
    write_tones(tmp_path / "corpus", n_speakers=5, n_each=4)
    experiment, page = str(tmp_path / "exp"), str(tmp_path / "page.html")
    settings = ["gmm.mixtures=1,2", "gmm.iterations=3,2", "pools.n_centers=10", "retrain_with_dev=false"]
    training = [
        "train",
        "folder",
        "--corpus",
        str(tmp_path / "corpus"),
        "--out",
        experiment,
        "--model",
        "npd",
    ]
    verbs = [
        [*training, *(part for setting in settings for part in ("--set", setting))],
        ["decode", experiment, str(tmp_path / "corpus" / "speaker 0" / "0.wav")],
        ["align", experiment, "--corpus", str(tmp_path / "corpus"), "--out", str(tmp_path / "aligned")],
        ["report", experiment, "--audio", "beside", "--out", page],
        ["report", experiment, "--audio", "none", "--out", page],
    ]
    for verb in verbs:
        done = subprocess.run([sys.executable, "-c", AS_ON_WINDOWS, *verb], capture_output=True, check=False)
        assert (done.returncode, [n for n in done.stderr.decode().splitlines() if "refused" in n]) == (0, [])


def test_no_name_in_the_repository_is_one_that_some_systems_cannot_hold() -> None:
    """Windows knows no ``aux.py``, and no two names that differ in case alone; nor does macOS."""
    reserved = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
    names = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*")]
    assert [
        n for n in names if n.name.split(".")[0].casefold() in reserved or set(n.name) & set('<>:"|?*\\')
    ] == []
    assert len({str(name).casefold() for name in names}) == len(names)
