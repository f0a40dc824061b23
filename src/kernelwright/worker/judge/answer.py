"""The answer to one random draw: its inputs, the expected outputs in float64, and the framework's own error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.errors import ProblemError
from kernelwright.worker.judge import elementwise, fairness, float8, rounding, tf32, tolerance
from kernelwright.worker.judge.choices import Choosing, Pick, keeping
from kernelwright.worker.judge.untouched import same_values, untouched
from kernelwright.worker.reference import values
from kernelwright.worker.reference.instance import (
    HALF,
    Instance,
    accepted,
    cast,
    framework_outputs,
    given,
    outputs,
)

CHAINED = 3
"""Most operators in a forward whose choices are combined: three may take the first or the last in eight ways."""

PADS_ON, KEEPS_NAN_ON = values.SPECIALS, {False: values.SPECIALS, True: values.INFINITE}
"""The draws on which a padding gives NaN, and on which a NaN may be kept, without and with products in forward."""


@dataclass
class Answer:
    """distribution: what was drawn in the end. expected: float64, or float32 for half-precision outputs. own: the
    framework's own error for each output. dtypes: what a candidate has to return. rounded: of whole numbers, results
    other than float64's that are as right, element by element; of other dtypes, the least and the largest right one.
    sensitive: see `elementwise`, None where it was not asked for. floors, units: then the typical size of each output
    on the problem's own inputs, and the framework's largest error in units. left_alone: for each input that forward
    changes in place the elements that it does not touch. choices: for each output of indices how PyTorch may choose
    among equal values; numbers: which of `picks` that is. others: for each output, what is as right as `expected`
    (`chosen_otherwise`). picks: of the equal values, those that `expected` is of. left_out: for each output, the
    elements that judge nothing (`fairness`); None if each does. labels: by an input's position, the sentinels in it.
    """

    instance: Instance
    distribution: str
    expected: list[torch.Tensor]
    own: list[tolerance.Errors]
    dtypes: list[torch.dtype]
    rounded: list[tuple[torch.Tensor, ...]]
    sensitive: list[torch.Tensor | None]
    floors: list[float]
    units: list[float]
    left_alone: list[torch.Tensor] = field(default_factory=list)
    choices: list[Pick | None] = field(default_factory=list)
    numbers: list[int | None] = field(default_factory=list)
    others: list[list[torch.Tensor]] = field(default_factory=list)
    picks: list[Pick] = field(default_factory=list)
    left_out: list[torch.Tensor | None] = field(default_factory=list)
    labels: dict[int, list[int]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of all its tensors, about."""
        parts = (
            [value for _, value in given(self.instance)], self.expected, self.rounded, self.others, self.left_alone,
            [one for one in self.sensitive if one is not None],
            [(pick.source, pick.own) for pick in self.choices if pick is not None],
        )  # fmt: skip
        return sum(one.nbytes for one in tree_leaves(parts) if isinstance(one, torch.Tensor))

    @property
    def as_given(self) -> bool:
        return self.distribution == values.AS_GIVEN

    @property
    def is_lenient(self) -> bool:
        """Whether a NaN may stand for an infinity, and anything for a NaN."""
        return self.distribution in values.LENIENT

    @property
    def unjudged(self) -> list[torch.Tensor | None]:
        """The elements of each output that judge nothing, with those that any value agrees with."""
        return fairness.with_nan(self.left_out, self.expected) if self.is_lenient else self.left_out

    @property
    def prefix(self) -> str:
        """The beginning of a reason: on which inputs; "" on the problem's own."""
        had = [f"{number} in {self.instance.input_names[at]}" for at, some in self.labels.items() for number in some]
        said = f"{self.distribution} ({', '.join(had)})" if had else self.distribution
        return "" if self.as_given else f"on inputs {said}: "


def judged(
    instance: Instance, distribution: str = values.AS_GIVEN, known: list[tolerance.Errors] | None = None
) -> Answer:
    """Expected outputs in float64 and the framework's own error in the instance's dtype. known: that error, where the
    same draw was made before.

    The float64 outputs are computed first: for a large case they take the most memory, and nothing else is there yet.
    """
    with Choosing(pads=distribution in PADS_ON, sources=True) as seen:
        exact = outputs(cast(instance, "float64"))
    for _ in range(2):  # the second time as in float64 where values are close, if some are
        with Choosing(seen.picks, sources=True) as noted:
            produced = as_before(instance, exact, framework_outputs(instance))
        picked = [one.of(wide.source) for one, wide in zip(noted.picks, itertools.cycle(seen.picks), strict=False)]
        nears = [one.near() for one in picked]
        if all(one is None for one in nears) or len(nears) != len(seen.picks):
            break
        seen.picks = [one if near is None else replace(one, tied=one.tied | near, close=other.close, own=other.own)
                      for one, other, near in zip(seen.picks, picked, nears, strict=True)]  # fmt: skip
    numbers = [next((number for number, pick in enumerate(picked) if pick.is_in(one)), None) for one in produced]
    chosen = [None if number is None else picked[number] for number in numbers]
    seen.picks = [replace(one, source=None) for one in seen.picks]
    del noted, picked
    is_own, lenient = distribution == values.AS_GIVEN, distribution in values.LENIENT
    left_out: list[torch.Tensor | None] = [None] * len(exact)
    with keeping(seen.picks):
        in_float8 = float8.rounded(instance, produced, exact)
        own = own_errors(instance, produced, exact, lenient, left_out) if known is None else known
        if not is_own and known is None:
            beyond = out_of_range(instance, exact, in_float8, seen)
            if seen.met_free:
                beyond = [fairness.either(*both) for both in zip(beyond, freed(instance, exact, seen), strict=True)]
            left_out = [fairness.left_out(*one, distribution in values.STRICT, lenient)
                        for one in zip(produced, exact, own, beyond, strict=True)]  # fmt: skip
            if any(one is not None for one in left_out):
                own = own_errors(instance, produced, exact, lenient, left_out)
        rounded = [(one.least, one.largest) if one else also
                   for one, also in zip(in_float8, as_right(instance, produced, exact), strict=True)]  # fmt: skip
        left_alone = untouched(instance, produced, exact)
    otherwise = chosen_otherwise(instance, exact, seen, distribution)
    others = [[narrowed(one, p.dtype) for one in some] for some, p in zip(otherwise, produced, strict=True)]
    for some, o, p in zip(others, own, produced, strict=True):
        if tolerance.multiples_of(p.dtype)[1] * o.rms_rel > tolerance.most_rms(p.dtype, is_own):
            some.append(p.float())  # the dtype of `narrowed`
    expected = [narrowed(e, p.dtype) for e, p in zip(exact, produced, strict=True)]
    return Answer(
        instance=instance, distribution=distribution, expected=expected, own=own,
        dtypes=[p.dtype for p in produced], rounded=rounded, sensitive=[None] * len(produced), floors=[], units=[],
        left_alone=left_alone, choices=chosen, others=others, picks=seen.picks, left_out=left_out,
        numbers=[None if number is None else number % len(seen.picks) for number in numbers],
    )  # fmt: skip


def narrowed(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """An output in float64 as it is kept: in float32, which holds more digits than half precision needs."""
    return exact.float() if dtype in HALF and exact.is_floating_point() else exact


def chosen_otherwise(
    instance: Instance, exact: tuple[torch.Tensor, ...], seen: Choosing, distribution: str
) -> list[list[torch.Tensor]]:
    """For each output, what else it may be in float64. Where there are equal or close values, the first, the last (of
    each operator, if few choose one after another), or those that PyTorch chooses in the problem's dtype may be chosen;
    where a draw puts infinities into inputs, a NaN may be kept. seen: how forward chose for `exact`."""
    ways: list[Choosing] = []
    free, near = ([one for one in seen.picks if one.tied.any() and is_near == (one.close is not None)]
                  for is_near in (False, True))  # fmt: skip
    lasts = list(itertools.product((False, True), repeat=len(seen.picks)))
    if len(seen.picks) > CHAINED or len(free) + len(near) < 2:
        lasts = [(False,), (True,)]
    if near or any(not one.is_first for one in free):
        with Choosing() as theirs:
            framework_outputs(instance)
        if len(theirs.picks) == len(seen.picks):
            theirs.picks = [replace(one, tied=one.tied | other.tied)
                            for one, other in zip(theirs.picks, seen.picks, strict=True)]  # fmt: skip
        ways = [*(Choosing(last=last) for last in lasts), Choosing(theirs.picks)]
    if near:
        halves = (False, True) if any(one.is_ranking for one in near) else (False,)
        ways += [Choosing(last=last, near=seen.picks, half=half) for last in lasts for half in halves]
    if seen.met_nan and distribution in KEEPS_NAN_ON[not seen.ran.isdisjoint(rounding.FACTORS)]:
        ways.append(Choosing(seen.picks, keeps_nan=True))
    others: list[list[torch.Tensor]] = [[] for _ in exact]
    for way in ways:
        with way:
            made = outputs(cast(instance, "float64"))
        for some, one, e in zip(others, made, exact, strict=True):
            some += [one] if one.shape == e.shape and not torch.equal(one, e) else []
    return others


def chosen_alike(
    answer: Answer, made: Sequence[torch.Tensor], make_room: Callable[[], object]
) -> list[torch.Tensor]:  # fmt: skip
    """The outputs in float64 where forward chooses, of equal values, those that right indices among the outputs `made`
    name; empty if these are the expected ones. make_room: called before forward runs."""
    picks = list(answer.picks)
    for actual, expected, choice, number in zip(made, answer.expected, answer.choices, answer.numbers, strict=False):
        if choice is not None and number is not None:
            picks[number] = choice.as_in(actual, expected, picks[number])
    if all(torch.equal(one.indices, other.indices) for one, other in zip(picks, answer.picks, strict=True)):
        return []
    make_room()
    with Choosing(picks):
        found = outputs(cast(answer.instance, "float64"))
    return [narrowed(one, dtype) for one, dtype in zip(found, answer.dtypes, strict=True)]


def out_of_range(
    instance: Instance, exact: tuple[torch.Tensor, ...], in_float8: list[float8.Rounded | None], seen: Choosing
) -> list[torch.Tensor | None]:  # fmt: skip
    """For each output the elements that an honest kernel may make infinite: past the largest float8, or products that
    overflow in another order. seen: how forward ran."""
    found = [None if one is None else one.beyond for one in in_float8]
    if (row := rounding.ROWS.get(rounding.PRODUCTS)) is None or seen.ran.isdisjoint(row.operators):
        return found
    made = rounding.roughly(cast(instance, "float64"), torch.float32, 0, share=0.0)
    return [fairness.either(mask, e.isfinite() & ~m.isfinite())
            for mask, m, e in zip(found, made, exact, strict=True)]  # fmt: skip


def freed(instance: Instance, exact: tuple[torch.Tensor, ...], seen: Choosing) -> list[torch.Tensor | None]:
    """For each output the elements that depend on what a cast of NaN, infinity or a number out of range to whole
    numbers gives. A number that forward refuses, such as an index out of bounds, shows none. seen: how forward ran."""
    found: list[torch.Tensor | None] = [None] * len(exact)
    for end in (0, 1):
        with Choosing(seen.picks, end=end):
            made = accepted(lambda: outputs(cast(instance, "float64"))) or exact
        found = [fairness.either(mask, ~same_values(one, e)) if one.shape == e.shape else mask
                 for mask, one, e in zip(found, made, exact, strict=True)]  # fmt: skip
    return found


def own_errors(
    instance: Instance, produced: tuple[torch.Tensor, ...], exact: tuple[torch.Tensor, ...], lenient: bool,
    left_out: Sequence[torch.Tensor | None],
) -> list[tolerance.Errors]:  # fmt: skip
    """The framework's own error of each output. lenient: as in `tolerance.errors`. left_out: the elements of each that
    do not count."""

    def found(made: Sequence[torch.Tensor]) -> list[tolerance.Errors]:
        return [tolerance.errors(fairness.without(p, mask), fairness.without(e, mask), lenient)
                for p, e, mask in zip(made, exact, left_out, strict=True)]  # fmt: skip

    own, widest = found(produced), [p.dtype in tolerance.WIDEST for p in produced]
    if any(widest):
        narrow = accepted(lambda: as_before(instance, exact, outputs(cast(instance, "float32"))))
        coarse = own if narrow is None else found(narrow)
        own = [_narrowed(o, c) if w else o for o, c, w in zip(own, coarse, widest, strict=True)]
    if tf32.is_used(instance):
        others = found(tf32.outputs_with_tf32(instance))
        own = [with_tf32(o, f) if p.dtype == torch.float32 else o
               for o, f, p in zip(own, others, produced, strict=True)]  # fmt: skip
    return own


def with_tf32(own: tolerance.Errors, other: tolerance.Errors) -> tolerance.Errors:
    """PyTorch's own error of one output, at least a share of what TF32 makes of it. other: where that is a number."""
    if other.special:
        return own
    return replace(
        own, max_abs=max(own.max_abs, tf32.SHARE * other.max_abs), rms_abs=max(own.rms_abs, tf32.SHARE * other.rms_abs)
    )


def as_right(
    instance: Instance, produced: tuple[torch.Tensor, ...], exact: tuple[torch.Tensor, ...]
) -> list[tuple[torch.Tensor, ...]]:
    """For each output of whole numbers, what is right besides the result in float64: the framework's, and the smallest
    and the largest when intermediate results are rounded in other ways. The latter two also for an output that forward
    itself rounds to half precision, if the framework has no error there: the next draw may show one."""
    halves = [e.dtype in HALF and bool(same_values(p, e).all()) for p, e in zip(produced, exact, strict=True)]
    others = [[p] if tolerance.is_whole(p.dtype) else [] for p in produced]
    is_rounded = any(isinstance(one, torch.Tensor) and one.is_floating_point() for one in instance.inputs)
    if any(halves) or (any(others) and is_rounded):
        for one, half, extremes in zip(others, halves, rounding.extremes(instance, exact), strict=True):
            one += extremes if one or half else ()
    return [tuple(o for o in some if half or not torch.equal(o, e))
            for some, half, e in zip(others, halves, exact, strict=True)]  # fmt: skip


def with_sensitivity(answer: Answer, seed: int, floors: list[float] | None) -> Answer:
    """The answer with the sensitivity of each element: how far rounding may move it. floors: None if the inputs are the
    problem's own, which set the floors."""
    wide = cast(answer.instance, "float64")
    exact = outputs(wide)
    found = elementwise.sensitivities(wide, exact, seed)
    floors = [elementwise.typical(e) for e in exact] if floors is None else floors
    runs = [framework_outputs(answer.instance)]
    if tf32.is_used(answer.instance):
        runs.append(tf32.outputs_with_tf32(answer.instance))
    moves = rounding.deviations(wide, exact, answer.dtypes, seed)
    left_out, units = list(answer.left_out), [0.0] * len(exact)
    for i, (e, s, moved, f, dtype) in enumerate(zip(exact, found, moves, floors, answer.dtypes, strict=True)):
        if s is None or tolerance.is_quantized(dtype):
            found[i] = None
            continue
        found[i] = largest = torch.maximum(s, moved.where(moved.isfinite(), 0.0).to(s.dtype))
        for made in runs if e.numel() else ():
            off = elementwise.in_units(
                fairness.without(made[i], left_out[i]), fairness.without(e, left_out[i]), largest, f, dtype
            )
            units[i] = max(units[i], float(off.amax()))
        beyond = ~moved.isfinite()
        if answer.distribution in values.MAGNITUDES:
            beyond |= elementwise.beyond(moved, s, e, f, units[i], dtype)
        if not answer.as_given:
            left_out[i] = fairness.either(left_out[i], beyond)
    return replace(answer, sensitive=found, floors=floors, units=units, left_out=left_out)


def as_before(
    instance: Instance, before: tuple[torch.Tensor, ...], made: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    """`made`; raises `ProblemError` if its shapes differ from `before`, the outputs for the same inputs."""
    first, second = [[tuple(one.shape) for one in outputs] for outputs in (before, made)]
    if first != second:
        raise ProblemError(
            f"{instance.file}: forward gives outputs of sizes {first}, and {second} when it is called again",
            "what it returns may depend on its inputs only",
        )
    return made


def _narrowed(own: tolerance.Errors, coarse: tolerance.Errors) -> tolerance.Errors:
    """The framework's error in float64, with which nothing wider can be compared. It is the float32 error times the
    ratio of the two precisions or, if float32 gives other NaN or infinities, the difference of two float64 runs."""
    if coarse.special:
        return own
    ratio = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
    return replace(own, max_abs=coarse.max_abs * ratio, rms_abs=coarse.rms_abs * ratio)
