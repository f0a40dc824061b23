"""What a recorder says is read as if the candidate had written it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernelwright import codec
from kernelwright.errors import WorkerError
from kernelwright.model import CaseResult, Status, TensorSpec
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected
from kernelwright.worker.plan.plan import Buffer, Launch, Plan, Recorded, Recording, Tensor, View
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages.recording import accepted, given, read

VIEW = View(buffer=0, dtype="float32", shape=(4,), stride=(1,))
PLAN = Plan(
    buffers=(Buffer(id=0, nbytes=16, origin="scratch"),),
    steps=(Launch(kernel="k", grid=(1,), arguments={"y": Tensor(view=VIEW)}),),
    outputs=(VIEW,),
    single=True,
)
EXPECTED = Expected(kernels={"k": {"y": False}}, given={})


def answer(*recordings: Recording, autotune: dict[str, int] | None = None) -> Any:
    return codec.plain(Recorded(recordings=recordings, autotune=autotune or {}))


def refusal(said: Any) -> str:
    with pytest.raises(Ended) as error:
        read(said, ["small"])
    assert error.value.status is Status.REJECTED
    return error.value.reason


@pytest.mark.parametrize("status", [Status.PASSED, Status.NOT_VERIFIED, Status.WRONG, Status.TIMEOUT, Status.CRASHED])
def test_a_recorder_cannot_say_how_an_evaluation_ends_well(status: Status) -> None:
    result = accepted(Recording(case="small", status=status, reason="trust me"), EXPECTED)
    assert isinstance(result, CaseResult)
    assert result.status is Status.REJECTED


@pytest.mark.parametrize("status", [Status.REJECTED, Status.RUNTIME_ERROR, Status.COMPILE_ERROR])
def test_a_recorder_can_say_why_there_is_no_plan(status: Status) -> None:
    result = accepted(Recording(case="small", status=status, reason="line 3: ValueError"), EXPECTED)
    assert result == CaseResult(case="small", status=status, reason="line 3: ValueError")


def test_a_sound_plan_is_taken_over_whatever_status_it_comes_with() -> None:
    assert accepted(Recording(case="small", plan=PLAN, status=Status.WRONG), EXPECTED) == PLAN


def test_an_unsound_plan_is_rejected_with_its_fault() -> None:
    forged = msgspec.structs.replace(PLAN, outputs=(msgspec.structs.replace(VIEW, offset=1),))
    result = accepted(Recording(case="small", plan=forged), EXPECTED)
    assert isinstance(result, CaseResult)
    assert result.status is Status.REJECTED
    assert "outside its buffer" in result.reason


def test_a_long_reason_is_cut() -> None:
    result = accepted(Recording(case="small", status=Status.REJECTED, reason="x" * 10**6), EXPECTED)
    assert isinstance(result, CaseResult)
    assert len(result.reason) < 1000


def test_a_case_of_which_nothing_was_said_is_rejected() -> None:
    recorded = read(answer(Recording(case="small", plan=PLAN)), ["small", "large"])
    assert [recording.case for recording in recorded.recordings] == ["small", "large"]
    missing = accepted(recorded.recordings[1], EXPECTED)
    assert isinstance(missing, CaseResult)
    assert missing.status is Status.REJECTED
    assert missing.case == "large"


def test_a_case_that_was_not_asked_for_is_ignored() -> None:
    recorded = read(answer(Recording(case="small", plan=PLAN), Recording(case="invented", plan=PLAN)), ["small"])
    assert [recording.case for recording in recorded.recordings] == ["small"]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"recordings": [], "autotune": {}, "status": "passed"},
        {"recordings": [{"case": "small", "plan": {"steps": []}}], "autotune": {}},
        {"recordings": [{"case": 3}], "autotune": {}},
        {"recordings": [{"case": "small", "status": "excellent"}], "autotune": {}},
        {"recordings": "all fine", "autotune": {}},
        {"recordings": [], "autotune": {"k": "many"}},
        {"recordings": [], "autotune": None},
    ],
)
def test_what_is_not_a_recording_is_rejected(said: Any) -> None:
    assert "cannot be read" in refusal(said)


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_the_number_of_configs_is_believed_within_reason(count: int) -> None:
    assert "configs" in refusal(answer(autotune={"k": count}))


def case_shape(**changes: Any) -> CaseShape:
    fields: dict[str, Any] = {"name": "s", "parameters": {}, "init": (), "init_names": ()}
    return CaseShape(**(fields | changes))


def test_what_a_plan_may_be_given_is_every_tensor_of_the_case() -> None:
    x, w = (TensorSpec(shape=shape, dtype="float16", stride=(16, 2)) for shape in ((4, 8), (4, 1)))
    shape = case_shape(inputs=(x, 1e-5), input_names=("x", "eps"), parameters={"w": w})
    assert given(shape) == {("input", "x"): 2 * (3 * 16 + 7 * 2 + 1), ("parameter", "w"): 2 * (3 * 16 + 1)}


def test_a_dtype_that_no_plan_can_hold_is_our_fault_and_said() -> None:
    spec = TensorSpec(shape=(4,), dtype="complex128", stride=(1,))
    with pytest.raises(WorkerError, match="complex128"):
        given(case_shape(inputs=(spec,), input_names=("x",)))
