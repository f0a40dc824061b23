"""What every test shares: a folder for state, one compile cache for a run, and real workers for many tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.evaluator.launch import start_worker
from tiers import alone, tier


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs no GPU with its tier. Tests of processes take longest and come first, so that all
    workers of xdist end at about the same time."""
    for item in items:
        if item.get_closest_marker("gpu") is None:
            item.add_marker(tier(item.path))
    items.sort(key=lambda item: item.get_closest_marker("pure") is not None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only pure tests are asked for, no other file is imported: many import torch."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if config.option.markexpr == "pure" and is_test and tier(collection_path) != "pure" else None


@pytest.fixture(autouse=True)
def _alone_where_pure(request: pytest.FixtureRequest) -> Iterator[None]:
    """A pure test starts no process and does not make torch be imported."""
    if request.node.get_closest_marker("pure") is None:
        yield
        return
    before = "torch" in sys.modules
    with alone(request.node.nodeid):
        yield
    assert before or "torch" not in sys.modules, "torch was imported: it is no pure test, see tests/tiers.py"


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was typed in one test is not remembered in another."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def _compile_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every worker of this run, in all processes of xdist, uses one new compile cache."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_COMPILE_CACHE", str(folder))
        yield


@pytest.fixture(scope="module")
def no_compile_cache() -> Iterator[None]:
    """For tests about compiling: their workers compile everything themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KERNELWRIGHT_COMPILE_CACHE")
        yield


@pytest.fixture(scope="session")
def shared_worker() -> Iterator[StartedWorker]:
    """From time limits to the worker of this process that has them. Load a problem before using it; do not end it."""
    workers: dict[tuple[tuple[str, float], ...], ProcessWorker] = {}

    def started(**limits: float) -> ProcessWorker:
        key = tuple(sorted(limits.items()))
        if key not in workers or workers[key].ended is not None:
            workers[key] = start_worker(limits=limits)
        return workers[key]

    yield started
    for worker in workers.values():
        worker.close()
