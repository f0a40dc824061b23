"""The subject of an export: a kernel with its problem, its evaluation and its origin.

The output of an exporter is a function of this record only, so that an export can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelwright import codec
from kernelwright.export.names import identifier
from kernelwright.model import BenchReport, Candidate, Environment, Evaluation, ProblemInfo
from kernelwright.report.view import RunView
from kernelwright.source import autotune_choices, judged_text
from kernelwright.text.escape import in_code


@dataclass(frozen=True)
class Subject:
    """A kernel to export. problem_text: text of the problem's file; cases_text: of its sidecar, None if there is none.
    evaluation: the candidate's last evaluation, on `environment`. package: the package's name. results: a bench report
    and the name of the kernel's row in it. measures: whether the package times itself directly after the export. run:
    the run that found it, None for a candidate's file; trial: its number in the run. beside: the other files that the
    problem's file needs, by their paths beside it."""

    problem: ProblemInfo
    problem_text: str
    cases_text: str | None
    candidate: Candidate
    evaluation: Evaluation
    environment: Environment
    package: str
    results: tuple[BenchReport, str] | None = None
    measures: bool = False
    run: RunView | None = None
    trial: int | None = None
    beside: dict[str, bytes] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The problem's name as a Python identifier."""
        return identifier(self.problem.name)

    @property
    def title(self) -> str:
        """The problem's name as a part of a text of the export."""
        return in_code(self.problem.title)

    @property
    def maker(self) -> str:
        return f"kernelwright {in_code(self.environment.kernelwright)}"

    @property
    def source(self) -> str:
        """The candidate as it was judged, without a choice among configs of `triton.autotune`."""
        return judged_text(self.candidate, self.evaluation)

    @property
    def autotune(self) -> dict[str, int]:
        """By autotuned kernel, index of the config that was judged: the chosen one, else the first that fits the
        device."""
        chosen = self.evaluation.autotune_moved | autotune_choices(self.candidate.config)
        return {kernel: chosen.get(kernel, 0) for kernel in self.evaluation.autotune}

    def provenance(self) -> dict[str, Any]:
        """Origin and evaluation of the kernel, for people and for `recheck`."""
        found = codec.plain(self.evaluation)
        found.pop("log")
        return {
            "schema_version": 1,
            "kernelwright": self.environment.kernelwright,
            "problem": {
                "name": self.problem.name,
                "sha256": codec.sha(self.problem_text),
                "dtype": self.problem.dtype,
                "library": self.evaluation.library,
            },
            "candidate": {
                "id": self.candidate.id,
                "sha256": codec.sha(self.candidate.source),
                "config": self.candidate.config,
                "autotune": self.autotune,
                "kernel_sha256": codec.sha(self.source),
            },
            "run": None if self.run is None else self.run.folder.name,
            "trial": self.trial,
            "evaluation": found,
            "environment": codec.plain(self.environment),
        }
