"""The draws of a problem's cases: which a candidate meets, what is expected of it, and how far it may deviate.

Nothing of a candidate comes here but its name. Seeds are drawn here and never leave the process; with
those of one process every candidate meets the same values, and a confirmation runs in a new process.
"""

from __future__ import annotations

import copy
import math
import random
import secrets
from dataclasses import replace

import torch

from kernelwright import codec
from kernelwright.errors import ProblemError
from kernelwright.model import Case, TensorSpec
from kernelwright.worker.bounds.case_work import case_work
from kernelwright.worker.judge import terms, tolerance
from kernelwright.worker.judge.answer import (
    Answer,
    answered,
    judged,
    out_of_memory,
    random_operators,
    refuse_random,
    usable,
    with_sensitivity,
)
from kernelwright.worker.judge.kept import Kept
from kernelwright.worker.plan.plan import AGAIN, AGAIN_FEW, AS_DENSE
from kernelwright.worker.reference import signal, values
from kernelwright.worker.reference.instance import Specs, cast, compulsory_bytes
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.strided import as_dense, readings, strided

AFFORDABLE_BYTES, AFFORDABLE_FLOP = 1 << 24, 10**10
"""Up to here a case that is not small meets every distribution too: its reference takes milliseconds on a GPU."""

OTHERS = 2
"""Distributions beside ALWAYS that a case between affordable and large meets; a large one meets one."""

ALWAYS = (values.AS_GIVEN, values.CENTRED, values.SCALED_UP)
"""Distributions that every case meets: of both signs, and past the limits of a clamp."""

LARGE_BYTES = 1 << 28
"""Input of a large case: its many elements pool the framework's error by themselves, and few draws have to do."""

FEW_OUTPUTS = 64
"""Fewer say little about their scale: of one normal value in a thousand draws, one is a thousandth of the others."""

GRADIENTS_FRACTION = 1 / 64
"""Share of the device's memory that the tensors of a case may take where gradients are asked for: those of some dozen
operators are kept, in float64."""

GRADIENTS_FLOP = 10**12
"""The same of its products, each of which is made several times in float64."""

PERIOD = len(values.DISTRIBUTIONS)
"""Draw d is from distribution d % PERIOD. Draws d and d + PERIOD differ in their seed and in the poison around them."""

FOLLOWING = {AGAIN_FEW: values.FEW, AGAIN: values.PARTLY}
"""What follows draw 0, in this order, and how it is made from its inputs."""


def is_derived(draw: int) -> bool:
    """Whether a draw is made from the inputs of draw 0."""
    return draw < 0


STRIDED = "strided"
"""The last part of the name of such a case."""


class Draws:
    """cases: with the dtype that was asked for in place of the stated one, None for the stated one. work: derived from
    forward; flop: of its products."""

    def __init__(self, problem: LoadedProblem, dtype: str | None, device: str) -> None:
        self.problem, self.device = problem, device
        self.secret = secrets.randbits(62)
        self.cases: dict[str, tuple[Case, str | None]] = {
            case.name: (case, None if case.small else dtype) for case in problem.cases
        }
        self.specs = {name: problem.specs(case, own) for name, (case, own) in self.cases.items()}
        self.work = {
            name: case_work(problem, case, own, self.specs[name], self.secret, device)
            for name, (case, own) in self.cases.items()
        }
        self.flop = {name: sum(work.flop.values()) for name, work in self.work.items()}
        self.operators = {name: problem.operators(case) for name, (case, _) in self.cases.items()}
        self.kept = Kept(device)
        self.errors: dict[tuple[str, int], tuple[str, list[tolerance.Errors]]] = {}
        self.units: dict[tuple[str, int], list[float]] = {}
        self.floors: dict[str, list[float]] = {}
        self.gains: dict[str, dict[str, float]] = {}
        self.measured_terms: dict[str, list[int | None]] = {}

    def input_bytes(self, case: str) -> int:
        inputs = [spec for spec in self.specs[case].inputs if isinstance(spec, TensorSpec)]
        return compulsory_bytes(Specs(inputs=tuple(inputs), outputs=(), parameters={}))

    def is_large(self, case: str) -> bool:
        return self.input_bytes(case) > LARGE_BYTES

    def is_affordable(self, case: str) -> bool:
        """Whether every distribution is drawn, and each element's sensitivity measured."""
        if self.cases[case][0].small:
            return True
        return compulsory_bytes(self.specs[case]) <= AFFORDABLE_BYTES and self.flop[case] <= AFFORDABLE_FLOP

    def draws_for(self, case: str) -> list[int]:
        """Which draws judge every candidate on a case: the inputs as given, then all other distributions, or as many as
        its size affords. Which distributions these are, the problem and the case decide, so that a verdict is the same
        every time; their order and values are secret. Odd and even draws alternate."""
        order = [draw for draw in range(1, PERIOD) if self._changes(case, values.DISTRIBUTIONS[draw])]
        random.Random(f"{self.problem.source} {case}").shuffle(order)
        if self._samples(case):
            always = [draw for draw in order if values.DISTRIBUTIONS[draw] in ALWAYS]
            others = [draw for draw in order if draw not in always]
            if self.is_large(case):
                others = [draw for draw in others if values.DISTRIBUTIONS[draw] in values.CHEAP]
            order = always + others[: 1 if self.is_large(case) else OTHERS]
        random.Random(f"{self.secret} {case}").shuffle(order)
        return [0, *(draw if draw % 2 == i % 2 else draw + PERIOD for i, draw in enumerate(order, 1))]

    def _samples(self, case: str) -> bool:
        """Whether candidates meet some of the distributions only."""
        return self.is_large(case) or not self.is_affordable(case)

    def draws_for_everyone(self, case: str) -> list[int]:
        """Those of `draws_for` whose distribution every candidate meets in every process, in a fixed order."""
        return sorted(draw for draw in self.draws_for(case)
                      if not self._samples(case) or values.DISTRIBUTIONS[draw % PERIOD] in ALWAYS)  # fmt: skip

    def unseen(self, case: str) -> tuple[str, ...]:
        """The distributions that no candidate meets on a case because of its size."""
        seen = {draw % PERIOD for draw in self.draws_for(case)}
        return tuple(name for draw, name in enumerate(values.DISTRIBUTIONS)
                     if draw not in seen and self._changes(case, name))  # fmt: skip

    def foreseeable(self) -> Draws:
        """The same cases with draws that the problem's text decides: whether a problem qualifies is no matter of luck,
        and no candidate takes part in it."""
        draws = copy.copy(self)
        draws.secret = int(codec.sha(self.problem.source)[:15], 16)
        draws.kept, draws.errors, draws.units, draws.floors = Kept(self.device), {}, {}, {}
        draws.measured_terms = {}
        return draws

    def _changes(self, case: str, distribution: str) -> bool:
        """Whether a distribution can make a difference; one of parameters does nothing where there are none."""
        floats = [spec for spec in self.specs[case].parameters.values() if "float" in spec.dtype]
        return bool(floats) or distribution not in values.WEIGHTS

    def following(self, case: str) -> list[int]:
        """Which draws follow draw 0; of a large case one, because of what each takes."""
        return [AGAIN] if self.is_large(case) else list(FOLLOWING)

    def read_as_dense(self, case: str, reading: int) -> tuple[list[int], int]:
        """The draw of inputs that are padded and in this reading read as dense, none where the reference does not bear
        them; and the number of readings."""
        draw, count = AS_DENSE - 2 * reading, len(readings(self.specs[case]))
        try:
            answer = self.answer(case, draw)
        except ProblemError as error:
            if out_of_memory(error):
                raise
            return [], count
        return ([draw] if all(map(usable, answer.own, answer.dtypes)) else []), count

    def answer(self, case: str, draw: int) -> Answer:
        """Inputs and expected outputs of one draw, from memory or made now."""
        found = self.kept.find((case, draw))
        if found is None:
            found = self._new(case, draw)
            self.kept.add((case, draw), found)
        return found

    def keep_only(self, case: str, draw: int) -> Answer:
        """This answer, and room for other things where the rest were."""
        answer = self.answer(case, draw)
        self.kept.clear()
        self.kept.add((case, draw), answer)
        return answer

    def _new(self, case: str, draw: int) -> Answer:
        """An answer made now. Its errors, units and floors are known from then on, whether it is kept or not."""
        self.kept.make_room(self._answer_bytes(case))
        try:
            made = self._made(case, draw)
        except (ProblemError, torch.OutOfMemoryError) as error:
            if not (out_of_memory(error) and self.kept.answers):
                raise
            self.kept.clear()
            made = self._made(case, draw)
        self.errors[case, draw], self.units[case, draw] = (made.distribution, made.own), made.units
        if draw == 0:
            self.floors[case] = made.floors
        if self.device != "cpu":
            torch.cuda.empty_cache()  # float64 intermediates of a large case would starve the bench
        return made

    def _answer_bytes(self, case: str) -> int:
        """About what an answer takes: inputs and parameters, and in float64 outputs and their sensitivities."""
        given = compulsory_bytes(replace(self.specs[case], outputs=()))
        return given + 8 * self._produced(case) * (2 if self.is_affordable(case) else 1)

    def _made(self, case: str, draw: int) -> Answer:
        known, dtype = self.cases[case]
        sensitive = self.is_affordable(case)
        if sensitive and draw != 0 and case not in self.floors:
            self.answer(case, 0)
        seed, distribution = self.secret + draw, values.DISTRIBUTIONS[draw % PERIOD]
        if draw in FOLLOWING:
            seed, distribution = self.secret, FOLLOWING[draw]
        try:
            if draw <= AS_DENSE:
                return as_described(self._read_as_dense(case, draw), case, self.specs[case])
            if draw == 0 and (names := random_operators(self.operators[case])):
                refuse_random(self.problem.instance(known, seed=seed, device=self.device, dtype=dtype), names)
            made = answered(
                self.problem, known, seed=seed, device=self.device, dtype=dtype, distribution=distribution,
                operators=self.operators[case], sensitive=sensitive, floors=self.floors.get(case),
                gains=self._gains(case),
            )  # fmt: skip
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, IndexError) as error:
            raise ProblemError(
                f"{self.problem.file}: case {case!r}: what forward gives in two precisions cannot be compared: "
                f"{type(error).__name__}: {error}",
                "it returns dense tensors whose sizes depend on the case only",
            ) from error
        return as_described(made, case, self.specs[case])

    def _read_as_dense(self, case: str, draw: int) -> Answer:
        known, dtype = self.cases[case]
        given = self.problem.instance(known, seed=self.secret, device=self.device, dtype=dtype)
        by_strides = readings(self.specs[case])[(AS_DENSE - draw) // 2]
        read, memory = as_dense(given, strided(self.specs[case]), self.secret, by_strides)
        return replace(with_sensitivity(judged(read), self.secret, self.floors[case]), memory=memory)

    def _gains(self, case: str) -> dict[str, float]:
        """What parameters are multiplied by in every draw of a case, so that its inputs are heard."""
        if case not in self.gains:
            known, dtype = self.cases[case]
            self.gains[case] = {}
            if signal.is_deep(self.problem.outline(known, dtype).module):
                one, other = (self.problem.instance(known, seed=self.secret + draw, device=self.device, dtype=dtype)
                              for draw in (0, PERIOD))  # fmt: skip
                self.gains[case] = signal.gains(one, other)
        return self.gains[case]

    # --- tolerance ------------------------------------------------------------------------------------------

    def limit(self, case: str, draw: int, output: int) -> tolerance.Allowed:
        """What a candidate may deviate on a draw: from the framework's errors, and the output's scale, on inputs of
        that distribution."""
        dtype = getattr(torch, self.specs[case].outputs[output].dtype)
        exact = tolerance.is_exact(self._own(case, 0, output))
        own = self._own(case, draw, output)
        if self.errors[case, draw][0] == values.NEGATIVE:  # what is left of an activation there, elements judge
            own.append(replace(self._own(case, 0, output)[0], max_abs=0.0, rms_abs=0.0))
        has_tf32 = self.problem.precision == "tf32" and self.device != "cpu" and dtype == torch.float32
        return tolerance.allowed(
            own, dtype, self.terms(case, output), exact, self._errors(case, 0)[output].scale,
            tolerance.ROUNDED_FACTORS if has_tf32 else None,
        )  # fmt: skip

    def own_units(self, case: str, draw: int, output: int) -> float:
        """The framework's largest error in units of its element, on the same draws as `limit`."""
        others = [0] if is_derived(draw) else [(draw + PERIOD) % (2 * PERIOD)]
        for other in others:
            self._errors(case, other)
        pooled = [one for one in others if is_derived(draw) or self.errors[case, one][0] == self.errors[case, draw][0]]
        return max(self.units[case, one][output] for one in [draw, *pooled])

    def _own(self, case: str, draw: int, output: int) -> list[tolerance.Errors]:
        """The framework's errors on this draw and on another of its distribution (as given, for what follows 0)."""
        if is_derived(draw):
            return [self._errors(case, draw)[output], *self._own(case, 0, output)]
        pooled = [draw]
        if not self.is_large(case) or math.prod(self.specs[case].outputs[output].shape) < FEW_OUTPUTS:
            pooled.append((draw + PERIOD) % (2 * PERIOD))
        drawn = [(self._errors(case, one)[output], self.errors[case, one][0]) for one in pooled]
        return [own for own, distribution in drawn if distribution == drawn[0][1]]

    def _errors(self, case: str, draw: int) -> list[tolerance.Errors]:
        if (case, draw) not in self.errors:
            self._new(case, draw)
        return self.errors[case, draw][1]

    def terms(self, case: str, output: int) -> float:
        """Terms summed into an element of an output.

        Measured by gradients on the case itself where their memory is affordable. Otherwise on the largest case where
        it is, and then larger by as much as an estimate from sizes is: 1 stays 1, a row's length grows with the row.
        Never more than that estimate. Without any gradient, the smaller of two estimates.
        """
        most = self._estimate(case)
        measurable = [name for name in self.cases if self._has_affordable_gradients(name)]
        source = case if case in measurable else max(measurable, key=self._size, default=None)
        found = None if source is None else self._terms_of(source)[output]
        if found is None or source is None:
            return self._least_estimate(case)
        if source == case or found == 1:
            return min(float(found), most)
        return max(1.0, min(1.0, found / self._estimate(source)) * most)

    def _terms_of(self, case: str) -> list[int | None]:
        if case not in self.measured_terms:
            try:
                self.measured_terms[case] = terms.measured(cast(self.answer(case, 0).instance, "float64"))
            except (ProblemError, torch.OutOfMemoryError) as error:
                if not out_of_memory(error):
                    raise
                self.measured_terms[case] = [None] * len(self.specs[case].outputs)
            if self.device != "cpu":
                torch.cuda.empty_cache()
        return self.measured_terms[case]

    def _has_affordable_gradients(self, case: str) -> bool:
        if self.cases[case][0].small:
            return True
        most_bytes, most_flop = AFFORDABLE_BYTES, AFFORDABLE_FLOP // 10
        if self.device != "cpu":
            memory = torch.cuda.get_device_properties(0).total_memory
            most_bytes, most_flop = int(memory * GRADIENTS_FRACTION), GRADIENTS_FLOP
        return self._size(case) <= most_bytes and self.flop[case] <= most_flop

    def _size(self, case: str) -> int:
        return compulsory_bytes(self.specs[case])

    def _estimate(self, case: str) -> float:
        """The most terms that sizes suggest: FLOP or inputs for each output, or the longest last dimension."""
        consumed, longest = self._per_output(case)
        return max(self._products(case), consumed, longest, 1.0)

    def _least_estimate(self, case: str) -> float:
        """From FLOP where there are products, otherwise the smaller of the two others."""
        return max(self._products(case) or min(self._per_output(case)), 1.0)

    def _products(self, case: str) -> float:
        return self.flop[case] / (2 * self._produced(case))

    def _produced(self, case: str) -> int:
        return max(1, sum(math.prod(spec.shape) for spec in self.specs[case].outputs))

    def _per_output(self, case: str) -> tuple[float, float]:
        """Inputs for each output, and the longest last dimension of an input."""
        shapes = [spec.shape for spec in self.specs[case].inputs if isinstance(spec, TensorSpec)]
        consumed = sum(math.prod(shape) for shape in shapes) / self._produced(case)
        return consumed, float(max((shape[-1] for shape in shapes if shape), default=1))


def with_strided(draws: Draws) -> tuple[dict[str, Specs], dict[str, str]]:
    """The specs of every case and of the smallest small one once more, laid out otherwise; the name of that one's
    original by its own."""
    small = {name: case for name, (case, _) in draws.cases.items() if case.small}
    if not small:
        return draws.specs, {}
    name = min(small, key=lambda one: (small[one].held_out, draws.input_bytes(one)))  # a search sees no held-out one
    return {**draws.specs, f"{name}/{STRIDED}": strided(draws.specs[name])}, {f"{name}/{STRIDED}": name}


def as_described(answer: Answer, case: str, described: Specs) -> Answer:
    """Raises `ProblemError` where inputs or outputs are of other sizes than for another seed: no plan fits both."""
    inputs = [one for one in answer.instance.inputs if isinstance(one, torch.Tensor)]
    before = [one for one in described.inputs if isinstance(one, TensorSpec)]
    found = [("input", inputs, before), ("output", list(answer.expected), list(described.outputs))]
    for what, tensors, specs in found:
        shapes, known = [tuple(one.shape) for one in tensors], [one.shape for one in specs]
        if shapes != known:
            maker = "get_inputs" if what == "input" else "forward"
            raise ProblemError(
                f"{answer.instance.file}: case {case!r}: the sizes of {what}s differ from draw to draw: "
                f"{_sizes(known)}, then {_sizes(shapes)}",
                f"the sizes that {maker} gives may depend on the case only, not on random numbers or on values",
            )
    return answer


def _sizes(shapes: list[tuple[int, ...]]) -> str:
    return ", ".join("×".join(map(str, shape)) or "a scalar" for shape in shapes) or "none"
