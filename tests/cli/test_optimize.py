"""`optimize` and `reply`: a whole run from the command line, with a fake device and real everything else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker, evaluation_of
from generated import MM, of_rows
from kernelwright.errors import WorkerError
from kernelwright.journal import NAME, Journal
from kernelwright.model import Budget, Candidate, Evaluation, Status
from samples import SOURCE

STARTER = SOURCE.replace("BLOCK=1024", "BLOCK=64")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A problem with a starter whose block of 64 the fake device finds slow; 512 is its fastest."""
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(STARTER)
    return tmp_path


def optimize(*words: str, worker: FakeWorker | None = None) -> Result:
    return run("optimize", "double", "--out", "run", "--in-flight", "1", *words, worker=worker)


def resume(*words: str, worker: FakeWorker | None = None) -> Result:
    return run("optimize", "--resume", "run", *words, worker=worker)


def test_a_run_ends_with_a_confirmed_kernel_a_report_and_a_trace() -> None:
    result = optimize("--trials", "16", "--seed", "3")
    assert result.exit_code == 0, result.stderr
    kernel = Path("run/best_kernel.py").read_text()
    assert "confirmation passed" in kernel
    assert "BLOCK=64" not in kernel.partition("\n\n")[2]
    report = Path("run/report.txt").read_text()
    assert result.stdout.splitlines()[0] in report
    assert "x as fast as the starter's 400.0 µs" in result.stdout
    assert "Round" in result.stdout
    assert "kernelwright bench double run/best_kernel.py" in result.stdout
    assert "kernelwright optimize --resume run --trials 32" in result.stdout
    assert Path("run/trace/round_00/kernel.py").is_file()
    assert Path("run/report.html").read_text().startswith("<!doctype html>")
    assert Path("run/plots/convergence.svg").is_file()
    assert Path("run/problem/double/problem.py").is_file()
    assert "estimate" not in result.stdout
    assert "search starts; budget left: 16 of 16 trials" in result.stderr


def test_with_json_standard_output_is_one_document() -> None:
    result = optimize("--trials", "6", "--json")
    document = json.loads(result.stdout)
    assert document["reason"] == "trials"
    assert document["settings"]["budget"]["trials"] == 6
    assert sum(document["trials_by_status"].values()) == 6
    assert "stopped: 6 of 6 trials" in result.stderr


def test_no_improvement_is_an_answer_with_status_0() -> None:
    Path("double/starter.py").write_text(STARTER.replace("BLOCK=64", "BLOCK=512"))
    result = optimize("--trials", "5")
    assert result.exit_code == 0
    assert result.stdout.startswith("no improvement: the starter is still the best after 4 further trials\n")
    assert "BLOCK=512" in Path("run/best_kernel.py").read_text()


def test_no_kernel_at_all_is_status_1_and_leaves_no_best_kernel() -> None:
    Path("double/starter.py").write_text(STARTER + "# fails: wrong\n")
    result = optimize("--trials", "4")
    assert result.exit_code == 1
    assert result.stdout.startswith("no kernel passed (")
    assert not Path("run/best_kernel.py").exists()
    assert Path("run/report.txt").is_file()


def test_a_better_kernel_that_is_not_confirmed_is_not_handed_out() -> None:
    def lucky(candidate: Candidate, purpose: str) -> Evaluation:
        if purpose == "confirm":
            return Evaluation(status=Status.WRONG, reason="odd: last row is off")
        return evaluation_of(candidate, purpose)

    result = optimize("--trials", "8", worker=FakeWorker(answer=lucky))
    assert result.exit_code == 0
    assert result.stdout.startswith("no improvement")
    assert "its confirmation ended as wrong: odd: last row is off" in result.stdout
    assert "BLOCK=64" in Path("run/best_kernel.py").read_text()


def test_the_mailbox_waits_with_status_0_and_goes_on_when_answered() -> None:
    waiting = optimize("--proposer", "mailbox", "--option", "tuning=0", "--trials", "3", "--option", "width=1")
    assert waiting.exit_code == 0, waiting.stderr
    assert "waiting for replies to:\n  run/mailbox/001.prompt.md" in waiting.stdout
    assert "kernelwright reply run 1 REPLY_FILE" in waiting.stdout
    assert "  kernelwright optimize --resume run" in waiting.stdout
    assert not Path("run/best_kernel.py").exists()
    assert "double" in Path("run/mailbox/001.prompt.md").read_text()

    Path("answer.md").write_text(f"author: ada\n\nTwice the block.\n\n```python\n{STARTER.replace('64', '128')}```\n")
    handed_in = run("reply", "run", "1", "answer.md")
    assert handed_in.exit_code == 0, handed_in.stderr
    assert "kernelwright optimize --resume run" in handed_in.stdout

    shutil.move("run", "elsewhere")
    shutil.rmtree("double")
    on = run("optimize", "--resume", "elsewhere", "--json")
    assert on.exit_code == 0, on.stderr
    document = json.loads(on.stdout)
    assert document["open"] == [2]
    assert document["leader"]["author"] == "mailbox:ada"
    assert document["leader"]["score_us"] == 300.0


def test_a_reply_that_nothing_waits_for_is_refused() -> None:
    optimize("--proposer", "mailbox", "--option", "tuning=0", "--trials", "2")
    Path("answer.py").write_text(STARTER)
    assert "request 7 of run does not wait for a reply" in fault(run("reply", "run", "7", "answer.py"))
    assert "does not exist" in fault(run("reply", "nowhere", "1", "answer.py"))
    assert "no reply file" in fault(run("reply", "run", "1", "gone.py"))
    Path("answer.py").write_text("def (:\n")
    assert "cannot be used" in fault(run("reply", "run", "1", "answer.py"))


def test_a_finished_run_goes_on_with_a_larger_budget_which_it_keeps() -> None:
    optimize("--trials", "3")
    first = FakeWorker()
    assert resume("--trials", "6", worker=first).exit_code == 0
    with Journal.open(Path("run")) as journal:
        assert len(journal.trials()) == 6
        assert journal.sessions()[-1].budget == Budget(trials=6)
    again = FakeWorker()
    assert resume("--minutes", "5", worker=again).exit_code == 0
    assert [purpose for _, purpose in again.calls if purpose == "search"] == []
    with Journal.open(Path("run")) as journal:
        assert journal.sessions()[-1].budget == Budget(trials=6, minutes=5.0)


def test_an_interrupt_is_status_130_and_the_run_goes_on_later() -> None:
    calls = []

    def interrupted(candidate: Candidate, purpose: str) -> Evaluation:
        calls.append(purpose)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluation_of(candidate, purpose)

    result = optimize("--trials", "8", worker=FakeWorker(answer=interrupted))
    assert result.exit_code == 130
    assert "next:\n  kernelwright optimize --resume run" in result.stdout
    assert resume().exit_code == 0
    with Journal.open(Path("run")) as journal:
        assert len(journal.trials()) == 8


def test_a_fault_in_the_middle_leaves_the_views_and_says_how_to_go_on() -> None:
    calls = []

    def dying(candidate: Candidate, purpose: str) -> Evaluation:
        calls.append(purpose)
        if len(calls) == 3:
            raise WorkerError("the worker ended without an answer")
        return evaluation_of(candidate, purpose)

    result = optimize("--trials", "8", worker=FakeWorker(answer=dying))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: the worker ended without an answer"
    assert "go on: kernelwright optimize --resume run" in result.stderr
    assert Path("run/report.txt").is_file()
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--strategy", "annealing"], "no strategy 'annealing' (choose one of beam"),
        (["--proposer", "oracle"], "no proposer 'oracle' (choose one of builtin"),
        (["--proposer", "anthropic", "--model", "m"], "ANTHROPIC_API_KEY is not set"),
        (["--proposer", "openai"], "needs the option model"),
        (["--option", "breadth=2"], "no option 'breadth'"),
        (["--option", "width"], "is not KEY=VALUE"),
        (["--proposer-option", "api_key=s3cret"], "takes no option 'api_key'"),
        (["--starter", "gone.py"], "no candidate file at 'gone.py'"),
        (["--model", "a", "--proposer-option", "model=b"], "model is given twice"),
    ],
)
def test_a_request_at_fault_is_one_line_and_leaves_nothing(words: list[str], line: str) -> None:
    worker = FakeWorker()
    result = run("optimize", "double", *words, worker=worker, ANTHROPIC_API_KEY="", OPENAI_API_KEY="")
    assert line in fault(result)
    assert "s3cret" not in result.output
    assert not Path("runs").exists()
    assert worker.calls == []
    assert not worker.closed


def test_a_problem_at_fault_is_one_line() -> None:
    Path("notes.txt").write_text("hello")
    Path("broken.py").write_text("def (:\n")
    Path("plain.py").write_text(PROBLEM)
    assert "not a Python file" in fault(run("optimize", "notes.txt"))
    assert "broken.py, line 1" in fault(run("optimize", "broken.py"))
    assert "no problem at 'gone'" in fault(run("optimize", "gone"))
    assert "has no starter.py beside it" in fault(run("optimize", "plain.py"))


def test_a_run_that_cannot_be_resumed_is_one_line() -> None:
    optimize("--trials", "2")
    shutil.copytree("run", "newer")
    with closing(sqlite3.connect(Path("newer", NAME))) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    newer = Path("newer", NAME).read_bytes()
    assert "has schema version 99; this kernelwright reads version 1" in fault(run("optimize", "--resume", "newer"))
    assert Path("newer", NAME).read_bytes() == newer
    Path("half").mkdir()
    Path("half", NAME).write_bytes(b"")
    Path("notes").mkdir()
    assert "half-written" in fault(run("optimize", "--resume", "half"))
    assert "holds no journal.db" in fault(run("optimize", "--resume", "notes"))
    assert "does not exist" in fault(run("optimize", "--resume", "nothing"))
    assert "already holds a run" in fault(optimize("--trials", "2"))


def test_a_run_is_not_resumed_with_another_problem_or_on_another_device() -> None:
    optimize("--trials", "2")
    other_text = FakeWorker(problem=msgspec.structs.replace(FakeWorker().problem, source="# another\n"))
    assert "was modified since the run started" in fault(resume(worker=other_text))
    other_module = FakeWorker(problem=msgspec.structs.replace(FakeWorker().problem, modules={"nets.py": "# another\n"}))
    assert "was modified since the run started" in fault(resume(worker=other_module))
    elsewhere = FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None))
    assert "times cannot be compared" in fault(resume(worker=elsewhere))
    with Journal.open(Path("run")) as journal:
        assert len(journal.trials()) == 2


def test_what_was_decided_at_the_beginning_cannot_be_given_with_resume() -> None:
    optimize("--trials", "2")
    for words in (["--strategy", "greedy"], ["--seed", "1"], ["--out", "x"], ["--in-flight", "2"]):
        result = resume(*words)
        assert result.exit_code == 2
        assert f"{words[0]} was decided when the run began" in result.stderr
    assert "give either PROBLEM or --resume" in run("optimize", "double", "--resume", "run").stderr
    assert run("optimize").exit_code == 2


def test_the_command_in_the_report_begins_the_same_run() -> None:
    optimize("--trials", "4", "--option", "width=2", "--seed", "5", "--dtype", "float16")
    with Journal.open(Path("run")) as journal:
        before = journal.info.settings
    line = next(line for line in Path("run/report.txt").read_text().splitlines() if "kernelwright optimize" in line)
    assert run(*line.split()[1:], "--out", "again").exit_code == 0
    with Journal.open(Path("again")) as journal:
        assert journal.info.settings == before


def test_without_a_limit_a_run_has_one_of_trials() -> None:
    assert run("optimize", "double", "--out", "run").exit_code == 0
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.budget == Budget(trials=40)
        assert journal.info.settings.in_flight == 4


def test_a_proposer_that_writes_code_gets_a_choice_of_operators_and_nested_tuning_unless_told_otherwise() -> None:
    optimize("--proposer", "mailbox", "--option", "tuning=1", "--trials", "2")
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.strategy_options == {"operators": "portfolio", "tuning": 1}
    optimize("--trials", "2", "--out", "varied")
    with Journal.open(Path("varied")) as journal:
        assert journal.info.settings.strategy_options == {"ahead": 4}


def test_lesson_cards_of_a_folder_are_shown_to_whoever_writes() -> None:
    Path("cards").mkdir()
    Path("cards/wide.md").write_text("# Wide rows spill.\n- date: 2026-01-01\n- problem: rmsnorm\n")
    optimize("--proposer", "mailbox", "--option", "tuning=0", "--trials", "2", "--lessons", "cards")
    assert "- Wide rows spill. (2026-01-01, rmsnorm)." in Path("run/mailbox/001.prompt.md").read_text()
    Path("cards/wide.md").write_text("no title")
    assert "cards/wide.md has no title" in fault(resume("--trials", "3"))


def test_the_limit_without_a_limit_is_the_same_for_every_proposer() -> None:
    optimize()
    optimize("--proposer", "mailbox", "--out", "written")
    for name in ("run", "written"):
        with Journal.open(Path(name)) as journal:
            assert journal.info.settings.budget == Budget(trials=40)
    assert "strategy beam cannot use" in fault(optimize("--option", "tuning=some", "--out", "third"))


def test_without_a_starter_the_first_kernel_is_what_torch_compile_generates() -> None:
    Path("plain.py").write_text(PROBLEM)
    result = run("optimize", "plain.py", "--trials", "3", "--out", "found", worker=FakeWorker(generated=of_rows()))
    assert result.exit_code == 0, result.output
    assert "torch.compile of torch 2.13 generates" in Path("found/best_kernel.py").read_text()
    again = run("optimize", "--resume", "found", "--trials", "4", worker=FakeWorker())
    assert again.exit_code == 0, again.output


def test_a_named_proposer_goes_before_the_starter() -> None:
    result = run("optimize", "double", "--proposer", "inductor", "--trials", "1", "--out", "found",
                 worker=FakeWorker(generated=of_rows()))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "torch.compile of torch 2.13 generates" in Path("found/best_kernel.py").read_text()


def test_a_library_call_alone_is_left() -> None:
    Path("plain.py").write_text(PROBLEM)
    worker = FakeWorker(generated=of_rows(MM, launched=False), eager_us=52.0)
    result = run("optimize", "plain.py", worker=worker)
    assert result.exit_code == 0
    assert "leave it: the library call is the computation (aten.mm)" in result.stdout
    assert not Path("runs").exists()
    document = json.loads(run("optimize", "plain.py", "--json", worker=worker).stdout)
    assert document["reason"] == "left"
