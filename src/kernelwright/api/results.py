"""Results of the Python API: the jobs' records with the text of the command line and HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kernelwright.jobs.check import ProblemCheck
from kernelwright.jobs.profile import ProfileReport
from kernelwright.jobs.series_search import SeriesResult
from kernelwright.jobs.verify import Verification
from kernelwright.jobs.whole_model import WholeModel
from kernelwright.model import BenchReport, Status
from kernelwright.report.bench import bench_text, case_text
from kernelwright.report.bounds import bounds_text
from kernelwright.report.evaluation import evaluation_text, headline, results_table
from kernelwright.report.profiled import document, profiled_text
from kernelwright.report.qualification import qualification_text, verdict
from kernelwright.report.several import several_text
from kernelwright.report.stated import stated_text
from kernelwright.report.tuning import heading, tuning_text
from kernelwright.text.units import count_text
from kernelwright.tune import Outcome

R = TypeVar("R", bound=msgspec.Struct)


def shown_as(kind: type[R], record: msgspec.Struct) -> R:
    """`record` as `kind`, which is a subclass of its class without new fields."""
    return kind(**{name: getattr(record, name) for name in record.__struct_fields__})


def html(title: str, texts: Iterable[str], pictures: Iterable[str] = ()) -> str:
    """HTML of a heading, pictures (given as HTML) and preformatted texts."""
    blocks = [f"<pre>{escape(text)}</pre>" for text in texts]
    return "\n".join([f"<p><b>{escape(title)}</b></p>", *pictures, *blocks])


class VerifyResult(Verification, frozen=True, kw_only=True):
    """The evaluation of a candidate on every case of a problem, and its environment."""

    @property
    def passed(self) -> bool:
        return self.evaluation.status is Status.PASSED

    def __str__(self) -> str:
        return evaluation_text(self.evaluation, self.problem.cases)

    def _repr_html_(self) -> str:
        title = f"{self.problem.title}: {headline(self.evaluation)}"
        return html(title, [results_table(self.evaluation.results, self.problem.cases)])


class CheckResult(ProblemCheck, frozen=True, kw_only=True):
    """A problem with its bounds, and whether it can distinguish a kernel from a trivial answer."""

    @property
    def qualifies(self) -> bool | None:
        """Whether the problem qualifies; None if this machine could judge no case."""
        return self.qualification.qualifies

    def __str__(self) -> str:
        stated = [stated_text(self.problem.stated)] if self.problem.stated is not None else []
        return "\n\n".join(
            [
                qualification_text(self.qualification, self.problem.title),
                bounds_text(self.problem.cases, self.eager),
                *stated,
            ]
        )

    def _repr_html_(self) -> str:
        return html(verdict(self.qualification, self.problem.title), [bounds_text(self.problem.cases, self.eager)])


class BenchResult(BenchReport, frozen=True, kw_only=True):
    """The framework's implementations and the candidates, timed side by side on every case."""

    def __str__(self) -> str:
        return bench_text(self)

    def _repr_html_(self) -> str:
        where = self.environment.device or "no GPU: times are estimates"
        return html(f"{self.problem} on {where}", [case_text(case) for case in self.cases])


class SurveyResult(WholeModel, frozen=True, kw_only=True):
    """Where a whole model's time goes, and what could be won."""

    def _repr_html_(self) -> str:
        text = str(self)
        return html(text.splitlines()[-1], [text])


class ProfileResult(ProfileReport, frozen=True, kw_only=True):
    """The profiles of a candidate, case by case."""

    def document(self) -> dict[str, Any]:
        """The document that `profile --json` prints."""
        return document(self.problem, self.environment, self.profiles, self.failure)

    def __str__(self) -> str:
        return "\n\n".join([*map(profiled_text, self.profiles), *([self.failure] if self.failure else [])])

    def _repr_html_(self) -> str:
        return html(self.failure or f"profile of {self.problem.title}", map(profiled_text, self.profiles))


@dataclass(frozen=True)
class Tuned:
    """A finished tuning and its output folder."""

    folder: Path
    outcome: Outcome

    def __str__(self) -> str:
        return tuning_text(self.outcome)

    def _repr_html_(self) -> str:
        return html(heading(self.outcome).partition("\n")[0], [tuning_text(self.outcome)])


@dataclass(frozen=True)
class SearchedAll(SeriesResult):
    """A search over several problems: a line for each problem, in their order, and the folder with their runs."""

    def __str__(self) -> str:
        return f"{several_text(self.lines, self.has_device)}\n\nstopped: {self.detail}"

    def _repr_html_(self) -> str:
        return html(f"{count_text(len(self.lines), 'problem')}: {self.detail}", [str(self)])
