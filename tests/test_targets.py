"""`make targets` for one problem and two GPUs that are not here, and what it calls a fault."""

from __future__ import annotations

from importlib import resources

import pytest

from kernelwright.devices import TARGETS, device_file
from kernelwright.model import Evaluation, Status
from targets import FIRST, compiled_for, is_fault


def test_kernels_and_the_first_kernel_compile_for_a_gpu_that_is_not_here() -> None:
    pytest.importorskip("triton")
    lines = compiled_for("sm_120", ["softmax"])
    assert [line.split()[2] for line, _ in lines] == ["best", "starter", "first"]
    assert all("registers" in line and not fault for line, fault in lines)


def test_a_tuned_config_may_need_more_than_another_gpu_has_and_a_first_config_may_not() -> None:
    large = Evaluation(
        status=Status.COMPILE_ERROR, reason="f needs 120000 bytes of shared memory per block, sm_86 has 101376"
    )
    assert not is_fault("best", large)
    assert is_fault(FIRST, large)
    assert is_fault("best", Evaluation(status=Status.COMPILE_ERROR, reason="f: no such function"))


def test_every_target_has_peaks() -> None:
    folder = resources.files("kernelwright.devices") / "peaks"
    missing = [one.name for one in TARGETS.values() if not (folder / f"{device_file(one.device)}.json").is_file()]
    assert missing == []
