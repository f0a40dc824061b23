"""Packages to check again: an export whose benchmark answers from a file, without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exported import softmax, win, write
from fakes import ENVIRONMENT
from kernelwright.export.op import op_files
from kernelwright.model import Evaluation, Status

BENCHMARK = """
import pathlib, shutil, sys

shutil.copyfile(pathlib.Path(__file__).with_name("today.json"), sys.argv[sys.argv.index("--json") + 1])
"""

FAST, SLOW = win([[64, 64]], 10.0, 20.0), win([[8, 64]], 20.0, 10.0)


def package(
    folder: Path,
    today: list[dict[str, Any]],
    device: str | None = ENVIRONMENT.device,
    then: list[dict[str, Any]] | None = None,
) -> Path:
    """An export measured on the fake GPU: by default faster on one size, slower on another. today: what it would
    measure."""
    write(op_files(softmax()), folder)
    home = folder / "fast_softmax"
    known = {"schema_version": 1, "device": device, "torch": "2.8.0", "triton": "3.4.0"}
    (home / "wins.json").write_text(json.dumps(known | {"cases": [FAST, SLOW] if then is None else then}))
    (home / "today.json").write_text(json.dumps(known | {"cases": today}))
    (home / "benchmark.py").write_text(BENCHMARK)
    (home / "__init__.py").write_text("")  # without torch, so that each test takes no seconds
    return folder


def in_graphs(kernel_us: float, call_us: float = 40.0) -> dict[str, Any]:
    """A size that is used in graphs only: on the device the kernel takes `kernel_us`, and PyTorch 20."""
    pair = {"call_us": call_us, "device_us": kernel_us}, {"call_us": 30.0, "device_us": 20.0}
    lost, won = dict.fromkeys(("eager", "compiled"), "not faster by enough in call_us"), {"eager": "faster"}
    case = win([[16, 64]], 1.0, 1.0, kernel=pair[0], eager=pair[1], why=lost, why_in_graphs=won)
    return {name: value for name, value in case.items() if name not in ("kernel_compiled", "compile")}


def right(candidate: Any, purpose: str) -> Evaluation:
    return Evaluation(status=Status.PASSED, verified_on="device")
