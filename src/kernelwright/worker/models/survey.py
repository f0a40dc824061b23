"""The parts of a model: regions and library calls of all its graphs, equal ones together, with a problem for each
family of regions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from torch import Tensor
from torch.fx import Node

from kernelwright.errors import RequestError
from kernelwright.model import LeastWork, ModelSurvey, Part, PartCase, PartKind
from kernelwright.worker.models.capture import Captured, captured
from kernelwright.worker.models.problem_text import problem_text
from kernelwright.worker.models.regions import Region, family_of, key_of, library_kind, name_of, regions_of, value_of
from kernelwright.worker.models.script import Script, on_fakes
from kernelwright.worker.models.work import evaluated, work_of

MOST_WORDS = 4
"""Operators in the name of a region."""


@dataclass
class Found:
    """One computation at one size. places: in a call of the model, weighted by the shares of its sets."""

    kind: PartKind
    region: Region
    work: LeastWork
    graph: Captured
    places: float = 0.0
    modules: Counter[str] = field(default_factory=Counter)


class Graphs(NamedTuple):
    """sets: the shares of the inputs' names. of_sets: with the share of each graph."""

    sets: dict[str, float]
    of_sets: list[tuple[float, Captured]]


def graphs_of(script: Script, device: str) -> Graphs:
    """The graphs of a script's module on fake tensors. Raises `RequestError`."""
    faked = on_fakes(script, device)
    found = [(one.share, graph) for one in faked.sets for graph in captured(faked, one, script)]
    return Graphs({one.name: one.share for one in faked.sets}, found)


def survey(
    script: Script, graphs: Graphs, joined: frozenset[str] = frozenset()
) -> tuple[ModelSurvey, dict[str, Found]]:
    """The survey of a script's module, and each of its computations by key. joined: library calls that are part of the
    regions around them."""
    found: dict[str, Found] = {}
    for share, graph in graphs.of_sets:
        for kind, region in _computed(graph, joined):
            key = key_of(region)
            if key not in found:
                found[key] = Found(kind, region, work_of(region, graph.values), graph)
            found[key].places += share * graph.calls
            found[key].modules.update(filter(None, map(module_of, region.nodes)))
    families: dict[str, dict[str, Found]] = {}
    for key, one in found.items():
        families.setdefault(family_of(one.region), {})[key] = one
    parts, taken = list[Part](), Counter[str]()
    for name, several in families.items():
        part = _part(name, dict(sorted(several.items(), key=lambda item: -item[1].places * item[1].work.bytes)))
        taken[part.name] += 1
        number = taken[part.name]
        parts.append(part if number == 1 else msgspec.structs.replace(part, name=f"{part.name}_{number}"))
    return ModelSurvey(
        name=script.path.stem, is_trained=script.train, sets=graphs.sets, graphs=len(graphs.of_sets), parts=tuple(parts)
    ), found


def _computed(graph: Captured, joined: frozenset[str]) -> Iterator[tuple[PartKind, Region]]:
    regions, calls = regions_of(graph.graph, joined)
    yield from (("region", one) for one in regions)
    yield from ((library_kind(one.outputs[0]), one) for one in calls)


def _part(name: str, family: dict[str, Found]) -> Part:
    """family: the one with the most bytes first."""
    first = next(iter(family.values()))
    text, refused = None, ""
    names = [one for one in dict.fromkeys(map(name_of, first.region.nodes)) if one != "getitem"]
    operators = [one for one in names if first.work.kinds.get(one, "copy") != "copy"] or names
    modules = sum((one.modules for one in family.values()), Counter[str]()).most_common(1)
    module = modules[0][0] if modules else ""
    if first.kind == "region":
        try:
            text = _written(family, f"A region of {module or 'a model'}: {', '.join(operators)}.")
        except RequestError as error:
            refused = str(error)
    return Part(
        kind=first.kind, name="_".join(operators[:MOST_WORDS]).strip("_"), family=name, operators=tuple(operators),
        module=module, is_backward=first.graph.is_backward, text=text, refused=refused,
        cases=tuple(PartCase(key=key, shapes=_shapes(one.region), places=round(one.places, 6), work=one.work)
                    for key, one in family.items()),
    )  # fmt: skip


def _written(family: dict[str, Found], title: str) -> str:
    """The problem of a family; of its first size alone where nothing explains the others."""
    first = next(iter(family.values()))
    if {*first.work.kinds.values()} <= {"copy"}:
        raise RequestError("it only moves or casts elements")
    regions = {key: one.region for key, one in family.items()}
    known = ((node, evaluated(node, first.graph.values)) for node in first.region.inputs)
    seen = {node: values for node, values in known if values is not None}
    try:
        return problem_text(regions, seen, title)
    except RequestError:
        if len(regions) == 1:
            raise
        return problem_text(dict([*regions.items()][:1]), seen, title)


def _shapes(region: Region) -> str:
    tensors = [value for value in map(value_of, region.inputs) if isinstance(value, Tensor)]
    return " ".join(f"{str(one.dtype)[6:]}{[*one.shape]}" for one in tensors)


def module_of(node: Node) -> str:
    """The module that a node comes from, with * for numbers of layers; "" where it is not known."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {"": ("", "")}
    path, kind = [*stack.values()][-1]
    words = re.findall(r"\w+", re.sub(r"^L\['\w+'\](\[\d+\])?|_modules|_orig_mod", "", str(path)))
    name = ".".join("*" if word.isdigit() else word for word in words)
    return f"{name} ({getattr(kind, '__name__', str(kind).rpartition('.')[2])})".strip() if kind else name
