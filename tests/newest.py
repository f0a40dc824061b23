"""Tries kernelwright with the newest torch and Triton: docs/start.md's file, gallery problems, the generator's tests.

    python tests/newest.py [PYTHON...]

Two environments under build/newest: what `pip install` resolves to with the limits of pyproject.toml, and the newest
torch of the index with the Triton that it asks for. Each is several gigabytes. PYTHON: an interpreter that has
kernelwright, torch, Triton and pytest; it is tried in their place. Exit status: 0 every step passed, 1 some failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "newest"

ROWS = {"admitted": ("-e", ".[worker]"), "index": ("-e", ".", "torch", "triton", "numpy")}
"""What pip installs, by the name of an environment."""

TESTING = ("pytest>=8,<10", "pytest-timeout>=2.3,<3", "pytest-xdist>=3.8,<4")

GALLERY = ("softmax", "rmsnorm", "cross_entropy", "matmul_leaky_relu", "max_pool3d")
"""A reduction, a norm, a loss, a product and a window."""

TESTS = ("tests/inductor", "tests/worker/generate")

VERSIONS = "import sys, torch, triton; print(*sys.version_info[:2], torch.__version__, triton.__version__)"

Steps = Mapping[str, Sequence[str]]


def main(pythons: Sequence[str]) -> int:
    """Try each interpreter, or both environments, and print a table. Returns the exit status."""
    failed = 0
    for python in pythons or [made(name) for name in ROWS]:
        major, minor, torch, triton = output_of(python, "-c", VERSIONS).split()
        print(f"Python {major}.{minor}, torch {torch}, Triton {triton}", flush=True)
        with tempfile.TemporaryDirectory(prefix="kernelwright-newest-") as folder:
            for step, status, said in tried(python, steps(Path(folder)), Path(folder)):
                print(f"  {step:<30}  {'passed' if status == 0 else 'FAILED'}  {said}", flush=True)
                failed += status != 0
    return 1 if failed else 0


def made(name: str) -> str:
    """The interpreter of an environment, with the newest that pip resolves to today."""
    python = FOLDER / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", *TESTING, *ROWS[name]]
    subprocess.run(command, check=True, cwd=ROOT)
    return str(python)


def steps(folder: Path) -> Steps:
    """Arguments of Python for each step. folder: an empty one, for the file of docs/start.md and for runs."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "start.md").read_text("utf-8"), re.DOTALL | re.M)
    (folder / "layer.py").write_text(code, "utf-8")
    own = ("-m", "kernelwright")
    found = {"docs/start.md": (*own, "optimize", "layer.py", "--trials", "2")}
    for name in GALLERY:
        problem = str(ROOT / "gallery" / name)
        found[f"gallery/{name}"] = (*own, "verify", problem, f"{problem}/best.py")
    tests = [str(ROOT / one) for one in TESTS]
    return {**found, "the generator's tests": ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c",
                                               str(ROOT / "pyproject.toml"), *tests)}  # fmt: skip


def tried(python: str, wanted: Steps, folder: Path) -> Iterator[tuple[str, int, str]]:
    """Name, exit status and telling lines of each step."""
    for step, arguments in wanted.items():
        done = subprocess.run([python, *arguments], cwd=folder, text=True, capture_output=True)
        yield step, done.returncode, telling(done.stdout + done.stderr)


def telling(printed: str) -> str:
    """The lines of an output that name an error, a failed test, a verdict or a best kernel, else the last one."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    told = [
        one
        for one in lines
        if re.match(r"error:|FAILED |ERROR |best: |verified on |\d+ (passed|failed)|\S+ +wrong", one)
    ]
    return "\n    ".join(told or lines[-1:])


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
