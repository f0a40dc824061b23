"""The import contracts in pyproject.toml are kept, and break where an import crosses them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CROSSING = {
    "worker/stages/qualify.py": ("from kernelwright.spaces import space", "layers"),
    "worker/stages/precompile.py": (
        "from kernelwright import textfile",
        "the worker imports only data, arithmetic, source and errors",
    ),
    "worker/judge/draws.py": (
        "from kernelwright.worker.rules import static",
        "the judge knows neither the rules on source nor the recorder",
    ),
    "worker/record/trace.py": (
        "from kernelwright.worker.reference import load",
        "the recorder knows neither the judge, the bench nor the reference",
    ),
    "worker/processes/lease.py": ("import torch", "the supervisor and what it imports know no torch"),
    "worker/supervisor.py": (
        "from kernelwright.worker.compile import kernels",
        "only confined processes import the text of kernels",
    ),
}
"""File to a line that does not belong there, and the contract that it breaks."""


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """lint-imports over the package in `folder`."""
    lint_imports = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    command = [sys.executable, "-c", lint_imports, "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_import_contract_is_kept() -> None:
    done = checked(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_an_import_that_crosses_a_contract_breaks_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, (line, _) in CROSSING.items():
        crossing = tmp_path / "src" / "kernelwright" / file
        crossing.write_text(f"{crossing.read_text()}\n{line}\n")
    done = checked(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    kept = [contract for _, contract in CROSSING.values() if f"{contract} BROKEN" not in done.stdout]
    assert kept == []
