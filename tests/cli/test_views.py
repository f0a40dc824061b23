"""`report`, `runs` and `show`: what is read back from a run folder, and what is said of one that cannot be read."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from command_line import fault, run
from kernelwright.journal import NAME, Journal
from kernelwright.model import Budget, Operator, Request
from samples import passed, run_info, short_run


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of six trials, the best of them confirmed, a seventh waiting."""
    monkeypatch.chdir(tmp_path)
    with Journal.create(Path("runs/one"), run_info()) as journal:
        journal.append_started(Budget(trials=6))
        for trial in short_run():
            journal.append_asked(trial.request)
            journal.append_proposed(trial.number, trial.proposal)
            if trial.evaluation is not None:
                journal.append_evaluated(trial.number, trial.evaluation)
            journal.append_told(trial.number)
        journal.append_confirmed(4, passed(26.0))
        journal.append_asked(Request(number=6, operator=Operator.IMPROVE, round=3, parents=(4,)))
        journal.append_stopped("waiting", 9.0)
    return tmp_path


@pytest.mark.usefixtures("one")
def test_the_report_is_text_for_people_and_json_for_scripts() -> None:
    text = run("report", "runs/one")
    assert text.exit_code == 0
    assert text.stdout.startswith("softmax: report of one\n")
    assert "trial 4 by builtin, verified again" in text.stdout
    document = json.loads(run("report", "runs/one", "--format", "json").stdout)
    assert document["best"]["trial"] == 4
    assert document["open"] == [6]


@pytest.mark.usefixtures("one")
def test_the_report_is_a_page_or_markdown_and_has_no_pictures_of_estimates() -> None:
    page = run("report", "runs/one", "--format", "html", "--plots", "pictures")
    assert page.exit_code == 0
    assert page.stdout.startswith("<!doctype html>")
    assert page.stdout == run("report", "runs/one", "--format", "html").stdout
    assert page.stderr == ""
    assert "<svg" not in page.stdout
    assert run("report", "runs/one", "--format", "md").stdout.startswith("# softmax\n")


@pytest.mark.usefixtures("one")
def test_pictures_without_matplotlib_are_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'kernelwright[report]'" in fault(run("report", "runs/one", "--plots", "pictures"))
    assert run("report", "runs/one", "--format", "html").exit_code == 0


@pytest.mark.usefixtures("one")
def test_two_runs_are_set_side_by_side() -> None:
    shutil.copytree("runs/one", "runs/two")
    assert run("compare", "runs/one", "runs/two").stdout.startswith("no ratio: without a GPU")
    document = json.loads(run("compare", "runs/one", "runs/two", "--json").stdout)
    assert (document["first"]["run"], document["second"]["run"], document["ratio"]) == ("one", "two", None)
    assert "does not exist" in fault(run("compare", "runs/one", "runs/three"))


@pytest.mark.usefixtures("one")
def test_show_gives_a_table_or_one_trial() -> None:
    table = run("show", "runs/one").stdout
    assert len(table.splitlines()) == 8
    assert "trial 2, round 1: improve of 0" in run("show", "runs/one", "2").stdout
    assert [trial["request"]["number"] for trial in json.loads(run("show", "runs/one", "--json").stdout)] == list(
        range(6)
    )
    assert json.loads(run("show", "runs/one", "4", "--json").stdout)["confirmation"]["score_us"] == 26.0


@pytest.mark.usefixtures("one")
def test_a_trial_that_is_not_there_is_said_to_be_open_or_missing() -> None:
    assert "trial 6 of runs/one is not finished yet" in fault(run("show", "runs/one", "6"))
    assert "trial 9 of runs/one is not there" in fault(run("show", "runs/one", "9"))


@pytest.mark.usefixtures("one")
def test_runs_lists_the_readable_and_the_unreadable() -> None:
    Path("runs/notes").mkdir()
    Path("runs/broken").mkdir()
    Path("runs/broken", NAME).write_text("not a database at all, only some text")
    rows = {row["run"]: row for row in json.loads(run("runs", "--json").stdout)}
    assert set(rows) == {"broken", "one"}
    assert rows["one"]["state"] == "verified, not measured; waiting; 1 request open"
    assert rows["broken"]["state"].startswith("unreadable: ")
    assert "26.00 µs (estimate)" in run("runs").stdout


@pytest.mark.usefixtures("one")
def test_no_folder_and_an_empty_one_are_different_answers() -> None:
    Path("empty").mkdir()
    assert run("runs", "empty").stdout == "no runs in empty\n"
    assert "no folder at 'gone'" in fault(run("runs", "gone"))


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("verb", ["report", "show"])
def test_a_run_that_cannot_be_read_is_one_line(verb: str) -> None:
    Path("half").mkdir()
    sqlite3.connect(Path("half", NAME)).close()
    Path("other").mkdir()
    Path("other", NAME).write_bytes(Path("runs/one", NAME).read_bytes())
    connection = sqlite3.connect(Path("other", NAME))
    connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    connection.commit()
    connection.close()
    assert "half-written" in fault(run(verb, "half"))
    assert "schema version 99" in fault(run(verb, "other"))
    assert "does not exist" in fault(run(verb, "gone"))
