"""Candidates of many problems, verified by one real worker several at a time.

Not the tests of what becomes of them (`exploits/`, `honest/`). The candidates of a problem are evaluated when the
first of them is asked for, because loading a problem costs more than judging a kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from busy import scaled
from forked import Programs
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Evaluation

SMALL_CASES = Path(__file__).with_name("small_cases.py")

StartedWorker = Callable[..., ProcessWorker]
"""The fixture `shared_worker`: from time limits to the worker of this process that has them."""

LIMITS = scaled({"record_s": 6.0, "interpret_s": 6.0, "replay_s": 10.0})
"""Short, so that what never ends is over soon; honest candidates of small problems take less than one."""

AT_ONCE = min(12, 2 * (os.cpu_count() or 2))
"""While one is judged, others are read, recorded and compiled."""


@dataclass(frozen=True)
class Submission:
    """A candidate's source and the file of the problem that it claims to solve."""

    problem: Path
    source: str


def gives_the_same(
    worker: ProcessWorker, programs: Programs, folder: Path, source: str, adversarial: bool = False
) -> None:
    """The candidate can be recorded and compiled for every case of the problem that is loaded, `folder`/problem.py, and
    gives what its model gives at the sizes of the small ones. It costs a fraction of a verification. adversarial: also
    for large values, zeros and infinities."""
    compiled = worker.compile(Candidate(source=source), "search")
    assert compiled.reason == "compiled, not run"
    (folder / "candidate.py").write_text(source)
    words = [*["--adversarial"] * adversarial, str(folder / "candidate.py"), str(folder / "problem.py")]
    ended = programs(folder, SMALL_CASES, *words, interpret=True)
    assert ended.status == 0, ended.stderr


class Evaluations:
    """What the worker says of each of `submissions`."""

    def __init__(self, worker: ProcessWorker, submissions: Sequence[Submission]) -> None:
        self.worker, self.submissions = worker, submissions
        self.known: dict[Submission, Evaluation] = {}
        self.on_gpu = worker.environment().device is not None

    def of(self, submission: Submission) -> Evaluation:
        if submission not in self.known:
            together = [other for other in self.submissions if other.problem == submission.problem]
            self.worker.load(str(submission.problem))
            with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
                self.known |= dict(zip(together, threads.map(self._verify, together), strict=True))
        return self.known[submission]

    def _verify(self, submission: Submission) -> Evaluation:
        return self.worker.evaluate(Candidate(source=submission.source), "verify")
