"""Inductor's `output_code.py`, which TORCH_LOGS=output_code or the compile cache writes, converted to a candidate.

Its kernels and the lines of `call(args)` become the records of a capture (`kernelwright.inductor`). An argument is the
problem's tensor of its name, else the first of its shape and strides. Sizes are whole numbers, so the candidate serves
the sizes of the file only. Nothing of the file is run, and only arithmetic is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kernelwright.entries.called import NotCalled
from kernelwright.inductor import NotConverted, candidate_text
from kernelwright.model import (
    Alias,
    Allocation,
    Capture,
    CaseInfo,
    Generated,
    Launch,
    LibraryCall,
    ProblemInfo,
    Step,
    TensorSpec,
    TritonKernel,
    Unknown,
    View,
    dense_stride,
)
from kernelwright.source.parameter_names import as_argument

MOST_ELEMENTS = 2048
"""Largest number of elements that a program of a converted kernel has."""
ELEMENTS_PER_WARP = 256
MOST_WARPS = 8
PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm"})
"""Functions of `extern_kernels` that are operators of PyTorch with the same arguments."""
ALIGNED = frozenset({"copy_misaligned", "copy_if_misaligned"})
"""Functions that return their argument, or a copy that begins at a multiple of 16 bytes."""
LEFT_OUT = frozenset({"assert_size_stride", "clear", "set_device", "get_raw_stream", "assert_alignment"})


def converted(tree: ast.Module, problem: ProblemInfo) -> str | None:
    """The text of a candidate; None for another file. Raises `NotCalled`."""
    sources = dict(kernel_sources(tree))
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"
                 and [one.arg for one in node.args.args][-1:] == ["args"]), None)  # fmt: skip
    if not sources or call is None:
        return None
    if problem.gradients:
        raise NotCalled("the problem states GRADIENTS, and output_code.py has one of the two graphs: a first kernel of "
                        "optimize has both")  # fmt: skip
    names = [name for node in statements(call.body) for name in unpacked(node)]
    shapes = {one.args[0].id: tuple(map(whole, one.args[1:3])) for one in calls_of(call, "assert_size_stride")
              if isinstance(one.args[0], ast.Name)}  # fmt: skip
    case, tensors = matched(names, shapes, problem)
    host = Host({name: as_argument(tensor) for name, tensor in tensors.items()}, sources)
    for node in statements(call.body):
        host.read(node)
    specs = specs_of(case)
    launched = {step.kernel for step in host.steps if isinstance(step, Launch)}
    capture = Capture(
        kernels=tuple(kernel_of(name, text) for name, text in sources.items() if name in launched),
        steps=tuple(host.steps), outputs=tuple(host.outputs),
        names=tuple(tensors.values()), tensors=tuple(specs[name] for name in tensors.values()),
    )  # fmt: skip
    inputs = tuple((name, None if isinstance(value, TensorSpec) else repr(value))
                   for name, value in zip(case.input_names, case.inputs, strict=True))  # fmt: skip
    generated = Generated(
        captures=(capture,), inputs=inputs, mutates=case.mutates, arguments=case.arguments, returns=case.returns,
        precision=problem.precision, torch="",
    )  # fmt: skip
    try:
        return candidate_text(generated, problem.library)
    except NotConverted as error:
        raise NotCalled(f"output_code.py cannot be converted: {error}") from error


def kernel_sources(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names and texts of the kernels: NAME = async_compile.triton("NAME", "source", …)."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(attr="triton"), args=[_, ast.Constant(value=str(text)), *_]),
            ):
                yield name, text
            case _:
                pass


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of `call`, without the `with` around them."""
    for node in body:
        if isinstance(node, ast.With):
            yield from statements(node.body)
        else:
            yield node


def unpacked(node: ast.stmt) -> list[str]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Name(id="args")):
            return [one.id for one in names if isinstance(one, ast.Name)]
        case _:
            return []


def calls_of(call: ast.FunctionDef, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(call):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
            and len(node.args) > 2
        ):
            yield node


def whole(node: ast.expr) -> tuple[int, ...]:
    """A tuple of whole numbers. Raises `NotCalled` for symbols."""
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, tuple) or not all(type(one) is int for one in found):
        raise NotCalled(
            f"line {node.lineno}: {ast.unparse(node)[:80]} is not in whole numbers: compile with dynamic=False"
        )
    return found


def specs_of(case: CaseInfo) -> dict[str, TensorSpec]:
    inputs = {name: one for name, one in zip(case.input_names, case.inputs, strict=True) if isinstance(one, TensorSpec)}
    return {**inputs, **case.parameters}


def matched(names: Sequence[str], shapes: dict[str, Any], problem: ProblemInfo) -> tuple[CaseInfo, dict[str, str]]:
    """A case with tensors of the file's shapes, and by argument the name of a tensor. Raises `NotCalled`."""
    missing = ""
    for case in problem.cases:
        left, found = specs_of(case), dict[str, str]()
        spelled = {as_argument(name): name for name in left}
        for name in sorted(names, key=lambda one: one not in spelled):
            same = [one for one, spec in left.items() if (spec.shape, spec.stride) == shapes.get(name)]
            own = spelled.get(name)
            taken = own if own in left else next(iter(same), None)
            if taken is None:
                missing = missing or f"{name} of shape {shapes.get(name, ('unknown',))[0]}"
                break
            found[name] = taken
            del left[taken]
        else:
            return case, {name: found[name] for name in names}
    raise NotCalled(
        f"output_code.py takes {missing}, and no case has such a tensor beside its others: state a case of the "
        "sizes that were compiled"
    )


def kernel_of(name: str, source: str) -> TritonKernel:
    """A kernel with one config: blocks of at most MOST_ELEMENTS, a reduction in one piece if it can be."""
    grid = re.search(r"'grid_type': '(\w+)'", source)
    hints = re.search(r"size_hints=(\{[^}]*\})", source)
    sizes = hinted(hints[1]) if hints else {}
    blocks, room = dict[str, int](), MOST_ELEMENTS
    for key in sorted(sizes, key=lambda one: not one.startswith("r")):
        size = max(1, min(sizes[key], room if key.startswith("r") or len(sizes) == 1 else max(1, min(room, 32))))
        blocks[f"{key.rstrip('_').upper()}_BLOCK" if key.startswith("r") else f"{key.upper()}BLOCK"] = size
        room = max(1, room // size)
    elements = MOST_ELEMENTS // room
    config = {**blocks, "num_warps": max(1, min(MOST_WARPS, elements // ELEMENTS_PER_WARP)), "num_stages": 1}
    operations = re.sub(r"^triton_\w+?_fused_|_?\d+$", "", name)
    return TritonKernel(
        name=name, source=source, grid=grid[1] if grid else "", operations=(f"aten.{operations}",), configs=(config,)
    )


def hinted(text: str) -> dict[str, int]:
    """The sizes by axis that a kernel states; empty for another text."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return {}
    return {axis: size for axis, size in found.items() if isinstance(axis, str) and type(size) is int}


class Host:
    """Reads the statements of `call` as steps. names: the problem's name of each argument."""

    def __init__(self, names: dict[str, str], kernels: dict[str, str]) -> None:
        self.names, self.kernels = names, kernels
        self.steps: list[Step] = []
        self.outputs: list[View] = []
        self.shapes: dict[str, tuple[str, ...]] = {}

    def read(self, node: ast.stmt) -> None:
        match node:
            case ast.Delete() | ast.Assign(value=ast.Name(id="args")):
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))) if name in LEFT_OUT:
                pass
            case ast.Assign(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))) if name in LEFT_OUT:
                pass
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=called), args=[ast.Name(id=old)])
            ) if name == old and called in ALIGNED:
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=old)):
                self.steps.append(Alias(name=name, view=View(tensor=self.name(old))))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=called)) as value) if (
                called.startswith("empty_strided") and len(value.args) > 2
            ):
                shape, stride = whole(value.args[0]), whole(value.args[1])
                self.shapes[name] = texts(shape)
                is_dense = stride == dense_stride(shape)
                self.steps.append(Allocation(
                    name=name, shape=texts(shape), stride=None if is_dense else texts(stride),
                    dtype=ast.unparse(value.args[2]),
                ))  # fmt: skip
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="reinterpret_tensor")) as value
            ):
                view = self.view(value)
                self.steps.append(Alias(name=name, view=view, shape=view.shape))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=kernel), attr="run")) as value) if (
                kernel in self.kernels
            ):
                self.steps.append(Launch(kernel=kernel, arguments=tuple(map(self.argument, value.args))))
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="extern_kernels"), attr=name)) as value
            ) if name in PRODUCTS:
                named = {str(one.arg): one.value for one in value.keywords}
                out = self.view(named.pop("out", value.func))
                self.steps.append(LibraryCall(
                    operator=f"{name}.default", function=f"torch.{name}", arguments=tuple(map(self.view, value.args)),
                    named={key: number(one) for key, one in named.items()}, out=out,
                    shape=out.shape or self.shapes.get(out.tensor),
                ))  # fmt: skip
            case ast.Return(value=ast.Tuple(elts=elements)):
                self.outputs = [self.view(one) for one in elements]
            case _:
                self.steps.append(Unknown(text=f"line {node.lineno}: {' '.join(ast.unparse(node).split())[:100]}"))

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def view(self, node: ast.expr) -> View:
        """Raises `NotCalled` for what is no tensor of the file."""
        match node:
            case ast.Name(id=name):
                return View(tensor=self.name(name))
            case ast.Call(
                func=ast.Name(id="reinterpret_tensor"),
                args=[ast.Name(id=name), shape, stride, ast.Constant(value=int(at))],
            ):
                return View(
                    tensor=self.name(name), shape=texts(whole(shape)), stride=texts(whole(stride)), offset=str(at)
                )
            case _:
                raise NotCalled(f"line {node.lineno}: {ast.unparse(node)[:100]} is no tensor of output_code.py")

    def argument(self, node: ast.expr) -> str:
        """A name or a number of a launch; a view gets a name."""
        match node:
            case ast.Constant(value=int(number)) if type(number) is int:
                return str(number)
            case ast.Name(id=name):
                return self.name(name)
            case _:
                view = self.view(node)
                name = f"view_{len(self.steps)}_{view.tensor}"
                self.steps.append(Alias(name=name, view=view, shape=view.shape))
                return name


def number(node: ast.expr) -> str:
    """A number as text. Raises `NotCalled`."""
    match node:
        case (
            ast.Constant(value=int() | float())
            | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()))
        ):
            return ast.unparse(node)
        case _:
            raise NotCalled(f"line {node.lineno}: {ast.unparse(node)[:100]} is no number")


def texts(sizes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(map(str, sizes))
