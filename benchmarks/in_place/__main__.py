"""Three computations that change their inputs in place: verified, timed, exported, and patched into a module.

    python benchmarks/in_place OUT [NAME …] [--seconds 240]

A step of AdamW, keys and values appended to a cache, and a rotary embedding, each with a Triton kernel beside its
problem. For each: `kernelwright bench` (every case; inputs that forward changes are restored outside the timed part),
`kernelwright export`, then a program that patches the package into a module, calls it on inputs of the timed case, and
compares what it leaves in them with what PyTorch leaves in float64: the kernel may be off by twice as much as PyTorch
in the dtype of the case. OUT gets each report; the table is printed. Without a GPU times are estimates, and the package
runs PyTorch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright.text.markdown import table

HERE = Path(__file__).resolve().parent
DTYPES = {"adamw": "float32", "kv_append": "float16", "rotary": "float16"}
"""Of the timed case of each problem."""

PATCHED = """\
import importlib, json, sys
import torch

name = sys.argv[1]
package = importlib.import_module(f"fast_{name}")
host = importlib.import_module(f"fast_{name}.kernel_host")
dispatch = importlib.import_module(f"fast_{name}.dispatch")
reference = importlib.import_module(f"fast_{name}.reference")
calls, built = [], host.Built


class Counting(built):
    def __init__(self, init):
        super().__init__(init)
        kernel = self.function
        self.function = lambda *given: (calls.append(name), kernel(*given))[1]


host.Built = dispatch.Built = Counting
device = "cuda" if torch.cuda.is_available() else "cpu"
made = {"float16": torch.float16}.get(sys.argv[2], torch.float32)


def inputs():
    torch.manual_seed(7)
    given = [one.to(device) if isinstance(one, torch.Tensor) else one for one in reference.get_inputs()]
    return [one.to(made) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in given]


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = reference.Model(*reference.get_init_inputs())

    def forward(self, *given):
        return self.step(*given)


def double(given):
    return [one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in given]


def errors(found, exact):
    pairs = [pair for pair in zip(found, exact) if isinstance(pair[0], torch.Tensor)]
    return [(one.double() - other.double()).abs().max().item() for one, other in pairs]


with torch.no_grad():
    program, theirs, given, exact = Program().eval(), inputs(), inputs(), double(inputs())
    program(*theirs)
    program(*exact)
    patched = package.patch(program, "step")
    program(*given)
    own_errors, their_errors = errors(given, exact), errors(theirs, exact)
print(json.dumps({"patched": patched, "errors": own_errors, "errors of PyTorch": their_errors,
                  "right": all(own <= 2 * their for own, their in zip(own_errors, their_errors)),  # False for NaN
                  "kernel_calls": len(calls)}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=list(DTYPES), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=600, help="of it all; what is not done by then is left out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    end_s = time.monotonic() + options.seconds
    rows = [row for name in options.names for row in tried(name, options.out.resolve(), end_s)]
    head = [
        "problem",
        "case",
        "status",
        "kernel (µs)",
        "eager (µs)",
        "compile (µs)",
        "verdict",
        "patched module",
    ]
    print(table(head, rows))


def tried(name: str, out: Path, end_s: float) -> list[list[str]]:
    """A row for each case that was benched."""
    folder, report, package = HERE / name, out / f"{name}.json", out / name
    kernel = str(folder / "kernel.py")
    said = run(["-m", "kernelwright", "bench", str(folder), kernel, "--json", str(report)], out, end_s)
    if not report.exists():
        return [[name, "", said, "", "", "", "", ""]]
    exported = run(
        ["-m", "kernelwright", "export", kernel, "--problem", str(folder), "--out", str(package)], out, end_s
    )
    used = exported
    if (package / f"fast_{name}").is_dir():
        (package / "program.py").write_text(PATCHED, encoding="utf-8")
        used = run(["program.py", name, DTYPES[name]], package, end_s)
    return [[name, *measured(case), used] for case in json.loads(report.read_text())["cases"]]


def measured(case: dict[str, Any]) -> list[str]:
    rows = {one["name"]: one for one in case["implementations"]}
    own = rows["kernel"]
    times = ["" if name not in rows or rows[name]["median_us"] is None else f"{rows[name]['median_us']:.2f}"
             for name in ("kernel", "eager", "compile")]  # fmt: skip
    return [case["case"], own["status"], *times, own["verdict"] or own["kind"] or own["reason"]]


def run(words: list[str], folder: Path, end_s: float) -> str:
    """The last line that a command prints, or why it failed."""
    try:
        done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=max(1.0, end_s - time.monotonic()))  # fmt: skip
    except subprocess.TimeoutExpired:
        return "not done in time"
    print(
        f"--- {' '.join(words[:3])}: status {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}", flush=True
    )
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


if __name__ == "__main__":
    main()
