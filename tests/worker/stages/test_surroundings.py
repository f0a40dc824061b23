"""Plans that differ by what host code reads beside shapes: judged on one small case, or named."""

from __future__ import annotations

import pytest

from doubled import Judged, judged_texts, source_of
from evaluated import StartedWorker
from kernelwright.model import Evaluation, Status

LAUNCH = "double_kernel[(1,)](x, out, {}, BLOCK=2048)\n"
OTHER = "if {}:\n    out = torch.empty_like(x)\n    " + LAUNCH.format("{}") + "    return out"

RIGHT = {
    "gradients": OTHER.format("torch.is_grad_enabled()", "x.numel()"),
    "inputs": OTHER.format("x.requires_grad", "x.numel()"),
    "inference": OTHER.format("torch.is_inference_mode_enabled()", "x.numel()"),
    "addresses": OTHER.format("x.data_ptr() % 16", "x.numel()"),
}
WRONG = {
    "where gradients are recorded": OTHER.format("isinstance(x, torch.nn.Parameter)", "x.numel() - 1"),
    "where gradients": OTHER.format("torch.is_grad_enabled()", "x.numel() - 1"),
    "in inference mode": OTHER.format("torch.cuda.device_count() > 1", "x.numel() - 1"),
    "that is not aligned": OTHER.format("x.data_ptr() % 16", "x.numel() - 1"),
}
BEGINS = {
    "rejected": "where gradients are recorded it does something else: rejected",
    "runtime_error": "raises where gradients are recorded: call it under torch.no_grad() (line 13: AssertionError",
}
NAMED = {
    "rejected": "if torch.is_grad_enabled() and x.requires_grad:\n    return x * 2",
    "runtime_error": "assert not x.requires_grad",
}


@pytest.fixture(scope="module")
def judged(shared_worker: StartedWorker, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = [source_of("", host) for host in (*RIGHT.values(), *WRONG.values(), *NAMED.values())]
    found = judged_texts(shared_worker, tmp_path_factory.mktemp("problem"), every)

    def of(host: str) -> Evaluation:
        return found(source_of("", host))

    return of


@pytest.mark.parametrize("what", RIGHT)
def test_another_plan_that_is_right_stays_in_the_text(judged: Judged, what: str) -> None:
    found = judged(RIGHT[what])
    assert (found.status, found.unjudged) == (Status.PASSED, ()), found.reason
    assert found.judged_source is None


@pytest.mark.parametrize("where", WRONG)
def test_another_plan_that_is_wrong_makes_the_candidate_wrong(judged: Judged, where: str) -> None:
    found = judged(WRONG[where])
    assert found.status is Status.WRONG, found.reason
    assert where in found.reason


@pytest.mark.parametrize("status", NAMED)
def test_what_cannot_be_recorded_elsewhere_is_named(judged: Judged, status: str) -> None:
    found = judged(NAMED[status])
    assert found.status is Status.PASSED, found.reason
    (named,) = [one for one in found.unjudged if "where gradients are recorded" in one]
    assert named.startswith(BEGINS[status])
