"""Derived cases as text: their sizes, which numbers of the file stay as they are and why, and which sizes are tied."""

from __future__ import annotations

import ast
import math
from typing import Any

from kernelwright.model import CaseInfo, ProblemInfo, TensorSpec


def derived_text(problem: ProblemInfo) -> str:
    """For `check`; "" where nothing was derived."""
    cases = [info for info in problem.cases if info.case.derived]
    lines = []
    if cases:
        lines = ["derived cases (small ones; --cases stated leaves them out):", *map(_case_line, cases)]
    if why := problem.left_alone.get(""):
        lines.append(f"no {'more' if cases else 'derived'} cases: {why}")
    numbers_of: dict[str, list[str]] = {}
    for name, reason in problem.left_alone.items():
        if name:
            numbers_of.setdefault(reason, []).append(name)
    if numbers_of:
        lines.append("left as they are:")
        lines += [f"  {', '.join(names)}: {reason}" for reason, names in numbers_of.items()]
    if tied := tied_sizes(problem):
        lines.append("tied, one number for several sizes:")
        lines += [f"  {name}: {', '.join(places)}" for name, places in tied.items()]
    return "\n".join([*lines, ""]) if lines else ""


def derived_document(problem: ProblemInfo) -> dict[str, Any]:
    """The same for programs."""
    cases = {info.case.name: info.case.params for info in problem.cases if info.case.derived}
    return {"cases": cases, "left_alone": problem.left_alone, "tied": tied_sizes(problem)}


def tied_sizes(problem: ProblemInfo) -> dict[str, list[str]]:
    """The arguments of get_inputs that are used more than once in the list that it returns, or also as an argument of
    get_init_inputs: for each, the inputs whose sizes it sets, once for each use."""
    functions = {node.name: node for node in ast.parse(problem.source).body if isinstance(node, ast.FunctionDef)}
    makers = [functions[name] for name in ("get_inputs", "get_init_inputs") if name in functions]
    last = makers[0].body[-1] if len(makers) == 2 else None
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.List)):
        return {}
    inputs, init = ([argument.arg for argument in maker.args.args] for maker in makers)
    found: dict[str, list[str]] = {name: [] for name in inputs}
    for place, item in zip(problem.cases[0].input_names, last.value.elts, strict=False):
        for node in ast.walk(item):
            if isinstance(node, ast.Name) and node.id in found:
                found[node.id].append(place)
    found = {name: places + ["Model"] * (name in init) for name, places in found.items()}
    return {name: places for name, places in found.items() if len(places) > 1}


def elements(info: CaseInfo) -> int:
    """Of inputs, parameters and outputs."""
    inputs = [spec for spec in info.inputs if isinstance(spec, TensorSpec)]
    return sum(math.prod(spec.shape) for spec in (*inputs, *info.parameters.values(), *info.outputs))


def _case_line(info: CaseInfo) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in info.case.params.items()) or "as the file has it"
    held_out = ", held out" if info.case.held_out else ""
    return f"  {info.case.name}: {sizes} ({elements(info):,} elements{held_out})"
