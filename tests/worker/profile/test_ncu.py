"""Nsight Compute is started with the program and the job, and whatever keeps it from counting is a reason in words.

The ncu here is a script of ours: it runs the program that it is given, and writes what ncu writes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.ncu import NsightCompute
from kernelwright.worker.profile.protocol import CannotProfile

pytestmark = pytest.mark.process

PROBLEM = """\
import torch

CASES = [dict(name="only", dtype="float32")]


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sinh(x)


def get_inputs():
    return [torch.randn(8)]


def get_init_inputs():
    return []
"""

NCU = """\
import json, subprocess, sys

given = sys.argv[1:]
job = json.load(open(given[-1]))
assert job["marks"] == "cuda" and given[-3:-1] == ["-m", "kernelwright.worker.profile.program"], given
metrics = given[given.index("--metrics") + 1].split(",")
log = open(given[given.index("--log-file") + 1], "w")
{body}
identity = ["ID", "Kernel Name", "Block Size", "Grid Size"]
quoted = lambda cells: ",".join('"' + str(cell) + '"' for cell in cells) + "\\n"
log.write("==PROF== Connected to process 1\\n")
log.write(quoted([*identity, *metrics]))
log.write(quoted(["", "", "", "", *("%" for _ in metrics)]))
log.write(quoted([0, "sinh_kernel", "(32, 1, 1)", "(1, 1, 1)", *(10 for _ in metrics)]))
"""


def profiled(tmp_path: Path, body: str, full: bool = False) -> Any:
    """What is read where ncu is the script with `body` in it."""
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "ncu.py").write_text(NCU.format(body=body))
    ncu = tmp_path / "ncu"
    ncu.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/ncu.py "$@"\n')
    ncu.chmod(0o755)
    site: Any = SimpleNamespace(scratch=tmp_path, limits=Limits())
    job = Job(problem=str(tmp_path / "problem.py"), case="only", device="cpu", marks="none",
              framework="eager")  # fmt: skip
    return NsightCompute(find=lambda: str(ncu)).profile(site, job, full)


def test_the_program_runs_under_it_and_its_table_is_read(tmp_path: Path) -> None:
    (launch,) = profiled(tmp_path, "")
    assert (launch.kernel, launch.block, launch.value("dram_throughput")) == ("sinh_kernel", (32, 1, 1), 0.1)


def test_counters_that_this_gpu_does_not_have_are_left_out_and_the_others_read(tmp_path: Path) -> None:
    unknown = "sm__pipe_tensor_cycles_active"
    body = (
        f"if any(metric.startswith('{unknown}') for metric in metrics):\n"
        f"    log.write('==ERROR== Failed to find metric {unknown}\\n')\n"
        "    log.close()\n"
        "    sys.exit(1)"
    )
    (launch,) = profiled(tmp_path, body)
    assert launch.value("tensor_pipe") is None
    assert launch.value("occupancy") == 0.1


def test_a_driver_that_refuses_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(CannotProfile, match="ERR_NVGPUCTRPERM"):
        profiled(tmp_path, "print('==ERROR== ERR_NVGPUCTRPERM - no permission'); sys.exit(1)")


def test_a_table_that_it_did_not_write_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(CannotProfile, match="wrote no table"):
        profiled(tmp_path, "sys.exit(0)")


def test_a_machine_without_it_is_a_reason() -> None:
    site: Any = SimpleNamespace()
    job = Job(problem="", case="", device="cpu", marks="none")
    with pytest.raises(CannotProfile, match="ncu is not on PATH"):
        NsightCompute(find=lambda: None).profile(site, job, full=False)
