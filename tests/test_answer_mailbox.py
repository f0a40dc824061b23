"""A run through the mailbox that is answered from a folder of replies, with a fake worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

import scripts
from command_line import PROBLEM, run
from fakes import STARTER, FakeWorker
from kernelwright.journal import Journal, fold
from kernelwright.model import Operator, Trial

ROOT = Path(__file__).parents[1]
KERNEL = "import torch\n\nBLOCK = {block}  # {note}\n\n\ndef kernel_function(x):\n    return x\n"
RUN, REPLIES = Path("run"), Path("replies")


def answer_mailbox() -> ModuleType:
    return scripts.script("answer_mailbox")


@pytest.fixture(autouse=True)
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(STARTER.source)
    REPLIES.mkdir()


def reply(name: str, block: int, note: str = "") -> None:
    code = KERNEL.format(block=block, note=note)
    (REPLIES / name).write_text(f"author: ada\n\nNote: blocks of {block}\n\n```python\n{code}```\n")


def optimize(words: Sequence[str]) -> int:
    return run("optimize", *words, worker=FakeWorker()).exit_code


def driven(*options: str, end: bool = False) -> int:
    status: int = answer_mailbox().drive(RUN, REPLIES, options, end, optimize)
    return status


def begun(*options: str) -> int:
    begin = ("double", "--option", "operators=improve", "--option", "tuning=0", "--option", "width=2")
    return driven(*begin, *options)


def trials() -> tuple[Trial, ...]:
    with Journal.open(RUN) as journal:
        return journal.trials()


def test_a_run_of_so_many_rounds_is_answered_to_its_end_in_the_order_of_the_names() -> None:
    for number, block in enumerate([256, 128, 1024, 512]):
        reply(f"{number}.md", block)
    assert begun("--option", "rounds=2") == 0
    assert [trial.proposal.note for trial in trials()[1:]] == [f"blocks of {n}" for n in (256, 128, 1024, 512)]
    assert {trial.proposal.author for trial in trials()[1:]} == {"mailbox:ada"}
    with Journal.open(RUN) as journal:
        assert list(fold(journal.events()).confirmations) == [4]


def test_what_no_reply_is_left_for_waits_until_some_are_added_or_it_is_withdrawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply("0.md", 128)
    assert begun() == 0
    assert "no reply is left for 2: add some to replies" in capsys.readouterr().out
    reply("1.md", 512)
    assert driven(end=True) == 0
    assert answer_mailbox().waiting(RUN) == ()
    assert [trial.proposal.note for trial in trials()[1:3]] == ["blocks of 128", "blocks of 512"]
    assert [trial.proposal.candidate is None for trial in trials()[3:]] == [True, True]
    with Journal.open(RUN) as journal:
        assert list(fold(journal.events()).confirmations) == [2]


def test_a_repair_is_answered_by_the_file_of_that_name_and_else_declined() -> None:
    reply("0.md", 128, "fails: wrong")
    reply("0.repair.md", 512)
    reply("1.md", 256, "fails: wrong")
    assert begun("--option", "rounds=1", "--in-flight", "1") == 0
    repairs = [trial for trial in trials() if trial.request.operator is Operator.REPAIR]
    assert [trial.request.parents[0] for trial in repairs] == [1, 2]
    assert [trial.proposal.note for trial in repairs if trial.proposal.candidate is not None] == ["blocks of 512"]
    assert sum(trial.proposal.candidate is None for trial in repairs) == 1


def test_a_session_that_fails_ends_the_drive_with_its_status() -> None:
    reply("0.md", 128)
    assert driven("nowhere") == 2
    assert not RUN.exists()


@pytest.mark.parametrize("words", [["run", "replies", "--end", "--", "double", "--end"], ["--end", "run", "replies"]])
def test_what_follows_two_dashes_belongs_to_optimize(words: list[str]) -> None:
    given = answer_mailbox().parsed(words)
    assert (given.run, given.replies, given.end) == (RUN, REPLIES, True)
    assert given.options == words[4:]


def test_of_two_replies_that_say_the_same_the_second_is_left_when_one_was_handed_in() -> None:
    reply("a.md", 64)
    reply("b.md", 64)
    (RUN / "mailbox").mkdir(parents=True)
    (RUN / "mailbox" / "005.reply.md").write_text((REPLIES / "a.md").read_text())
    assert [file.name for file in answer_mailbox().unused(RUN, REPLIES)] == ["b.md"]
