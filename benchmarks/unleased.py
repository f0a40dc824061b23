"""Workers that judge on one GPU at the same time, for benchmarks that time no kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker


@contextmanager
def unleased_worker() -> Iterator[Worker]:
    """A worker that waits for no other: the file by which workers take turns on a GPU lies in the temporary folder, and
    this one has its own. Call `measure_peaks` before several are started."""
    with TemporaryDirectory() as folder, start_worker(environment={"TMPDIR": folder}) as worker:
        yield worker


def measure_peaks() -> None:
    """Measure the GPU's peaks with one worker, where they are not known yet; later workers read them from a file.
    Several workers at once would have too little memory for it, or measure too low values."""
    with start_worker() as worker:
        worker.environment()
