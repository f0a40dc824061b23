"""A compiler or an interpreter that was taken over can fail; it cannot pass, nor bring down who listens to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright import codec
from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.worker.bench.messages import Run
from kernelwright.worker.compile.messages import Compile, Compiled, CountInstructions, ToCompiler
from kernelwright.worker.plan.plan import TritonLaunch
from kernelwright.worker.processes import answers
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.rules import extract, static
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, opened

LAUNCH = TritonLaunch(kernel="k", grid=(1,), arguments={}, options={})
JOB = Compile(kernels="", launch=LAUNCH)
RESOURCES = {
    "kernel": "k", "target": "sm_90", "registers": 8, "spill_bytes": 0, "shared_bytes": 0, "num_warps": 4,
    "num_stages": 3, "occupancy": 0.5, "limited_by": "warps", "cubin_sha": "0" * 64, "moved_bytes": None,
}  # fmt: skip
CODE = {"cubin": "", "metadata": {"name": "k", "num_warps": 4}, "signature": []}
BRANCHES = [{"function": "k", "arguments": ["int 3"], "ways": [[[0, "int 3"]]], "paths": [[[[1, 0]], 0]]}]
COMPILED = {
    "answer": "compiled", "code": CODE, "resources": RESOURCES, "untrue": ["libdevice"], "branches": BRANCHES,
    "skeleton": [{"kind": "constant", "operands": [], "text": "", "number": 7, "inside": -1}],
    "doubts": ["k: an offset may need more than 32 bits: a"],
}  # fmt: skip


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else []


FAILED = {"answer": "failure", "status": "rejected", "reason": ""}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_what_a_compiler_says_is_read_as_it_is() -> None:
    found = answers.of_compiler(COMPILED, JOB, "sm_90")
    assert found == codec.record(COMPILED, Compiled)
    assert codec.decode(codec.encode(found), object) | {"code": CODE} == COMPILED
    failure = Failure(status=Status.COMPILE_ERROR, reason="k: no")
    assert answers.of_compiler(codec.plain(failure), JOB, "sm_90") == failure


@pytest.mark.parametrize(
    "said",
    [
        *(FAILED | changed for changed in (
            {"status": "passed"}, {"status": "not_verified"}, {"status": "odd"}, {"reason": 7},
            {"status": ["rejected"]}, {"answer": "done"}, {"answer": "passed"}, {"answer": None}, {"more": 1},
        )),
        {"answer": "failure", "status": "rejected"}, {"status": "rejected", "reason": ""}, {},
        COMPILED | {"untrue": [["unhashable"]]}, COMPILED | {"untrue": None}, COMPILED | {"branches": [3]},
        COMPILED | {"branches": [BRANCHES[0] | {"ways": [[["0", "int 3"]]]}]}, COMPILED | {"code": "text"},
        COMPILED | {"code": CODE | {"signature": [["x y", "i32"]]}},
        {"answer": "instructions", "counters": []}, COMPILED | {"code": None}, COMPILED | {"resources": None},
        *(COMPILED | {"resources": RESOURCES | changed} for changed in (
            {"num_warps": 0}, {"registers": -1}, {"occupancy": 7.0}, {"kernel": "another"}, {"target": "\x1b[2J"},
            {"cubin_sha": "another's"}, {"limited_by": "luck"}, {"shared_bytes": 1 << 70},
        )),
    ],
)  # fmt: skip
def test_what_no_compiler_says_is_a_rejection(said: dict[str, Any]) -> None:
    found = answers.of_compiler(said, JOB, "sm_90")
    assert isinstance(found, Failure)
    assert (found.status, found.reason[:36]) == (Status.REJECTED, "the compiler's answer cannot be read")


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (CountInstructions(kernels="", launch=LAUNCH), COMPILED),
        (Compile(kernels="", launch=LAUNCH, whole=False), {"answer": "instructions", "counters": []}),
        (Compile(kernels="", launch=LAUNCH, whole=False), COMPILED | {"branches": deep(900)}),
    ],
)
def test_another_answer_than_was_asked_for_is_a_rejection(job: ToCompiler, said: dict[str, Any]) -> None:
    found = answers.of_compiler(said, job, "sm_90")
    assert isinstance(found, Failure)
    assert found.status is Status.REJECTED


@pytest.mark.parametrize(
    "said", [FAILED | {"status": "passed"}, FAILED | {"status": "wrong"}, {"answer": "failure", "reason": "no"},
             {"answer": "done", "value": [7]}, {"status": "passed"}, {"answer": "fault", "message": ""}, COMPILED, {}],
)  # fmt: skip
def test_what_no_replay_says_is_a_failure(said: dict[str, Any]) -> None:
    found = answers.of_replay(said, Run(plan="plan"))
    assert isinstance(found, Failure)
    assert found.status is Status.RUNTIME_ERROR


def test_a_long_reason_is_cut() -> None:
    found = answers.of_replay(FAILED | {"status": "runtime_error", "reason": "x" * 10**6}, Run(plan="plan"))
    assert isinstance(found, Failure)
    assert len(found.reason) == answers.REASON_LIMIT


FORGING = """
import os
import struct
import triton
import triton.language as tl

if @WHERE@:
    data = @DATA@
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, struct.pack("!I", len(data)) + data)
        except OSError:
            pass
    os._exit(0)


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
"""


def forged(session: Session, monkeypatch: pytest.MonkeyPatch, where: str, data: bytes) -> Evaluation:
    """An evaluation in which the processes `where` holds say `data`: the static rules are switched off, so that the
    text runs as Python."""
    text = FORGING.replace("@WHERE@", where).replace("@DATA@", repr(data))
    parameters = extract.extract(CANDIDATE).parameters
    with monkeypatch.context() as patch:
        patch.setattr(static, "check", lambda source: [])
        patch.setattr(extract, "extract", lambda source: extract.Kernels(text, parameters, ()))
        return evaluate(session, Candidate(source=CANDIDATE), "verify")


PASSED = b'{"answer": "failure", "status": "passed", "reason": ""}'
IN_COMPILER, IN_INTERPRETER = "'TRITON_INTERPRET' not in os.environ", "'TRITON_INTERPRET' in os.environ"


@pytest.mark.parametrize("data", [PASSED, b'{"answer": "compiled", "untrue": [[]]}', b"[1, 2, 3]"])
def test_a_compiler_that_was_taken_over_passes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    found = forged(session, monkeypatch, IN_COMPILER, data)
    # It is ended by force where it goes on after its answer, and then nothing is known of the candidate.
    assert found.status in (Status.REJECTED, Status.COMPILE_ERROR, Status.NOT_VERIFIED), found
    assert evaluate(session, Candidate(source=CANDIDATE), "verify").status is Status.PASSED


@pytest.mark.parametrize("data", [PASSED, b"[1, 2, 3]", b'{"answer": {}}'])
def test_an_interpreter_that_was_taken_over_passes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    if session.processes.on_gpu:
        pytest.skip("nothing is interpreted where there is a GPU")
    found = forged(session, monkeypatch, IN_INTERPRETER, data)
    assert found.status in (Status.RUNTIME_ERROR, Status.CRASHED), found
    assert evaluate(session, Candidate(source=CANDIDATE), "verify").status is Status.PASSED
