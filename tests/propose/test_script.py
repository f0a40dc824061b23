"""Scripts: answers in order, from JSON lines or a Python list, whatever the session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Operator, Request, Usage
from kernelwright.propose.script import Script
from proposing import KERNEL, OTHER, REPLY, Blobs, context, starter, trial


def script(tmp_path: Path, *lines: dict[str, object]) -> Script:
    file = tmp_path / "script.jsonl"
    file.write_text("\n\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return Script(file)


def improve(number: int) -> Request:
    return Request(number=number, operator=Operator.IMPROVE, parents=(0,))


def test_replies_answer_the_requests_that_ask_for_writing_in_order(tmp_path: Path) -> None:
    lines = [{"source": KERNEL + f"# {n}\n", "config": {"BLOCK": 512}, "note": f"n {n}"} for n in range(2)]
    proposer = script(tmp_path, *lines)
    first = proposer.propose(improve(1), context(starter()))
    assert first.candidate == Candidate(source=KERNEL + "# 0\n", config={"BLOCK": 512})
    assert (first.author, first.note) == ("script", "n 0")
    second = proposer.propose(improve(2), context(starter(), trial(1)))
    assert second.candidate == Candidate(source=KERNEL + "# 1\n", config={"BLOCK": 512})
    third = proposer.propose(improve(3), context(starter()))
    assert third.error == "script.jsonl has 2 replies, and all were used"


def test_a_fresh_script_goes_on_where_a_run_stopped(tmp_path: Path) -> None:
    lines = [{"source": KERNEL + f"# {n}\n"} for n in range(3)]
    script(tmp_path, *lines).propose(improve(1), context(starter()))
    again = script(tmp_path, *lines).propose(improve(2), context(starter(), trial(1)))
    assert again.candidate == Candidate(source=KERNEL + "# 1\n")


def test_without_a_starter_the_first_reply_is_the_seed(tmp_path: Path) -> None:
    proposal = script(tmp_path, {"reply": REPLY}).propose(Request(number=0, operator=Operator.SEED), context())
    assert proposal.candidate is not None


def test_a_reply_is_read_as_a_models_would_be(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "cost_usd": 0.5}
    proposer = script(tmp_path, {"reply": REPLY, "usage": usage}, {"reply": "Sorry.", "usage": usage})
    blobs = Blobs()
    good = proposer.propose(improve(1), context(starter(), blobs=blobs))
    assert good.candidate is not None
    assert (good.note, good.usage) == ("a wider block.", Usage(input_tokens=7, cost_usd=0.5))
    assert blobs[good.reply or ""] == REPLY
    bad = proposer.propose(improve(2), context(starter(), trial(1, OTHER)))
    assert (bad.error, bad.usage.cost_usd) == ("the reply has no fenced Python block", 0.5)


def test_an_error_can_be_scripted(tmp_path: Path) -> None:
    assert script(tmp_path, {"error": "refused"}).propose(improve(1), context(starter())).error == "refused"


def test_a_python_script_is_read_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(f"raise SystemExit\nREPLIES = [{REPLY!r}]\n", encoding="utf-8-sig")  # the mark is no part of it
    assert Script(file).propose(improve(1), context(starter())).candidate is not None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.jsonl", "", "has no reply"),
        ("s.jsonl", "\n{not json}\n", "line 2 is no reply"),
        ("s.jsonl", '{"answer": "x"}', "line 1 is no reply"),
        ("s.jsonl", '{"note": "x"}', "must have exactly one of reply, source and error"),
        ("s.jsonl", '{"source": "x", "error": "y"}', "must have exactly one of reply, source and error"),
        ("s.py", "REPLIES = [", "does not parse"),
        ("s.py", "x = 1", "assigns no REPLIES"),
        ("s.py", "REPLIES = [1]", "no list of texts"),
        ("s.py", "REPLIES = [open('x')]", "no list of texts"),
        ("s.py", "REPLIES = {[]: 1}", "no list of texts"),
    ],
)
def test_a_file_that_is_no_script_is_refused_with_the_place(tmp_path: Path, name: str, text: str, words: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        Script(file)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the script .*missing\.jsonl cannot be read"):
        Script(tmp_path / "missing.jsonl")
