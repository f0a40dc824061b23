"""Views of long runs: what they hold and how large they are."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from kernelwright.journal import Journal, fold
from kernelwright.report.chosen import BEST, FEW
from kernelwright.report.page import html_page
from kernelwright.report.text import report_text
from kernelwright.report.trace import TraceRounds, trace_files
from kernelwright.report.trials import trials_table
from kernelwright.report.view import RunView, read_run, view_of
from kernelwright.search.ranking import ranked
from long_run import write_long_run

LARGEST_PAGE_BYTES = 3_000_000


def page_and_view(folder: Path, trials: int, **options: object) -> tuple[str, RunView]:
    with Journal.open(write_long_run(folder, trials, **options)) as journal:  # type: ignore[arg-type]
        view = read_run(journal)
        return html_page(view), view


@pytest.mark.rendered
@pytest.mark.parametrize("is_chain", [False, True])
def test_a_page_of_five_thousand_trials_has_each_of_them_and_is_not_large(tmp_path: Path, is_chain: bool) -> None:
    page, view = page_and_view(tmp_path / "run", 5000, is_chain=is_chain)
    assert len(page.encode()) < LARGEST_PAGE_BYTES
    numbers = Counter(re.findall(r'<b>(\d+)</b>|<span class="number">(\d+)</span>', page))
    assert sorted(int(one or other) for one, other in numbers) == list(range(5000))
    assert set(numbers.values()) == {1}
    whole = {int(number) for number in re.findall(r'id="look-(\d+)"', page)}
    assert view.best is not None
    assert view.best.number in whole
    assert view.best.request.parents[0] in whole, "the way to the best"
    assert 20 <= len(whole) <= 2 * BEST + 10
    if not is_chain:
        assert {trial.number for trial in ranked(view.trials)[:BEST]} <= whole
    failures = [trial for trial in view.trials if not trial.passed]
    table = page.partition('id="reasons"')[2].partition("</table>")[0]
    assert sum(map(int, re.findall(r"<td>(\d+)</td>", table))) == len(failures), "every failure has its reason there"
    for text in (report_text(view), trials_table(view)):
        assert len(text.encode()) < LARGEST_PAGE_BYTES


def test_prompts_of_any_size_do_not_make_a_page_large(tmp_path: Path) -> None:
    page, _ = page_and_view(tmp_path / "run", FEW + 20, text_bytes=300_000)
    assert len(page.encode()) < LARGEST_PAGE_BYTES
    assert 'id="look-' in page


def test_a_run_of_few_trials_is_shown_whole(tmp_path: Path) -> None:
    page, _ = page_and_view(tmp_path / "run", FEW)
    assert len(re.findall(r'id="look-(\d+)"', page)) == FEW
    assert "Why candidates failed" not in page
    longer, _ = page_and_view(tmp_path / "longer", FEW + 1)
    assert len(re.findall(r'id="look-(\d+)"', longer)) < FEW


def lines_for(folder: Path, trials: int) -> int:
    """How many lines of Python the views of so many trials take, a measure that no load changes."""
    write_long_run(folder, trials, text_bytes=100)
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    with Journal.open(folder) as journal:
        before = sys.gettrace()
        sys.settrace(trace)  # type: ignore[arg-type]
        try:
            view = read_run(journal)
            for make in (html_page_without_plots, report_text, trials_table):
                make(view)
        finally:
            sys.settrace(before)
    return count


def html_page_without_plots(view: RunView) -> str:
    return html_page(view, pictures=[])


def test_twice_the_trials_take_twice_the_work(tmp_path: Path) -> None:
    lines_for(tmp_path / "first", 20)  # what is done once, such as reading the template
    small, large = (lines_for(tmp_path / str(count), count) for count in (400, 800))
    assert large < 2.5 * small, (small, large)


def test_the_trace_is_written_round_by_round_and_then_only_where_something_changed(tmp_path: Path) -> None:
    with Journal.open(write_long_run(tmp_path / "run", 60)) as journal:
        events, blob = journal.events(), journal.blob
        trace = TraceRounds(tmp_path / "run")
        middle = next(e.seq for e in events if getattr(e.payload, "round", 0) == 4)
        for number in range(4):
            trace.write(view_of(journal.folder, journal.info, fold(events[:middle]), blob), number)
        home = tmp_path / "run" / "trace"
        assert sorted(os.listdir(home)) == [f"round_0{number}" for number in range(4)]
        stamps = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
        whole = read_run(journal)
        trace.write(whole)
        assert {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()} == set(trace_files(whole))
        assert {path: path.stat().st_mtime_ns for path in stamps} == stamps, "what was there is not written again"
        for name, text in trace_files(whole).items():
            assert (home / name).read_text(encoding="utf-8") == text
