"""An estimate is called an estimate wherever a time is handed out: in every document, file and text of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright.codec import document_text
from kernelwright.model import Profile
from kernelwright.propose.sections import results
from kernelwright.report.document import report_document, trial_document
from kernelwright.report.kernel import kernel_text
from kernelwright.report.page import html_page, markdown_page
from kernelwright.report.profiled import document, finding_text, profiled, profiled_text
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


SHARES = {"share", "fraction_of_bound", "gap"}
A_SHARE = re.compile(r"\d+ % of (?:the|its) bound|\d×|(?<!not )(?<!un)confirmed")


def shares_in(content: Any, path: str = "") -> Iterator[str]:
    """Where a document has a share of a bound."""
    if isinstance(content, dict):
        yield from (f"{path}/{key}" for key in SHARES & content.keys() if content[key] is not None)
    for key, value in (
        content.items() if isinstance(content, dict) else enumerate(content if type(content) is list else [])
    ):
        yield from shares_in(value, f"{path}/{key}")


def test_an_estimate_is_no_share_of_the_bound_and_confirms_nothing() -> None:
    view = estimated()
    best = view.trials[4]
    assert best.evaluation is not None
    info, timing = view.info.problem.cases[1], best.evaluation.results[1].timing
    profile = Profile(implementation="", case=info.case.name, device=None, target="sm_90", tool=None, launches=())
    one = profiled("kernel.py", info, timing, profile, view.info.environment)
    made = documents(view) | {"profile": document(view.info.problem, view.info.environment, [one], None)}
    plain = {name: json.loads(document_text(content)) for name, content in made.items()}
    assert [place for name, content in plain.items() for place in shares_in(content, name)] == []
    texts = [report_text(view), runs_text([run_line(view)]), trials_table(view), html_page(view), markdown_page(view)]
    texts += [trial_text(trial, view) for trial in view.trials]
    texts += [profiled_text(one), results(best, view.info.problem), finding_text(one.diagnosis.bottleneck)]
    assert [match.string[match.start() - 40 : match.end()] for text in texts for match in A_SHARE.finditer(text)] == []
