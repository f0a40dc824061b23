"""The comparison of a candidate with its baseline, as a table for people and as JUnit XML for CI."""

from __future__ import annotations

from xml.etree import ElementTree

from kernelwright.model import GateCase, GateReport
from kernelwright.report.evaluation import environment_settings, settings_text
from kernelwright.text.escape import legible
from kernelwright.text.table import table
from kernelwright.text.units import number_text, share_text, unit_for

HEADER = ("case", "slowdown", "95 % interval", "outcome")
ELEMENTS = {"slower": "failure", "failed": "failure", "not measured": "skipped"}
"""JUnit's element for each outcome that is not good."""


def gate_text(report: GateReport) -> str:
    """What was compared, a row for each case, the reasons, and where it was measured."""
    allowed = share_text(report.max_slowdown)
    title = f"{report.title}: {report.candidate} against {report.baseline} as recorded, both measured here"
    if report.recorded_on not in (None, report.environment.device):
        title += f"\nthe baseline was recorded on {report.recorded_on}; its times there are not compared"
    unit = unit_for(time for case in report.cases for time in (case.baseline_us, case.candidate_us))
    header = (HEADER[0], f"baseline ({unit.name})", f"candidate ({unit.name})", *HEADER[1:])
    rows = [
        [case.case, number_text(case.baseline_us, unit), number_text(case.candidate_us, unit), *figures(case)]
        for case in report.cases
    ]
    reasons = [f"  {case.case}: {case.reason}" for case in report.cases if case.reason]
    return "\n\n".join(
        [
            title,
            "\n".join([table(header, rows, left=("outcome",)), *reasons]),
            f"slower: the whole interval is above {allowed}; allowed with --max-slowdown",
            settings_text("environment", environment_settings(report.environment)),
        ]
    )


def figures(case: GateCase) -> list[str]:
    """The cells under `HEADER` after the case's name."""
    if case.slowdown is None or case.slowdown_ci95 is None:
        return ["-", "-", case.outcome]
    low, high = case.slowdown_ci95
    return [f"{case.slowdown - 1:+.1%}", f"{low - 1:+.1%} to {high - 1:+.1%}", case.outcome]


def junit_text(report: GateReport) -> str:
    """A test suite with one test for each case. JUnit's times are those of tests, so it states none."""
    count = {name: sum(ELEMENTS.get(case.outcome) == name for case in report.cases) for name in ("failure", "skipped")}
    suite = ElementTree.Element(
        "testsuite", name=f"kernelwright bench {report.title}", tests=str(len(report.cases)),
        failures=str(count["failure"]), errors="0", skipped=str(count["skipped"]),
    )  # fmt: skip
    for case in report.cases:
        test = ElementTree.SubElement(suite, "testcase", classname=report.problem, name=legible(case.case))
        slowdown, interval, outcome = figures(case)
        said = case.reason or f"{slowdown} (95 %: {interval}), allowed {share_text(report.max_slowdown)}"
        if outcome in ELEMENTS:
            ElementTree.SubElement(test, ELEMENTS[outcome], message=legible(f"{outcome}: {said}"))
        else:
            ElementTree.SubElement(test, "system-out").text = legible(said)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
