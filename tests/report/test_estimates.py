"""An estimate is called an estimate wherever a time is handed out: in every document, file and text of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright.codec import document_text
from kernelwright.report.document import report_document, trial_document
from kernelwright.report.kernel import kernel_text
from kernelwright.report.runs import run_line, runs_text
from kernelwright.report.text import report_text
from kernelwright.report.trace import trace_files
from kernelwright.report.trials import trial_text, trials_table
from kernelwright.report.view import RunView
from samples import passed, run_view, short_run

TIMES = {"score_us", "median_us", "best_us", "best_so_far_us", "starter_us"}
A_TIME = re.compile(r"\d (?:µs|ms)\b(?! \(estimate\))")


def estimated() -> RunView:
    return run_view(short_run(), confirmed={4: passed(26.0)})


def times_without_kind(content: Any, path: str = "") -> Iterator[str]:
    """Where a document holds a time in an object that does not say of which kind it is."""
    if isinstance(content, dict):
        named = {key for key in TIMES & content.keys() if content[key] is not None}
        if named and content.get("kind", content.get("timing_kind")) is None:
            yield f"{path}: {', '.join(sorted(named))}"
        for key, value in content.items():
            yield from times_without_kind(value, f"{path}/{key}")
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from times_without_kind(value, f"{path}/{index}")


def documents(view: RunView) -> dict[str, Any]:
    made: dict[str, Any] = {"report": report_document(view)}
    made |= {f"trial {trial.number}": trial_document(trial, view) for trial in view.trials}
    loaded = {name: json.loads(document_text(content)) for name, content in made.items()}
    files = {name: json.loads(text) for name, text in trace_files(view).items() if name.endswith(".json")}
    return {**loaded, **files}


@pytest.mark.parametrize("measured", [False, True])
def test_every_time_in_a_document_stands_beside_its_kind(measured: bool) -> None:
    view = run_view(short_run(measured), confirmed={4: passed(26.0, measured)})
    found = documents(view)
    assert any("benchmark_results" in name for name in found)
    assert [fault for name, content in found.items() for fault in times_without_kind(content, name)] == []


def test_every_time_that_stands_alone_in_a_text_is_called_an_estimate() -> None:
    view = estimated()
    texts = [report_text(view), runs_text([run_line(view)]), trials_table(view)]
    texts += [trial_text(trial, view) for trial in view.trials]
    texts += [kernel_text(trial, view) for trial in view.trials if trial.proposal.candidate is not None]
    assert any("(estimate)" in text for text in texts)
    assert [match.string[match.start() - 40 : match.end()] for text in texts for match in A_TIME.finditer(text)] == []
