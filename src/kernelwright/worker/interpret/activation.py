"""One call of an instrumented kernel in Triton's CPU interpreter, compared with the compiler's report.

`instrument` wraps each expression in a call of one of these methods. A value has to agree with the report: it is a
constant equal to the compiler's, or a tensor of the compiler's type. A Python number where the compiler has a value on
the device becomes a tensor of that type, so that it is computed as on the device.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton.language import core
from triton.runtime import interpreter as triton_interpreter

from kernelwright.worker.compile.branches import DIFFERS, UNROLLED, Branches, Kind, Path, Way, kind_of, tensor_kind
from kernelwright.worker.compile.instrument import Sites


class Diverged(Exception):
    """A value or a branch in the interpreter differs from the compiler's."""


class Unsupported(Exception):
    """Triton's CPU interpreter cannot run this code."""


class Mismatch(Exception):
    """A value is not of the expected kind."""


class Memory:
    """Counts of an interpreter's memory accesses: all reads; stores, and atomics that changed a value."""

    def __init__(self) -> None:
        self.reads = 0
        self.changes = 0


class Activation:
    """One call of an instrumented function."""

    def __init__(self, way: Way, sites: Sites, memory: Memory) -> None:
        self.way, self.sites, self.memory = way, sites, memory
        self.path: Path = ()
        self.here = way.paths.get((), {})
        self.turns = 0
        self.last: tuple[int, int, int, dict[str, bytes]] | None = None

    def at(self, index: int, value: Any) -> Any:
        """An expression's value, converted to the compiler's kind; raises Diverged if it is of another kind."""
        kind = self.here.get(index)
        if kind is None:
            raise Diverged(f"{self._where(index)} ran in the CPU interpreter and was not compiled")
        try:
            return taken(kind, value)
        except Mismatch as mismatch:
            raise Diverged(f"{self._where(index)} is {mismatch} in the CPU interpreter and "
                           f"{_shown(kind)} when compiled") from None  # fmt: skip

    def passed(self, index: int, value: Any) -> Any:
        """The value of a call whose result is not used; raises Diverged if the call was not compiled."""
        if index not in self.here:
            raise Diverged(f"{self._where(index)} ran in the CPU interpreter and was not compiled")
        return value

    def refused(self, why: str) -> None:
        raise Diverged(f"{why}, in {self.way.function}")

    def assigned(self, value: Any) -> Any:
        """The value of `x` after `x = value`. As in compiled code, a number becomes a tensor, also inside a tuple."""
        if isinstance(value, tuple | list | core.tuple):
            return tuple(self.assigned(item) for item in value)
        return triton_interpreter.interpreter_semantic.to_tensor(value, False)

    def loop(self, index: int, *arguments: Any, **keywords: Any) -> Iterator[Any]:
        """The items of `range`, `tl.range` or `tl.static_range`."""
        kind = self.here.get(index)
        if not isinstance(kind, str) or kind == DIFFERS:
            raise Diverged(f"the loop over {self._where(index)} was not compiled")
        start, stop, step = _bounds(*arguments, **keywords)
        items = range(*(_whole(bound) for bound in (start, stop, step)))
        if not kind.startswith(UNROLLED):
            if isinstance(step, tl.tensor) and _whole(step) < 0:  # scf.for knows no negative step
                raise Diverged(f"the loop over {self._where(index)} goes backwards by a step that is no constant")
            return (taken(kind, item) for item in items)
        if kind != f"{UNROLLED} {len(items)}":
            raise Diverged(f"the loop over {self._where(index)} has {len(items)} turns in the CPU interpreter and was "
                           f"{kind} times when compiled")  # fmt: skip
        return self._iterations(index, items)

    def each(self, index: int, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a comprehension."""
        return self._iterations(index, items)

    def _iterations(self, index: int, items: Iterable[Any]) -> Iterator[Any]:
        outer = self.path
        for count, item in enumerate(items):
            self.path = (*outer, (index, count))
            self.here = self.way.paths.get(self.path, {})
            yield item
        self.path, self.here = outer, self.way.paths.get(outer, {})

    def turn(self, loop: int, test: Any, variables: dict[str, Any]) -> Any:
        """The condition of a `while` loop; raises Unsupported if the loop waits for a program that has not run yet.

        Programs run one after the other. If iterations that read memory change neither memory nor a variable, later
        iterations will not either.
        """
        test = getattr(test, "condition", test)  # of `tl.condition(test)`
        self.turns += 1
        if self.turns % PATIENCE or not test:
            return test
        state = (self.memory.reads, loop, self.memory.changes, _bytes_of(variables))
        if self.last and self.last[0] < state[0] and self.last[1:] == state[1:]:
            raise Unsupported("a loop waits for what another program writes, and programs run one after the other")
        self.last = state
        return test

    @staticmethod
    def plain(value: Any) -> Any:
        """`x.value` of a constant. The interpreter passes some, such as dtypes, without `tl.constexpr` around them."""
        return value.value if isinstance(value, core.constexpr) else value

    @staticmethod
    def negated(value: Any) -> Any:
        return value.__not__() if isinstance(value, tl.tensor) else not value

    @staticmethod
    def both(*values: Callable[[], Any]) -> Any:
        return _combined(values, stops=False)

    @staticmethod
    def either(*values: Callable[[], Any]) -> Any:
        return _combined(values, stops=True)

    def _where(self, index: int) -> str:
        return f"`{self.sites.text[index][:120]}` in {self.way.function}"


PATIENCE = 256
"""Iterations of a `while` loop between two checks for changes."""


def entered(
    function: str, branches: Branches, sites: Sites, memory: Memory, launched: bool, values: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A new activation, and the arguments converted to the compiler's kinds.

    launched: the host launched the function, so that a number 1 becomes a constant, a float becomes fp32, and an
    annotation (`n: tl.int64`) sets the width of a number. Otherwise another kernel called the function.
    """
    ways = branches.ways.get(function, [])
    if not launched:
        exact = branches.exact.get((function, str([kind_of(value) for value in values])))
        ways = [exact] if exact else ways
    for given in (values, tuple(map(_number, values))) if launched else (values,):
        for way in ways:
            try:
                arguments = [taken(kind, value) for kind, value in zip(way.arguments, given, strict=True)]
            except Mismatch:
                continue
            return Activation(way, sites, memory), *arguments
    shown = ", ".join(_shown(kind_of(value)) for value in values)
    raise Diverged(f"{function} is called in the CPU interpreter with ({shown}), for which it was not compiled")


def _number(value: Any) -> Any:
    """The Python number in a scalar that the interpreter made from a number of the host; other values unchanged."""
    if not isinstance(value, tl.tensor) or value.type.is_block() or str(value.type) not in SCALARS:
        return value
    return value.handle.data.item()


def taken(kind: Kind, value: Any) -> Any:
    """A value converted to the compiler's kind; raises Mismatch."""
    if type(value) is tl.tensor and kind == tensor_kind(value.type.name):
        return value
    if type(value) is core.constexpr:
        value = value.value
    if isinstance(kind, list):
        if not isinstance(value, tuple | list | core.tuple) or len(value) != len(kind):
            raise Mismatch(_shown(kind_of(value)))
        items = [taken(one, item) for one, item in zip(kind, value, strict=True)]
        same = all(made is item for made, item in zip(items, value, strict=True))
        return value if same else tuple(items)
    if kind.startswith("tensor "):
        if isinstance(value, bool | int | float):
            return _number_as(kind[7:], value)
    elif isinstance(value, tl.tensor):
        if value.handle is not None and _is_constant(kind, value):
            return ast.literal_eval(kind.partition(" ")[2])
    elif kind_of(value) == kind:
        return value
    raise Mismatch(_shown(kind_of(value)))


def _is_constant(kind: str, value: tl.tensor) -> bool:
    """Whether a tensor has a single element, equal to the compiler's constant."""
    name, _, text = kind.partition(" ")
    data = value.handle.data
    if name not in ("int", "bool", "float") or not isinstance(data, np.ndarray) or data.size != 1:
        return False
    return bool(
        math.isfinite(float(text != "False" if name == "bool" else text)) and data.item() == ast.literal_eval(text)
    )


def _number_as(name: str, value: float) -> tl.tensor:
    """A number as a scalar of the named type; raises Mismatch if the type cannot represent it."""
    if name not in SCALARS or (isinstance(value, float) and not name.startswith("fp")):
        raise Mismatch(_shown(kind_of(value)))
    dtype = tl.dtype(name)
    try:
        data: Any = np.array([value], dtype=SCALARS[name])
    except OverflowError as error:
        raise Mismatch(_shown(kind_of(value))) from error
    return tl.tensor(triton_interpreter.TensorHandle(data, dtype), dtype)


SCALARS = {"int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
           "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "fp16": np.float16,
           "fp32": np.float32, "fp64": np.float64}  # fmt: skip


def _bounds(*arguments: Any, **keywords: Any) -> tuple[Any, Any, Any]:
    """Start, stop and step of a loop, passed by position or by the argument names of `tl.range`."""
    values = list(arguments)
    for name in ("arg1", "arg2", "step")[len(values) :]:
        values.append(keywords.get(name))
    first, second, step = (value.value if isinstance(value, core.constexpr) else value for value in values[:3])
    return (0, first, 1 if step is None else step) if second is None else (first, second, 1 if step is None else step)


def _whole(bound: Any) -> int:
    return int(bound.handle.data.item() if isinstance(bound, tl.tensor) else bound)


def _combined(values: tuple[Callable[[], Any], ...], stops: bool) -> Any:
    """`and` (stops: False) or `or` (stops: True) as compiled: a constant can end it, all tensors are combined."""
    tensors: list[Any] = []
    value: Any = None
    for later in values:
        value = later()
        if isinstance(value, tl.tensor):
            tensors.append(value)
        elif bool(value) is stops:
            return value
    while len(tensors) > 1:
        right, left = tensors.pop(), tensors.pop()
        tensors.append(left.logical_or(right) if stops else left.logical_and(right))
    return tensors[0] if tensors else value


def _bytes_of(variables: dict[str, Any]) -> dict[str, bytes]:
    """The contents of variables as bytes, for comparison."""
    found = {}
    for name, value in variables.items():
        data = getattr(getattr(value, "handle", None), "data", value)
        found[name] = data.tobytes() if isinstance(data, np.ndarray) else repr(data).encode()
    return found


def _shown(kind: Kind) -> str:
    """A kind in messages: "3" or "a tensor of fp32"."""
    if isinstance(kind, list):
        return f"({', '.join(_shown(one) for one in kind)})"
    name, _, text = kind.partition(" ")
    if name == "tensor":
        return f"a tensor of {text}"
    return text if name in ("int", "float", "bool", "NoneType", "str") else kind
