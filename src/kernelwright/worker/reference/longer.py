"""Derived cases with sizes of a large case, for a machine that can judge small ones only.

What a kernel does for large sizes alone (more blocks than a loop expects, an index of 16 bits) is judged there. As
`derive`, it runs on fake tensors, and only the finished cases run once with values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import Case, Scalar
from kernelwright.worker.reference.derive import fault, in_dtype
from kernelwright.worker.reference.difference import difference
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.trace import Trace

MOST_ELEMENTS, MOST_FLOP = 500_000, 10**8
"""A longer case has no more elements of its inputs, parameters and outputs, and no more FLOP in its products."""

TILE = 16
"""Kernels often branch on whether a size is a multiple of this: their compiler does. Sizes of the two kinds are both
judged."""


def longer(
    problem: LoadedProblem, judged: Sequence[Case], large: Case, parts: Mapping[str, float] | None = None,
    traces: dict[str, Trace | None] | None = None,
) -> Iterator[tuple[Case, tuple[str, ...]]]:  # fmt: skip
    """Cases with sizes of `large` that are larger than in each judged case, and the names of these sizes.

    Each has one such size, or as much of it as fits, and all others as the smallest judged case has them. Then follow
    cases with two equal sizes, which are equal in `large` alone. judged: not (). parts: sizes to try alone, with what
    to divide them by; None for all that is above. traces: those of earlier calls for this problem. Raises
    `ProblemError` for a problem that cannot be traced.
    """
    search = _Search(problem, judged, large, {} if traces is None else traces)
    found = search.wanted(judged) if parts is None else [
        (search.divided(name, part), (name,)) for name, part in parts.items()]  # fmt: skip
    longest = search.longest(judged)
    for made, names in found:
        sizes = {name: search.size(made, name) for name in names}
        case = msgspec.structs.replace(
            search.case(made), name="_".join(["derived", *(f"{name}_{size}" for name, size in sizes.items())])
        )
        is_longer = len(names) > 1 or any(size > longest[name] for name, size in sizes.items())
        if is_longer and fits(search.attempt(made)) and not fault(problem, case):
            yield case, names


def is_like(problem: LoadedProblem, case: Case, other: Case, traces: dict[str, Trace | None]) -> bool:
    """Whether a case runs and is the same problem as another one. A small one runs once with values, if it fits.
    traces: those of earlier calls for this problem."""
    try:
        original = traced(problem, msgspec.structs.replace(other, dtype=case.dtype), traces)
    except ProblemError:
        return False
    found = alike(problem, case, original, traces)
    return found is not None and (not case.small or (fits(found) and not fault(problem, case)))


def alike(problem: LoadedProblem, case: Case, original: Trace, traces: dict[str, Trace | None]) -> Trace | None:
    """The trace of a case; None where it does not run or is another problem than the original one."""
    try:
        found = traced(problem, case, traces)
    except ProblemError:
        return None
    return None if difference(original, found) else found


def traced(problem: LoadedProblem, case: Case, traces: dict[str, Trace | None]) -> Trace:
    """The trace of a case, which is added to `traces`. Raises `ProblemError`, the second time too."""
    key = f"{case.dtype} {sorted(case.params.items())}"
    if key not in traces:
        traces[key] = None
        traces[key] = problem.traced(case)
    if (found := traces[key]) is None:
        raise ProblemError(f"{problem.file}: case {case.name!r} cannot be traced")
    return found


def fits(found: Trace | None) -> bool:
    return found is not None and found.elements <= MOST_ELEMENTS and found.flop <= MOST_FLOP


class _Search:
    """goal: the whole numbers of the large case. start: parameters with the sizes of the smallest judged case that is
    the same problem, and all else of the large one. sizes: names of the sizes, the one first that grows least."""

    def __init__(
        self, problem: LoadedProblem, judged: Sequence[Case], large: Case, traces: dict[str, Trace | None]
    ) -> None:
        self.problem, self.traces = problem, traces
        self.names = {name for case in (*judged, large) for name, value in case.params.items() if type(value) is int}
        by_elements = sorted(judged, key=lambda case: self.traced(case).elements)
        wanted = by_elements[0].dtype if large.dtype is None else large.dtype
        self.base = msgspec.structs.replace(large, small=True, held_out=False, derived=True, dtype=wanted)
        if wanted is not None:
            self.base = in_dtype(self.base, wanted, interpreted=True)
        self.original = self.traced(self.base)
        self.goal = self.numbers(large)
        self.start = self._start(self.numbers(by_elements[0]))
        for case in by_elements:
            start = self._start(self.numbers(case))
            if self.attempt(start) is not None:
                self.start = start
                break
        sizes = [name for name, size in self.goal.items() if size > self.size(self.start, name)]
        self.sizes = sorted(sizes, key=lambda name: self.goal[name] / max(self.size(self.start, name), 1))

    def _start(self, least: Mapping[str, int]) -> dict[str, Scalar]:
        """The parameters of the large case, with smaller sizes."""
        smaller = {name: least[name] for name, size in self.goal.items()
                   if size > least.get(name, size) and self._is_size(name, least)}  # fmt: skip
        return {**self.base.params, **smaller}

    def wanted(self, judged: Sequence[Case]) -> list[tuple[dict[str, Scalar], tuple[str, ...]]]:
        """The parameters of longer cases, with the sizes that these are made for."""
        longest = self.longest(judged)
        missing = [name for name in self.sizes if self.goal[name] > longest[name]]
        found: list[tuple[dict[str, Scalar], tuple[str, ...]]] = [(self.divided(name, 1), (name,)) for name in missing]
        for pair in combinations(self.sizes, 2):
            equal = {name: max(self.size(self.start, one) for one in pair) for name in pair}
            every: list[Mapping[str, Scalar]] = [self.start, *(one for one, _ in found), *map(self.numbers, judged)]
            is_new = all(self.size(one, pair[0]) != self.size(one, pair[1]) for one in every)
            if len({self.goal[name] for name in pair}) == 1 and is_new and {*pair} & {*missing}:
                found.append(({**self.start, **equal}, pair))
        return found

    def divided(self, name: str, part: float) -> dict[str, Scalar]:
        """The parameters with a part of as much of one size as fits, of its kind."""
        most = self.size(self.raised(self.start, name), name)
        size = int(most / part)
        size -= size % TILE if most % TILE == 0 else size % TILE == 0
        return {**self.start, name: max(size, self.size(self.start, name))}

    def numbers(self, case: Case) -> dict[str, int]:
        given = {**self.problem.numbers(case), **case.params}
        return {name: value for name, value in given.items() if name in self.names and type(value) is int}

    def size(self, params: Mapping[str, Scalar], name: str) -> int:
        found = params.get(name, self.goal[name])
        assert isinstance(found, int)
        return found

    def longest(self, judged: Sequence[Case]) -> dict[str, int]:
        """By size the largest one of its kind in judged cases of this dtype, at least that of the start."""
        found = {name: self.size(self.start, name) for name in self.sizes}
        for case in [one for one in judged if one.dtype == self.base.dtype]:
            for name, size in self.numbers(case).items():
                if name in found and (size % TILE == 0) == (self.goal[name] % TILE == 0):
                    found[name] = max(found[name], size)
        return found

    def case(self, params: Mapping[str, Scalar]) -> Case:
        return msgspec.structs.replace(self.base, params=dict(params))

    def traced(self, case: Case) -> Trace:
        return traced(self.problem, case, self.traces)

    def attempt(self, params: Mapping[str, Scalar]) -> Trace | None:
        """The trace of the case; None where it does not run or is another problem."""
        return alike(self.problem, self.case(params), self.original, self.traces)

    def raised(self, params: dict[str, Scalar], name: str) -> dict[str, Scalar]:
        """The parameters with the size of the large case, or the largest part of it that fits; unchanged where none
        does."""
        value, before = self.goal[name], self.size(params, name)
        while value > before:
            made = {**params, name: value}
            found = self.attempt(made)
            if found is None or fits(found):
                return params if found is None else made
            over = max(found.elements / MOST_ELEMENTS, found.flop / MOST_FLOP)
            value //= max(2, 2 ** int(math.log2(over) / 2))
        return params

    def _is_size(self, name: str, least: Mapping[str, int]) -> bool:
        """Whether a tensor depends on a number, or nothing is known of it alone."""
        try:
            found = self.traced(self.case({**self.base.params, name: least[name]}))
        except ProblemError:
            return True
        return found.given != self.original.given
