"""Qualification of a case: whether its draws reject trivial answers, such as zeros or ignoring an input.

A case on which a trivial answer passes cannot show that a kernel is right. A candidate has to be right on every draw,
so a trivial answer is accepted only if no draw rejects it. The problem's own inputs come first, other distributions
only if these reject nothing. A parameter that does not change the outputs in float64 either is *dead*, and so is an
input that forward gives to no operator: a kernel may leave it out, and the case is not at fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kernelwright.model import CaseQualification, TrivialAnswer
from kernelwright.worker.judge import tolerance
from kernelwright.worker.judge.answer import Answer
from kernelwright.worker.judge.comparison import compared
from kernelwright.worker.judge.dependence import is_dead, is_read, outputs_with, perturbed
from kernelwright.worker.judge.draws import ALWAYS, PERIOD, Draws
from kernelwright.worker.reference import values
from kernelwright.worker.reference.instance import accepted, framework_outputs, given
from kernelwright.worker.reference.pieces import CHUNK

COARSE_BITS = {torch.float64: 23, torch.float32: 10, torch.bfloat16: 3, torch.float16: 3}
"""Explicit mantissa bits of the next coarser format, by output dtype: float32, float16, and the e4m3 kind of float8."""

TF32_BITS, TF32_COARSE_BITS = 10, 7
"""Mantissa bits of TF32 and of bfloat16. If a problem allows TF32, its ten bits are right, and bfloat16 is the next
coarser format."""

TAIL = 16
"""The trivial answer "the last sixteenth left zero" leaves out this fraction at the end. The values of a smaller part
may all be rightly near zero."""

MANY_ELEMENTS = 1 << 26
"""With more elements than this, no trivial answer passes by chance, and one draw says as much as two."""

PREVIOUS = "the previous output"

GIVEN = (0, PERIOD)
"""The two draws of the problem's own inputs."""


@dataclass(frozen=True)
class Trivial:
    """A trivial answer. outputs: those that it answers. made: from a draw and from what was taken, the answer to each
    of `outputs`; None if the reference refuses the values that the answer needs. taken: what it needs of another draw
    of the problem's own inputs, None if nothing.

    Of two draws only this is held at once: a large case fits on a GPU with one answer, but not with two."""

    name: str
    outputs: list[int]
    made: Callable[[Answer, Tensor | None], list[Tensor] | None]
    taken: Callable[[Answer], Tensor] | None = None


def qualification(draws: Draws, case: str) -> CaseQualification:
    """Judge every trivial answer on the draws that judge every candidate."""
    count = len(draws.specs[case].outputs)
    constants, rounded = _in_both_draws(draws, case)
    has_tf32 = draws.problem.precision == "tf32"
    trivial = [_asked(draws, case, one) for output in range(count)
               for one in [*without_computing(draws.answer(case, 0), output, constants[output], has_tf32)]]  # fmt: skip
    ignored: list[TrivialAnswer] = []
    constant: list[str] = []
    dead: list[str] = []
    unused: list[str] = []
    tensors = [(name, tensor.numel()) for name, tensor in given(draws.answer(case, 0).instance)]
    for position, (name, elements) in enumerate(tensors):
        if elements == 0:
            continue
        if _is_constant(draws, case, position, GIVEN):
            if _is_constant(draws, case, position, _redrawn(draws, case)):
                constant.append(name)
            tensor = given(draws.answer(case, 0).instance)[position][1]
            if torch.equal(tensor, perturbed(tensor)):
                continue  # nothing else can be put in its place without leaving the range that the problem gives
        found = _asked(draws, case, ignoring(name, position, count))
        if found is None:
            continue
        ignored.append(found)
        if found.accepted and is_dead(draws, case, position):
            is_written_only = name.removeprefix("input ") in draws.specs[case].mutates
            is_fault = name.startswith("input ") and not is_written_only and is_read(draws, case, position)
            (unused if is_fault else dead).append(name)
    return CaseQualification(
        case=case, answers=tuple(answer for answer in trivial if answer is not None), ignored=tuple(ignored),
        constant=tuple(constant), dead=tuple(dead), unused=tuple(unused),
        rounded=tuple(output for output in range(count) if rounded[output]),
    )  # fmt: skip


def _asked(draws: Draws, case: str, trivial: Trivial) -> TrivialAnswer | None:
    """Judge a trivial answer on one draw after the other until one rejects it. None if the reference refuses the values
    that the answer needs."""
    judged: list[TrivialAnswer] = []
    for draw in [*GIVEN, *(one for one in draws.draws_for_everyone(case) if one not in GIVEN)]:
        few = math.prod(draws.specs[case].outputs[trivial.outputs[0]].shape) <= MANY_ELEMENTS
        is_rejected = any(not one.accepted for one in judged)
        if is_rejected and not (draw == PERIOD and few and not trivial.name.startswith("without ")):
            break
        found = _on_draw(draws, case, draw, trivial)
        if found is None:
            break  # the reference refuses other values, so they matter
        judged.append(found)
    return _most_telling(judged) if judged else None


def _on_draw(draws: Draws, case: str, draw: int, trivial: Trivial) -> TrivialAnswer | None:
    taken = trivial.taken(draws.answer(case, _other(draw))) if trivial.taken else None
    made = trivial.made(draws.answer(case, draw), taken)
    if made is None:
        return None
    return _most_telling([_judged(draws, case, draw, trivial.name, output, tensor)
                          for output, tensor in zip(trivial.outputs, made, strict=True)])  # fmt: skip


def _other(draw: int) -> int:
    """Another draw of the problem's own inputs."""
    return GIVEN[0] if draw == GIVEN[1] else GIVEN[1]


def _is_constant(draws: Draws, case: str, position: int, among: Sequence[int]) -> bool:
    """Whether these draws give a tensor the same values. position: of it in `given`."""
    first, *others = (given(draws.answer(case, draw).instance)[position][1] for draw in among)
    return all(torch.equal(first, other) for other in others)


def _redrawn(draws: Draws, case: str) -> list[int]:
    """A draw as given, and draws of each distribution that every case gets: they change whatever a draw may change."""
    every = draws.draws_for_everyone(case)
    return [GIVEN[0], *(draw for draw in every if values.DISTRIBUTIONS[draw % PERIOD] in (*ALWAYS, values.VARIED))]


# --- answers without computing -------------------------------------------------------------------------


def without_computing(answer: Answer, output: int, mean: float | complex, has_tf32: bool) -> Iterator[Trivial]:
    """The trivial answers to an output of that kind. answer: to a draw of the problem's own inputs, which the trivial
    answers do not keep. mean: of the output over two draws."""
    dtype, expected = answer.dtypes[output], answer.expected[output]
    constant = round(mean.real) if tolerance.is_whole(dtype) else mean

    def from_expected(name: str, make: Callable[[Tensor], Tensor]) -> Trivial:
        return Trivial(name, [output], lambda answer, _: [make(answer.expected[output])])

    def from_input(answer: Answer, taken: Tensor | None, position: int) -> list[Tensor]:
        value = answer.instance.inputs[position]
        assert isinstance(value, Tensor)
        fitted = _fitted(value, answer.expected[output].shape)
        assert fitted is not None
        return [fitted.to(dtype)]

    yield from_expected("zeros", lambda right: torch.zeros_like(right, dtype=dtype))
    yield from_expected("a constant", lambda right: torch.full_like(right, constant, dtype=dtype))
    yield Trivial(PREVIOUS, [output], lambda _, taken: None if taken is None else [taken],
                  lambda other: other.expected[output].to(dtype))  # fmt: skip
    if (count := expected.numel()) > 1:
        yield from_expected("the first half only", lambda right: _begun(right, dtype, count // 2))
        yield from_expected(
            "the last sixteenth left zero", lambda right: _begun(right, dtype, count - -(-count // TAIL))
        )
    if tolerance.real(dtype) in COARSE_BITS:
        bits = COARSE_BITS[tolerance.real(dtype)]
        bits = TF32_COARSE_BITS if has_tf32 and bits == TF32_BITS else bits
        yield from_expected(f"rounded to {bits} bits", lambda right: _rounded(right.to(dtype, copy=True), bits))
    for position, value in enumerate(answer.instance.inputs):
        if not isinstance(value, Tensor) or (value.is_complex() and not dtype.is_complex):
            continue
        if _fitted(value, expected.shape) is not None:
            name = f"input {answer.instance.input_names[position]} as it is"
            yield Trivial(name, [output], partial(from_input, position=position))


def _begun(right: Tensor, dtype: torch.dtype, count: int) -> Tensor:
    """The first `count` elements of a right output, and zeros."""
    part = right.to(dtype, copy=True).reshape(-1)
    part[count:] = 0
    return part.reshape(right.shape)


def _in_both_draws(draws: Draws, case: str) -> tuple[list[float | complex], list[bool]]:
    """For each output, the constant that answers every draw, which is the mean of the draws' means, and whether a draw
    accepts whole numbers rounded in other ways. Each draw is looked at once, as it may have to be made."""
    means: list[list[float | complex]] = []
    rounded: list[list[bool]] = []
    for draw in GIVEN:
        answer = draws.answer(case, draw)
        means.append(list(map(_mean, answer.expected)))
        rounded.append([bool(also) or (pick is not None and pick.near() is not None)
                        for also, pick in zip(answer.rounded, answer.choices, strict=True)])  # fmt: skip
        del answer  # before the next one is made
    constants = [sum(of_output) / len(GIVEN) for of_output in zip(*means, strict=True)]
    return constants, list(map(any, zip(*rounded, strict=True)))


def _mean(expected: Tensor) -> float | complex:
    """The mean of the finite elements."""
    total: float | complex = 0.0
    count = 0
    for piece in expected.reshape(-1).split(CHUNK):
        finite = piece[piece.isfinite()].to(torch.complex128 if piece.is_complex() else torch.float64)
        total, count = total + finite.sum().item(), count + finite.numel()
    return total / count if count else 0.0


def _rounded(tensor: Tensor, bits: int) -> Tensor:
    """Round every element to `bits` explicit mantissa bits, in place. The range of exponents does not change."""
    if tensor.is_complex():
        made = tensor.resolve_conj()
        _rounded(torch.view_as_real(made), bits)
        return made
    for piece in tensor.view(-1).split(CHUNK) if tensor.is_contiguous() else [tensor]:
        mantissa, exponent = torch.frexp(piece.double())  # mantissa in [0.5, 1): its first bit is the implicit one
        piece.copy_(torch.ldexp((mantissa * 2 ** (bits + 1)).round() / 2 ** (bits + 1), exponent))
    return tensor


def _fitted(tensor: Tensor, shape: torch.Size) -> Tensor | None:
    """An input in the shape of an output: reshaped, cut off or repeated; None if none of these fits."""
    if tensor.numel() == math.prod(shape):
        return tensor.reshape(shape)
    if tensor.dim() == len(shape) and all(have >= want for have, want in zip(tensor.shape, shape, strict=True)):
        return tensor[tuple(slice(size) for size in shape)]
    try:
        return tensor.expand(shape)
    except RuntimeError:
        return None


# --- answers that ignore something --------------------------------------------------------------------------


def ignoring(name: str, position: int, count: int) -> Trivial:
    """The answer of a kernel that ignores one tensor: the framework's outputs with other values in its place. position:
    of the tensor in `given`. count: of the outputs."""

    def taken(other: Answer) -> Tensor:
        return given(other.instance)[position][1]

    def made(answer: Answer, another: Tensor | None) -> list[Tensor] | None:
        tensor = given(answer.instance)[position][1]
        other = perturbed(tensor) if another is None or torch.equal(tensor, another) else another
        found = accepted(lambda: outputs_with(answer.instance, position, other, framework_outputs))
        return None if found is None else list(found[:count])

    return Trivial(f"without {name}", list(range(count)), made, taken)


# --- judging ------------------------------------------------------------------------------------------------


def _judged(draws: Draws, case: str, draw: int, name: str, output: int, made: Tensor) -> TrivialAnswer:
    found = compared(draws, case, draw, output, made)
    errors, limit, expected = found.found, found.limit, draws.answer(case, draw).expected[output]
    return TrivialAnswer(
        name=name, output=output, accepted=not found.why,
        max_rel_error=_finite(math.inf if errors.special else errors.max_rel),
        rms_rel_error=_finite(math.inf if errors.special else errors.rms_rel),
        allowed_rel_error=limit.max_rel, allowed_rms_error=limit.rms_rel,
        margin=_finite(found.times), allclose_from=_finite(_allclose_from(made, expected)),
    )  # fmt: skip


def _most_telling(judged: list[TrivialAnswer]) -> TrivialAnswer:
    """The result that is furthest from acceptance, of the results of one answer on several draws or outputs."""
    return max(judged, key=lambda one: (not one.accepted, math.inf if one.margin is None else one.margin))


def _allclose_from(made: Tensor, expected: Tensor) -> float:
    """The smallest t with |made - expected| <= t + t * |expected| everywhere; infinity if NaN prevents it."""
    least = 0.0
    if expected.is_complex():
        made, expected = torch.view_as_real(made.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    pairs = zip(made.reshape(-1).split(CHUNK), expected.reshape(-1).split(CHUNK), strict=True)
    for one, other in pairs:
        x, y = one.double(), other.double()
        needed = torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, (x - y).abs() / (1 + y.abs()))
        largest = float(needed.max()) if needed.numel() else 0.0
        least = math.inf if math.isnan(largest) else max(least, largest)
    return least


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
