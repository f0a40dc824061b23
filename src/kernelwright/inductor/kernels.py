"""Conversion of one generated kernel: readable names, replaced helper functions, sizes as parameters."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from kernelwright.inductor.arithmetic import names_in, parsed
from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.functions import FUNCTIONS
from kernelwright.inductor.reading import Kernel
from kernelwright.inductor.tidy import tidy
from kernelwright.inductor.writing import called, free_name, wrapped

IN_TRITON = frozenset(
    {"abs", "ceil", "cos", "erf", "exp", "exp2", "floor", "fma", "log", "log2", "rsqrt", "sin", "sqrt"}
)
"""Elementwise functions that `triton.language` has under libdevice's names. Triton's interpreter supports only
these."""

KINDS = {"per": "rows", "red": "reduce", "poi": "map", "tem": "tiles"}
"""Name parts by the second word of Inductor's kernel name: persistent or looped reduction, pointwise, or template."""


VIEWS = frozenset({
    "t", "view", "transpose", "permute", "expand", "squeeze", "unsqueeze", "slice", "unbind", "clone", "softmax_online",
    "structure",
})  # fmt: skip
"""Operations that are left out of a kernel's name."""

NOISE = r"^(native_|_unsafe_|_safe_|_+|prepare_)+|_with_indices$"
"""Parts of the framework's operator names that their documented names do not have."""


@dataclass(frozen=True)
class Converted:
    """A converted kernel.

    texts: of its functions, and last of the kernel. pointers, extents: the arguments that the generated launch passes.
    sizes: parameters, with the host's expressions for them. blocks: those that the config sets. widths: blocks that are
    fixed numbers in the text. helpers: the replacement functions that it calls. constants: the module's names of
    blocks, num_warps and num_stages, or their numbers. factor: the place of the argument that is split before each
    launch, see `parts`.
    """

    name: str
    texts: tuple[str, ...]
    pointers: tuple[str, ...]
    extents: tuple[str, ...]
    sizes: Mapping[str, str]
    blocks: tuple[str, ...]
    widths: Mapping[str, int] = field(default_factory=dict)
    helpers: frozenset[str] = frozenset()
    constants: Mapping[str, str] = field(default_factory=dict)
    factor: int | None = None


def readable_name(kernel: Kernel, taken: set[str]) -> str:
    """`layer_norm_reduce` from "triton_red_fused_native_layer_norm_0", with a number where that name is taken."""
    kind = kernel.name.removeprefix("triton_").partition("_")[0]
    words = [re.sub(NOISE, "", one.rpartition(".")[2]).strip("_") for one in kernel.generated.operations]
    words = [word for word in words if word not in VIEWS] or words
    plain = "_".join([*[*dict.fromkeys(word for word in words if word.isidentifier())][:3], KINDS.get(kind, kind)])
    name = free_name(plain, taken)
    taken.add(name)
    return name


def convert_kernel(
    kernel: Kernel, name: str, found: Mapping[str, ast.expr], called: Sequence[str], with_sizes: bool = False
) -> Converted:
    """The kernel under a new name. found: expressions of the host's sizes, by hole. called: the arguments that its
    launch passes for its pointers; the pointers are named after them. with_sizes: whether sizes are arguments, not
    constants of the compiler."""
    main = copy.deepcopy(kernel.main)
    runtime = kernel.runtime
    blocks = tuple(one.arg for one in main.args.args if one.annotation is not None)
    pointers = [one for one in runtime if "_ptr" in one]
    extents = [one for one in runtime if one.endswith("numel")]
    if runtime != [*pointers, *extents]:
        raise NotConverted(f"{kernel.name} takes {', '.join({*runtime} - {*pointers, *extents})}")
    renamed = _pointer_names(pointers, called)
    widths, sizes = _take_widths(main, renamed)
    main.body = [
        one for one in main.body if not (isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) in extents)
    ]
    expressions: dict[str, ast.expr] = {}
    taken = {*names_in(main), *runtime, *blocks, *renamed.values()}
    for hole in dict.fromkeys(one.id for one in ast.walk(main) if isinstance(one, ast.Name) and one.id in found):
        if _is_computed(found[hole]) and not names_in(found[hole]) & taken:
            expressions[hole] = found[hole]
            sizes |= {name: name for name in sorted(names_in(found[hole]))}
        else:
            renamed[hole] = _parameter(ast.unparse(found[hole]), sizes, taken)
    functions = {one.name: f"{name}{one.name.removeprefix('_triton_helper_fn')}" for one in kernel.functions}
    language = _Language({**renamed, **functions}, expressions, frozenset(sizes))
    texts = [_function(one, functions[one.name], kernel, found.keys(), language) for one in kernel.functions]
    constexpr = parsed("tl.constexpr")
    main.args.args = [
        *(ast.arg(one) for one in pointers),
        *(ast.arg(one, constexpr) for one in extents),
        *(ast.arg(one, None if with_sizes else constexpr) for one in sizes),
        *(ast.arg(one, constexpr) for one in blocks),
    ]
    main.name, main.decorator_list = name, []
    main = language.visit(main)
    if kernel.generated.tiles is None and _fetch_ahead(main):
        main.args.args.append(ast.arg(STAGES, constexpr))
    tidy(main)
    texts.append(_text(main))
    return Converted(
        name, tuple(texts), tuple(pointers), tuple(extents), sizes, blocks, widths, frozenset(language.helpers)
    )


STAGES = "num_stages"
"""Triton reads this option of a launch as an argument, too, where the kernel has one of that name."""


def _fetch_ahead(main: ast.FunctionDef) -> bool:
    """Lets loops have the loads of several iterations in flight, and says whether there are loops that load. Without a
    `tl.dot` Triton does so only where the loop itself has the number (the documentation of `tl.range`)."""
    loops = [one for one in ast.walk(main) if isinstance(one, ast.For) and _is_innermost(one)
             and any(isinstance(part, ast.Attribute) and part.attr == "load" for part in ast.walk(one))]  # fmt: skip
    for one in loops:
        assert isinstance(one.iter, ast.Call)
        one.iter = parsed(f"tl.range({', '.join(map(ast.unparse, one.iter.args))}, num_stages={STAGES})")
    return bool(loops)


def _is_innermost(loop: ast.For) -> bool:
    return not any(isinstance(part, ast.For | ast.While) for one in loop.body for part in ast.walk(one))


def _take_widths(main: ast.FunctionDef, renamed: dict[str, str]) -> tuple[dict[str, int], dict[str, str]]:
    """Blocks that are fixed numbers, as their extents are, and parameters for those that depend on an extent: the next
    power of two from it on. The statements of these are removed. All get names without BLOCK in `renamed`, because they
    are no tunables (`source/names.py`)."""
    widths: dict[str, int] = {}
    sizes: dict[str, str] = {}
    fixed = {ast.unparse(one.targets[0]) for one in main.body
             if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)}  # fmt: skip
    for statement in [*main.body]:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=block), value=ast.Constant(value=int(given))):
                renamed[block] = block.replace("BLOCK", "WIDTH")
                extent = f"{block.partition('_')[0].lower()}_numel"
                if extent in fixed:
                    widths[block] = given
                else:
                    sizes[renamed[block]] = f"triton.next_power_of_2({{{extent}}})"
                    main.body.remove(statement)
            case _:
                pass
    return widths, sizes


def _function(one: ast.FunctionDef, name: str, kernel: Kernel, found: Set[str], language: _Language) -> str:
    """The text of a function that the kernel calls, under a new name."""
    function = copy.deepcopy(one)
    if names_in(function) & found:
        raise NotConverted(f"a function of {kernel.name} depends on sizes")
    function.name, function.decorator_list = name, []
    return _text(language.visit(function))


def _pointer_names(pointers: Sequence[str], called: Sequence[str]) -> dict[str, str]:
    names = [f"{one}_ptr" for one in called]
    if len(set(names)) != len(pointers) or not all(name.isidentifier() for name in names):
        return {}
    return dict(zip(pointers, names, strict=True))


def _parameter(expression: str, sizes: dict[str, str], taken: set[str]) -> str:
    """The parameter for this expression, added to `sizes` where it is new."""
    known = next((name for name, text in sizes.items() if text == expression), None)
    if known is not None:
        return known
    plain = re.sub(r"\W+", "_", expression.replace("//", "over").replace("*", "by")).strip("_")
    if not plain.isidentifier() or len(plain) > 40:
        plain = "size"
    name = free_name(plain, {*taken, *sizes})
    sizes[name] = expression
    return name


COMPUTED = (
    ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.UnaryOp, ast.USub,
)  # fmt: skip
"""Nodes of whole numbers that a kernel can compute from sizes at compile time."""


def _is_computed(node: ast.expr) -> bool:
    inside = [*ast.walk(node)]
    numbers = [one.value for one in inside if isinstance(one, ast.Constant)]
    return all(isinstance(one, COMPUTED) for one in inside) and all(isinstance(one, int) for one in numbers)


class _Language(ast.NodeTransformer):
    """Replaces Inductor's names by names that a candidate may use. sizes: the parameters that are constants of the
    compiler. helpers: the replaced ones."""

    def __init__(self, renamed: Mapping[str, str], expressions: Mapping[str, ast.expr], sizes: Set[str]) -> None:
        self.renamed, self.expressions, self.sizes = renamed, expressions, sizes
        self.helpers = set[str]()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="broadcast_to"), args=[size, shape]) if (
                names_in(size) and names_in(size) <= self.sizes
            ):  # Triton broadcasts no constant
                return parsed(f"tl.full({ast.unparse(shape)}, {ast.unparse(size)}, tl.int64)")
            case _:
                return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node:
            case ast.Attribute(value=ast.Name(id="libdevice" | "tl_math"), attr=function) if function in IN_TRITON:
                return ast.Attribute(ast.Name("tl", ast.Load()), function, ast.Load())
            case ast.Attribute(value=ast.Name(id="triton_helpers" | "libdevice" | "tl_math" as module), attr=function):
                helper = f"{module.replace('tl_math', 'libdevice')}.{function}"
                if helper in FUNCTIONS:
                    self.helpers.add(helper)
                    return ast.Name(FUNCTIONS[helper], ast.Load())
                if module != "libdevice":
                    raise UnknownText(f"it uses {helper}, for which there is no function here")
                return ast.Attribute(ast.Name("libdevice", ast.Load()), function, ast.Load())
            case _:
                pass
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.expressions:
            return copy.deepcopy(self.expressions[node.id])
        return ast.Name(self.renamed.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.generic_visit(node)
        return ast.arg(self.renamed.get(node.arg, node.arg), node.annotation)


def in_triton(text: str) -> str:
    """An expression of Inductor's kernels by names that a candidate may use. Raises: UnknownText."""
    language = _Language({}, {}, frozenset())
    made = ast.unparse(language.visit(parsed(text)))
    if language.helpers:
        raise UnknownText(f"it uses {', '.join(sorted(language.helpers))}")
    return made


def _text(function: ast.FunctionDef) -> str:
    head = called(f"def {function.name}", [ast.unparse(one) for one in function.args.args], "")
    body = ast.unparse(ast.fix_missing_locations(ast.Module(function.body, [])))
    return f"@triton.jit\n{head}:\n" + "\n".join(wrapped(f"    {line}") for line in body.splitlines())
