"""Derived cases, for a problem that states no small case or no held-out case.

The search makes the whole numbers in the file smaller, one after the other, as long as the problem stays the same
(`difference`). It runs on fake tensors; only the finished cases run once with values, on the CPU. A problem that reads
values runs with them at every size; only the shapes of its tensors and its arguments are compared then. Nothing here is
random or depends on time: the same file always gets the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import FOR_INTERPRETER, Case, Loading, Scalar
from kernelwright.worker.reference.difference import OtherFactor, difference, factors, growth
from kernelwright.worker.reference.load import LoadedProblem, load_problem
from kernelwright.worker.reference.problem_module import floating_dtype
from kernelwright.worker.reference.trace import Trace

WANTED_ELEMENTS, WANTED_MADE, WANTED_FLOP = 20_000, 100_000, 10**7
"""Target size of a derived case: elements of its inputs, parameters and outputs, elements of the largest tensor in
between, and FLOP of its products. At this size an interpreted kernel takes seconds for all draws."""

MOST_ELEMENTS = 1_000_000
"""A case with more elements is not small. If the smallest sizes found have more, no cases are derived."""

ROWS = 8
"""Target size of the first dimension of the first input, which is shrunk before all others: most kernels have one
program for each row, and the interpreter runs the programs one after the other."""

TILE = 32
"""Elements of the smallest tile that kernels commonly have along a dimension."""

MOST_CALLS = 20_000
"""Limit on the operators that are traced for one file. This many take about ten seconds."""

CALLS_OF_A_RUN = 100
"""A run with values counts as many: of a problem whose operators cannot be traced without them."""

SMALL, SECOND, ODD = "derived_small", "derived_small_2", "derived_odd"


@dataclass(frozen=True)
class Derived:
    """The result of `derive`.

    cases: the derived cases only. left_alone: the reason for each number that keeps its value, by the number's name;
    under "" the reason why there are no cases, or why one is missing.
    """

    cases: tuple[Case, ...] = ()
    left_alone: dict[str, str] = field(default_factory=dict)


def load_with_cases(
    path: str, loading: Loading, cases: tuple[Case, ...] | None = None, *, interpreted: bool = False
) -> tuple[LoadedProblem, dict[str, str]]:
    """The problem at `path` with its cases, and `Derived.left_alone`.

    cases: used in place of the problem's cases; None: `loading` says how to find them. interpreted: see `in_dtype`.
    Raises `ProblemError`.
    """
    problem = load_problem(path)
    if cases is not None:
        return replace(problem, cases=cases), {}
    if (dtype := loading.dtype) is not None:
        floating_dtype(problem.file, dtype)
        problem = replace(problem, cases=tuple(in_dtype(case, dtype, interpreted) for case in problem.cases))
    if loading.which == "stated":
        return replace(problem, cases=tuple(case for case in problem.cases if not case.derived)), {}
    found = derive(problem, interpreted) if loading.which == "derived" else Derived()
    return replace(problem, cases=(*problem.cases, *found.cases)), found.left_alone


def in_dtype(case: Case, dtype: str, interpreted: bool) -> Case:
    """`case` in another dtype. interpreted: whether small cases run on the CPU interpreter."""
    is_wide = interpreted and case.small and dtype == "bfloat16"
    return msgspec.structs.replace(case, dtype=FOR_INTERPRETER if is_wide else dtype)


def derive(problem: LoadedProblem, interpreted: bool = False, names: tuple[str, ...] | None = None) -> Derived:
    """The cases that the problem lacks: two small ones, and a held-out one of odd sizes, in the dtype of its timed one.

    interpreted: see `in_dtype`. names: of the cases to derive, whether it lacks them or not. Raises `ProblemError` for
    a problem whose sizes depend on values, for which no other case would be of use.
    """
    if names is None:
        names = () if any(case.small for case in problem.cases) else (SMALL, SECOND)
        names += () if any(case.held_out for case in problem.cases) else (ODD,)
    if not names:
        return Derived()
    base = next(case for case in problem.cases if case.timed)
    try:
        search = Search(problem, base)
    except ProblemError as error:
        return Derived(left_alone={"": f"its operators cannot be traced without values: {error}"})
    if not search.original.calls:
        problem.require_same_sizes(base)
    sizes = search.shrunk()
    found = search.attempt(sizes)
    if isinstance(found, str):
        return Derived(left_alone={"": f"two traces of it with the same sizes differ: {found}"})
    left = search.refusals(sizes)
    if found.elements > MOST_ELEMENTS:
        why = f"the smallest sizes found have {found.elements:,} elements, and at most {MOST_ELEMENTS:,} are allowed"
        return Derived(left_alone={"": why, **left})
    changes: dict[str, Callable[[dict[str, int]], dict[str, int]]] = {
        SMALL: dict, SECOND: search.second, ODD: search.odd,
    }  # fmt: skip
    dtype = FOR_INTERPRETER if interpreted and search.is_bfloat16 else base.dtype
    cases: list[Case] = []
    for name in names:
        params = {**base.params, **changes[name](sizes)}
        case = Case(name=name, params=params, dtype=dtype, small=True, held_out=name == ODD, derived=True)
        if any(params == one.params for one in cases):
            continue
        if why := fault(problem, case):
            left[""] = f"{name} does not run: {why}"
        else:
            cases.append(case)
    return Derived(tuple(cases), left)


def fault(problem: LoadedProblem, case: Case) -> str:
    """Why a case does not run with real values; "" if it runs."""
    try:
        problem.run(case)
    except ProblemError as error:
        return str(error)
    return ""


class Search:
    """The search for other sizes of one problem file.

    sizes: case parameters that override those of the base case. refused: the reason for each number that cannot change.
    unrelated: pairs of numbers that cannot change in the same ratio. related: numbers that changed together, which are
    tried first from then on.
    """

    def __init__(self, problem: LoadedProblem, base: Case) -> None:
        self.problem, self.base = problem, base
        self.calls = 0
        self.refused: dict[str, str] = {}
        self.unrelated: set[frozenset[str]] = set()
        self.related: list[set[str]] = []
        self.traced = problem.traced
        try:
            self.original = problem.traced(base)
        except ProblemError:
            self.traced = problem.described
            self.original = problem.described(base)
        self.values = self._values({})
        specs = self.original.given.values()
        self.rows = self._row_numbers()
        self.is_bfloat16 = base.dtype == "bfloat16" or any(spec.dtype == "bfloat16" for spec in specs)

    def attempt(self, sizes: dict[str, int]) -> Trace | str:
        """The trace of the problem with these sizes, or why it would be a different problem."""
        params: dict[str, Scalar] = {**self.base.params, **sizes}
        try:
            found = self.traced(msgspec.structs.replace(self.base, params=params))
        except ProblemError as error:
            self.calls += len(self.original.calls) or CALLS_OF_A_RUN
            return f"it would not run: {str(error).partition(' raised ')[2].partition(chr(10))[0][:200] or error}"
        self.calls += len(found.calls) or CALLS_OF_A_RUN
        return difference(self.original, found) or found

    def step(self, sizes: dict[str, int], before: Trace, name: str, value: int) -> tuple[dict[str, int], Trace] | str:
        """Change one number or, if that is not possible, all numbers equal to it, in the file too, or one that is a
        multiple or a part of it in the same ratio, such as a length and its chunks. Returns the new sizes and their
        trace, or the reasons why none is possible."""
        values = self._values(sizes)
        equal = [other for other, size in values.items()
                 if (size, self.values.get(other)) == (values[name], self.values.get(name))]  # fmt: skip
        together = [dict.fromkeys(equal, value)] if len(equal) > 1 else []
        whys: list[str] = []
        in_ratio = [one for one in _in_ratio(values, equal, name, value) if frozenset(one) not in self.unrelated]
        for changed in sorted([{name: value}, *together, *in_ratio], key=lambda one: {*one} not in self.related):
            made = {**sizes, **changed}
            found = self.attempt(made)
            if isinstance(found, Trace):
                first, last = (before, found) if value < values[name] else (found, before)
                found = growth(first, last) or self._factor(sizes, before, found, changed) or found
            if isinstance(found, Trace):
                if found.given == before.given:
                    return "no size of an input, parameter or output depends on it"
                if len(changed) > 1 and {*changed} not in self.related:
                    self.related.append({*changed})
                return made, found
            if changed in in_ratio:
                self.unrelated.add(frozenset(changed))
            elif found not in whys:
                whys.append(found)
        return f"; together with {', '.join(one for one in equal if one != name)}: ".join(whys)

    def _factor(self, sizes: dict[str, int], before: Trace, found: Trace, changed: dict[str, int]) -> str:
        """Why one of several changed numbers is no size but a factor that equals one, or an operand in the ratio of one
        that could change without it: it has to stay. "" if none is. Such a number changes where no size does."""
        if len(changed) == 1 or {*changed} in self.related or factors(before, True) == factors(found, True):
            return ""
        alone = [self.attempt({**sizes, name: value}) for name, value in changed.items()]
        is_other = any(isinstance(one, Trace) for one in alone) and len({*changed.values()}) > 1
        whys = [why for why in alone if isinstance(why, OtherFactor)]
        return whys[0] if whys and (is_other or factors(before) != factors(found)) else ""

    def shrunk(self) -> dict[str, int]:
        """Sizes with at most ROWS rows, WANTED_ELEMENTS, WANTED_MADE and WANTED_FLOP, as far as the problem allows."""
        sizes: dict[str, int] = {}
        before: dict[str, int] | None = None
        now = self.original
        while self.calls < MOST_CALLS:
            values = {name: value for name, value in self._values(sizes).items()
                      if value > 3 and name not in self.refused}  # fmt: skip
            tall = [name for name in values if name in self.rows and values[name] > ROWS]
            is_large = now.elements > WANTED_ELEMENTS or now.made > WANTED_MADE or now.flop > WANTED_FLOP
            if now.elements > MOST_ELEMENTS and not values and sizes != before:
                before = sizes  # beside smaller sizes, what was refused may be possible
                self.refused.clear()
                self.unrelated.clear()
                continue
            if not values or not (tall or is_large):
                break
            name = max(tall or values, key=lambda one: values[one])
            why = ""
            for value in _smaller(values[name]):
                done = self.step(sizes, now, name, value)
                if not isinstance(done, str):
                    sizes, now = done
                    break
                why = why or done
            else:
                self.refused[name] = why
        return sizes

    def second(self, sizes: dict[str, int]) -> dict[str, int]:
        """Odd sizes with other proportions than `sizes`: more rows, and less of everything else.

        A problem that is small as stated gets up to 8 times the rows: a kernel with one program for a hundred elements
        then has several programs.
        """
        others = {name: _odd_below(value * 3 // 4) for name, value in self.free(sizes) if name not in self.rows}
        sizes = self.changed(sizes, others)
        factors = (8, 2) if self.original.elements <= WANTED_ELEMENTS else (2,)
        more = {name: [*(value * factor + 1 for factor in factors), value + 3]
                for name, value in self.free(sizes) if name in self.rows}  # fmt: skip
        below = {name: [one for one in wanted if one <= self.values[name]] for name, wanted in more.items()}
        return self.changed(sizes, below)

    def odd(self, sizes: dict[str, int]) -> dict[str, int]:
        """Smaller sizes that are no multiples of 16 and no powers of two, as far as the problem allows: first sizes one
        past a tile, then odd ones."""
        wanted = {name: [*_past_a_tile(value), *_odd_below(value)] for name, value in self.free(sizes)}
        return self.changed(sizes, wanted)

    def refusals(self, sizes: dict[str, int]) -> dict[str, str]:
        """The reason for each number that keeps its original value."""
        values = self._values(sizes)
        for name, value in self.values.items():
            if values[name] != value or name in self.refused:
                continue
            if value < 2:
                self.refused[name] = f"{value} is too small to shrink"
            elif self.calls < MOST_CALLS:
                done = self.step(sizes, self._known(sizes), name, value // 2)
                if isinstance(done, str):
                    self.refused[name] = done
        return {name: why for name, why in self.refused.items() if values[name] == self.values[name]}

    def changed(self, sizes: dict[str, int], wanted: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """`sizes` with each number changed to the first of its wanted values that the problem allows."""
        now = self._known(sizes)
        for name, choices in wanted.items():
            for value in choices:
                if value == self._values(sizes)[name] or self.calls > MOST_CALLS:
                    break
                done = self.step(sizes, now, name, value)
                if not isinstance(done, str) and done[1].elements <= max(2 * WANTED_ELEMENTS, now.elements):
                    sizes, now = done
                    break
        return sizes

    def free(self, sizes: dict[str, int]) -> Iterator[tuple[str, int]]:
        """The numbers that are not known to be fixed, with their values in `sizes`."""
        for name, value in self._values(sizes).items():
            if value > 2 and not (name in self.refused and value == self.values[name]):
                yield name, value

    def _row_numbers(self) -> set[str]:
        """The numbers that set the first dimension of the first input and no other dimension of it."""
        found = set()
        first = next((spec for name, spec in self.original.given.items() if name.startswith("input ")), None)
        for name, value in self.values.items():
            if first is None or value < 2 or self.original.rows != value or value in first.shape[1:]:
                continue
            done = self.step({}, self.original, name, max(2, value // 2))
            if not isinstance(done, str) and done[1].rows != value:
                found.add(name)
        return found

    def _known(self, sizes: dict[str, int]) -> Trace:
        found = self.attempt(sizes)
        assert isinstance(found, Trace)
        return found

    def _values(self, sizes: dict[str, int]) -> dict[str, int]:
        """Every number with its value at `sizes`. Numbers that the file computes from others follow them."""
        params: dict[str, Scalar] = {**self.base.params, **sizes}
        return self.problem.numbers(msgspec.structs.replace(self.base, params=params))


def _in_ratio(values: Mapping[str, int], equal: Sequence[str], name: str, value: int) -> Iterator[dict[str, int]]:
    """A number with each one that is a multiple or a part of it, both changed in the same ratio."""
    own = values[name]
    for other, size in values.items():
        is_related = other not in equal and size > 1 and (size % own == 0 or own % size == 0)
        if is_related and size * value % own == 0 and size * value > own:
            yield {name: value, other: size * value // own}


def _smaller(value: int) -> list[int]:
    """Smaller values to try, the smallest first: halves, if possible as a multiple of what a tile has. A kernel whose
    masks are left out for such sizes is then judged on the small case."""
    half = value // 2
    whole = half - half % TILE if half >= TILE else half
    return list(dict.fromkeys(one for one in (whole, half, value * 3 // 4) if one >= 2))


def _past_a_tile(value: int) -> list[int]:
    """Sizes above half of `value` whose last tile of 32, or of 16, has one element: a loop that ends one element early
    misses it."""
    return [one for tile in (32, 16) for one in range(value - 1, max(tile, value // 2), -1) if one % tile == 1]


def _odd_below(value: int) -> list[int]:
    """Some values below `value` that are no multiples of 16 and no powers of two, odd ones first. The last is 7/8 of
    `value`, for numbers that have to stay a multiple of something."""
    near = [one for one in range(value - 1, max(2, value // 2), -1) if one % 16 and one & (one - 1)]
    return [one for one in near if one % 2][:4] + [one for one in near if not one % 2][:2] + [value * 7 // 8]
