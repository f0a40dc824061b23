"""A package of a live module: the copy that is patched into a model gives the module's outputs, with the kernel.

The kernel and the problem are real; that the kernel is right is stated. README's Python, which searches and exports,
runs in tests/install/test_newcomer.py.
"""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from exported import subject, win
from forked import Programs
from kernelwright.export.op import op_files
from kernelwright.jobs.worker import local_worker
from kernelwright.problems.live import write_live

HERE = Path(__file__).parent

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x_ptr, gate_ptr, shift_ptr, scale_ptr, out_ptr, size, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    x = tl.load(x_ptr + at, inside)
    scale = tl.load(scale_ptr + at % width, inside)
    gate, shift = tl.load(gate_ptr + at, inside), tl.load(shift_ptr + at, inside)
    tl.store(out_ptr + at, (x * scale + shift) * tl.sigmoid(gate), inside)


def kernel_function(x, pair_0, pair_1, module_scale):
    out = torch.empty_like(x)
    gate_kernel[(triton.cdiv(x.numel(), 256),)](
        x, pair_0, pair_1, module_scale, out, x.numel(), x.shape[1], BLOCK=256
    )
    return out
"""


NORM = """
def kernel_function(x, module_shift, module_norm_weight, module_norm_bias, module_norm_running_mean,
                    module_norm_running_var, module_norm_num_batches_tracked):
    raise NotImplementedError
"""


def package(home: Path, module: str, given: list[Any], kernel: str) -> str:
    """Write the package of a module of gates.py to `home`, with this text as its kernel; returns its name."""
    shutil.copy(HERE / "gates.py", home)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(home))
        live = getattr(importlib.import_module("gates"), module)(64)
        name = module.lower()
        made = write_live(live, given, {}, {}, name, home / "problems")
    assert not getattr(live, "kept", None)  # the caller's module is not called
    (home / "kernel.py").write_text(kernel)
    with local_worker(None) as worker:
        info = worker.load(str(made.file))
    one = subject(
        made.file, home / "kernel.py", name, info.cases,
        beside={path.relative_to(made.file.parent).as_posix(): path.read_bytes() for path in made.beside},
    )  # fmt: skip
    for path, content in op_files(one).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return one.package


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("live")
    pair = (torch.randn(6, 64), torch.randn(6, 64))
    name = package(home, "Gate", [torch.randn(6, 64), pair], KERNEL)
    case = win([[6, 64]] * 3, 10.0, 20.0, parameters={"module.scale": {"shape": [64], "dtype": "float32"}})
    (home / name / "wins.json").write_text(json.dumps({"schema_version": 1, "device": "cpu", "cases": [case]}))
    done = programs(home, HERE / "using_live.py", interpret=True)
    assert done.status == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


EXPECTED = {
    "patched": ["first"],
    "is right": True,
    "is the module's own kind of result": True,
    "taken": True,
    "taken: by keyword": True,
    "taken: another flag": False,
    "taken: a list for a tuple": False,
    "taken: in training": False,
    "a copy is right": True,
    "a pickled one is right": True,
    "compiled is right": True,
    "unpatched": ["first"],
}


@pytest.mark.parametrize("what", EXPECTED)
def test_the_kernel_is_taken_in_calls_like_the_example(found: dict[str, Any], what: str) -> None:
    assert found[what] == EXPECTED[what]


def test_it_says_where_the_kernel_runs_and_why_a_module_is_refused(found: dict[str, Any]) -> None:
    assert found["explained"].startswith("called: kernel (case 6x64 6x64 6x64: faster)\nwhat counts:")
    assert "cannot be compared with the problem's Model" in found["refused"]


def test_a_package_passes_its_check_with_running_means_other_strides_and_values_that_calls_keep(
    tmp_path: Path, programs: Programs
) -> None:
    name = package(tmp_path, "Norm", [torch.randn(6, 64, 5)], NORM)
    done = programs(tmp_path, f"{name}.check")
    assert done.stdout.count("ok      ") == 4, done.stdout
    assert "FAILED" not in done.stdout
