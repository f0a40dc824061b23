"""Compiles the gallery's kernels for GPUs that are not here, and looks whether their configs fit.

    python tests/targets.py [--targets sm_80,sm_120] [NAME...]

For each problem of the gallery: its kernels at the configs of their files, and the first kernel that is generated for
it, compiled for every timed case. A row says how many registers and bytes of shared memory the largest kernel takes, or
what does not fit. A file of the gallery was tuned on one GPU, so it may need more than another has; a package then runs
PyTorch. Everything else that does not compile is a fault, and so is a first config that does not fit. Exit status: 1
with a fault.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.devices import TARGETS
from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.inductor import NotConverted, candidate_text
from kernelwright.model import Candidate, Evaluation, Status

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
FIRST = "first kernel"
COMPILED = (Status.PASSED, Status.NOT_VERIFIED)


def sources(worker: Worker, folder: Path, library: str) -> Iterator[tuple[str, str]]:
    """Names and texts of a problem's kernels; the problem is loaded."""
    for file in sorted(folder.glob("*.py")):
        if file.stem != "problem":
            yield file.stem, file.read_text(encoding="utf-8")
    try:
        yield FIRST, candidate_text(worker.generate(), library, split=True)
    except NotConverted:
        return


def is_fault(kernel: str, found: Evaluation) -> bool:
    if found.status in COMPILED:
        return False
    return kernel == FIRST or "of shared memory per block" not in found.reason


def said_of(found: Evaluation) -> str:
    """The largest figures of the compiled kernels, or the reason why there are none."""
    if not found.kernels or found.status not in COMPILED:
        return f"{found.status.value}: {found.reason}"
    registers, shared, spills = (
        max(getattr(one, name) for one in found.kernels) for name in ("registers", "shared_bytes", "spill_bytes")
    )
    return f"{registers} registers, {shared} bytes shared" + (f", {spills} bytes spilled" if spills else "")


def compiled_for(target: str, names: list[str]) -> list[tuple[str, bool]]:
    """A line for each kernel on one target, and whether it is a fault."""
    lines = []
    with start_worker(target=target) as worker:
        for name in names:
            try:
                info = worker.load(str(GALLERY / name))
            except KernelwrightError as error:
                lines.append((f"{target:<7} {name:<24} does not load: {error}", True))
                continue
            for kernel, text in sources(worker, GALLERY / name, info.library):
                found = worker.compile(Candidate(source=text), "search")
                lines.append((f"{target:<7} {name:<24} {kernel:<12} {said_of(found)}", is_fault(kernel, found)))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="problems of the gallery; by default all")
    parser.add_argument("--targets", default=",".join(TARGETS))
    options = parser.parse_args()
    names = options.names or sorted(one.parent.name for one in GALLERY.glob("*/problem.py"))
    faults = 0
    with ThreadPoolExecutor(2) as pool:
        for lines in pool.map(lambda target: compiled_for(target, names), options.targets.split(",")):
            for line, fault in lines:
                print(("FAULT  " if fault else "") + line, flush=True)
                faults += fault
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
