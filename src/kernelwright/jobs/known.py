"""Known kernels: those of the gallery, of earlier runs and of a folder, whose problem calls the same operators.

They are additional starters of a search and are judged like any candidate. If the class of a known kernel has other
constructor arguments, it gets the problem's by name, and is left out where one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from kernelwright.errors import RequestError, RunFolderError
from kernelwright.jobs.loading import read_candidate
from kernelwright.jobs.worker import Notify
from kernelwright.journal import NAME, Journal
from kernelwright.model import BenchReport, Candidate, KnownKernel, ProblemInfo
from kernelwright.problems import ProblemPath, problems_in
from kernelwright.problems.alike import described, signature, written_operators
from kernelwright.problems.constructed import constructed_as
from kernelwright.problems.paths import GALLERY, gallery_problems, problem_at
from kernelwright.report.framework import against_of, side_report
from kernelwright.report.gallery import AUTOTUNED, RESULTS, recorded
from kernelwright.report.view import read_run, share_of_bound
from kernelwright.text.units import count_text

MOST = 4
"""Known kernels that a search begins with: each takes a trial, and a default run has 40."""

RUNS = Path("runs")

Signature = tuple[str, ...]
Operators = Callable[[ProblemPath], tuple[str, ...]]
"""A function that loads a problem and returns its operators as `described` does; raises `ProblemError`."""


def known_kernels(
    info: ProblemInfo,
    problem: ProblemPath,
    starter: Candidate | None,
    named: Path | None,
    operators: Operators,
    notify: Notify,
) -> tuple[KnownKernel, ...]:
    """Kernels for the operators of a loaded problem, at most `MOST`: those of the folder first, then earlier runs by
    their share of the bound, then the gallery.

    problem: its own folder is no source. starter: judged anyway. named: a run, a folder of runs or of problems.
    operators: for problems of that folder which do not have them written down. Raises `RequestError` where the folder
    has neither runs nor problems.
    """
    wanted = signature(described(info))
    if wanted is None:
        return ()
    found: list[KnownKernel] = []
    if named is not None:
        if not run_folders(named) and not problems_in(str(named)):
            raise RequestError(f"{named} holds neither runs nor folders of problems", "name another with --known")
        found += [
            *from_runs(named, wanted),
            *from_problems(named, problems_in(str(named)), wanted, problem, operators, notify),
        ]
    gallery = [problem_at(file) for file in gallery_problems(Path.cwd()).values()]
    found += [*from_runs(RUNS, wanted), *from_problems(Path(GALLERY), gallery, wanted, problem, None, notify)]
    fitting = [msgspec.structs.replace(one, candidate=candidate) for one in found
               if (candidate := constructed_as(one.candidate, info.source)) is not None]  # fmt: skip
    distinct = list({one.candidate.id: one for one in reversed(fitting) if one.candidate != starter}.values())[::-1]
    if len(distinct) > MOST:
        notify(f"{count_text(len(distinct) - MOST, 'more known kernel')} left out")
    return tuple(distinct[:MOST])


def run_folders(folder: Path) -> list[Path]:
    """The runs in a folder, also those of searches over several problems; the folder itself where it is a run."""
    if (folder / NAME).is_file():
        return [folder]
    return sorted(file.parent for pattern in (f"*/{NAME}", f"*/*/{NAME}") for file in folder.glob(pattern))


def from_runs(folder: Path, wanted: Signature) -> list[KnownKernel]:
    """The confirmed best of each run for these operators, by its share of the bound there. A run that cannot be read is
    no source."""
    found = []
    for place in run_folders(folder):
        try:
            with Journal.open(place) as journal:
                if signature(described(journal.info.problem)) == wanted:
                    view = read_run(journal)
                    best = view.best
                    if best is not None and best.number in view.confirmed and best.proposal.candidate is not None:
                        share = share_of_bound(view.confirmed[best.number], view.info.problem.cases) or 0.0
                        origin = f"{place}, trial {best.number}"
                        kernel = KnownKernel(candidate=best.proposal.candidate, origin=origin,
                                             ratio=ratio_of(side_report(view)))  # fmt: skip
                        found.append((share, kernel))
        except RunFolderError:
            continue
    return [kernel for _, kernel in sorted(found, key=lambda one: -one[0])]


def from_problems(
    folder: Path,
    problems: Sequence[ProblemPath],
    wanted: Signature,
    own: ProblemPath,
    operators: Operators | None,
    notify: Notify,
) -> Iterator[KnownKernel]:
    """The best kernel, else the starter, of each of the problems of a folder that is for these operators. operators:
    None leaves problems out that do not have them written down."""
    for problem in problems:
        place = problem.best or problem.starter
        if place is None or problem.file == own.file:
            continue
        try:
            found = written_operators(problem.file.parent)
            if found is None and operators is not None:
                found = operators(problem)
            if found is not None and signature(found) == wanted:
                results = problem.file.parent / "results"
                report = recorded(results / AUTOTUNED / RESULTS) or recorded(results / RESULTS)
                yield KnownKernel(
                    candidate=read_candidate(place), origin=str(folder / problem.name / place.name),
                    ratio=ratio_of(report) if place == problem.best else None,
                )  # fmt: skip
        except RequestError as error:
            notify(f"no known kernel from {problem.name}: {error}")


def ratio_of(report: BenchReport | None) -> float | None:
    against = against_of(report) if report is not None else None
    return against.ratio if against is not None else None
