"""What the recorder of spaces keeps of a config."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import scripts
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.model import Candidate, Evaluation, KernelResources, Status
from kernelwright.spaces import recorded
from kernelwright.spaces.recorded import Entry, RecordedSpace
from tuned import DEFAULT, SOURCE, SPACE

ROOT = Path(__file__).parents[1]


def record_space() -> ModuleType:
    return scripts.script("record_space")


def kernel(spill_bytes: int, occupancy: float) -> KernelResources:
    return KernelResources(
        kernel="k", target="sm_90", registers=64 + spill_bytes, spill_bytes=spill_bytes, shared_bytes=1024, num_warps=4,
        num_stages=3, occupancy=occupancy, limited_by="registers", cubin_sha=f"{spill_bytes}",
    )  # fmt: skip


TIMED, SMALL = kernel(0, 0.5), kernel(1288, 0.125)


@dataclass
class Compiles(FakeWorker):
    """Its small case spills, its timed one does not."""

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        kernels = (TIMED,) if purpose == "tune" else (SMALL, TIMED)
        return Evaluation(status=Status.NOT_VERIFIED, kernels=kernels)


def recorded_entry(kind: str, folder: Path) -> Entry:
    head = RecordedSpace(
        problem="double", case="big", candidate=SOURCE, environment=ENVIRONMENT, kind=kind, space=SPACE
    )  # type: ignore[arg-type]
    worker = Compiles(answer=lambda candidate, purpose: Evaluation(status=Status.PASSED, kernels=(SMALL, TIMED)))
    recording = record_space().Recording(head, folder / "space.json", worker)
    recording.evaluate(DEFAULT, math.inf)
    return recording.entries[recorded.places(SPACE, DEFAULT)]  # type: ignore[no-any-return]


def test_a_footprint_is_that_of_the_timed_case_and_not_of_the_small_one(tmp_path: Path) -> None:
    found = recorded_entry("measured", tmp_path).footprint
    assert found is not None
    assert (found.registers, found.spill_bytes, found.occupancy) == (64, 0, 0.5)


def test_an_estimate_which_compiles_both_cases_keeps_no_footprint(tmp_path: Path) -> None:
    assert recorded_entry("estimate", tmp_path).footprint is None


@pytest.mark.parametrize("order", [(TIMED, SMALL), (SMALL, TIMED)])
def test_of_several_kernels_the_worst_of_each_counts(order: tuple[KernelResources, ...]) -> None:
    found = record_space().footprint(order)
    assert (found.registers, found.spill_bytes, found.shared_bytes, found.occupancy) == (1352, 1288, 1024, 0.125)
