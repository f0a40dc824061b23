"""The main job with nothing faked: a new problem, a real worker, a kernel at the end that verifies.

On a machine without a GPU this is Triton's interpreter and compiler. The rule: only what a user can see is asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")


def kernelwright(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernelwright", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_from_a_new_problem_to_a_kernel_that_stands(tmp_path: Path) -> None:
    assert kernelwright(tmp_path, "new", "probe").returncode == 0
    done = kernelwright(tmp_path, "optimize", "probe", "--trials", "3", "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials_by_status"] == {"passed": 3}
    assert document["best"]["verified_on"] in ("device", "interpreter")
    assert (document["best"]["timing_kind"] == "estimate") == (document["environment"]["device"] is None)
    assert done.stderr.splitlines()[:2] == ["run folder: run", "search starts; budget left: 3 of 3 trials"]

    verified = kernelwright(tmp_path, "verify", "probe", "run/best_kernel.py", "--json")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["status"] == "passed"
