"""The whole numbers of a problem file as symbols of one ShapeEnv: one capture states every size as an expression.

A number that neither a tensor's shape nor another argument tells keeps its value. What PyTorch and Inductor assume of
the symbols on the way becomes conditions, and sizes that do not meet them are refused.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch import SymFloat, SymInt, Tensor
from torch._dynamo.source import ConstantSource
from torch.fx import GraphModule
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils._sympy.functions import Mod, TruncToInt
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from kernelwright.model import Case, Sizes
from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.generate.expressions import spelled
from kernelwright.worker.generate.told import Told, named, whole_quotient
from kernelwright.worker.reference.load import LoadedProblem

MARK = 1 + 2.0**-40
"""The factor that marks a number computed from sizes, so that it is found again in a kernel."""

LEAST = 2
"""No number up to this one is a symbol: PyTorch broadcasts sides of length 1."""

MOST_OFFSET = 2**31 - 1
"""The host code refuses larger numbers of elements itself (`inductor.offsets`)."""


ORDERING = ("_upsample_linear", "_upsample_nearest", "upsample_nearest2d")
"""Functions of PyTorch that assume something of the number of channels only to choose the order of a result's sides."""

_ids: set[int] = set()
"""Numbers in the names of symbols, of all captures of one process: PyTorch keeps answers by name (`torch.SymNode`)."""


class Unread(TorchFunctionMode):
    """Inside, tensors are made of which no value is read, such as buffers, so that what functions assume of sizes is no
    condition; sides that a function takes as numbers only are symbols."""

    def __init__(self, env: ShapeEnv) -> None:
        super().__init__()
        self._env = env

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves = tree_leaves((args, kwargs))
        given = {one.node.hint: one for one in leaves if isinstance(one, SymInt)}
        with self._env.suppress_guards() if given else nullcontext():
            made = func(*args, **(kwargs or {}))
        is_filled = given and not any(isinstance(one, Tensor) for one in leaves)  # its values would be constants
        if isinstance(made, Tensor) and (is_filled or any(type(one) is int and one in given for one in made.shape)):
            sides: Any = [given.get(one, one) if type(one) is int else one for one in made.shape]
            return made.new_empty(sides)
        return made


class Untold(RuntimeError):
    """No shape tells a size that the host code needs."""


class Symbols:
    """given: the numbers of the file that become symbols, by name. cases: the file's numbers in each case. differing:
    the values in each case of sides and of arguments that are no tensors, by the text that reads them, where they
    differ; they tell sizes. keeps_all: whether all that nothing tells are kept, see `keep_untold`."""

    def __init__(
        self, given: Mapping[str, int], cases: Sequence[Mapping[str, int]] = (),
        differing: Mapping[str, tuple[str, ...]] = MappingProxyType({}), keeps_all: bool = False,
    ) -> None:  # fmt: skip
        self.given, self.differing, self.keeps_all = given, differing, keeps_all
        self.plain: Mapping[str, Any] = {}
        self.arguments: Mapping[str, Any] = {}
        self.env = ShapeEnv(duck_shape=False, specialize_zero_one=True, allow_scalar_outputs=False)
        self.env.unique_ids = _ids
        self.cases = cases
        self.values: dict[sympy.Symbol, int] = {}
        self.names: dict[sympy.Symbol, str] = {}
        self.integers: dict[sympy.Symbol, Any] = {}
        self.numbers = {name: self.new(name, value) for name, value in given.items()}
        self.parts: dict[tuple[sympy.Expr, int], sympy.Symbol] = {}
        self.sides: dict[sympy.Symbol, sympy.Symbol] = {}
        self.quotients: dict[sympy.Symbol, tuple[sympy.Expr, sympy.Expr, int]] = {}

    @classmethod
    def of_env(cls, env: ShapeEnv) -> Symbols:
        """The symbols of an env that others made; their names are those of the sides that they are read from."""
        made = cls({})
        made.env = env
        made.values = {symbol: int(value) for symbol, value in values_of(env).items() if env.replace(symbol) == symbol}
        made.names = dict.fromkeys(made.values, "")
        return made

    def new(self, name: str, value: int) -> Any:
        """A SymInt of a new symbol."""
        source = ConstantSource(f"__size_{len(self.values)}")
        symbol = self.env.create_symbol(value, source, DimDynamic.DYNAMIC)
        assert isinstance(symbol, sympy.Symbol)
        self.values[symbol], self.names[symbol] = value, name
        self.integers[symbol] = self.env.create_symintnode(symbol, hint=value, source=source)
        return self.integers[symbol]

    @contextmanager
    def sizes_alone(self) -> Iterator[None]:
        """Inside, inputs are made of which the sizes count and not the values: what PyTorch assumes of a number to
        compute values with it (`math.log(vocab)`, `torch.linspace(0, 1, rows)`) is no condition. The host code compares
        the sizes of all tensors."""
        with self.env.suppress_guards():
            yield

    @property
    def symints(self) -> list[SymInt]:
        """The symbols that are arguments of the captured graph."""
        return [self.integers[one] for one in self.values if self.of(one) == one]

    def of(self, size: Any) -> sympy.Expr:
        """The expression of a size, with what is known of the symbols."""
        return self.env.replace(size.node.expr if isinstance(size, SymInt | SymFloat) else sympy.sympify(size))

    def hint(self, expression: Any) -> Any:
        """The value at the captured size."""
        found = sympy.sympify(self.env.replace(sympy.sympify(expression)).xreplace(self.values))
        return int(found) if found.is_integer else float(found)

    def keep(self, symbols: Sequence[sympy.Symbol]) -> None:
        """Give these symbols their values for good."""
        for one in symbols:
            self.env.evaluate_expr(sympy.Eq(one, self.values[one]))

    def keep_untold(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Keep the values of the symbols that nothing tells: no shape, and no argument of the constructor, which are
        read only for these. Divisors first: a known divisor may tell a dividend. A sum that is a side, such as the rows
        of one table for many fields, becomes a symbol first. A dividend whose quotients are all told, such as the side
        of an image beside those of its levels, may be needed by nothing.

        Returns the tensors. A side that is a number then and differs between cases, such as the third power of a
        number, or the length of a list, is a symbol of its own, with all sides that are as long in each case."""
        for side in (self.of(side) for one in tensors.values() for side in one.shape):
            if not side.is_Symbol and not side.free_symbols & Told(self, tensors).direct.keys():
                self._stand_for(side)
        while untold := self._needed(Told(self, tensors)):
            untold = [one for one in untold if any(one == by for _, by, _ in self.quotients.values())] or untold
            telling = {text: one for text, one in self.arguments.items()
                       if text not in self.plain and not self.of(one).free_symbols.isdisjoint(untold)}  # fmt: skip
            self.plain = {**self.plain, **telling}
            if not telling:
                self.keep(untold)
        made: dict[tuple[str, ...], Any] = {}

        def apart(text: str, one: Any) -> Any:
            values, found = self.differing.get(text, ()), self.of(one)
            if not (self.given and values and found.is_number and found >= LEAST):
                return one
            if values not in made:
                made[values] = self.new("", int(found))
            return made[values]

        def with_sides(name: str, one: Tensor) -> Tensor:
            shape = [apart(f"{as_argument(name)}.shape[{place}]", length) for place, length in enumerate(one.shape)]
            is_same = all(a is b for a, b in zip(shape, one.shape, strict=True))
            return one if is_same or not one.is_contiguous() else one.new_empty(shape)

        return {name: with_sides(name, one) for name, one in tensors.items()}

    def _needed(self, told: Told) -> list[sympy.Symbol]:
        spare, others = set[sympy.Symbol](), set[sympy.Symbol]()
        for one, (dividend, divisor, _) in self.quotients.items():
            (spare if one in told.known else others).update(dividend.free_symbols)
            others |= divisor.free_symbols
        return [one for one in told.untold if self.keeps_all or one not in spare - others]

    def _stand_for(self, total: sympy.Expr) -> None:
        """Put a new symbol for a sum of sizes into the place of one of them."""
        total = sympy.expand(self.env.replace(total))
        replaced = next((one for one in sorted(total.free_symbols, key=str) if total.coeff(one) == 1), None)
        if replaced is None or not total.is_polynomial() or (total - replaced).has(replaced):
            return
        symbol = self.new("", self.hint(total)).node.expr
        self.sides[symbol] = replaced
        # `_set_replacement` refuses what may be less than the least value of the symbol.
        self.env.replacements[replaced] = symbol - (total - replaced)
        self.env._update_version_counter()

    def divides(self, divisor: sympy.Expr, dividend: sympy.Expr) -> bool:
        """Whether PyTorch has required that nothing is left over."""
        left = self.env.replace(Mod(dividend, divisor))
        return any(self.env.replace(one) == left for one in self.env.divisible)

    def settle(self, module: torch.nn.Module) -> None:
        """Replace symbols that were given values by these among the attributes of a module: torch before 2.13 cannot
        trace them."""
        for part in module.modules():
            for name, value in list(vars(part).items()):
                if isinstance(value, SymInt | tuple | list):
                    object.__setattr__(part, name, tree_map_only(SymInt, _plain_number, value))

    def mark_floats(self, graph: GraphModule) -> dict[float, sympy.Expr]:
        """Replace numbers that are computed from sizes, such as `d ** -0.5`, by marked constants, and give their
        expressions. Otherwise a kernel would compute them for every element."""
        floats: dict[float, sympy.Expr] = {}
        for node in list(graph.graph.nodes):
            value = node.meta.get("val")
            if isinstance(value, SymFloat) and any(not _is_size(user) for user in node.users):
                expression = self.of(value)
                number = float(self.hint(expression))
                if expression.free_symbols:
                    number *= MARK
                    while floats.get(number, expression) != expression:  # that of an equal size
                        number *= MARK
                    floats[number] = expression
                for user in [one for one in node.users if not _is_size(one)]:
                    user.replace_input_with(node, number)
        graph.graph.eliminate_dead_code()
        return floats

    def quotient(self, dividend: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr | None:
        """A symbol for a quotient of sizes, such as a side after a window, plus or minus a number; None for quotients
        of others. PyTorch and Inductor write the same side in several forms. As one symbol, its products are recognised
        as strides."""
        free = dividend.free_symbols | divisor.free_symbols
        if not free or not free <= self.values.keys():
            return None
        if divisor == 1 and (known := self.env.replace(dividend)) != dividend:
            return known  # by the symbol of another side
        if divisor != 1 and (whole := whole_quotient(dividend, divisor)) is not None:
            return whole
        rest, more = self._reduced(dividend, divisor)
        for symbol, (known, known_divisor, known_more) in self.quotients.items():
            known_rest, whole = self._reduced(known, known_divisor)
            if (known_rest, self.env.replace(known_divisor)) == (rest, self.env.replace(divisor)):
                return symbol - known_more - whole + more
        # A side after a window is a quotient and 1 more; `n + d - 1` over d is rounded up.
        is_below = bool(dividend.as_coeff_Add()[0] < 0)
        added = int(is_below and bool(divisor.is_Integer or dividend.coeff(divisor) == 0))
        value = self.hint(dividend) // self.hint(divisor) + added
        if value < LEAST:
            return None
        symbol = self.new("", value).node.expr
        if divisor == 1:
            # The whole size is an expression of the side, so that both are products of symbols plus a number.
            number, rest = dividend.as_coeff_Add()
            self.sides[symbol] = rest
            self.env._set_replacement(rest, symbol - added - number, "a side after a window")
        else:
            self.quotients[symbol] = dividend, divisor, added
        return symbol - added

    def whole(self, number: SymFloat) -> Any:
        """What `int` makes of a number that is computed from sizes, as a symbol of its own."""
        known = self.of(number)
        value = int(self.hint(known))
        if not known.free_symbols or value <= LEAST:
            return int(number)
        same = (one for one, quotient in self.quotients.items() if quotient == (TruncToInt(known), 1, 0))
        if (symbol := next(same, None)) is None:
            symbol = self.new("", value).node.expr
            self.quotients[symbol] = TruncToInt(known), sympy.S.One, 0
        return self.integers[symbol]

    def _reduced(self, dividend: sympy.Expr, divisor: sympy.Expr) -> tuple[sympy.Expr, int]:
        """The dividend without multiples of the divisor, and their number."""
        number, rest = sympy.expand(self.env.replace(dividend)).as_coeff_Add()
        divisor = self.env.replace(divisor)
        whole, remainder = divmod(int(number), int(divisor)) if divisor.is_Integer else (0, int(number))
        return rest + remainder, whole

    def splits_in(self, length: Any, count: int) -> sympy.Symbol:
        """A symbol for the number of parts of a reduction over `length` elements."""
        key = (sympy.sympify(length), count)
        if key not in self.parts:
            self.parts[key] = self.new(f"splits_{len(self.parts) + 1}", count).node.expr
        return self.parts[key]

    def told(self, tensors: Mapping[str, Tensor], taken: frozenset[str]) -> tuple[Sizes, Callable[[Any], str]]:
        """How the host code reads the symbols from shapes, and what it refuses; and the text of a size there. taken:
        names of the host code."""
        quotients = [one for one in self.quotients if self.of(one) == one]
        self.keep([one for one in quotients if not any(self.of(part).free_symbols for part in self.quotients[one][:2])])
        told = Told(self, tensors)
        names = named(self, told, taken)

        def say(one: Any) -> str:
            found = sympy.sympify(self.env.replace(one))
            if untold := [self.names[size] for size in told.untold if size in found.free_symbols]:
                raise Untold(f"no shape tells {', '.join(untold)}")
            return spelled(found, names)

        conditions = map(say, self.conditions())
        sizes = Sizes(
            values={name: self.values[one] for one, name in names.items()},
            shapes=tuple(tuple(say(self.of(side)) for side in one.shape) for one in tensors.values()),
            reads=tuple(
                (names[one], spelled(found, names), tuple(map(say, checks))) for one, found, checks in told.solved
            ),
            conditions=tuple(one for one in conditions if one != "True"),
            least={
                names[one]: self.least(one) for one in sorted(told.known, key=str) if one not in self.parts.values()
            },
        )
        return sizes, say

    def conditions(self) -> list[sympy.Basic]:
        """What was assumed of the symbols, without what follows from their least values; of several limits of one
        expression the strongest."""
        found: dict[Any, Any] = {}
        for guard in self.env.guards:
            one = self.env.replace(guard.expr)
            if getattr(guard.sloc.framework_loc, "name", "") in ORDERING:
                continue
            if one in (sympy.true, True) or self._follows(one) or not one.free_symbols:
                continue
            limited, limit = _limit(one) or (one, None)
            if limit is None or limit < found.get(limited, MOST_OFFSET):
                found[limited] = limit
        return [one if limit is None else _at_most(one, limit) for one, limit in found.items()]

    def _follows(self, condition: Any) -> bool:
        match condition:
            case sympy.Ge() | sympy.Gt() | sympy.Le() | sympy.Lt():
                above = condition.gts - condition.lts
                return bool(self._least(above) >= (1 if condition.rel_op in ("<", ">") else 0))
            case sympy.Ne():
                apart = condition.lhs - condition.rhs
                return bool(self._least(apart) >= 1 or self._least(-apart) >= 1)
            case sympy.And():
                return all(map(self._follows, condition.args))
            case sympy.Or():
                return any(map(self._follows, condition.args))
            case _:
                return False

    def _least(self, expression: sympy.Expr) -> Any:
        """A lower limit of an expression, -oo where none is known. Of a product of sizes that are each a number more
        than the least, every term counts."""
        expression = self.env.replace(expression)
        more = {one: sympy.Dummy(integer=True, nonnegative=True) for one in expression.free_symbols}
        beyond = sympy.expand(expression.xreplace({one: other + self.least(one) for one, other in more.items()}))
        try:
            return bound_sympy(beyond, {one: ValueRanges(0, int_oo) for one in more.values()}).lower
        except Exception:  # noqa: BLE001 - an expression that torch cannot bound
            return -sympy.oo

    def least(self, symbol: sympy.Symbol) -> int:
        """The smallest value that is served: 1 for a size that is 1 in a case, where the kernels are judged with it."""
        values = [self._in_case(symbol, case) for case in self.cases]
        return 1 if 1 in values else LEAST

    def _in_case(self, symbol: sympy.Symbol, case: Mapping[str, int]) -> int | None:
        if symbol not in self.quotients:
            return case.get(self.names[symbol])
        dividend, divisor, added = self.quotients[symbol]
        known = {one: self._in_case(one, case) for one in dividend.free_symbols | divisor.free_symbols}
        if None in known.values():
            return None
        return int(dividend.xreplace(known)) // int(divisor.xreplace(known)) + added


def values_of(env: ShapeEnv) -> Mapping[sympy.Symbol, Any]:
    """The value of each symbol at the captured size."""
    found: Mapping[sympy.Symbol, Any] = (
        env.backed_var_to_val if hasattr(env, "backed_var_to_val") else env.var_to_val  # before torch 2.11
    )
    return found


OF_CONSTRUCTOR = "get_init_inputs"
"""The function whose numbers are given to the Model. Where its constructor does not take symbols, they stay numbers."""


def numbers_to_try(problem: LoadedProblem, case: Case) -> list[dict[str, int]]:
    """The numbers that become symbols, by name, in the order of attempts: all, those that differ between cases, and
    those that the Model is not given. Small ones become symbols where they differ between cases."""
    values, cases = problem.numbers(case), [problem.numbers(one) for one in problem.cases]
    differ = {name for name in values if len({one.get(name) for one in cases}) > 1}
    every = {name: value for name, value in values.items() if value > LEAST or (name in differ and value > 1)}
    function = next((one for one in problem.tree.body if getattr(one, "name", "") == OF_CONSTRUCTOR), problem.tree)
    given = {one.id if isinstance(one, ast.Name) else one.arg for one in ast.walk(function)
             if isinstance(one, ast.Name | ast.arg)} | {OF_CONSTRUCTOR}  # fmt: skip
    without = {name: value for name, value in every.items() if name.partition("[")[0] not in given}
    attempts = (every, {name: value for name, value in every.items() if name in differ}, without)
    return [one for n, one in enumerate(attempts) if one and one not in attempts[:n]]


def floats_in(texts: Iterable[str], floats: Mapping[float, sympy.Expr]) -> Iterator[tuple[str, sympy.Expr]]:
    """The numbers in texts of Python that are computed from sizes, each with its expression. floats: see `mark_floats`.
    Raises RuntimeError where the texts have lost one."""
    written = {one.value for text in texts for one in ast.walk(ast.parse(text))
               if isinstance(one, ast.Constant) and type(one.value) is float}  # fmt: skip
    lost = dict(floats)
    for number in written:
        for marked, expression in floats.items():
            for found, meant in ((marked, expression), (1 / marked, 1 / expression)):
                if math.isclose(number, found, rel_tol=2.0**-50) or math.isclose(-number, found, rel_tol=2.0**-50):
                    lost.pop(marked, None)
                    yield repr(number), meant if number * found > 0 else -meant
    if lost:
        raise RuntimeError(f"the kernels lost the number {next(iter(lost.values()))}")


def _plain_number(size: SymInt) -> SymInt | int:
    number = size.node.maybe_as_int()
    return size if number is None else number


def _is_size(node: Any) -> bool:
    return isinstance(node.meta.get("val"), SymInt | SymFloat | torch.SymBool)


def _limit(condition: Any) -> tuple[Any, Any] | None:
    """An inequality as an expression without its constant, and the number that it may not exceed."""
    if not isinstance(condition, sympy.Ge | sympy.Gt | sympy.Le | sympy.Lt):
        return None
    number, rest = sympy.expand(condition.lts - condition.gts).as_coeff_Add()
    if not number.is_integer or not rest.free_symbols:
        return None
    return rest, -number - (condition.rel_op in ("<", ">"))


def _at_most(rest: Any, limit: Any) -> Any:
    """`4 + x >= 11` as `x >= 7`."""
    return sympy.Le(rest, limit, evaluate=False) if limit > 0 else sympy.Ge(-rest, -limit, evaluate=False)
