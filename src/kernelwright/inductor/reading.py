"""Reading a module that Inductor generated: its kernels, and the steps of its `call`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.templates import SIDES, Template, read_template


@dataclass(frozen=True)
class Kernel:
    """A generated kernel.

    name: Inductor's. functions: those beside the kernel, for its scans. operations: the fused operators, such as
    "aten.relu". grid_type: "Grid1D" and others. is_wide: whether its offsets have 64 bits. grid: the
    launch's, of a template.
    """

    name: str
    main: ast.FunctionDef
    functions: tuple[ast.FunctionDef, ...]
    operations: tuple[str, ...]
    grid_type: str
    is_wide: bool
    template: Template | None = None
    grid: tuple[ast.expr, ...] = ()
    generated_name: str = ""

    @property
    def origin(self) -> str:
        """Inductor's name of a kernel that has another name here, because its launches differ in sizes."""
        return self.generated_name or self.name


@dataclass(frozen=True)
class Module:
    """A generated module. arguments: the parameters of `call`, in order. steps: the statements of `call` that compute
    or allocate. shapes: of the results of library calls, by name."""

    kernels: Mapping[str, Kernel]
    arguments: tuple[str, ...]
    steps: tuple[ast.stmt, ...]
    shapes: Mapping[str, ast.expr] = field(default_factory=dict)


GRIDS = ("Grid1D", "Grid2D", "Grid3D", "Grid2DWithYZOverflow")

OF_TEMPLATE = "FixedGrid"


def read_module(text: str) -> Module:
    """Raises `NotConverted` for text that is not a module of Triton kernels and library calls."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise NotConverted(f"the generated text does not parse: {error}") from None
    kernels = {kernel.name: kernel for node in tree.body if (kernel := _kernel(node, text)) is not None}
    call = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if call is None:
        raise NotConverted("the generated text has no function call")
    checks = frozenset(_names_of_torch(tree))
    arguments: tuple[str, ...] = ()
    steps: list[ast.stmt] = []
    shapes: dict[str, ast.expr] = {}
    for statement in _flat(call.body):
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Name(id="args")):
                arguments = tuple(ast.unparse(name) for name in names)
            case ast.Expr(value=ast.Call(func=ast.Name(id=check), args=checked, keywords=[])) if check in checks:
                match checked:
                    case [ast.Name(id=name), ast.Tuple() as shape, *_] if name not in arguments:
                        shapes[name] = shape
                    case _:
                        pass
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="run"), args=given) as launch
            ) if name in kernels and kernels[name].template is not None:
                kernels[name] = replace(kernels[name], grid=tuple(given[-SIDES:]))
                launch.args = given[:-SIDES]
                steps.append(statement)
            case _ if not _is_bookkeeping(statement):
                steps.append(statement)
            case _:
                pass
    return Module(kernels, arguments, tuple(steps), shapes)


def _names_of_torch(tree: ast.Module) -> Iterator[str]:
    """The module's names of functions that it has from torch. A line that calls one for no result, and gives it no
    `out`, is a check, whatever its name."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as value):
                yield from [name] if ast.unparse(value).startswith("torch.") else []
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("torch."):
                yield from (one.asname or one.name for one in names)
            case _:
                pass


def _kernel(node: ast.stmt, text: str) -> Kernel | None:
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="async_compile"), attr=kind), args=arguments),
        ):
            pass
        case _:
            return None
    match arguments:
        case [_, ast.Constant(value=str(source)), *_] if kind == "triton":
            return _kernel_of(name, source, _operations(name, text))
    raise UnknownText(f"{name} is made by async_compile.{kind}")


class _Unchecked(ast.NodeTransformer):
    """Removes `tl.device_assert`, which has no effect in a launch."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        is_check = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "tl.device_assert"
        return None if is_check else node


def _kernel_of(name: str, source: str, operations: tuple[str, ...]) -> Kernel:
    tree = _Unchecked().visit(ast.parse(source))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    main = next((one for one in functions if one.name == name), None)
    grid = re.search(r"'grid_type': '(\w+)'", source)
    if main is None or grid is None:
        raise UnknownText(f"{name} has no kernel of that name with a grid")
    if grid[1] not in (*GRIDS, OF_TEMPLATE):
        raise UnknownText(f"{name} has the grid {grid[1]}")
    others = tuple(one for one in functions if one is not main)
    if grid[1] != OF_TEMPLATE:
        return Kernel(name, main, others, operations, grid[1], "numel': 'i64'" in source)
    is_wide = "INDEX_DTYPE : tl.constexpr = tl.int64" in source
    template = read_template(main)
    return Kernel(name, template.main, others, operations, grid[1], is_wide, template)


def _operations(name: str, text: str) -> tuple[str, ...]:
    """The operators that the comment above a kernel lists."""
    above = text.partition(f"\n{name} = async_compile")[0]
    found = re.findall(r"# Topologically Sorted Source Nodes: .*Original ATen: \[(.*)\]", above)
    return tuple(one.strip() for one in found[-1].split(",")) if found else ()


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)
        else:
            yield statement


def _is_bookkeeping(statement: ast.stmt) -> bool:
    """Whether it only concerns devices, streams or the lifetime of tensors."""
    match statement:
        case ast.Delete() | ast.Assign(value=ast.Call(func=ast.Name(id="get_raw_stream"))):
            return True
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Name(id="copy_if_misaligned"), args=[ast.Name(id=source)]),
        ):
            return target == source
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function) in BOOKKEEPING
        case _:
            return False


BOOKKEEPING = ("args.clear", "torch.cuda.set_device")
