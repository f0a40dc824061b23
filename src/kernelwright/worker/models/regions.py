"""Regions of a graph: the operators between library calls that a kernel could compute together.

The depth of a node is the largest number of library calls on a path to it. A region is what hangs together at one
depth: a path from one of its nodes to another that left it would cross a library call and so reach a larger depth.
Hence every region is convex, and a kernel can take its place. It is not one of Inductor's kernels, which may compute a
value again in several of them. A library call that joins a region has the depth of what follows it.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import re
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch._inductor import lowering
from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.utils._pytree import tree_map

from kernelwright.model import PartKind
from kernelwright.worker.bounds.flop import operands
from kernelwright.worker.reference.instance import operator_name
from kernelwright.worker.reference.walk import behind_its_sources

Kind = Literal["given", "view", "constant", "fused", "library", "part", "written"]
"""given: an input, or random numbers. constant: computed from no tensor. fused: an operator that Inductor computes in
kernels of its own. library: one that it calls. part: one result of a library call. written: a change in place."""

RANDOM = "inductor_"
"""Beginning of the names of Inductor's operators that make random numbers."""

MOST_UNREAD = 4
"""Size of a tensor over that of a view of it, up to which the tensor and not the view is the input of a region."""

UNLIMITED = 1 << 40
"""Whole numbers from here on mean "to the end", and are no sizes."""


@dataclass(frozen=True)
class Region:
    """Nodes in an order that depends on what they compute, not on the graph. inputs, outputs: of the region."""

    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]


def value_of(node: Any) -> Any:
    """The fake tensor of a node, or of nodes in nested lists; other values as they are."""
    return tree_map(lambda one: one.meta.get("val") if isinstance(one, Node) else one, node)


def name_of(node: Node) -> str:
    """The operator's name without namespace and overload."""
    if isinstance(node.target, OpOverload):
        return operator_name(node.target)
    return getattr(node.target, "__name__", str(node.target))


def library_kind(node: Node) -> PartKind:
    """The class of a library call; other: none of those that multiply."""
    for kind in ("attention", "convolution"):
        if kind in name_of(node):
            return kind
    is_product = isinstance(node.target, OpOverload) and operands(node.target, value_of(list(node.args)))
    return "gemm" if is_product else "other"


def is_in_place(node: Node) -> bool:
    """Whether a node makes a changed copy of an input that the graph then stores in the input: a write of a part, as
    Inductor lowers it."""
    is_partial = name_of(node).partition("_")[0] in ("index", "scatter") or name_of(node).endswith("scatter")
    return is_partial and any(
        isinstance(user.target, OpOverload) and user.target._schema.is_mutable and user.args[:2] == (node.args[0], node)
        for base in node.all_input_nodes[:1] for user in base.users
    )  # fmt: skip


def _kind(node: Node, known: dict[Node, Kind]) -> Kind:
    if node.op != "call_function":
        return "given"
    if node.target is operator.getitem:
        source = known[node.all_input_nodes[0]]
        return "part" if source == "library" else source
    if not isinstance(node.target, OpOverload):
        return "library" if isinstance(value_of(node), Tensor | tuple | list) else "given"
    if node.target._schema.is_mutable:
        return "written"
    if library_kind(node) != "other":
        return "library"
    if name_of(node).startswith(RANDOM) or torch.Tag.nondeterministic_seeded in node.target.tags:
        return "given"
    if all(known[one] == "constant" for one in node.all_input_nodes):
        return "constant"
    if node.target.is_view or name_of(node) == "_unsafe_view":
        return "view"
    is_called = node.target in lowering.fallbacks or node.target not in lowering.lowerings or is_in_place(node)
    return "library" if is_called else "fused"


def regions_of(graph: Graph, joined: frozenset[str] = frozenset()) -> tuple[list[Region], list[Region]]:
    """The regions of a graph and its library calls as regions of one node, in its order. joined: keys of library calls
    that join the regions around them."""
    kinds: dict[Node, Kind] = {}
    inside = set[Node]()
    for node in graph.nodes:
        kinds[node] = _kind(node, kinds)
        if joined and kinds[node] == "library" and key_of(called(node)) in joined:
            kinds[node] = "fused"
            inside.add(node)
    found = (_finished(members, kinds) for members in _components(kinds, inside))
    calls = [called(node) for node in kinds if kinds[node] == "library"]
    return [one for one in found if one is not None], calls


def called(node: Node) -> Region:
    """A library call as a region of one node."""
    return Region((node,), tuple(node.all_input_nodes), (node,))


def _depths(kinds: dict[Node, Kind], joined: set[Node]) -> dict[Node, int]:
    """The depth of each node. One that no library call precedes, such as what a backward computes again from a saved
    tensor, has that of its users, where they have one: a kernel computes it with them."""
    depth: dict[Node, int] = {}
    for node in kinds:
        before = max((depth[one] + (kinds[one] == "library") for one in node.all_input_nodes), default=0)
        depth[node] = before + (node in joined)
    for node in reversed(kinds):
        users = {depth[user] for user in node.users if user.op != "output" and kinds[user] != "written"}
        if depth[node] == 0 and kinds[node] in ("fused", "view") and len(users) == 1:
            depth[node] = users.pop()
    return depth


def _components(kinds: dict[Node, Kind], joined: set[Node]) -> list[list[Node]]:
    """Fused nodes of one depth that are connected, by an edge or by a result of a library call that they share."""
    depth = _depths(kinds, joined)
    parent: dict[Node, Node] = {}
    readers: dict[tuple[Node, int], Node] = {}

    def root(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = node = parent[parent[node]]
        return node

    for node in kinds:
        if kinds[node] != "fused":
            continue
        parent[node] = node
        for source in (_viewed(one, kinds) for one in node.all_input_nodes):
            if kinds[source] == "fused" and depth[source] == depth[node]:
                parent[root(source)] = root(node)
            elif kinds[source] in ("library", "part"):
                parent[root(readers.setdefault((source, depth[node]), node))] = root(node)
    members: dict[Node, list[Node]] = {}
    for node in parent:
        members.setdefault(root(node), []).append(node)
    return list(members.values())


def _viewed(node: Node, kinds: dict[Node, Kind]) -> Node:
    """What a chain of views is a view of."""
    while kinds[node] == "view":
        node = node.all_input_nodes[0]
    return node


def _finished(members: list[Node], kinds: dict[Node, Kind]) -> Region | None:
    """The region of these fused nodes: with the views and constants that lead to them, which cost nothing. None where
    nothing reads its results."""
    inside = set(members)

    def leaves(node: Node) -> bool:
        return any(leaves(user) if kinds[user] == "view" else user not in inside for user in node.users)

    outputs = [node for node in members if isinstance(value_of(node), Tensor) and leaves(node)]
    ends: dict[Node, set[Node]] = {}
    for node in members:
        for one in node.all_input_nodes:
            source = _viewed(one, kinds)
            if source not in inside and kinds[source] != "constant":
                ends.setdefault(source, set()).add(_last_dense(one, kinds))
    inputs = {one.pop() if len(one) == 1 else source for source, one in ends.items()}
    return _ordered(outputs, inputs) if outputs else None


def _last_dense(node: Node, kinds: dict[Node, Kind]) -> Node:
    """Of the views that lead to a node, the last one that is as dense as its source, or leaves most of it out."""
    while kinds[node] == "view":
        before = node.all_input_nodes[0]
        while not isinstance(value_of(before), Tensor):  # a split, of which the node is one part
            before = before.all_input_nodes[0]
        seen, source = value_of(node), value_of(before)
        if source.numel() > MOST_UNREAD * seen.numel() or (seen.is_contiguous() and seen.numel() == source.numel()):
            return node
        node = before
    return node


def _ordered(outputs: list[Node], inputs: set[Node]) -> Region:
    """Outputs by what they compute, then depth first: the same order wherever the region is in a graph."""
    if len(outputs) > 1:
        outputs = sorted(outputs, key=lambda one: (family_of(_ordered([one], inputs)), [*value_of(one).shape]))

    def sources(node: Node) -> list[Node]:
        return [] if node in inputs else [*reversed(node.all_input_nodes)]

    nodes = dict.fromkeys(node for output in outputs for node in behind_its_sources(output, sources))
    inner, given = ([one for one in nodes if (one in inputs) == is_given] for is_given in (False, True))
    return Region(tuple(inner), tuple(given), tuple(outputs))


def family_of(region: Region) -> str:
    """Equal for regions that differ in their sizes only, so that they are cases of one problem."""
    return key_of(region, is_family=True)


def is_size(value: Any) -> bool:
    return type(value) is int and 1 < value < UNLIMITED


@functools.cache
def size_names(target: Any) -> frozenset[str]:
    """The arguments of an operator that are sizes: those that may be symbols. Other whole numbers are dimensions."""
    return frozenset(re.findall(r"SymInt\S* (\w+)", str(target._schema)) if isinstance(target, OpOverload) else ())


def arguments_of(node: Node) -> dict[str, Any]:
    """The arguments of a node by the names of its schema; by their places where it has none."""
    if not isinstance(node.target, OpOverload):
        return {str(place): value for place, value in enumerate(node.args)} | dict(node.kwargs)
    names = [one.name for one in node.target._schema.arguments]
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


def key_of(region: Region, is_family: bool = False) -> str:
    """Equal for the same operators, constants, dtypes, shapes and strides, so that one kernel serves both: a hash of a
    line for each input and operator. is_family: without strides, and with # in place of sizes."""
    names = {node: f"x{place}" for place, node in enumerate(region.inputs)}

    def word(value: Any, sized: bool) -> str:
        if isinstance(value, Node):
            return names[value]
        if isinstance(value, list | tuple):
            return f"[{', '.join(word(one, sized) for one in value)}]"
        return "device" if isinstance(value, torch.device) else "#" if sized and is_size(value) else repr(value)

    lines = []
    for node in region.inputs:
        value = value_of(node)
        shape = word([*value.shape], is_family) if isinstance(value, Tensor) else ""
        lines.append(f"{getattr(value, 'dtype', value)}{shape}{'' if is_family or not shape else value.stride()}")
    for place, node in enumerate(region.nodes):
        sized = size_names(node.target) if is_family else ()
        parts = [f"{name}={word(value, name in sized)}" for name, value in sorted(arguments_of(node).items())]
        names[node] = f"v{place}"
        lines.append(f"{node.target}({', '.join(parts)})")
    text = "\n".join([*lines, ", ".join(names[node] for node in region.outputs)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
