from __future__ import annotations

import importlib
import logging
import threading
from pathlib import Path

import pytest

from asr.engines.clusters import JOBQUEUES, jobqueue_options, running_on
from asr.errors import ClusterError, ConfigError
from foundation.blocks import block_map, checkpoints

pytestmark = [  # distributed closes its sockets late
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SLURM = {"cores": 4, "memory": "8GB", "walltime": "04:00:00", "queue": "cpu"}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


class TestRefused:
    def test_two_engines_at_once(self) -> None:
        for options in (
            {"workers": 2, "scheduler": "tcp://a:1"},
            {"scheduler": "x", "cluster": Path("c.toml")},
        ):
            refused = pytest.raises(ConfigError, match="expected one of --workers, --scheduler and --cluster")
            with refused, running_on(**options):  # type: ignore[arg-type]
                pass

    @pytest.mark.parametrize("workers", [0, -1])
    def test_no_workers(self, workers: int) -> None:
        with (
            pytest.raises(ConfigError, match=f"--workers: expected a number from 1 on, got {workers}"),
            running_on(workers),
        ):
            pass

    def test_nobody_answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("asr.engines.clusters._CONNECT_S", 0.5)
        for address in ("tcp://127.0.0.1:9", "nonsense://x", "tcp://127.0.0.1"):
            with (
                pytest.raises(ClusterError, match=r"no scheduler answers there .* check that it runs"),
                running_on(scheduler=address),
            ):
                pass

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> None:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(importlib, "import_module", missing)
        with (
            pytest.raises(ConfigError, match=r'distributed is not installed; .* pip install ".*\[c'),
            running_on(scheduler="tcp://127.0.0.1:9"),
        ):
            pass

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("kind = ", "cannot be read .* expected TOML with kind, jobs"),
            ('kind = "slurmm"\njobs = 2', "expected kind .one of local, slurm.* got kind 'slurmm', jobs 2"),
            ('kind = "SLURM"\njobs = 2', 'jobs 2 .did you mean "slurm"'),
            ('kind = "local"\njob = 2', 'jobs None, unknown job .did you mean "jobs"'),
            ('kind = "local"', "got kind 'local', jobs None"),
            ('kind = "local"\njobs = 0', "got kind 'local', jobs 0"),
            ('kind = "local"\njobs = true', "jobs True"),
            ('kind = "local"\njobs = 2\nworker = 3', "unknown worker"),
            ('kind = "local"\njobs = 2\n[options]\nno_such_option = 3', r"\[options\]: .*no_such_option"),
            ('kind = "slurm"\njobs = 2', r"\[options\] lacks cores, memory, walltime"),
            (
                'kind = "slurm"\njobs = 2\n[options]\ncores = 1\nmemory = "1GB"\nwalltime = "soon"',
                'is "soon"',
            ),
            (
                'kind = "slurm"\njobs = 2\n[options]\ncores = 1\nmemory = "1GB"\nwalltime = "00:08:00"',
                "expected ten minutes or more",
            ),
        ],
    )
    def test_a_wrong_file(self, tmp_path: Path, text: str, message: str) -> None:
        path = written(tmp_path / "cluster.toml", text)
        with pytest.raises(ConfigError, match=message) as caught, running_on(cluster=path):
            pass
        assert str(caught.value).startswith(f"{path}: ")

    def test_no_file(self, tmp_path: Path) -> None:
        with (
            pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"),
            running_on(cluster=tmp_path / "nowhere.toml"),
        ):
            pass


class TestJobs:
    @pytest.mark.parametrize(
        ("walltime", "lifetime"),
        [("04:00:00", 14100), ("1-00:00:00", 86100), ("02:30:15", 8715)],
    )
    def test_workers_end_before_the_wall_time(self, walltime: str, lifetime: int) -> None:
        options = jobqueue_options(Path("c.toml"), {**SLURM, "walltime": walltime})
        assert options["worker_extra_args"] == ["--lifetime", f"{lifetime}s", "--lifetime-stagger", "120s"]

    def test_lsf_writes_hours_and_minutes(self) -> None:
        options = jobqueue_options(Path("c.toml"), {**SLURM, "walltime": "04:00"}, "lsf")
        assert options["worker_extra_args"][1] == "14100s"

    @pytest.mark.parametrize("walltime", ["04:00", "1-12", "1:2:3:4", "a:b:c", ""])
    def test_others_are_not_guessed(self, walltime: str) -> None:
        with pytest.raises(ConfigError, match=r"walltime is .* expected HH:MM:SS or D-HH:MM:SS"):
            jobqueue_options(Path("c.toml"), {**SLURM, "walltime": walltime})

    def test_each_core_is_a_process(self) -> None:
        options = jobqueue_options(Path("c.toml"), SLURM)
        assert (options["processes"], options["queue"]) == (4, "cpu")
        assert jobqueue_options(Path("c.toml"), {**SLURM, "processes": 2})["processes"] == 2

    def test_own_additions_are_kept(self) -> None:
        own = {"job_script_prologue": ["module load python"], "worker_extra_args": ["--resources", "GPU=0"]}
        options = jobqueue_options(Path("c.toml"), {**SLURM, **own})
        assert options["job_script_prologue"][1:] == ["module load python"]
        assert options["worker_extra_args"][-2:] == ["--resources", "GPU=0"]

    def test_dask_jobqueue_makes_a_job_of_it(self) -> None:
        """The script that SLURM would be given, by the package itself; nothing is submitted."""
        jobqueue = pytest.importorskip("dask_jobqueue")
        options = jobqueue_options(Path("c.toml"), SLURM)
        with jobqueue.SLURMCluster(**options, scheduler_options={"dashboard_address": ":0"}) as cluster:
            script = cluster.job_script()
        assert "#SBATCH -p cpu" in script
        assert "--nthreads 1" in script
        assert "--nworkers 4" in script
        assert "--lifetime 14100s --lifetime-stagger 120s" in script
        assert "MAX_SPILL=1GB" in script
        assert set(JOBQUEUES.values()) <= set(dir(jobqueue))


def test_dask_says_nothing_meanwhile(tmp_path: Path) -> None:
    before = logging.getLogger("distributed.client").level
    path = written(tmp_path / "c.toml", 'kind = "local"\njobs = 1\n[options]\nprocesses = false\n')
    with running_on(cluster=path):
        assert not logging.getLogger("distributed.client").isEnabledFor(logging.CRITICAL)
    assert logging.getLogger("distributed.client").level == before


def test_a_local_cluster_from_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", 'kind = "local"\njobs = 2\n[options]\nprocesses = false\n')
    with running_on(cluster=path), checkpoints(tmp_path / "work"):
        assert list(block_map(lambda n: n * n, range(10), label="squares")) == [n * n for n in range(10)]


def test_threads_of_a_given_number() -> None:
    here = threading.local()  # counts the calls in each thread

    def nth(_: int) -> int:
        here.n_calls = getattr(here, "n_calls", 0) + 1
        return int(here.n_calls)

    with running_on(workers=1):
        assert list(block_map(nth, range(20), label="calls")) == list(range(1, 21))


@pytest.mark.parametrize("text", ["a" + ".a" * 50_000 + " = 1", "jobs = 0x" + "f" * 5000, "[" * 100_000])
def test_descriptions_that_no_cluster_has_are_refused_at_once(text: str, tmp_path: Path) -> None:
    """Of tables within tables TOML's reader makes the square of their number: they fill the memory."""
    refused = pytest.raises(ConfigError, match=r"expected TOML with kind|expected kind \(one of local")
    with refused as found, running_on(cluster=written(tmp_path / "c.toml", text)):
        pass
    assert len(str(found.value)) < 600
