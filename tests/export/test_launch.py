"""The shortened launches of an exported package, on the CPU: compiled by Triton, with a driver that notes what it gets.

That a launch has the effect it should is for tests/gpu. The rule: one process launches, the tests look at what it said;
it fails itself where a launch is not what Triton's own would have been.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exported import softmax, write
from forked import Programs
from kernelwright.export.op import op_files

pytest.importorskip("torch", reason="the package needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the kernel needs Triton: pip install -e '.[worker]'")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    folder = write(op_files(softmax()), tmp_path_factory.mktemp("launches"))
    done = programs(folder, Path(__file__).with_name("launching.py"))
    assert done.status == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


LEFT_TO_TRITON = {
    "the first": True,
    "the second": False,
    "another tensor": False,
    "another grid": False,
    "a grid that is computed": False,
    "by place": False,
    "tensors by name": False,
    "misaligned": True,
    "another dtype": True,
    "a size that is no multiple": True,
    "one as a size": True,
    "true as a size": True,
    "a whole number as a factor": True,
    "another constant": True,
    "more warps": True,
    "a kind that is not known": True,
    "another device": True,
    "another device, again": False,
    "watched": True,
    "no longer watched": False,
}


@pytest.mark.parametrize(("what", "left"), LEFT_TO_TRITON.items())
def test_a_launch_that_was_made_before_is_made_again_and_any_other_is_left_to_triton(
    found: dict[str, Any], what: str, left: bool
) -> None:
    assert found[what] is left


def test_a_profiler_that_wants_to_know_of_launches_is_told(found: dict[str, Any]) -> None:
    assert found["a profiler is told"] is True


def test_warming_up_launches_nothing_and_what_is_kept_is_bounded(found: dict[str, Any]) -> None:
    assert found["warming up launches nothing"] is True
    assert found["kept is bounded"] is True


def test_a_package_launches_its_kernels_so(found: dict[str, Any]) -> None:
    assert found["the package's kernels are shortened"]
    assert all(found["the package's kernels are shortened"])
    assert found["the package's launches are kept"] == 1
    assert found["under autotune"] == 1
    assert found["shortened once"] is True


def test_a_triton_that_nobody_tried_launches_as_it_does(found: dict[str, Any]) -> None:
    assert found["a Triton that is not known is left alone"] is True
