"""What every proposer owes, whoever writes.

One suite for all: to add a proposer is to add a line to `MAKERS`. Model proposers are made with a provider that is a
function of its prompt. The mailbox is answered by a correspondent that replies to every prompt it finds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakes import run_info
from kernelwright.codec import sha
from kernelwright.journal import Journal
from kernelwright.llm.protocol import Reply
from kernelwright.model import Candidate, Evaluation, Operator, Proposal, Request, Status, Trial, Usage
from kernelwright.propose import Context, Proposer, build_proposer, deposit_reply, waiting
from kernelwright.propose.mailbox import Mailbox
from kernelwright.propose.model import ModelProposer
from proposing import KERNEL, OTHER, Blobs, context, failed, passed, starter, trial

PARENTS: dict[Operator, tuple[int, ...]] = {
    Operator.SEED: (),
    Operator.IMPROVE: (1,),
    Operator.REPAIR: (2, 1),
    Operator.REWRITE_SIMPLY: (1,),
    Operator.MERGE: (0, 1),
    Operator.TUNE: (0,),
}
RUN: tuple[Trial, ...] = (
    starter(passed(100.0)),
    trial(1, OTHER, evaluation=passed(80.0), parents=(0,)),
    trial(2, KERNEL, {"BLOCK": 1024}, failed(), parents=(0,)),
    trial(3, None, parents=(1,)),
    trial(4, OTHER + "# not judged\n", evaluation=Evaluation(status=Status.NOT_VERIFIED), parents=(1,)),
)
REQUESTS = [
    Request(number=5 + index, operator=operator, parents=parents, round=2)
    for index, (operator, parents) in enumerate(PARENTS.items())
]
ODD_REQUESTS = [
    Request(number=20, operator=Operator.IMPROVE, parents=()),
    Request(number=21, operator=Operator.IMPROVE, parents=(3,)),
    Request(number=22, operator=Operator.IMPROVE, parents=(99,)),
    Request(number=23, operator=Operator.MERGE, parents=(1,)),
    Request(number=24, operator=Operator.MERGE, parents=(1, 1)),
    Request(number=25, operator=Operator.REPAIR, parents=(3, 1)),
    Request(number=26, operator=Operator.TUNE, parents=()),
    Request(number=27, operator=Operator.SEED, parents=(0,)),
    Request(number=28, operator=Operator.IMPROVE, parents=(4,)),
]


def written(text: str) -> str:
    """A reply that depends on its prompt alone."""
    return f"Note: written.\n\n```python\n{KERNEL}TEXT = '{sha(text)}'\n```\n"


class Writer:
    """A provider that writes what `written` says."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        return Reply(written(prompt), Usage(input_tokens=len(prompt), requests=1), "stop")

    def close(self) -> None:
        """Nothing to let go of."""


class Correspondent:
    """A mailbox whose every prompt is answered at once, so that one call shows what two would."""

    author = "mailbox"
    shows_profiles = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mailbox = Mailbox()

    def answers_at_once(self, request: Request) -> bool:
        return False

    def propose(self, request: Request, context: Context) -> Proposal | None:
        first = self._mailbox.propose(request, context)
        if first is not None or request.number not in waiting(context.folder):
            return first
        answer = self._folder / f"{request.number}.md"
        prompt = (context.folder / "mailbox" / f"{request.number:03d}.prompt.md").read_text(encoding="utf-8")
        answer.write_text(written(prompt), encoding="utf-8")
        deposit_reply(context.folder, request.number, answer)
        return self._mailbox.propose(request, context)

    def close(self) -> None:
        self._mailbox.close()


def script(folder: Path) -> Proposer:
    """Twenty-eight replies, one for each number from 1; some are useless."""
    lines = [{"reply": "no code" if number % 7 == 0 else written(str(number))} for number in range(1, 30)]
    file = folder / "script.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return build_proposer("script", {"file": str(file)})


def replay(folder: Path) -> Proposer:
    """A recorded run that had the ordinary requests, and answered some of them with errors."""
    with Journal.create(folder / "recorded", run_info()) as journal:
        for earlier in RUN:  # the parents
            journal.append_asked(earlier.request)
        for request in REQUESTS:
            journal.append_asked(request)
            error = "no code" if request.operator is Operator.MERGE else None
            candidate = None if error else Candidate(source=f"{KERNEL}# {request.number}\n")
            journal.append_proposed(request.number, Proposal(author="x", candidate=candidate, error=error))
            if candidate is not None:
                journal.append_evaluated(request.number, passed(10.0))
            journal.append_told(request.number)
    return build_proposer("replay", {"run": str(folder / "recorded")})


MAKERS: dict[str, Callable[[Path], Proposer]] = {
    "builtin": lambda folder: build_proposer("builtin"),
    "inductor": lambda folder: build_proposer("inductor"),
    "model": lambda folder: ModelProposer(Writer(), "openai:m"),
    "mailbox": lambda folder: Mailbox(),
    "answered mailbox": Correspondent,
    "script": script,
    "replay": replay,
}
WAITS = ("mailbox",)


@pytest.fixture(params=MAKERS)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def make(name: str, folder: Path) -> Proposer:
    folder.mkdir(parents=True, exist_ok=True)
    return MAKERS[name](folder)


def around(folder: Path, blobs: Blobs | None = None, trials: tuple[Trial, ...] = RUN) -> Context:
    (folder / "run").mkdir(parents=True, exist_ok=True)
    return context(*trials, folder=folder / "run", blobs=blobs)


def test_every_request_gets_a_candidate_or_an_error_or_waits(name: str, tmp_path: Path) -> None:
    proposer = make(name, tmp_path)
    for request in (*REQUESTS, *ODD_REQUESTS):
        proposal = proposer.propose(request, around(tmp_path))
        if proposal is None:
            assert name in WAITS, request
        else:
            assert (proposal.candidate is None) != (proposal.error is None), request
            assert proposal.error != "", request
    proposer.close()


def test_an_empty_run_is_no_reason_to_fail(name: str, tmp_path: Path) -> None:
    proposer = make(name, tmp_path)
    for operator in Operator:
        proposal = proposer.propose(Request(number=0, operator=operator), around(tmp_path, trials=()))
        assert proposal is not None or name in WAITS
    proposer.close()


def test_ordinary_requests_are_mostly_answered(name: str, tmp_path: Path) -> None:
    if name in WAITS:
        pytest.skip("it waits for its replies")
    proposer = make(name, tmp_path)
    proposals = [proposer.propose(request, around(tmp_path)) for request in REQUESTS]
    assert sum(proposal is not None and proposal.candidate is not None for proposal in proposals) >= 4
    proposer.close()


def test_a_candidate_is_none_that_the_run_had_before(name: str, tmp_path: Path) -> None:
    proposer = make(name, tmp_path)
    ids = {one.proposal.candidate.id for one in RUN if one.proposal.candidate is not None}
    for request in (*REQUESTS, *ODD_REQUESTS):
        proposal = proposer.propose(request, around(tmp_path))
        if proposal is not None and proposal.candidate is not None:
            assert proposal.candidate.id not in ids, request
    proposer.close()


def test_authors_are_of_the_kind_that_the_proposer_signs_with(name: str, tmp_path: Path) -> None:
    proposer = make(name, tmp_path)
    for request in REQUESTS:
        proposal = proposer.propose(request, around(tmp_path))
        if proposal is not None:
            assert re.match(rf"{re.escape(proposer.author)}(:|$)|builtin$", proposal.author), proposal.author
    proposer.close()


def test_hashes_name_blobs_that_were_put(name: str, tmp_path: Path) -> None:
    proposer, blobs = make(name, tmp_path), Blobs()
    for request in (*REQUESTS, *ODD_REQUESTS):
        proposal = proposer.propose(request, around(tmp_path, blobs))
        if proposal is not None:
            assert all(kept is None or kept in blobs for kept in (proposal.prompt, proposal.reply))
    proposer.close()


def test_the_same_request_gets_the_same_answer_in_any_order_and_session(name: str, tmp_path: Path) -> None:
    first, second = make(name, tmp_path / "a"), make(name, tmp_path / "b")
    forwards = [first.propose(request, around(tmp_path / "a")) for request in REQUESTS]
    backwards = [second.propose(request, around(tmp_path / "b")) for request in reversed(REQUESTS)][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one.candidate, one.error) == (other.candidate, other.error)
    first.close()
    second.close()


def test_many_threads_get_what_one_would(name: str, tmp_path: Path) -> None:
    alone, shared = make(name, tmp_path / "a"), make(name, tmp_path / "b")
    requests = [*REQUESTS, *ODD_REQUESTS]
    expected = [alone.propose(request, around(tmp_path / "a")) for request in requests]
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda request: shared.propose(request, around(tmp_path / "b")), requests))
    for one, other in zip(expected, got, strict=True):
        assert (one and (one.candidate, one.error)) == (other and (other.candidate, other.error))
    alone.close()
    shared.close()
