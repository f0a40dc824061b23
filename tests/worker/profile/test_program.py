"""The profiled program calls what it is told to, on inputs of the case, and nothing else is marked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest
import torch

from kernelwright import codec
from kernelwright.worker.plan.library import exact_products
from kernelwright.worker.plan.plan import Buffer, Copy, Plan, View
from kernelwright.worker.profile import program
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.protocol import CannotProfile
from kernelwright.worker.profile.run import finished, reason

PROBLEM = """\
import torch

CASES = [dict(name="only", dtype="float32", n=8)]


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sinh(x)


def get_inputs(n):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

X = View(buffer=0, dtype="float32", shape=(8,), stride=(1,))
OUT = View(buffer=1, dtype="float32", shape=(8,), stride=(1,))
PLAN = Plan(
    buffers=(Buffer(id=0, nbytes=32, origin="input", name="x"), Buffer(id=1, nbytes=32, origin="scratch")),
    steps=(Copy(target=OUT, source=X),),
    outputs=(OUT,),
    single=True,
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    problem = tmp_path / "problem.py"
    problem.write_text(PROBLEM)
    return Job(problem=str(problem), case="only", device="cpu", marks="none", plan=PLAN)


def test_a_plan_is_replayed_on_inputs_of_the_case(job: Job) -> None:
    place, call = program.replaying(job)
    place()
    call()
    replay = call.__self__  # type: ignore[attr-defined]
    x, out = replay.tensor(X), replay.tensor(OUT)
    assert bool((x != 0).all())
    assert torch.equal(out, x)


@pytest.mark.parametrize("stated", ["tf32", "ieee"])
def test_products_are_those_of_the_precision_that_the_problem_states(job: Job, stated: str) -> None:
    file = Path(job.problem)
    file.write_text(f'PRECISION = "{stated}"\n{file.read_text()}')
    try:
        program.drawn(job)
        assert torch.backends.cuda.matmul.allow_tf32 == (stated == "tf32")
    finally:
        exact_products()


def test_each_process_draws_inputs_of_its_own(job: Job) -> None:
    drawn = []
    for _ in range(2):
        place, call = program.replaying(job)
        place()
        drawn.append(call.__self__.tensor(X).clone())  # type: ignore[attr-defined]
    one, other = drawn
    assert not torch.equal(one, other)


def test_only_the_one_call_is_seen(job: Job, tmp_path: Path) -> None:
    framework = msgspec.structs.replace(job, plan=None, framework="eager", marks="torch", trace=str(tmp_path / "trace"))
    file = tmp_path / "job.json"
    file.write_bytes(codec.encode(framework))
    assert program.main([str(file)]) == 0
    names = [event.get("name") for event in json.loads((tmp_path / "trace").read_text())["traceEvents"]]
    assert names.count("aten::sinh") == 1
    assert "aten::randn" not in names


def test_a_program_that_fails_is_told_in_its_own_last_words(tmp_path: Path) -> None:
    with pytest.raises(CannotProfile, match=r"ZeroDivisionError: division by zero \(exit status 1\)"):
        finished([sys.executable, "-c", "1 / 0"], {}, tmp_path, 60.0)


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(CannotProfile, match=r"took over 0\.5 s"):
        finished([sys.executable, "-c", "import time; time.sleep(600)"], {}, tmp_path, 0.5)


def test_a_refusal_of_the_driver_is_said_in_words() -> None:
    printed = "==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\nbye\n"
    assert "may not read the GPU's counters" in reason(printed, 1)
    failed = "RuntimeError: no\n==ERROR== The application returned an error code (1).\n"
    assert reason(failed, 1) == "RuntimeError: no; The application returned an error code (1). (exit status 1)"
    assert reason("one\ntwo\n", 3) == "two (exit status 3)"
    assert reason("", -9) == "no output (exit status -9)"
