"""Trivial answers to a case, and whether its tolerance tells them from the right one.

A case where one of them passes cannot prove a kernel right. Runs in the judge, on as-given draws; knows no candidate.
An answer counts as accepted only if every draw accepts it, as every draw has to accept a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from kernelwright.errors import ProblemError
from kernelwright.model import CaseQualification, TrivialAnswer
from kernelwright.worker.judge import tolerance
from kernelwright.worker.judge.answer import Answer, framework_outputs

COARSE_BITS = {torch.float64: 23, torch.float32: 10, torch.bfloat16: 3, torch.float16: 3}
"""Explicit mantissa bits of the next coarser format: float32, float16, and the e4m3 kind of float8."""

TAIL = 16
"""One part in this many is left out at the end: less may hold nothing but values that are rightly near zero."""

MANY_ELEMENTS = 1 << 26
"""Among this many elements nothing passes by chance, and one draw says as much as two."""

Named = tuple[str, Tensor | None]
"""An input, parameter or buffer by the name that reports give it."""


def qualification(case: str, answers: list[Answer], limits: list[tolerance.Allowed]) -> CaseQualification:
    """Every trivial answer held against every draw. answers: two draws; limits: one for each output."""
    trivial: list[TrivialAnswer] = []
    for output, limit in enumerate(limits):
        for name in _trivial_names(answers[0], output):
            draws = range(len(answers) if answers[0].expected[output].numel() <= MANY_ELEMENTS else 1)
            judged = [_judged(name, output, _trivial(name, answers, draw, output), answers[draw], limit)
                      for draw in draws]  # fmt: skip
            trivial.append(_most_telling(judged))
    ignored: list[TrivialAnswer] = []
    constant: list[str] = []
    for position, (name, tensor) in enumerate(_given(answers[0])):
        if tensor is None or tensor.numel() == 0:
            continue
        other = _given(answers[1])[position][1]
        assert other is not None
        if torch.equal(tensor, other):
            constant.append(name)
            other = _perturbed(tensor)
        if torch.equal(tensor, other):
            continue  # nothing else can be put in its place without leaving the range that the problem gives
        ignored += _ignoring(name, position, other, answers[0], limits)
    return CaseQualification(
        case=case, answers=tuple(trivial), ignored=tuple(ignored), constant=tuple(constant),
        rounded=tuple(output for output in range(len(limits)) if any(a.rounded[output] is not None for a in answers)),
    )  # fmt: skip


# --- answers that take no computing -------------------------------------------------------------------------


def _trivial_names(answer: Answer, output: int) -> Iterator[str]:
    dtype, expected = answer.dtypes[output], answer.expected[output]
    yield from ("zeros", "a constant", "the previous output")
    if expected.numel() > 1:
        yield from ("the first half only", "the last sixteenth left zero")
    if tolerance.real(dtype) in COARSE_BITS:
        yield f"rounded to {COARSE_BITS[tolerance.real(dtype)]} bits"
    for name, value in zip(answer.instance.input_names, answer.instance.inputs, strict=True):
        if not isinstance(value, Tensor) or (value.is_complex() and not dtype.is_complex):
            continue
        if _fitted(value, expected.shape) is not None:
            yield f"input {name} as it is"


def _trivial(name: str, answers: list[Answer], draw: int, output: int) -> Tensor:
    """The trivial answer of that name to a draw, in the dtype that the problem asks for."""
    answer, previous = answers[draw], answers[(draw + 1) % len(answers)]
    dtype, expected = answer.dtypes[output], answer.expected[output]
    if name == "zeros":
        return torch.zeros_like(expected, dtype=dtype)
    if name == "a constant":
        means = [_mean(one.expected[output]) for one in answers]  # one constant for every draw
        mean = sum(means) / len(means)
        return torch.full_like(expected, round(mean.real) if tolerance.is_whole(dtype) else mean, dtype=dtype)
    if name == "the previous output":
        return previous.expected[output].to(dtype)
    if name.startswith("rounded"):
        made = expected.to(dtype, copy=True).resolve_conj()
        _rounded(torch.view_as_real(made) if dtype.is_complex else made, COARSE_BITS[tolerance.real(dtype)])
        return made
    if name.startswith("input "):
        inputs = dict(zip(answer.instance.input_names, answer.instance.inputs, strict=True))
        given = inputs[name.removeprefix("input ").removesuffix(" as it is")]
        assert isinstance(given, Tensor)
        fitted = _fitted(given, expected.shape)
        assert fitted is not None
        return fitted.to(dtype)
    partial = expected.to(dtype, copy=True).reshape(-1)
    left = partial.numel() // 2 if name == "the first half only" else partial.numel() - -(-partial.numel() // TAIL)
    partial[left:] = 0
    return partial.reshape(expected.shape)


def _mean(expected: Tensor) -> float | complex:
    """Of the finite elements."""
    total: float | complex = 0.0
    count = 0
    for piece in expected.reshape(-1).split(tolerance.CHUNK):
        finite = piece[piece.isfinite()].to(torch.complex128 if piece.is_complex() else torch.float64)
        total, count = total + finite.sum().item(), count + finite.numel()
    return total / count if count else 0.0


def _rounded(tensor: Tensor, bits: int) -> Tensor:
    """Every element rounded to `bits` explicit mantissa bits, its exponent kept; changes `tensor`."""
    for piece in tensor.view(-1).split(tolerance.CHUNK) if tensor.is_contiguous() else [tensor]:
        mantissa, exponent = torch.frexp(piece.double())  # mantissa in [0.5, 1): its first bit is the implicit one
        piece.copy_(torch.ldexp((mantissa * 2 ** (bits + 1)).round() / 2 ** (bits + 1), exponent))
    return tensor


def _fitted(tensor: Tensor, shape: torch.Size) -> Tensor | None:
    """An input in the shape of an output: as it is, reshaped, cut off or repeated; None where none of that fits."""
    if tensor.numel() == math.prod(shape):
        return tensor.reshape(shape)
    if tensor.dim() == len(shape) and all(have >= want for have, want in zip(tensor.shape, shape, strict=True)):
        return tensor[tuple(slice(size) for size in shape)]
    try:
        return tensor.expand(shape)
    except RuntimeError:
        return None


# --- answers that ignore something --------------------------------------------------------------------------


def _given(answer: Answer) -> list[Named]:
    """Everything that a kernel is given: inputs, then parameters and buffers."""
    instance = answer.instance
    found: list[Named] = [
        (f"input {name}", value if isinstance(value, Tensor) else None)
        for name, value in zip(instance.input_names, instance.inputs, strict=True)
    ]
    found += [(f"parameter {name}", parameter) for name, parameter in instance.module.named_parameters()]
    return found + [(f"buffer {name}", buffer) for name, buffer in instance.module.named_buffers()]


def _ignoring(
    name: str, position: int, other: Tensor, answer: Answer, limits: list[tolerance.Allowed]
) -> list[TrivialAnswer]:
    """The answers for `other` in place of one tensor. One output that changes is enough: that tensor matters."""
    instance = answer.instance
    if position < len(instance.inputs):
        inputs = (*instance.inputs[:position], other, *instance.inputs[position + 1 :])
        outputs = _attempted(lambda: framework_outputs(replace(instance, inputs=inputs)))
    else:
        tensor = _given(answer)[position][1]
        assert tensor is not None
        kept = tensor.data
        tensor.data = other.to(kept.device)
        try:
            outputs = _attempted(lambda: framework_outputs(instance))
        finally:
            tensor.data = kept
    if outputs is None:
        return []  # the reference refuses other values, so it cannot ignore them
    judged = [_judged(f"without {name}", output, made, answer, limit)
              for output, (made, limit) in enumerate(zip(outputs, limits, strict=True))]  # fmt: skip
    return [_most_telling(judged)]


def _attempted(make: Callable[[], tuple[Tensor, ...]]) -> tuple[Tensor, ...] | None:
    try:
        return make()
    except ProblemError:
        return None


def _perturbed(tensor: Tensor) -> Tensor:
    """Other values than the problem always gives, within their range where they are integers."""
    if tensor.dtype == torch.bool:
        return tensor.logical_not()
    if tolerance.is_whole(tensor.dtype):
        return tensor.flatten().flip(0).reshape(tensor.shape)
    spread = float(tensor.abs().double().mean()) or 1.0
    return tensor + spread * torch.rand(tensor.shape, device=tensor.device).to(tensor.dtype)


# --- judging ------------------------------------------------------------------------------------------------


def _judged(name: str, output: int, made: Tensor, answer: Answer, limit: tolerance.Allowed) -> TrivialAnswer:
    expected = answer.expected[output]
    found = tolerance.errors(made, expected, also=answer.rounded[output]).against(limit.scale)
    times = tolerance.excess(found, limit)
    return TrivialAnswer(
        name=name, output=output, accepted=times <= 1,
        max_rel_error=_finite(math.inf if found.special else found.max_rel),
        rms_rel_error=_finite(math.inf if found.special else found.rms_rel),
        allowed_rel_error=limit.max_rel, allowed_rms_error=limit.rms_rel,
        margin=_finite(times), allclose_from=_finite(_allclose_from(made, expected)),
    )  # fmt: skip


def _most_telling(judged: list[TrivialAnswer]) -> TrivialAnswer:
    """Of the same answer on several draws (or outputs) the one that is furthest from being accepted."""
    return max(judged, key=lambda answer: math.inf if answer.margin is None else answer.margin)


def _allclose_from(made: Tensor, expected: Tensor) -> float:
    """The smallest t with |made - expected| <= t + t * |expected| everywhere; infinity where NaN is in the way."""
    least = 0.0
    if expected.is_complex():
        made, expected = torch.view_as_real(made.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    pairs = zip(made.reshape(-1).split(tolerance.CHUNK), expected.reshape(-1).split(tolerance.CHUNK), strict=True)
    for one, other in pairs:
        x, y = one.double(), other.double()
        needed = torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, (x - y).abs() / (1 + y.abs()))
        largest = float(needed.max()) if needed.numel() else 0.0
        least = math.inf if math.isnan(largest) else max(least, largest)
    return least


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
