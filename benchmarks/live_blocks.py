"""Blocks of published libraries as problems: written, compared, qualified, exported and patched in, a line per block.

    python benchmarks/live_blocks.py benchmarks/live_blocks/seen OUT.jsonl

FOLDER has files with `build() -> (module, args, kwargs)`. Each block runs in a process with a time limit, and each
answer is appended to OUT; blocks that have a line there are not asked again, so that the work can be done in parts.
Needs the libraries (transformers, timm, diffusers) and no GPU.

No kernel is judged here: the package is exported with a stand-in that computes the problem's Model with PyTorch, under
a stated verdict and stated figures. So `patched` says that the copy of the block in a model calls the kernel of the
package with its own arguments, and returns what the block returns.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kernelwright import Problem
from kernelwright.errors import KernelwrightError
from kernelwright.export.op import op_files
from kernelwright.export.subject import Subject
from kernelwright.jobs.worker import local_worker
from kernelwright.model import Candidate, Environment, Evaluation, ProblemInfo, Status, TensorSpec
from kernelwright.text.table import table

STEPS = ("written", "equal", "qualifies", "exported", "patched")
PACKAGE = "fast_block"

STAND_IN = """
from torch.func import functional_call

from . import reference

CALLS = []


def kernel_function({names}):
    CALLS.append(1)
    return functional_call(reference.Model({init}).eval(), {{{parameters}}}, ({inputs},))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of block files; one file with --one")
    parser.add_argument("out", type=Path)
    parser.add_argument("--one", action="store_true", help="only this file, in this process")
    parser.add_argument("--seconds", type=float, default=900.0, help="limit of one block")
    options = parser.parse_args()
    if options.one:
        add(options.out, answer(options.folder))
        return
    files = sorted(options.folder.glob("*.py"))
    for file in [file for file in files if file.stem not in {row["block"] for row in read(options.out)}]:
        try:
            done = subprocess.run([sys.executable, __file__, file, options.out, "--one"], timeout=options.seconds)
            why = f"status {done.returncode}"
        except subprocess.TimeoutExpired:
            why = f"not finished after {options.seconds:g} s"
        if file.stem not in {row["block"] for row in read(options.out)}:
            add(options.out, {"block": file.stem, "why": why})
    rows = [row for row in read(options.out) if row["block"] in {file.stem for file in files}]
    lines = [[row["block"], *("yes" if row.get(step) else "no" for step in STEPS), row["why"][:90]] for row in rows]
    print(table(["block", *STEPS, "why not"], lines))
    print(", ".join(f"{step}: {sum(bool(row.get(step)) for row in rows)} of {len(rows)}" for step in STEPS))


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []


def add(out: Path, row: dict[str, Any]) -> None:
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")


def answer(file: Path) -> dict[str, Any]:
    """The row of a block: the steps that were reached, and why the next one was not."""
    row: dict[str, Any] = {"block": file.stem, **dict.fromkeys(STEPS, False), "why": ""}
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            ask(file, Path(folder), row)
        except KernelwrightError as error:
            row["why"] = str(error).partition("\n")[0]
        except Exception as error:  # noqa: BLE001 - a block may fail in any way, and the others are asked all the same
            row["why"] = f"{type(error).__name__}: {error}".partition("\n")[0]
    return {**row, "seconds": round(time.monotonic() - began_s, 1)}


def ask(file: Path, folder: Path, row: dict[str, Any]) -> None:
    block, positional, named = built(file)
    problem = Problem.from_module(block, list(positional), named, name="block", folder=folder)
    row["written"] = row["equal"] = True  # it is refused where it is not equal
    with local_worker(None) as worker:
        info, environment = worker.load(str(problem.path)), worker.environment()
        report = worker.qualify(every=True)
    row["qualifies"], row["why"] = report.qualifies, report.reason
    row["cases"] = [one.case.name for one in info.cases]
    try:
        write_package(problem, info, environment, folder)
        check = [sys.executable, "-m", f"{PACKAGE}.check"]
        done = subprocess.run(check, cwd=folder, capture_output=True, text=True)
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        row["exported"] = done.returncode == 0
        row["why"] = row["why"] or (failed[:1] or [""])[0]
        row["patched"] = patched_gives_the_same(block, positional, named, folder)
    except Exception as error:  # noqa: BLE001 - whatever fails first is the reason
        row["why"] = row["why"] or f"{type(error).__name__}: {error}".partition("\n")[0]


def built(file: Path) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    spec = importlib.util.spec_from_file_location(f"block_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: tuple[Any, tuple[Any, ...], dict[str, Any]] = module.build()
    return found


def write_package(problem: Problem, info: ProblemInfo, environment: Environment, folder: Path) -> None:
    """The package of the stand-in, which is taken on the CPU for the example's sizes."""
    case = next(one for one in info.cases if one.case.timed)
    parameters = {name: name.replace(".", "_") for name in case.parameters}
    text = STAND_IN.format(
        names=", ".join([*case.input_names, *parameters.values()]), inputs=", ".join(case.input_names),
        init=", ".join(map(repr, case.init)),
        parameters=", ".join(f'"{name}": {value}' for name, value in parameters.items()),
    )  # fmt: skip
    files = problem.files
    subject = Subject(
        problem=info, problem_text=problem.path.read_text(), cases_text=None, candidate=Candidate(source=text),
        evaluation=Evaluation(status=Status.PASSED, verified_on="interpreter"), environment=environment,
        package=PACKAGE,
        beside={one.relative_to(files.file.parent).as_posix(): one.read_bytes() for one in files.beside},
    )  # fmt: skip
    for path, content in op_files(subject).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    mine, other = ({"call_us": one, "device_us": one} for one in (1.0, 2.0))
    tensors = [one for one in case.inputs if isinstance(one, TensorSpec)]
    won = dict.fromkeys(("eager", "compiled"), "faster")
    measured = {
        "case": "example", "params": {}, "dtype": None, "init": list(case.init),
        "parameters": {name: {"shape": one.shape, "dtype": one.dtype} for name, one in case.parameters.items()},
        "inputs": [{"shape": one.shape, "dtype": one.dtype} for one in tensors],
        "kernel": mine, "eager": other, "kernel_compiled": mine, "compile": other, "why": won, "why_in_graphs": won,
    }  # fmt: skip
    (folder / PACKAGE / "wins.json").write_text(json.dumps({"schema_version": 1, "device": "cpu", "cases": [measured]}))


def patched_gives_the_same(block: Any, positional: tuple[Any, ...], named: dict[str, Any], folder: Path) -> bool:
    """Whether a copy of the block with the package in it calls the kernel, and returns what the block returns."""
    import torch

    sys.path.insert(0, str(folder))
    package = importlib.import_module(PACKAGE)
    block = getattr(block, "_orig_mod", block)
    block.eval()
    model = torch.nn.ModuleDict({"block": copy.deepcopy(block)})
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        expected = block(*copy.deepcopy(positional), **copy.deepcopy(named))
        package.patch(model, "block")
        model["block"](*copy.deepcopy(positional), **copy.deepcopy(named))  # decides, and imports the kernel
        calls = importlib.import_module(f"{PACKAGE}.kernel").CALLS
        before = len(calls)
        found = model["block"](*copy.deepcopy(positional), **copy.deepcopy(named))
    if len(calls) == before:
        raise RuntimeError(f"the patched copy does not call the kernel: {package.explain(model['block'])}")
    return is_same(expected, found)


def is_same(one: Any, other: Any) -> bool:
    import torch

    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return bool(torch.allclose(one, other, 1e-4, 1e-5, equal_nan=True))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return is_same(vars(one), vars(other)) if hasattr(one, "__dict__") else bool(one == other)


if __name__ == "__main__":
    main()
