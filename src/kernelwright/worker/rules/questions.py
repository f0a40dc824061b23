"""Expressions of host code that ask about the machine and nothing else, and the literals in their place. Pure syntax.

They ask for versions, installed packages and environment variables, and compute with the answers, also in functions of
the module. A source that breaks no rule beside them is run once more, in a process of its own, and its answers are
written into the source. So are the values of constants of kernels that the module computes. Every answer is checked to
be a number or a text. To the process no variable is set, and packages that host code may not use are absent.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterator, Mapping

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import (
    bindings,
    bound_values,
    dotted,
    evaluated,
    imported_paths,
    names_in,
    stored_names,
)
from kernelwright.source.edits import Edit, edited
from kernelwright.source.kernels import host_code, in_kernels, jit_functions
from kernelwright.worker.rules.body import is_constant
from kernelwright.worker.rules.bound_names import names_of_module
from kernelwright.worker.rules.imports import Finding, allowed_imports
from kernelwright.worker.rules.installed import is_part
from kernelwright.worker.rules.normal import ENTRIES
from kernelwright.worker.rules.static import ALLOWED_IMPORTS_OF

LONGEST = 8000
"""Longest literal that is inserted, in characters."""

FLAGS = frozenset({
    "torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32", "torch.get_float32_matmul_precision",
    "torch.are_deterministic_algorithms_enabled",
})  # fmt: skip
"""Flags of the framework. The answers are those of a new process."""

ASKED = frozenset({
    "os.environ.get", "os.getenv", "importlib.util.find_spec", "importlib.metadata.version", "importlib.import_module",
    "platform.system", "platform.machine", "packaging.version.parse", "packaging.version.Version", "sys.version_info",
    "sys.platform",
}) | FLAGS  # fmt: skip
"""What host code may ask: its answers are literals in the judged text."""

OF_USERS = FLAGS | {"os.environ.get", "os.getenv", "importlib.import_module"}
"""Those that users may answer differently on one installation, or that return more than a version."""

AT_IMPORT = frozenset({"os", "importlib", "platform", "sys"})
"""Modules that only code which runs at import may ask: in a call they may say where it runs."""

PRUNES = "prune_configs_by"
"""The keyword of `triton.autotune` for what chooses among configs."""

KNOWN = frozenset({
    "torch.__version__", "triton.__version__", "torch.version.cuda", "torch.version.hip", "torch.cuda.is_available",
    *(f"math.{name}" for name in vars(math) if not name.startswith("_")),
    *(f"operator.{name}" for name in ALLOWED_IMPORTS_OF["operator"]),
})  # fmt: skip
"""What such an expression may also name."""

BUILTINS = frozenset({"int", "float", "bool", "str", "tuple", "list", "map", "len", "min", "max", "abs", "round", "any",
                      "all", "sum", "NotImplementedError", "ImportError", "ValueError", "RuntimeError"})  # fmt: skip

ATTRIBUTES = frozenset({"major", "minor", "micro", "release", "base_version", "lower", "upper", "strip", "startswith",
                        "endswith", "split", "isdigit", "__version__"})  # fmt: skip
"""Attributes of versions, texts and packages."""

SYNTAX = (ast.Constant, ast.Tuple, ast.List, ast.Subscript, ast.Slice, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare,
          ast.IfExp, ast.GeneratorExp, ast.ListComp)  # fmt: skip

STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.If, ast.Try, ast.Pass, ast.Return, ast.Raise)
"""What a function that only asks may hold."""

ANSWER = "_answer_{}"
"""The name of an answer in the module that is run."""


class _Asking:
    """The expressions of a module that ask. is_direct: without those in OF_USERS, and without calls of functions."""

    def __init__(self, tree: ast.Module, is_direct: bool = False) -> None:
        self.paths = imported_paths(tree)
        self.asked, self.is_direct = ASKED - OF_USERS if is_direct else ASKED, is_direct
        values = {name: values[0] for name, values in bound_values(tree).items() if len(values) == 1}
        plain = {one.name: one for one in tree.body
                 if isinstance(one, ast.FunctionDef) and not one.decorator_list and not is_direct}  # fmt: skip
        self.bound: dict[str, ast.AST | None] = {name: value or plain.get(name) for name, value in values.items()}
        self.following: set[str] = set()

    def only_asks(self, node: ast.AST, inner: Collection[str] = ()) -> bool:
        """Whether the value of an expression depends on the machine and literals alone. inner: variables of
        comprehensions around it."""
        if isinstance(node, ast.expr) and dotted(node, self.paths) in self.asked | KNOWN:
            return True
        match node:
            case ast.Name(id=name):
                return name in inner or (name in BUILTINS and name not in self.bound) or self._is_answer(name)
            case ast.Attribute(value=owner, attr=name):
                return name in ATTRIBUTES and self.only_asks(owner, inner)
            case ast.Call(func=ast.Name(id="dir" | "hasattr"), args=[module, *names], keywords=[]) if all(
                isinstance(one, ast.Constant) for one in names
            ):
                path = dotted(module, self.paths) or ""
                return path.partition(".")[0] in ("torch", "triton") and (
                    not self.is_direct or (bool(names) and not is_part(path, ast.literal_eval(names[0])))
                )
            case ast.Call(func=function, args=args, keywords=[]):
                return all(self.only_asks(one, inner) for one in (function, *args))
            case ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[]):
                return self.only_asks(over, inner)
            case ast.GeneratorExp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name)) as part]) | (
                ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name)) as part])
            ):
                return self.only_asks(part, inner) and self.only_asks(element, {*inner, name})
            case _:
                parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
                return isinstance(node, SYNTAX) and all(self.only_asks(one, inner) for one in parts)

    def _is_answer(self, name: str) -> bool:
        """Whether a name of the module is bound once, to an answer, a literal or a function that only asks."""
        value = self.bound.get(name)
        if value is None or name in self.following:
            return False
        self.following.add(name)
        found = self._returns(value) if isinstance(value, ast.FunctionDef) else self.only_asks(value)
        self.following.discard(name)
        return found

    def _returns(self, node: ast.FunctionDef) -> bool:
        """Whether what a function returns depends on the machine, literals and its arguments alone."""
        own = stored_names(node)
        others = {binding.name for statement in node.body for binding in bindings(statement)} - own
        parts = [part for statement in node.body for part in ast.walk(statement)]
        statements = [part for part in parts if isinstance(part, ast.stmt)]
        values = [value for part in statements for field in ("test", "value", "exc")
                  if (value := getattr(part, field, None)) is not None]  # fmt: skip
        targets = [target for part in statements if isinstance(part, ast.Assign) for target in part.targets]
        return (
            all(isinstance(part, STATEMENTS) for part in statements)
            and all(isinstance(target, ast.Name) for target in targets)
            and all(isinstance(part.type, ast.Name) for part in parts if isinstance(part, ast.ExceptHandler))
            and all(self.only_asks(value, own) and not names_in(value) & others for value in values)
        )

    def asks(self, node: ast.AST) -> bool:
        """Whether such an expression asks anything, itself or by a name of the module."""
        if isinstance(node, ast.Name) and (value := self.bound.get(node.id)) is not None and self._is_answer(node.id):
            return self.asks(value)
        path = dotted(node, self.paths) or getattr(node, "id", "") if isinstance(node, ast.expr) else None
        return path in self.asked | {"dir", "hasattr"} or any(self.asks(one) for one in ast.iter_child_nodes(node))

    def names(self, node: ast.AST) -> set[str]:
        """The modules that an expression names, itself or by names of the module."""
        found = names_in(node)
        values = [value for name in found if (value := self.bound.get(name)) is not None and self._is_answer(name)]
        paths = {self.paths[name].partition(".")[0] for name in found & self.paths.keys()}
        return paths.union(*(self.names(value) for value in values))

    def among(self, node: ast.AST) -> Iterator[ast.expr]:
        """The largest expressions in a node that only ask."""
        is_name = isinstance(node, ast.Name) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.expr) and not is_name and self.only_asks(node) and self.asks(node):
            yield node
        else:
            is_asked = isinstance(node, ast.Call) and dotted(node.func, self.paths) in self.asked
            for child in ast.iter_child_nodes(node):
                if not (is_asked and child is getattr(node, "func", None)):
                    yield from self.among(child)


def questions(tree: ast.Module, is_direct: bool = False) -> list[ast.expr]:
    """The largest expressions of host code that only ask about the machine. is_direct: for a version or a package."""
    asking, inside = _Asking(tree, is_direct), in_kernels(tree)
    own = {id(one) for top in host_code(tree) for one in ast.walk(top) if isinstance(one, ast.Name)
           and isinstance(top, ast.FunctionDef | ast.ClassDef) and one.id in stored_names(top)}  # fmt: skip
    found = [one for top in tree.body for one in asking.among(top) if id(one) not in inside]
    at_import = _at_import(tree)
    found = [one for one in found if id(one) in at_import or not asking.names(one) & AT_IMPORT]
    return [one for one in found if not any(id(part) in own for part in ast.walk(one))]


def _at_import(tree: ast.Module) -> set[int]:
    """ids of the nodes that only an import evaluates: of functions those that are called, and by an import alone, and
    those that only choose among configs, of which each is judged."""
    found = {id(part) for node in tree.body for part in evaluated(node)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    called |= {id(part) for node in tree.body if isinstance(node, ast.FunctionDef) for above in node.decorator_list
               for word in ast.walk(above) if isinstance(word, ast.keyword) and word.arg == PRUNES
               for part in ast.walk(word.value)}  # fmt: skip
    uses: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, set()).add(id(node))
    left = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name not in ENTRIES]
    while more := [node for node in left if uses.get(node.name, {0}) <= found & called]:
        left = [node for node in left if node not in more]
        found |= {id(part) for node in more for statement in node.body for part in evaluated(statement)}
    return found


def computed_constants(tree: ast.Module) -> list[ast.expr]:
    """The values of names that kernels look up and that are bound once, to something that is no literal."""
    imports, bound = allowed_imports(tree), bound_values(tree)
    wanted = names_of_module([function.node for function in jit_functions(tree)])
    found = []
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in wanted and len(bound[name]) == 1:
                inner = _inside(value, imports.paths | imported_paths(tree))
                if not is_constant(inner, imports, set(bound)):
                    found.append(inner)
            case _:
                pass
    return found


def _inside(node: ast.expr, paths: Mapping[str, str]) -> ast.expr:
    """The argument of `tl.constexpr`, or the value itself if it is no such call."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]) if (
            dotted(function, paths) == "triton.language.constexpr"
        ):
            return inner
    return node


def asked(source: str) -> tuple[str, tuple[str, ...]]:
    """`source` with the answers to its questions bound to names behind it, and these names."""
    every = _every(syntax.parse(source))
    names = tuple(ANSWER.format(number) for number in range(len(every)))
    lines = [
        f"try: {name} = {ast.unparse(one)}\nexcept Exception: pass" for name, one in zip(names, every, strict=True)
    ]
    return "\n".join([source, *lines, ""]), names


def _every(tree: ast.Module) -> list[ast.expr]:
    """What is asked for: questions, and constants of kernels; none of it inside of another."""
    constants = computed_constants(tree)
    inside = {id(part) for one in constants for part in ast.walk(one)}
    return [*constants, *(one for one in questions(tree) if id(one) not in inside)]


def indirect(source: str) -> list[Finding]:
    """The questions of a source that are not for a version or a package, or that functions ask, without those whose
    answers only decide whether something is printed."""
    tree = syntax.parse(source)
    direct, prints = {ast.unparse(one) for one in questions(tree, is_direct=True)}, _for_prints(tree)
    asking = [one for one in questions(tree) if id(one) not in prints]
    return [Finding(one.lineno, f"asks {text}: the judged text holds the answer")
            for one in asking if (text := ast.unparse(one)) not in direct]  # fmt: skip


def _for_prints(tree: ast.Module) -> set[int]:
    """ids of the nodes in tests that only decide whether something is printed, and in values of names for these."""
    found = {id(part) for node in ast.walk(tree) if isinstance(node, ast.If)
             and all(map(_prints, (*node.body, *node.orelse))) for part in ast.walk(node.test)}  # fmt: skip
    reads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if uses := [one for one in reads if one.id == name]:
                found |= {id(part) for part in ast.walk(node.value) if all(id(one) in found for one in uses)}
            case _:
                pass
    return found


def _prints(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return True
        case _:
            return False


def answered(source: str, answers: Mapping[str, str]) -> str:
    """`source` with answers in place of its questions. answers: literals by the names of `asked`."""
    edits = []
    for number, node in enumerate(_every(syntax.parse(source))):
        text = _literal(answers.get(ANSWER.format(number), ""))
        if text is not None:
            edits.append(Edit(node, node, text))
    return edited(source, edits)


def _literal(text: str) -> str | None:
    """The text of an answer if it is a number, a string or None, else None. Infinity becomes `1e999`."""
    if len(text) > LONGEST:
        return None
    try:
        value = ast.literal_eval({"inf": "1e999", "-inf": "-1e999"}.get(text, text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    written = repr(value)
    known = type(value) in (bool, int, float, str, type(None))
    return {"inf": "1e999", "-inf": "-1e999"}.get(written, written) if known else None
