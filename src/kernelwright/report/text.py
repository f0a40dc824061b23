"""The report of a run as plain text, which `RUN/report.txt` holds. `content` says what is in it."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.report.content import Content, content_of
from kernelwright.report.evaluation import settings_text
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.text.table import indented, section_text


def report_text(view: RunView) -> str:
    """The whole report."""
    content = content_of(view)
    title = f"{content.title}: report of {view.folder.name}"
    sections = [f"{heading}\n{indented(text)}" for heading, text in _sections(content)]
    where = settings_text("Environment", content.environment)
    repeat = "How to repeat it\n" + indented("\n".join(content.repeat))
    parts = [f"{title}\n{'=' * len(title)}", verdict_text(view), *sections, where, repeat]
    return "\n\n".join(parts) + "\n"


def _sections(content: Content) -> Iterator[tuple[str, str]]:
    """Heading and text of each, in the order of the page."""
    for section in content.first:
        yield section.title, section_text(section)
    yield "Convergence", content.rounds
    tally = [f"{status}: {count}" for status, count in content.tally.items()]
    yield f"Trials by status ({len(content.view.trials)} in all)", "\n".join(tally) or "none"
    for section in (*content.further, *content.cost):
        yield section.title, section_text(section)
    if content.control:
        yield "Control arm", content.control
