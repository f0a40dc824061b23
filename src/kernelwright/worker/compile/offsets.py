"""Offsets that overflow 32 bits in a launch on long tensors, from the integers in Triton's IR (TTIR) of a single lane.

It is the last lane of the first and of the last program, in the last iteration of each loop, where offsets are largest.
Sums and products are modular: only a value that is widened, divided or added to a pointer has to fit into its bits.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence

from kernelwright.worker.compile.skeleton import named_in
from kernelwright.worker.plan.plan import Argument, Tensor, TritonLaunch, Value, is_long

STEP = re.compile(r"(?:.*\bscf\.for (%\w+) = |\s*(%\w+) = (?:\w+\.)?(\w+))(.*?)(?: iter_args.*| loc\(.*)?$")
SAME = ("splat", "broadcast", "expand_dims", "reshape", "trans", "extsi", "index_cast")
Operation = Callable[[float, float], float]
MODULAR: dict[str, Operation] = {"addi": operator.add, "subi": operator.sub, "muli": operator.mul}
FITTING: dict[str, Operation] = {"minsi": min, "maxsi": max, "divsi": operator.floordiv, "remsi": operator.mod}

UNKNOWN, WRAPPED, DOUBTFUL = math.nan, math.inf, -math.inf
"""In place of a value: it is not known, it did not fit, or it is a product of 32 bits and a factor is not known."""


def overflowing_offsets(ttir: str, parameters: Sequence[str], launch: TritonLaunch) -> dict[str, bool]:
    """The lines of TTIR with an offset of a long tensor that overflows. False: it may; its value is not known.
    parameters: see `skeleton.parameters_of`."""
    arguments = {name: launch.arguments[one] for name, one in named_in(ttir, parameters).items()
                 if one in launch.arguments}  # fmt: skip
    return _overflowing(ttir, arguments, launch, 0) | _overflowing(ttir, arguments, launch, 1)


def _overflowing(ttir: str, arguments: dict[str, Argument], launch: TritonLaunch, is_last: int) -> dict[str, bool]:
    found, bits, pointers = dict[str, bool](), dict[str, int](), dict[str, str]()
    values: dict[str, float] = {name: int(one.text) for name, one in arguments.items()
                                if isinstance(one, Value) and one.kind == "int"}  # fmt: skip

    def fitting(name: str) -> float:
        value, most = values.get(name, UNKNOWN), 1 << bits.get(name, 64) - 1
        return WRAPPED if math.isfinite(value) and not -most <= value < most else value

    for line in ttir.splitlines():
        if (step := STEP.match(line)) is None:
            continue
        name, kind, text = step[1] or step[2], step[3] or "for", step[4]
        names, numbers = re.findall(r"%\w+", text), [int(one) for one in re.findall(r"(-?\d+)>? :", text)]
        bits[name] = int((re.findall(r"(?:\b|x)i(\d+)\b", text) or ["64"])[-1])
        pointers[name] = pointers.get(names[0], names[0]) if names else ""
        given = [values.get(one, UNKNOWN) if kind in MODULAR else fitting(one) for one in names]
        if kind == "addptr":
            argument = arguments.get(pointers[name])
            if not isinstance(argument, Tensor) or is_long(argument.view):
                is_known = not math.isnan(given[1]) or bits[name] > 32
                found |= {line: given[1] == WRAPPED} if math.isinf(given[1]) or not is_known else {}
        elif kind in ("get_program_id", "get_num_programs"):
            count = (*launch.grid, 1, 1)["xyz".index(text.split()[0])]
            values[name] = (count - 1) * is_last if kind == "get_program_id" else count
        elif kind in ("constant", "make_range") and numbers:
            values[name] = numbers[0] - (kind == "make_range")
        elif kind == "for" and all(map(math.isfinite, given)):
            values[name] = max(given[0], given[0] + (given[1] - given[0] - 1) // given[2] * given[2])
        elif kind in SAME:
            values[name] = given[0]
        elif kind in MODULAR or (kind in FITTING and given[1]):
            values[name] = (MODULAR | FITTING)[kind](*given) if all(map(math.isfinite, given)) else sum(given)
            if kind == "muli" and math.isnan(values[name]) and bits[name] == 32:
                values[name] = DOUBTFUL
    return found
