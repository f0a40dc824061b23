"""Checks an exported package again: whether it is still right, and still faster, for example after an upgrade.

The kernel and the problem are those that the package holds. A worker judges whether it is right, on secret inputs; the
package measures whether it is faster, as its users call it.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.codec import plain
from kernelwright.errors import MachineError
from kernelwright.export.recheck import Change, Package, Timed, changes, read_package, retimed
from kernelwright.jobs.loading import load_problem
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import Environment, Evaluation, Loading, Status
from kernelwright.problems.paths import problem_at
from kernelwright.python import run_module


@dataclass(frozen=True)
class Recheck:
    """A package as it is now. changed: what of the environment is not as it was. timed: every case then and now; None
    where nothing was timed. unjudged: why it cannot be timed here; "" where it can."""

    package: Package
    evaluation: Evaluation
    environment: Environment
    changed: tuple[Change, ...]
    timed: tuple[Timed, ...] | None
    unjudged: str

    @property
    def right(self) -> bool:
        return self.evaluation.status is Status.PASSED

    @property
    def faster(self) -> bool | None:
        """Whether the kernel is still faster wherever it is used; None where nothing was timed."""
        return None if self.timed is None else all(one.faster for one in self.timed if one.used)

    def document(self) -> dict[str, Any]:
        """What `recheck --json` prints."""
        return {
            "schema_version": 1,
            "package": self.package.name,
            "right": self.right,
            "faster": self.faster,
            "changed": self.changed,
            "edited": self.package.changed,
            "timed": self.timed,
            "unjudged": self.unjudged or None,
            "environment": self.environment,
            "evaluation": {**plain(self.evaluation), "log": None},
        }


def recheck(place: str | Path, *, desk: Desk, timing: bool = True) -> Recheck:
    """Verify the kernel of a package, and have the package time itself where it was timed on a GPU like this one.

    place: the folder that `export` wrote, or the installed package's. timing: False leaves the timing out. Raises
    `RequestError` where there is no whole package.
    """
    package = read_package(Path(place))
    problem = problem_at(package.reference)
    loading = Loading(dtype=package.dtype, library=package.library)
    with load_problem(problem, desk, loading) as (worker, _):
        worker.qualify()
        evaluation, environment = worker.evaluate(package.candidate, "verify"), worker.environment()
    unjudged = cannot_time(package, environment) if timing else ""
    right = evaluation.status is Status.PASSED
    timed = None
    if right and timing and not unjudged and package.wins["device"] is not None:
        timed = measure_again(package, desk.notify)
    return Recheck(package, evaluation, environment, changes(package, environment), timed, unjudged)


def cannot_time(package: Package, environment: Environment) -> str:
    """Why it cannot be measured here whether the package is still faster, "" where it can."""
    where = package.wins["device"]
    if where is None or where == environment.device:
        return ""
    return (
        f"whether it is faster was measured on {where}, and this is {environment.device or 'a machine without a GPU'}"
    )


def measure_again(package: Package, notify: Notify) -> tuple[Timed, ...]:
    """Every case of the package's `wins.json`, timed by the package in a new process."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
        file = Path(scratch) / "again.json"
        words = ["--again", "--json", str(file)]
        status = run_module(package.home.resolve().parent, f"{package.name}.benchmark", words, notify)
        if status != 0 or not file.is_file():
            raise MachineError(f"the benchmark of {package.name} failed", "see its messages above")
        return retimed(package, json.loads(file.read_text(encoding="utf-8")))
