"""Evaluates every config of a space on one case and keeps what became of each, failures included.

    python benchmarks/record_space.py gallery/matmul --case 4096_fp16 --candidate gallery/matmul/starter.py \
        --choices 'BLOCK_M=64,128,256;matmul_kernel.num_warps=4,8' --restrict 'BLOCK_M * BLOCK_N <= 32768' --out FILE

It goes on where FILE stopped and writes it every twenty seconds. A parameter is a tunable of the candidate, by its key
or by what stands behind the dot in it. Configs come in random order, so that a drift of the machine falls on all
parameters alike; the default comes first. The problem must have a small case: it is verified before the timed one.
Without a GPU the times are estimates, and the file says so.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from kernelwright.errors import ConfigError, KernelwrightError, RequestError, WorkerError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Evaluation, KernelResources, LibraryMode, Status
from kernelwright.problems import find_problem
from kernelwright.source import find_tunables
from kernelwright.spaces import recorded
from kernelwright.spaces.recorded import Entry, RecordedResources, RecordedSpace, config_at, places
from kernelwright.spaces.space import Config, Parameter, Space, configs, default
from kernelwright.spaces.written import candidate_for

SAVE_EVERY_S = 20.0
SMALL_CASES = 1
"""Wrong logic shows on one; of the timed case's dtype where there is such, because the tiles of a wider one may need
more shared memory than there is."""

CHOOSE = """

_timed = next(one for one in CASES if one["name"] == {case!r})
_timed.pop("held_out", None)
_small = [one for one in CASES if one.get("small")]
CASES = [_timed, *sorted(_small, key=lambda one: one.get("dtype") != _timed.get("dtype"))[:{small}]]
"""


def parse_choices(text: str) -> dict[str, tuple[int, ...]]:
    """ "A=1,2;B=4" by name."""
    found: dict[str, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, values = part.partition("=")
        try:
            found[name.strip()] = tuple(sorted({int(value) for value in values.split(",")}))
        except ValueError as error:
            raise RequestError(f"--choices has {part!r}; NAME=NUMBER,NUMBER was expected") from error
    return found


def stated_space(source: str, choices: dict[str, tuple[int, ...]], restrictions: Sequence[str]) -> Space:
    """The tunables that `choices` names, with these choices and, if it is none of them, their default."""
    tunables = find_tunables(source)
    parameters: dict[str, Parameter] = {}
    for name, values in choices.items():
        meant = [one for one in tunables if one.key == name] or [
            one for one in tunables if one.key.rpartition(".")[2] == name
        ]
        if len(meant) != 1:
            raise RequestError(
                f"{name!r} names {len(meant)} tunables of the candidate",
                f"it has {', '.join(one.key for one in tunables) or 'none'}",
            )
        (one,) = meant
        parameters[one.key] = Parameter(
            name=one.key, choices=tuple(sorted({*values, one.default})), default=one.default
        )
    return Space(
        parameters=tuple(parameters[one.key] for one in tunables if one.key in parameters),
        restrictions=tuple(restrictions),
    )


def one_case_problem(problem: str, case: str, folder: Path) -> Path:
    """A copy of the problem that has this timed case and one small one, and no others."""
    found = find_problem(problem)
    text = found.file.read_text()
    if not found.is_folder or "\nCASES = " not in text:
        raise RequestError(f"{found.file} states no CASES: a problem folder in the gallery's format was expected")
    copy = folder / found.name / found.file.name
    shutil.copytree(found.file.parent, copy.parent, ignore=shutil.ignore_patterns("runs", "results", "__pycache__"))
    copy.write_text(text + CHOOSE.format(case=case, small=SMALL_CASES))
    return copy


def entry(
    at: tuple[int, ...], evaluation: Evaluation, case: str, seconds: float, kernels: Sequence[KernelResources]
) -> Entry:
    """kernels: of the timed case alone, not those of the evaluation, which are of the small case, too."""
    timing = next((result.timing for result in evaluation.results if result.case == case), None)
    passed = evaluation.status is Status.PASSED and timing is not None
    return Entry(
        places=at,
        status=evaluation.status,
        time_us=round(timing.median_us, 4) if passed and timing is not None else None,
        ci95_us=timing.ci95_us if passed and timing is not None else None,
        reason=evaluation.reason[:200],
        footprint=footprint(kernels),
        seconds=round(seconds, 3),
    )  # fmt: skip


def footprint(kernels: Sequence[KernelResources]) -> RecordedResources | None:
    """The worst of each."""
    if not kernels:
        return None
    return RecordedResources(
        registers=max(one.registers for one in kernels),
        spill_bytes=max(one.spill_bytes for one in kernels),
        shared_bytes=max(one.shared_bytes for one in kernels),
        occupancy=round(min(one.occupancy for one in kernels), 4),
    )


class Recording:
    """The entries so far, filled by several threads and written to one file."""

    def __init__(self, head: RecordedSpace, out: Path, worker: Worker) -> None:
        self.head, self.out, self.worker = head, out, worker
        self.entries = {one.places: one for one in head.entries}
        self.lock = threading.Lock()
        self.started, self.saved, self.new = time.monotonic(), time.monotonic(), 0

    def evaluate(self, config: Config, deadline: float) -> None:
        if time.monotonic() > deadline:
            return
        started = time.monotonic()
        at = places(self.head.space, config)
        try:
            candidate: Candidate = candidate_for(self.head.candidate, config)
        except ConfigError as error:
            evaluation, kernels = Evaluation(status=Status.REJECTED, reason=str(error)), ()
        else:
            try:
                kernels = self._timed_kernels(candidate)
                evaluation = self.worker.evaluate(candidate, "search")
            except WorkerError as error:  # the worker's fault says nothing of the config: it stays to be done
                print(f"{config}: {error}", flush=True)
                return
        self.add(entry(at, evaluation, self.head.case, time.monotonic() - started, kernels))

    def _timed_kernels(self, candidate: Candidate) -> tuple[KernelResources, ...]:
        """Of the one case that is timed. Without a GPU the worker compiles the small one along with it, and nobody can
        tell which kernel is whose: none then."""
        return self.worker.compile(candidate, "tune").kernels if self.head.kind == "measured" else ()

    def add(self, one: Entry) -> None:
        with self.lock:
            self.entries[one.places] = one
            self.new += 1
            if time.monotonic() - self.saved > SAVE_EVERY_S:
                self.save()

    def save(self) -> None:
        self.saved = time.monotonic()
        recorded.save(self.record(), self.out)
        per_minute = 60 * self.new / max(1e-9, self.saved - self.started)
        counts = Counter(one.status.value for one in self.entries.values())
        shown = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        best_us = self.record().best_us
        print(
            f"{len(self.entries)} configs ({shown}), {per_minute:.0f} a minute, best "
            + ("none" if best_us is None else f"{best_us:.2f} µs"),
            flush=True,
        )

    def record(self) -> RecordedSpace:
        return msgspec.structs.replace(self.head, entries=tuple(self.entries.values()))


def begin(given: argparse.Namespace, worker: Worker, library: LibraryMode) -> RecordedSpace:
    """What FILE holds, if it is of the same space; otherwise an empty record."""
    source = given.candidate.read_text()
    environment = worker.environment()
    head = RecordedSpace(
        problem=find_problem(given.problem).name,
        case=given.case,
        candidate=source,
        environment=environment,
        kind="measured" if environment.device else "estimate",
        library=library,
        space=stated_space(source, parse_choices(given.choices), given.restrict),
    )
    if not given.out.exists():
        return head
    before = recorded.load(given.out)
    for field in ("problem", "case", "candidate", "kind", "space", "library"):
        if getattr(before, field) != getattr(head, field):
            raise RequestError(f"{given.out} holds another {field} than was asked for", "name another file with --out")
    if before.environment.device != environment.device:
        raise RequestError(f"{given.out} was recorded on {before.environment.device}, this is {environment.device}")
    return before


def record(given: argparse.Namespace) -> int:
    """Exit status 0 once every config has an entry, 1 where the time ended first."""
    with tempfile.TemporaryDirectory() as folder, start_worker(target=given.target) as worker:
        copy = one_case_problem(given.problem, given.case, Path(folder))
        head = begin(given, worker, worker.load(str(copy)).library)
        every = list(configs(head.space))
        known = {one.places for one in head.entries}
        left = [config for config in every if places(head.space, config) not in known]
        random.Random(0).shuffle(left)
        left.sort(key=lambda config: config != default(head.space))
        print(f"{len(every)} configs, {len(left)} to go", flush=True)
        recording = Recording(head, given.out, worker)
        deadline = time.monotonic() + 60 * given.minutes
        try:
            with ThreadPoolExecutor(given.in_flight) as threads:
                for done in [threads.submit(recording.evaluate, config, deadline) for config in left]:
                    done.result()
        finally:
            recording.save()
        missing = len(every) - len(recording.entries)
        for one in recording.entries.values():
            if one.time_us is not None and one.time_us == recording.record().best_us:
                print(f"best: {config_at(head.space, one.places)} {one.time_us} µs ({head.kind})")
        print(f"{given.out}: {'complete' if not missing else f'{missing} configs to go; run it again'}")
    return 1 if missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", help="folder or file of a problem")
    parser.add_argument("--case", required=True, help="the case that is timed")
    parser.add_argument("--candidate", type=Path, required=True, metavar="FILE")
    parser.add_argument("--choices", required=True, help="NAME=NUMBER,NUMBER;NAME=…")
    parser.add_argument("--restrict", action="append", default=[], metavar="EXPRESSION", help="may be given often")
    parser.add_argument("--in-flight", type=int, default=16, help="evaluations under way at once")
    parser.add_argument("--minutes", type=float, default=10.0, help="no new evaluation begins after that")
    parser.add_argument("--target", help="compile target on a machine without a GPU")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=".json, or .json.gz to compress")
    try:
        return record(parser.parse_args())
    except KernelwrightError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
