"""Chooses what computes a run: threads, the scheduler at an address, or a cluster described in a file.

A cluster's file is TOML::

    kind = "slurm"          # local, or a class of dask-jobqueue: slurm, pbs, sge, lsf, oar
    jobs = 20               # how many jobs (of local: worker processes)

    [options]               # of the class; cores, memory and walltime are needed
    queue = "cpu"
    cores = 4
    memory = "8GB"
    walltime = "04:00:00"

Each core of a job is a worker process of one thread. A worker ends by itself some minutes before its job's
wall time, at a moment of its own, and another job takes its place; its results are in files by then.
"""

from __future__ import annotations

import importlib
import logging
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from asr.errors import ClusterError, ConfigError
from asr.progress import duration, say
from foundation.blocks import Engine, Threads, using
from foundation.errors import suggestion
from foundation.files import text_of
from foundation.version import how_to_install

if TYPE_CHECKING:
    from distributed import Client

JOBQUEUES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "oar": "OARCluster",
}

_CONNECT_S = 15.0  # by feel
_WORKERS_S = 3600.0  # for which the first worker is waited for; jobs may wait in a queue; by feel
_LIFETIME_MARGIN_S, _LIFETIME_STAGGER_S = 300, 120


@contextmanager
def running_on(
    workers: int | None = None, scheduler: str | None = None, cluster: Path | None = None
) -> Iterator[None]:
    """Compute blocks by threads of this process, by a scheduler's workers, or by those of a cluster.

    Parameters
    ----------
    workers : number of threads; one a core by default
    scheduler : address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``
    cluster : file that describes a cluster, which is started and stopped again
    """
    given = [name for name, value in (("scheduler", scheduler), ("cluster", cluster)) if value is not None]
    if len(given) + (workers is not None) > 1:
        raise ConfigError("expected one of --workers, --scheduler and --cluster; leave the others out")
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers: expected a number from 1 on, got {workers}; change it")
    with ExitStack() as stack:
        engine: Engine = Threads(workers)
        if cluster is not None:
            kind, jobs, options = _read(cluster)
            engine = _connected(
                stack, stack.enter_context(_started(cluster, kind, jobs, options)), str(cluster)
            )
        elif scheduler is not None:
            engine = _connected(stack, scheduler, scheduler)
        stack.enter_context(using(engine))
        yield


def _connected(stack: ExitStack, address: Any, name: str) -> Engine:
    """Return the engine of a scheduler that has a worker."""
    distributed = _imported("distributed")
    stack.enter_context(_silent("distributed"))
    try:
        client = stack.enter_context(distributed.Client(address, timeout=_CONNECT_S, set_as_default=False))
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"{name}: no scheduler answers there ({type(error).__name__}); expected the address that "
            "`dask scheduler` prints, such as tcp://10.0.0.1:8786; check that it runs and can be reached"
        ) from error
    _wait_for_workers(client, name)
    from asr.engines.dask_engine import DaskEngine

    return DaskEngine(client, name)


@contextmanager
def _silent(package: str) -> Iterator[None]:
    """Keep a package from writing tracebacks to the terminal: what matters becomes an error of ours."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == package]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _wait_for_workers(client: Client, name: str) -> None:
    if not client.scheduler_info()["workers"]:
        say(f"{name}: waiting for the first worker")
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError as error:
        raise ClusterError(
            f"{name}: no worker came in {duration(_WORKERS_S)}; start some: dask worker ADDRESS --nthreads 1"
        ) from error


_LONGEST_TEXT, _MOST_JOBS = 8_000, 1_000_000  # of a cluster's file; by feel


def _read(path: Path) -> tuple[str, int, dict[str, Any]]:
    """Return kind, number of jobs and options in a cluster's file."""
    try:
        text = text_of(path)
        if len(text) > _LONGEST_TEXT:  # tables within tables take the square of their number
            raise ValueError(f"{len(text):,} characters, at most {_LONGEST_TEXT:,} are read")
        content = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}: cannot be read ({error}); expected TOML with kind, jobs and [options]; correct it"
        ) from error
    unknown = sorted(set(content) - {"kind", "jobs", "options"})
    kind, jobs, options = content.get("kind"), content.get("jobs"), content.get("options", {})
    kinds = ("local", *JOBQUEUES)
    keys = ("kind", "jobs", "options")
    hint = suggestion(unknown[0], keys) if unknown else suggestion(str(kind), kinds)
    if unknown or kind not in kinds or not _is_count(jobs) or not isinstance(options, Mapping):
        raise ConfigError(
            f"{path}: expected kind (one of {', '.join(kinds)}), jobs (a number from 1 on) and [options]; "
            f"got kind {kind!r}, jobs {jobs if not isinstance(jobs, int) else min(jobs, _MOST_JOBS)!r}"
            + (f", unknown {', '.join(unknown)}" if unknown else "")
            + hint
        )
    return str(kind), int(jobs), dict(options)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_JOBS


def _started(path: Path, kind: str, jobs: int, options: dict[str, Any]) -> AbstractContextManager[Any]:
    """Return the cluster that a file describes; it stops at the end of the context."""
    module, name = ("distributed", "LocalCluster") if kind == "local" else ("dask_jobqueue", JOBQUEUES[kind])
    try:
        made = getattr(_imported(module), name)
        if kind == "local":
            return made(n_workers=jobs, threads_per_worker=1, dashboard_address=":0", **options)  # type: ignore[no-any-return]
        cluster = made(**jobqueue_options(path, options, kind))
        cluster.scale(jobs=jobs)
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise ConfigError(f"{path}: [options]: {_first_cause(error)}; correct it") from error
    return cluster  # type: ignore[no-any-return]


def _first_cause(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _first_cause(error.__cause__)


def jobqueue_options(path: Path, options: Mapping[str, Any], kind: str = "slurm") -> dict[str, Any]:
    """Return the options of a dask-jobqueue cluster: a process a core, which ends before the wall time."""
    missing = [name for name in ("cores", "memory", "walltime") if name not in options]
    if missing:
        raise ConfigError(
            f"{path}: [options] lacks {', '.join(missing)}; expected cores, memory and walltime of a job"
        )
    lifetime = _seconds(path, str(options["walltime"]), kind) - _LIFETIME_MARGIN_S
    if lifetime <= 2 * _LIFETIME_STAGGER_S:
        raise ConfigError(
            f"{path}: walltime is {options['walltime']}, expected ten minutes or more, of which a worker "
            f"works all but the last {_LIFETIME_MARGIN_S // 60}; ask for more"
        )
    own = ["--lifetime", f"{lifetime}s", "--lifetime-stagger", f"{_LIFETIME_STAGGER_S}s"]
    limit = "export DASK_DISTRIBUTED__WORKER__MEMORY__MAX_SPILL=1GB"  # results are in files, not in memory
    return {
        "processes": options["cores"],
        **options,
        "worker_extra_args": [*own, *options.get("worker_extra_args", [])],
        "job_script_prologue": [limit, *options.get("job_script_prologue", [])],
    }


def _seconds(path: Path, walltime: str, kind: str) -> int:
    """Return the seconds of a wall time such as 04:00:00 or 1-12:00:00; LSF writes 04:00."""
    days, _, clock = walltime.rpartition("-")
    try:
        parts = [*map(int, clock.split(":"))]
        n_days = int(days or 0)
    except ValueError:
        parts = []
    is_short = len(parts) == 2 and kind == "lsf"
    if len(parts) != 3 and not is_short:
        expected = "HH:MM" if kind == "lsf" else "HH:MM:SS or D-HH:MM:SS"
        raise ConfigError(f'{path}: walltime is "{walltime}", expected {expected}; correct it')
    hours, minutes, seconds = [*parts, 0][:3]
    return ((24 * n_days + hours) * 60 + minutes) * 60 + seconds


def _imported(module: str) -> Any:
    """Return a module of the extra ``cluster``."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{module.replace('_', '-')} is not installed; expected it for --scheduler and --cluster; "
            f"{how_to_install('cluster')}"
        ) from error
