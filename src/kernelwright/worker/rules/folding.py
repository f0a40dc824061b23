"""Constant folding of module-level expressions, from literals alone. Pure syntax: no code of a candidate runs.

It folds numbers, strings, tuples, arithmetic, comparisons, a few builtins, `math`, limits of dtypes and package
versions. Environment variables count as unset, and packages that host code may not use as not installed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from kernelwright.source.bindings import bound_values, dotted, imported_paths
from kernelwright.worker.rules.foreign import is_foreign
from kernelwright.worker.rules.installed import is_installed, version_of
from kernelwright.worker.rules.versions import ATTRIBUTES, CALLS, Version, version

Value = bool | int | float | str | Version | tuple[Any, ...] | None

LARGEST = 1 << 64
"""Largest absolute value of an integer that is folded."""

LONGEST = 200
"""Longest string that is folded, in characters."""

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Invert: operator.invert, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "min": min, "max": max, "abs": abs, "round": round,
    **{f"math.{name}": getattr(math, name) for name in ("sqrt", "log", "log2", "log10", "exp", "ceil", "floor")},
}  # fmt: skip

CONSTANTS: dict[str, Value] = {
    "math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "math.tau": math.tau,
    "typing.TYPE_CHECKING": False, "triton.__version__": version_of("triton"), "torch.__version__": version_of("torch"),
}  # fmt: skip

LIMITS: dict[str, dict[str, Value]] = {
    "torch.float16": {"max": 65504.0, "min": -65504.0, "eps": 2.0**-10, "tiny": 2.0**-14},
    "torch.bfloat16": {"max": 3.3895313892515355e38, "min": -3.3895313892515355e38, "eps": 2.0**-7, "tiny": 2.0**-126},
    "torch.float32": {"max": 3.4028234663852886e38, "min": -3.4028234663852886e38, "eps": 2.0**-23, "tiny": 2.0**-126},
    "torch.float64": {"max": 1.7976931348623157e308, "min": -1.7976931348623157e308, "eps": 2.0**-52,
                      "tiny": 2.0**-1022},
    **{f"torch.int{bits}": {"max": 2 ** (bits - 1) - 1, "min": -(2 ** (bits - 1))} for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Values of `torch.finfo` and `torch.iinfo` (IEEE 754; bfloat16 has float32's exponents and 8 significant bits)."""

TEXT_METHODS = frozenset({"lower", "upper", "strip", "startswith", "endswith"})

MOST_ITEMS = 16
"""Longest tuple that is folded."""


class NotConstant(Exception):
    """The expression cannot be folded: it depends on more than literals."""


def value_of(node: ast.expr, tree: ast.Module) -> Value:
    """The value of `node` at module level; raises NotConstant."""
    bound = bound_values(tree).items()
    folding = _Folding(imported_paths(tree), {name: one for name, (one, *others) in bound if one and not others})
    try:
        return folding.value(node)
    except (ArithmeticError, ValueError, TypeError, RecursionError, LookupError) as error:
        raise NotConstant from error


def literal(value: Value) -> str:
    """The value as a Python literal; raises NotConstant for NaN and versions, which have none, and for tuples, which
    stand for lists, too."""
    if isinstance(value, Version | tuple) or (isinstance(value, float) and math.isnan(value)):
        raise NotConstant
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


class _Folding:
    """Evaluator. paths: full names by imported names. assigned: names that a module binds once, with their values."""

    def __init__(self, paths: dict[str, str], assigned: dict[str, ast.expr]) -> None:
        self.paths, self.assigned = paths, assigned
        self.following: list[str] = []
        self.items: dict[str, Value] = {}
        """What the loop variables of comprehensions stand for."""

    def value(self, node: ast.expr) -> Value:
        found = self._value(node)
        if (isinstance(found, int) and abs(found) > LARGEST) or (isinstance(found, str) and len(found) > LONGEST):
            raise NotConstant
        if isinstance(found, tuple) and len(found) > MOST_ITEMS:
            raise NotConstant
        return found

    def _value(self, node: ast.expr) -> Value:
        path = dotted(node, self.paths)
        if path in CONSTANTS:
            return CONSTANTS[path]
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as known):
                return known
            case ast.Name(id=name) if name in self.items:
                return self.items[name]
            case ast.Name(id=name) if name in self.assigned and name not in self.following:
                self.following.append(name)
                found = self.value(self.assigned[name])
                self.following.pop()
                return found
            case ast.UnaryOp(op=op, operand=operand):
                return self._checked(OPERATORS[type(op)](self.value(operand)))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.value(left), self.value(right))
            case ast.BinOp(left=left, op=ast.LShift(), right=right):
                return self._power(2, self.value(right)) * self.value(left)  # type: ignore[operator]
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self.value(left), self.value(right)
                if isinstance(first, str) or isinstance(second, str):
                    raise NotConstant
                return self._checked(OPERATORS[type(op)](first, second))
            case ast.Compare(
                left=left,
                ops=[ast.In() | ast.NotIn() as op],
                comparators=[ast.Call(func=ast.Name(id="dir"), args=[owner], keywords=[])],
            ) if (path := dotted(owner, self.paths) or "").partition(".")[0] in ("torch", "triton"):
                return is_installed(path, self._text(left)) is isinstance(op, ast.In)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._checked(OPERATORS[type(op)](self.value(left), self.value(right)))
            case ast.BoolOp(op=op, values=values):
                found = self.value(values[0])
                for part in values[1:]:
                    if bool(found) is isinstance(op, ast.Or):
                        break
                    found = self.value(part)
                return found
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.Attribute(value=ast.Call(func=function, args=[dtype], keywords=[]), attr=attribute) if dotted(
                function, self.paths
            ) in ("torch.finfo", "torch.iinfo"):
                return LIMITS[dotted(dtype, self.paths) or ""][attribute]
            case ast.Attribute(value=owner, attr=attribute) if attribute in ATTRIBUTES:
                if isinstance(found := self.value(owner), Version):
                    return getattr(found, attribute)  # type: ignore[no-any-return]
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(map(self.value, elements))
            case ast.Subscript(value=owner, slice=place):
                return self._item(self.value(owner), place)
            case ast.GeneratorExp(elt=element, generators=[part]) | ast.ListComp(elt=element, generators=[part]):
                return self._each(element, part)
            case ast.Call(func=function, args=args, keywords=[]):
                return self._called(function, args)
            case _:
                pass
        raise NotConstant

    def _called(self, function: ast.expr, args: list[ast.expr]) -> Value:
        name = function.id if isinstance(function, ast.Name) and function.id not in self.paths else None
        path = name or dotted(function, self.paths) or ""
        if name and name in self.assigned:
            raise NotConstant
        if path in ("os.environ.get", "os.getenv"):
            return self.value(args[1]) if len(args) > 1 else None
        if path == "importlib.util.find_spec" and len(args) == 1 and is_foreign(self._text(args[0])):
            return None
        if path in CALLS and len(args) == 1:
            return version(self._text(args[0]))
        if path in ("tuple", "list") and len(args) == 1 and isinstance(items := self.value(args[0]), tuple):
            return items
        if path == "map" and len(args) == 2 and isinstance(items := self.value(args[1]), tuple):
            return tuple(self._called(args[0], [ast.Constant(item)]) for item in items)
        if path == "hasattr" and len(args) == 2 and (owner := dotted(args[0], self.paths) or "").startswith("triton."):
            return is_installed(owner, str(self.value(args[1])))
        if path in FUNCTIONS:
            return self._checked(FUNCTIONS[path](*map(self.value, args)))
        if isinstance(function, ast.Attribute) and function.attr in TEXT_METHODS:
            text = self.value(function.value)
            if isinstance(text, str):
                return self._checked(getattr(text, function.attr)(*map(self.value, args)))
        if isinstance(function, ast.Attribute) and function.attr == "split" and len(args) == 1:
            return tuple(self._text(function.value).split(self._text(args[0])))
        raise NotConstant

    def _text(self, node: ast.expr) -> str:
        found = self.value(node)
        if not isinstance(found, str):
            raise NotConstant
        return found

    def _item(self, owner: Value, place: ast.expr) -> Value:
        if not isinstance(owner, tuple):
            raise NotConstant
        if isinstance(place, ast.Slice):
            ends: list[Any] = [
                None if one is None else self.value(one) for one in (place.lower, place.upper, place.step)
            ]
            return owner[slice(*ends)]
        found: Value = owner[self.value(place)]  # type: ignore[index]
        return found

    def _each(self, element: ast.expr, part: ast.comprehension) -> Value:
        items = self.value(part.iter)
        if not isinstance(items, tuple) or not isinstance(part.target, ast.Name) or part.ifs:
            raise NotConstant
        found = []
        for item in items:
            self.items[part.target.id] = item
            found.append(self.value(element))
        self.items.pop(part.target.id, None)
        return tuple(found)

    @staticmethod
    def _power(base: Value, exponent: Value) -> Value:
        if not isinstance(base, int | float) or not isinstance(exponent, int | float) or abs(exponent) > 1100:
            raise NotConstant
        return _Folding._checked(base**exponent)

    @staticmethod
    def _checked(found: Any) -> Value:
        if not isinstance(found, bool | int | float | str):
            raise NotConstant
        return found
