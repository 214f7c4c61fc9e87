"""The engine of Ray, really: on this machine, with verdicts equal to those of the engine for one machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cases import (
    assert_outlives_workers,
    assert_says_what_ended_it,
    assert_scans_alike,
    fatal_suite,
    job_for,
)

from tracewitness import UsageError
from tracewitness.batch.ray import Pool

# Ray uses what is deprecated, of its own and of others.
pytestmark = [pytest.mark.filterwarnings("default::DeprecationWarning"), pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Have Ray run on this machine."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_scan(tmp_path: Path) -> None:
    """The command comes to the same verdicts, counts and sample."""
    pytest.importorskip("ray", reason="ray is not installed")
    assert_scans_alike("ray", tmp_path)


def test_workers_that_die(tmp_path: Path, cluster: None) -> None:
    """A piece that ends what checks it is tried twice, and then reported; the others are checked."""
    assert_outlives_workers(Pool, tmp_path)


def test_what_ends_a_scan(tmp_path: Path, cluster: None) -> None:
    """An error of a worker is the error of the scan."""
    assert_says_what_ended_it(Pool, tmp_path)


def test_a_cluster_that_runs_goes_on(tmp_path: Path, cluster: None) -> None:
    """Only what was started for a scan is stopped at its end."""
    import ray

    with Pool(job_for(tmp_path / "out.parquet", fatal_suite()), 2) as pool:
        assert not list(pool.parts(iter([])))
    assert ray.is_initialized()


def test_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"^the engine ray needs ray: pip install 'tracewitness\[ray\]' "):
        Pool(job_for(tmp_path / "out.parquet", fatal_suite()), 2)


def test_it_can_not_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where RAY_ADDRESS says that a cluster is and none is, that is said."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    if ray.is_initialized():
        ray.shutdown()
    monkeypatch.setenv("RAY_ADDRESS", "nowhere:0:0")
    job = job_for(tmp_path / "out.parquet", fatal_suite())
    with pytest.raises(UsageError, match="Ray can't be started or reached: "), Pool(job, 2):
        pass
