"""What `--gpus` names, and that the GPUs found are told apart by UUID."""

from __future__ import annotations

import pytest

from kernelwright.errors import RequestError
from kernelwright.evaluator.places import Gpu, Lane, choose, find_gpus

GPUS = [
    Gpu("GPU-5f0e0000-1", "NVIDIA H200"),
    Gpu("GPU-5f0e0000-2", "NVIDIA H200"),
    Gpu("GPU-91c20000-3", "NVIDIA H200"),
]


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [("all", [0, 1, 2]), ("1", [0]), ("3", [0, 1, 2]), ("GPU-91c2", [2]), ("91c2", [2]),
     ("GPU-91c20000-3, GPU-5f0e0000-1", [2, 0])],
)  # fmt: skip
def test_gpus_are_chosen_by_number_or_uuid(typed: str, numbers: list[int]) -> None:
    assert choose(typed, GPUS) == [Lane(GPUS[n].uuid, GPUS[n].uuid) for n in numbers]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("0", "shows 3"),
        ("4", "shows 3"),
        ("-1", "no GPU"),
        ("", "no GPU"),
        ("GPU-7", "no GPU of this machine, which shows GPU-5f0e0000-1, GPU-5f0e0000-2, GPU-91c20000-3"),
        ("GPU-5f0e", "several GPUs"),
        ("91c2,GPU-91c2", "twice"),
        ("all,1", "no GPU"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(typed: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        choose(typed, GPUS)


def test_without_a_gpu_a_number_is_that_of_workers_that_interpret() -> None:
    assert choose("all", []) == [Lane("CPU 1", None)]
    assert choose("2", []) == [Lane("CPU 1", None), Lane("CPU 2", None)]
    with pytest.raises(RequestError, match="which shows none"):
        choose("GPU-5f0e", [])


@pytest.mark.process
def test_the_gpus_of_this_machine_are_listed_by_uuid() -> None:
    found = find_gpus()
    assert len({gpu.uuid for gpu in found}) == len(found)
    assert all(gpu.uuid.startswith("GPU-") and gpu.name for gpu in found)
