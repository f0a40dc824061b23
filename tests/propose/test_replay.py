"""Replaying a recorded run: the same answers to the same requests, and none to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import run_info
from kernelwright.errors import RunFolderError
from kernelwright.journal import Journal
from kernelwright.model import Candidate, Operator, Proposal, Request, Usage
from kernelwright.propose.replay import Replay
from proposing import KERNEL, OTHER, Blobs, context, passed

SEED = Request(number=0, operator=Operator.SEED, candidate=Candidate(source=KERNEL))
IMPROVE = Request(number=1, operator=Operator.IMPROVE, parents=(0,))
FAILED = Request(number=2, operator=Operator.IMPROVE, parents=(1,))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    run = tmp_path / "first"
    with Journal.create(run, run_info()) as journal:
        written = Proposal(
            author="anthropic:m",
            candidate=Candidate(source=OTHER),
            usage=Usage(input_tokens=9, cost_usd=1.0),
            prompt=journal.put_blob("the prompt"),
            reply=journal.put_blob("the reply"),
            note="adds instead",
        )
        for request, proposal in (
            (SEED, Proposal(author="starter", candidate=SEED.candidate)),
            (IMPROVE, written),
            (FAILED, Proposal(author="anthropic:m", error="no code")),
        ):
            journal.append_asked(request)
            journal.append_proposed(request.number, proposal)
            if proposal.candidate is not None:
                journal.append_evaluated(request.number, passed(10.0))
            journal.append_told(request.number)
    return run


def test_the_same_request_gets_the_same_candidate_for_nothing(recorded: Path) -> None:
    blobs = Blobs()
    proposal = Replay(recorded).propose(IMPROVE, context(blobs=blobs))
    assert proposal.candidate == Candidate(source=OTHER)
    assert (proposal.author, proposal.note) == ("replay:first", "anthropic:m: adds instead")
    assert proposal.usage == Usage()
    assert (blobs[proposal.prompt or ""], blobs[proposal.reply or ""]) == ("the prompt", "the reply")


def test_a_recorded_error_is_replayed_as_one(recorded: Path) -> None:
    proposal = Replay(recorded).propose(FAILED, context())
    assert (proposal.candidate, proposal.error, proposal.prompt) == (None, "no code", None)


def test_another_request_of_that_number_is_not_answered(recorded: Path) -> None:
    replay = Replay(recorded)
    other = replay.propose(Request(number=1, operator=Operator.REPAIR, parents=(0,)), context())
    assert other.error == (
        "this run differs from the recorded one: request 1 is to repair, and the recorded one was to improve"
    )
    parents = replay.propose(Request(number=1, operator=Operator.IMPROVE, parents=(4,)), context())
    assert "has the parents (4,), and the recorded one had (0,)" in (parents.error or "")


def test_a_request_beyond_the_recording_is_an_error(recorded: Path) -> None:
    proposal = Replay(recorded).propose(Request(number=9, operator=Operator.IMPROVE, parents=(0,)), context())
    assert proposal.error == "the recorded run has no trial 9: its last is 2"


def test_a_run_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="does not exist"):
        Replay(tmp_path / "nowhere")
    Journal.create(tmp_path / "empty", run_info()).close()
    with pytest.raises(RunFolderError, match="no finished trial to replay"):
        Replay(tmp_path / "empty")
