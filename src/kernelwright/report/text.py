"""The report of a run as plain text, which `RUN/report.txt` holds. `content` says what is in it.

The first lines say what was found, how sure that is, and whether its times are estimates.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.report.content import Content
from kernelwright.report.evaluation import kernels_table, results_table, settings_text
from kernelwright.report.lanes import lanes_text
from kernelwright.report.profiled import finding_text
from kernelwright.report.stated import stated_text
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.text.table import indented


def report_text(view: RunView) -> str:
    """The whole report."""
    content = Content(view)
    title = f"{content.title}: report of {view.folder.name}"
    sections = [f"{heading}\n{indented(text)}" for heading, text in _sections(content)]
    where = settings_text("Environment", content.environment)
    repeat = "How to repeat it\n" + indented("\n".join(content.repeat))
    parts = [f"{title}\n{'=' * len(title)}", verdict_text(view), *sections, where, repeat]
    return "\n\n".join(parts) + "\n"


def _sections(content: Content) -> Iterator[tuple[str, str]]:
    """Heading and text of each."""
    yield "Convergence", content.rounds
    tally = [f"{status}: {count}" for status, count in content.tally.items()]
    yield f"Trials by status ({len(content.view.trials)} in all)", "\n".join(tally) or "none"
    if content.shown is not None and content.evaluation is not None:
        evaluation = content.evaluation
        kernels = f"\n\n{kernels_table(evaluation.kernels)}" if evaluation.kernels else ""
        yield f"{content.kernel_title}: trial {content.shown.number}", f"config: {content.config}{kernels}"
        yield f"Cases (bounds: {content.peaks})", results_table(evaluation.results, content.view.info.problem.cases)
    if content.diagnosis is not None:
        found = content.diagnosis
        counters = f"counters by {found.counters}" if found.counters else "no counter of a GPU was read"
        yield f"What holds it back on {found.case} ({counters})", finding_text(found.bottleneck)
    if (stated := content.view.info.problem.stated) is not None:
        yield f"Stated by {stated.set}", stated_text(stated)
    if lanes := lanes_text(content.view.lanes, content.view.at_work_s):
        yield "Lanes", lanes
    yield "Cost", content.cost
    if content.control:
        yield "Control arm", content.control
