"""Subjects to export, made by hand: no worker, no run. The gallery's softmax, and a linear layer with parameters.

The rule: the files are those that people export; only the verdict on them is stated here.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fakes import BOUND, ENVIRONMENT
from kernelwright.export.subject import Subject
from kernelwright.model import Candidate, Case, CaseInfo, Evaluation, ProblemInfo, Status, TensorSpec

HERE = Path(__file__).parent
GALLERY = HERE.parent / "gallery"


def tensor(*shape: int, dtype: str = "float32") -> TensorSpec:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return TensorSpec(shape=shape, dtype=dtype, stride=tuple(strides[: len(shape)]))


def case(
    name: str, params: dict[str, Any], inputs: tuple[Any, ...], outputs: tuple[TensorSpec, ...], **more: Any
) -> CaseInfo:
    dtype = more.pop("dtype", "float32")
    stated = Case(name=name, params=params, dtype=dtype, small=more.pop("small", False))
    return CaseInfo(case=stated, inputs=inputs, outputs=outputs, bytes=1 << 20, flop=1, bound=BOUND, **more)


def softmax_case(rows: int, cols: int, small: bool = False) -> CaseInfo:
    spec = tensor(rows, cols)
    return case(f"{rows}x{cols}", {"rows": rows, "cols": cols}, (spec,), (spec,), small=small, input_names=("x",))


def subject(problem: Path, candidate: Path, name: str, cases: tuple[CaseInfo, ...], **more: Any) -> Subject:
    return Subject(
        problem=ProblemInfo(name=name, format="native", source=problem.read_text(), cases=cases),
        problem_text=problem.read_text(),
        cases_text=None,
        candidate=Candidate(source=candidate.read_text(), config=more.pop("config", {})),
        evaluation=Evaluation(status=Status.PASSED, verified_on="interpreter", autotune=more.pop("autotune", {})),
        environment=ENVIRONMENT,
        package=f"fast_{name}",
        **more,
    )


def softmax(**more: Any) -> Subject:
    cases = (softmax_case(4096, 4096), softmax_case(33, 70, small=True))
    folder = GALLERY / "softmax"
    return subject(folder / "problem.py", folder / "starter.py", "softmax", cases, **more)


def cross_entropy() -> Subject:
    """Two inputs, one of them whole numbers that have no gradient."""
    labels = TensorSpec(shape=(7,), dtype="int64", stride=(1,))
    cases = tuple(
        case(
            name,
            {"rows": 7, "vocabulary": 300},
            (tensor(7, 300), labels),
            (tensor(7),),
            small=name == "small",
            input_names=("logits", "labels"),
        )
        for name in ("timed", "small")
    )
    folder = GALLERY / "cross_entropy"
    return subject(folder / "problem.py", folder / "starter.py", "cross_entropy", cases)


def linear(kernel: str = "dotted_names") -> Subject:
    """Two layers with parameters, constructed with two numbers."""

    def info(rows: int, features: int, hidden: int, small: bool) -> CaseInfo:
        spec = tensor(rows, features)
        return case(
            "small" if small else "timed",
            {"rows": rows, "features": features, "hidden": hidden},
            (spec,),
            (spec,),
            small=small,
            input_names=("x",),
            init=(features, hidden),
            init_names=("features", "hidden"),
            parameters={
                "layers.0.weight": tensor(hidden, features),
                "layers.0.bias": tensor(hidden),
                "layers.2.weight": tensor(features, hidden),
                "layers.2.bias": tensor(features),
            },
        )

    folder = HERE / "honest"
    return subject(
        folder / "problems" / "linear.py",
        folder / "kernels" / "linear" / f"{kernel}.py",
        "linear",
        (info(131, 30, 45, False), info(9, 20, 33, True)),
    )


def pair(name: str, info: CaseInfo, kernel: str = "starter") -> Subject:
    """A problem of the gallery with its backward."""
    folder = GALLERY / f"{name}_backward"
    small = msgspec.structs.replace(info, case=msgspec.structs.replace(info.case, name="small", small=True))
    found = subject(folder / "problem.py", folder / f"{kernel}.py", name, (info, small))
    return replace(found, problem=msgspec.structs.replace(found.problem, gradients=True))


def swiglu() -> Subject:
    x = tensor(7, 300)
    info = case(
        "timed", {"tokens": 7, "width": 300}, (x, x, x), (x, x, x), input_names=("gate", "up", "grad_0"),
        gradients_of=("gate", "up"),
    )  # fmt: skip
    return pair("swiglu", info)


def write(files: dict[str, str], folder: Path) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def win(sizes: list[list[int]], kernel_us: float, torch_us: float, **more: Any) -> dict[str, Any]:
    """A measured case of `wins.json`, the same plainly and compiled, awaited and on the device."""
    mine, other = ({"call_us": one, "device_us": one} for one in (kernel_us, torch_us))
    name = " ".join("x".join(map(str, shape)) for shape in sizes)
    why = "faster" if kernel_us <= 0.9 * torch_us else "not faster by enough in call_us"
    why_in_graphs = "faster" if kernel_us <= 0.97 * torch_us else "not faster by enough in device_us"
    return {
        "case": name, "params": {}, "dtype": "float32", "init": [], "parameters": {},
        "inputs": [{"shape": shape, "dtype": "float32"} for shape in sizes],
        "kernel": mine, "eager": other, "kernel_compiled": mine, "compile": other,
        "why": {"eager": why, "compiled": why},
        "why_in_graphs": {"eager": why_in_graphs, "compiled": why_in_graphs}, **more,
    }  # fmt: skip


def names_beside(arguments: tuple[str, ...], text: str) -> set[str]:
    """What the functions that have the problem's arguments among theirs, or assign them, call by name; the variable of
    a comprehension takes nothing's place outside of it."""
    found: set[str] = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name in ("key_of", "in_graph", "forward", "parted"):
            nodes = list(ast.walk(function))
            inner = {one.target.id for one in nodes if isinstance(one, ast.comprehension)
                     and isinstance(one.target, ast.Name)}  # fmt: skip
            taken = {one.id for one in nodes if isinstance(one, ast.Name)} | {
                one.arg for one in nodes if isinstance(one, ast.arg)
            }
            found |= taken - inner
    return found - set(arguments)
