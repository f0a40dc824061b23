"""Files of candidates that say of themselves what should become of them, evaluated by one real worker.

A file begins with lines `# key: value`; `problem` names a file in exploits/problems. Candidates of one problem are
evaluated together, several at a time, when the first of them is asked for. The rule: "verify", short limits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.model import Candidate, Evaluation
from kernelwright.pool import Worker

PROBLEMS = Path(__file__).parent / "exploits" / "problems"

LIMITS = {"interpret_s": 6.0, "replay_s": 10.0, "record_s": 6.0, "compile_s": 30.0}
"""Seconds. Honest candidates of these problems take less than one for each."""


def header(file: Path) -> dict[str, str]:
    """The `# key: value` lines at the top of a candidate's file."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        key, _, value = line.removeprefix("# ").partition(": ")
        found[key] = value.strip()
    return found


class Evaluations:
    """What the worker says of each candidate in `files`."""

    def __init__(self, worker: Worker, files: list[Path]) -> None:
        self.worker, self.files = worker, files
        self.known: dict[Path, Evaluation] = {}
        self.on_gpu = worker.environment().device is not None

    def of(self, file: Path) -> Evaluation:
        if file not in self.known:
            problem = header(file)["problem"]
            together = [other for other in self.files if header(other)["problem"] == problem]
            self.worker.load(str(PROBLEMS / f"{problem}.py"))
            with ThreadPoolExecutor(max_workers=4) as threads:
                evaluations = threads.map(self._evaluate, together)
                self.known |= dict(zip(together, evaluations, strict=True))
        return self.known[file]

    def _evaluate(self, file: Path) -> Evaluation:
        return self.worker.evaluate(Candidate(source=file.read_text(encoding="utf-8")), "verify")
