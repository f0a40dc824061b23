"""What every test shares: a folder for state, one compile cache for a run, and real workers for many tests."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluated import StartedWorker
from forked import Programs
from kernelwright.evaluator.client import ProcessWorker, start_worker
from pictures import draw_only
from tiers import alone, tier

MEMORY = Path("/dev/shm")
"""A file system in memory. A journal waits for the disk after every event, and most pure tests write journals."""
MEMORY_LEFT_BYTES = 2**30
"""Pure tests need 100 MB of it at most."""


# Each process of xdist has a core. With more threads than that, torch's wait for one another in busy loops.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Under nohup, or in the background of a script, these are ignored, also by the programs that tests start and signal.
for number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Give pure tests their temporary folders in memory, where there is enough of it and no other place was named."""
    named = config.option.basetemp or "PYTEST_DEBUG_TEMPROOT" in os.environ
    usable = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_LEFT_BYTES
    if config.option.markexpr == "pure" and usable and not named:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """For `-n auto`: one more than there are cores, as tests of processes wait for them and for time limits."""
    return (os.cpu_count() or 1) + (config.option.markexpr != "pure")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Imports make millions of objects that stay: garbage collection visits none of them, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs no GPU with its tier. Tests of processes take longest and come first, so that all
    workers of xdist end at about the same time."""
    for item in items:
        if item.get_closest_marker("gpu") is None:
            item.add_marker(tier(item.path))
    items.sort(key=lambda item: item.get_closest_marker("pure") is not None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Pure tests import no torch, which takes seconds in every process of xdist."""
    if session.config.option.markexpr == "pure" and "torch" in sys.modules:
        raise pytest.UsageError("a pure test file imports torch where tests/tiers.py does not see it")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only pure tests are asked for, no other file is imported: many import torch. Where the tests of devices are
    left out, their files are not imported: they ask whether there is a device, which takes seconds."""
    if config.option.markexpr == "not gpu" and collection_path == Path(__file__).parent / "gpu":
        return True
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


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders. pytest's own numbered ones take longer the more of them there are."""
    parent = tmp_path_factory.mktemp("states")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _new_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed in one test is not remembered in another."""
    folder = next(_states)
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("KERNELWRIGHT_CACHE", "off")


@pytest.fixture(autouse=True)
def _gradients() -> Iterator[None]:
    """What a test calls in its own process may turn gradients off, as the processes of a worker do. It does not for the
    tests after it."""
    yield
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "set_grad_enabled"):
        torch.set_grad_enabled(True)


@pytest.fixture(autouse=True)
def _quick_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture is drawn and not rendered, except where `pytest.mark.rendered` says that a test looks at it."""
    if not request.node.get_closest_marker("rendered"):
        draw_only(monkeypatch.setattr)


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
def programs() -> Iterator[Programs]:
    """Runs programs in forks of processes that are started once, when the first is asked for."""
    started = Programs()
    yield started
    started.close()


LONG = {"record_s": 900.0, "compile_s": 900.0, "interpret_s": 900.0}
"""Limits of the shared worker where a test gives none: of candidates that end, on a machine of whatever load."""


@pytest.fixture(scope="session")
def shared_worker() -> Iterator[StartedWorker]:
    """From time limits to the worker of this process that has them. Load a problem before using it; do not end it."""
    workers: dict[tuple[tuple[str, float], ...], ProcessWorker] = {}

    def started(**limits: float) -> ProcessWorker:
        key = tuple(sorted(limits.items()))
        if key not in workers or workers[key].ended is not None:
            workers[key] = start_worker(limits=limits or LONG)
        return workers[key]

    yield started
    for worker in workers.values():
        worker.close()
