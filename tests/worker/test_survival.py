"""A real worker outlives its candidates: each gets the status that it earned, and the next is evaluated normally.

With a GPU the kernels run on it, otherwise in Triton's CPU interpreter; the path is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from busy import scaled
from kernelwright.evaluator.launch import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status
from kernelwright.problems import new_problem

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

LIMITS = scaled({"record_s": 6.0, "interpret_s": 6.0, "replay_s": 6.0})
"""Short, so that what never ends is over soon; honest kernels of this problem take milliseconds."""

STORE = "    tl.store(out_ptr + offsets, x + scale * y, mask=inside)\n"
CALL = "        x = x.contiguous()\n"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A problem's file, and the source of a kernel that is right for it."""
    problem = new_problem("probe", tmp_path_factory.mktemp("survival"))
    assert problem.starter is not None
    return problem.file, problem.starter.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def worker(probe: tuple[Path, str]) -> Iterator[Worker]:
    with start_worker(limits=LIMITS) as worker:
        worker.load(str(probe[0]))
        yield worker


def changed(source: str, place: str, text: str) -> Candidate:
    assert place in source
    return Candidate(source=source.replace(place, text))


BAD = {
    "does not parse": (STORE, "    tl.store(\n", Status.COMPILE_ERROR, "line "),
    "does not compile": (STORE, STORE.replace("scale * y", "tl.dot(y, y)"), Status.COMPILE_ERROR, "dot"),
    "is wrong": (STORE, STORE.replace("scale * y", "y"), Status.WRONG, "case small"),
    "writes out of bounds": (
        STORE,
        f"{STORE}    tl.store(out_ptr + n_elements + tl.arange(0, BLOCK) * 0 + 8, 1.0)\n",
        Status.WRONG,
        "outside every buffer",
    ),
    "writes to an address of nobody": (
        STORE,
        f"{STORE}    tl.store(out_ptr + (n_elements.to(tl.int64) + 1) * (1 << 40), 1.0)\n",
        (Status.CRASHED, Status.RUNTIME_ERROR),
        "",
    ),
    "never ends on the device": (
        STORE,
        f"    again = n_elements\n    while again > 0:\n        again = again * 1\n{STORE}",
        Status.TIMEOUT,
        f"did not finish in {LIMITS['interpret_s']:g} s",
    ),
    "never ends on the host": (
        CALL,
        f"        while x.shape[0] > 0:\n            pass\n{CALL}",
        Status.TIMEOUT,
        f"host code did not finish in {LIMITS['record_s']:g} s",
    ),
    "raises": (CALL, f"        raise ValueError('not today')\n{CALL}", Status.RUNTIME_ERROR, "not today"),
    "launches nothing": (
        "        scaled_add_kernel[grid](x, y, out, self.scale, n_elements, BLOCK=BLOCK, num_warps=4)\n",
        "",
        Status.REJECTED,
        "no kernel is launched",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_candidate_that_fails_has_its_status_and_the_next_one_passes(
    worker: Worker, probe: tuple[Path, str], what: str
) -> None:
    place, text, status, said = BAD[what]
    evaluation = worker.evaluate(changed(probe[1], place, text), "search")
    assert evaluation.status in (status if isinstance(status, tuple) else (status,)), evaluation.reason
    assert said in evaluation.reason
    assert evaluation.score_us is None
    assert worker.evaluate(Candidate(source=probe[1]), "search").status is Status.PASSED


def test_more_memory_than_there_is_ends_one_candidate_only(worker: Worker, probe: tuple[Path, str]) -> None:
    """On a GPU it is out of memory; without one it is too large for the interpreter, and never called passed."""
    own = "        out = torch.empty_like(x)\n"
    part = "        out = torch.empty(1 << 40, dtype=x.dtype, device=x.device)[: x.numel()].view(x.shape)\n"
    evaluation = worker.evaluate(changed(probe[1], own, part), "search")
    if worker.environment().device is None:
        assert (evaluation.status, "its buffers exceed" in evaluation.reason) == (Status.NOT_VERIFIED, True)
    else:
        assert (evaluation.status, "out of memory" in evaluation.reason) == (Status.RUNTIME_ERROR, True)
    assert worker.evaluate(Candidate(source=probe[1]), "search").status is Status.PASSED
