"""Tries kernelwright with the newest torch and Triton: docs/start.md's file, gallery problems, the generator's tests.

    python tests/newest.py [PYTHON...]
    python tests/newest.py --versions PYTHON...

--versions: record what Inductor makes of the problems in tests/inductor/recorded with each interpreter's torch, for the
tests that every version's records become right kernels, and run the generator's tests only.

Two environments under build/newest: what `pip install` resolves to with the limits of pyproject.toml, and the newest
torch of the index with the Triton that it asks for. Each is several gigabytes. PYTHON: an interpreter that has
kernelwright, torch, Triton and pytest; it is tried in their place. Exit status: 0 every step passed, 1 some failed.
"""

from __future__ import annotations

import json
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

RECORDED = ROOT / "tests" / "inductor" / "recorded"

OF_GENERATOR = "the generator's tests"

VERSIONS = "import sys, torch, triton; print(*sys.version_info[:2], torch.__version__, triton.__version__)"

Steps = Mapping[str, Sequence[str]]


def main(arguments: Sequence[str]) -> int:
    """Try each interpreter, or both environments, and print a table. Returns the exit status."""
    failed, is_recorded = 0, "--versions" in arguments
    for python in [one for one in arguments if one != "--versions"] or [made(name) for name in ROWS]:
        major, minor, torch, triton = output_of(python, "-c", VERSIONS).split()
        print(f"Python {major}.{minor}, torch {torch}, Triton {triton}", flush=True)
        if is_recorded:
            record(python, torch)
        with tempfile.TemporaryDirectory(prefix="kernelwright-newest-") as folder:
            every = steps(Path(folder))
            wanted = {name: every[name] for name in every if not is_recorded or name == OF_GENERATOR}
            for step, status, said in tried(python, wanted, Path(folder)):
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
    return {**found, OF_GENERATOR: ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c",
                                               str(ROOT / "pyproject.toml"), *tests)}  # fmt: skip


RECORDING = """
import sys, tempfile
from kernelwright import codec
from kernelwright.worker.generate.generator import generate
from kernelwright.worker.generate.messages import Generate
from kernelwright.worker.reference.load import load_problem
cases = load_problem(sys.argv[1]).cases
asked = dict(target="sm_90", cache=tempfile.mkdtemp(), limit_s=600.0)
found = generate(Generate(path=sys.argv[1], cases=tuple(cases), **asked))
print(codec.encode(found).decode())
"""


def record(python: str, torch: str) -> None:
    """Write what this interpreter's torch makes of each problem, without the captures at the sizes of one case."""
    found = {}
    for problem in sorted(RECORDED.glob("*.py")):
        made = json.loads(output_of(python, "-W", "ignore", "-c", RECORDING, str(problem)))
        kept = {name: made[name][:1] for name in ("captures", "templates", "rows")}
        found[problem.stem] = {**made, **kept}
    version = ".".join(torch.split(".")[:2])
    lines = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
    (RECORDED / f"torch-{version}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


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
