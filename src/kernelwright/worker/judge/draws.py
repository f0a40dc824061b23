"""The random draws of a problem's cases: which of them judge a candidate, their expected outputs, and the tolerances.

Seeds are chosen here and never leave the process. All candidates of one process get the same values; a confirmation
runs in a new process, with new values.
"""

from __future__ import annotations

import copy
import gc
import math
import random
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from kernelwright import codec
from kernelwright.errors import ProblemError
from kernelwright.model import Case, Drawn, TensorSpec
from kernelwright.worker.bounds.case_work import case_work
from kernelwright.worker.bounds.work import Work
from kernelwright.worker.judge import fairness, tolerance
from kernelwright.worker.judge.answer import Answer, chosen_alike
from kernelwright.worker.judge.counts import TermCounts
from kernelwright.worker.judge.kept import Kept
from kernelwright.worker.judge.usable import answered, as_described, refuse_random
from kernelwright.worker.plan.plan import AGAIN, AGAIN_FEW
from kernelwright.worker.reference import signal, values, varied
from kernelwright.worker.reference.instance import Specs, compulsory_bytes, is_out_of_memory
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.strided import apart, strided

AFFORDABLE_BYTES, AFFORDABLE_FLOP = 1 << 24, 10**10
"""Limits up to which a case that is not small is affordable: it gets every distribution, as small cases do. Its
reference takes milliseconds on a GPU."""

OTHERS = 2
"""How many distributions besides ALWAYS judge a case between affordable and large. A large case gets one."""

ALWAYS = (values.AS_GIVEN, values.CENTRED, values.SCALED_UP, values.NEGATED_WEIGHTS)
"""Distributions that every case gets: values of both signs, values past the limits of a clamp, biases that count."""

LARGE_BYTES = 1 << 28
"""A case with more input bytes is large. It has enough elements to estimate the framework's error from one draw, and
only a few draws are affordable."""

FEW_OUTPUTS = 64
"""An output with fewer elements says little about its scale: a single normal value is a thousandth of its usual size in
one of a thousand draws."""

MANY_OUTPUTS = 1 << 20
"""An output with as many elements shows the framework's largest error in one draw: of twice as many independent normal
errors the largest is 2.5 % larger. Affordable cases have a second draw anyway (`own_units`)."""

PERIOD = len(values.DISTRIBUTIONS)
"""Draw d has distribution d % PERIOD. Draws d and d + PERIOD differ in their seed and in the poison around the inputs.
"""

FOLLOWING = {AGAIN_FEW: values.FEW, AGAIN: values.PARTLY}
"""The draws that run after draw 0, in this order, and the distribution that changes the inputs of draw 0."""


def is_derived(draw: int) -> bool:
    """Whether a draw has the inputs of draw 0, changed in part."""
    return draw < 0


STRIDED, APART = "strided", "apart"
"""The last part of the name of a case with padded inputs, and of one without adjacent elements."""


class Draws:
    """The random draws of all cases of a problem, and their answers and tolerances.

    specs, work: by case; flop: of the products in work. errors, units, floors: of the answers that were made so far.
    left_out: what these do not judge. measured: the draws whose tolerances are known.
    """

    def __init__(self, problem: LoadedProblem, device: str) -> None:
        self.problem, self.device = problem, device
        self.cases: dict[str, Case] = {}
        self.specs: dict[str, Specs] = {}
        self.work: dict[str, Work] = {}
        self.flop: dict[str, int] = {}
        self.gains: dict[str, dict[str, float]] = {}
        self.labels: dict[str, dict[int, list[int]]] = {}
        self.varies: dict[str, bool] = {}
        self._begin(secrets.randbits(62))
        for case in problem.cases:
            self.add(case)

    def _begin(self, secret: int) -> None:
        """No answer is known of the draws with this seed."""
        self.secret, self.kept = secret, Kept(self.device)
        self.errors: dict[tuple[str, int], tuple[str, list[tolerance.Errors]]] = {}
        self.units: dict[tuple[str, int], list[float]] = {}
        self.left_out: dict[tuple[str, int], list[torch.Tensor | None]] = {}
        self.measured: set[tuple[str, int]] = set()
        self.floors: dict[str, list[float]] = {}
        self.counts = TermCounts(self.device, self.cases, self.specs, self.flop)

    def add(self, case: Case) -> None:
        """Add a case of the problem."""
        name, specs = case.name, self.problem.specs(case)
        self.cases[name], self.specs[name] = case, specs
        self.work[name] = case_work(self.problem, case, specs, self.secret, self.device)
        self.flop[name] = sum(self.work[name].flop.values())

    def input_bytes(self, case: str) -> int:
        inputs = [spec for spec in self.specs[case].inputs if isinstance(spec, TensorSpec)]
        return compulsory_bytes(Specs(inputs=tuple(inputs), outputs=(), parameters={}))

    def is_large(self, case: str) -> bool:
        return self.input_bytes(case) > LARGE_BYTES

    def is_affordable(self, case: str) -> bool:
        """Whether a case is small enough for every distribution, and for measuring each element's sensitivity."""
        if self.cases[case].small:
            return True
        return compulsory_bytes(self.specs[case]) <= AFFORDABLE_BYTES and self.flop[case] <= AFFORDABLE_FLOP

    def draws_for(self, case: str) -> list[int]:
        """The draws that judge every candidate on a case: the inputs as given, then all other distributions, or as many
        as the size of the case allows.

        The problem's text and the case decide which distributions these are, so that verdicts are repeatable. Their
        order and values are secret. Odd and even draws alternate.
        """
        order = [draw for draw in range(1, PERIOD) if self._changes(case, values.DISTRIBUTIONS[draw])]
        random.Random(f"{self.problem.source} {case}").shuffle(order)
        if self._samples(case):
            always = [draw for draw in order if values.DISTRIBUTIONS[draw] in ALWAYS]
            others = [draw for draw in order if draw not in always
                      and values.DISTRIBUTIONS[draw] not in values.MAGNITUDES]  # fmt: skip
            if self.is_large(case):
                others = [draw for draw in others if values.DISTRIBUTIONS[draw] in values.CHEAP]
            order = always + others[: 1 if self.is_large(case) else OTHERS]
        random.Random(f"{self.secret} {case}").shuffle(order)
        return [0, *(draw if draw % 2 == i % 2 else draw + PERIOD for i, draw in enumerate(order, 1))]

    def _samples(self, case: str) -> bool:
        """Whether only some of the distributions judge a case."""
        return self.is_large(case) or not self.is_affordable(case)

    def draws_for_everyone(self, case: str) -> list[int]:
        """The draws of `draws_for` whose distributions are used on cases of every size, in a fixed order."""
        return sorted(draw for draw in self.draws_for(case)
                      if not self._samples(case) or values.DISTRIBUTIONS[draw % PERIOD] in ALWAYS)  # fmt: skip

    def unseen(self, case: str) -> tuple[str, ...]:
        """The distributions that are not used on a case because of its size."""
        seen = {draw % PERIOD for draw in self.draws_for(case)}
        return tuple(name for draw, name in enumerate(values.DISTRIBUTIONS)
                     if draw not in seen and self._changes(case, name))  # fmt: skip

    def foreseeable(self) -> Draws:
        """The same cases with a seed from the problem's text instead of a secret one, so that the qualification of a
        problem is repeatable. It must not judge candidates."""
        draws = copy.copy(self)
        draws._begin(int(codec.sha(self.problem.source)[:15], 16))
        return draws

    def drawn(self, case: str) -> tuple[Drawn, ...]:
        """Each draw that judges every candidate on a case, with the share of elements that it judges."""
        found = []
        for draw in sorted(self.draws_for(case), key=lambda one: one % PERIOD):
            share = self._share_left_out(case, draw)
            found.append(Drawn(offered=values.DISTRIBUTIONS[draw % PERIOD], used=self.errors[case, draw][0],
                               judged=1 - share))  # fmt: skip
        return tuple(found)

    def unjudged(self, case: str) -> list[str]:
        """The outputs of a case with elements that too few draws judge, in words. The draws have been made."""
        rare = fairness.rarely_judged([self.left_out[case, draw] for draw in self.draws_for(case)])
        return [f"output {output} of case {case}: {why}" for output, why in rare.items()]

    def _share_left_out(self, case: str, draw: int) -> float:
        """The largest share of an output that a draw does not judge."""
        if (case, draw) not in self.left_out:
            self._new(case, draw)
        return fairness.share_of(self.left_out[case, draw])

    def _most_left_out(self, case: str, draw: int) -> float:
        """The largest share of an output that a draw of `values.LENIENT` may leave out, after those before it."""
        draws = self.draws_for(case)
        before = [one for one in draws if one % PERIOD < draw % PERIOD
                  and values.DISTRIBUTIONS[one % PERIOD] in values.LENIENT]  # fmt: skip
        return fairness.MOST_LEFT_OUT * len(draws) - sum(self._share_left_out(case, one) for one in before)

    def _changes(self, case: str, distribution: str) -> bool:
        """Whether a distribution changes anything: a distribution of parameters needs float parameters, and VARIED
        needs what a file makes constant."""
        if distribution == values.VARIED:
            return not self.is_large(case) and self._varies(case)
        floats = [spec for spec in self.specs[case].parameters.values() if "float" in spec.dtype]
        return bool(floats) or distribution not in values.WEIGHTS

    def _varies(self, case: str) -> bool:
        """Whether inputs of a case have something that VARIED changes; looked at once, with the numbers for labels."""
        if case not in self.varies:
            instance = self.problem.instance(self.cases[case], seed=self.secret, device=self.device)
            self.labels[case] = varied.sentinels(instance) if self.is_affordable(case) else {}
            self.varies[case] = varied.vary(instance, 0) or bool(self.labels[case])
        return self.varies[case]

    def following(self, case: str) -> list[int]:
        """The draws that run after draw 0 on memory that is not cleared. A large case gets one: each is slow."""
        return [AGAIN] if self.is_large(case) else list(FOLLOWING)

    def answer(self, case: str, draw: int) -> Answer:
        """Inputs and expected outputs of one draw, from the cache or made now."""
        found = self.kept.find((case, draw))
        if found is None:
            found = self._new(case, draw)
            self.kept.add((case, draw), found)
        return found

    def chosen_alike(self, case: str, draw: int, made: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """What is right where forward chooses as these outputs do (`answer.chosen_alike`)."""
        return chosen_alike(self.answer(case, draw), made, lambda: self.kept.make_room(self._answer_bytes(case)))

    def _new(self, case: str, draw: int) -> Answer:
        """Make an answer. Its errors, units and floors are recorded, even if the answer is not cached."""
        self.kept.make_room(self._answer_bytes(case))
        made = None
        try:
            made = self._made(case, draw)
        except (ProblemError, torch.OutOfMemoryError) as error:
            if not is_out_of_memory(error):
                raise
        if made is None:  # after the `except` block: the error refers to the tensors that forward had made
            self.kept.clear()
            gc.collect()  # tensors in reference cycles
            self.kept.give_back()
            made = self._made(case, draw)
        self.errors[case, draw], self.units[case, draw] = (made.distribution, made.own), made.units
        self.left_out[case, draw] = made.unjudged
        if draw == 0:
            self.floors[case] = made.floors
        if self.device != "cpu":
            torch.cuda.empty_cache()  # float64 intermediates of a large case would starve the bench
        return made

    def _answer_bytes(self, case: str) -> int:
        """About how many bytes an answer takes: inputs, parameters, and float64 outputs with their sensitivities."""
        given = compulsory_bytes(replace(self.specs[case], outputs=()))
        return given + 8 * self.counts.produced(case) * (2 if self.is_affordable(case) else 1)

    def _made(self, case: str, draw: int) -> Answer:
        known = self.cases[case]
        sensitive = self.is_affordable(case)
        if sensitive and draw != 0 and case not in self.floors:
            self.answer(case, 0)
        seed, distribution = self.secret + draw, values.DISTRIBUTIONS[draw % PERIOD]
        if draw in FOLLOWING:
            seed, distribution = self.secret, FOLLOWING[draw]
        is_varied = distribution == values.VARIED and self._varies(case)
        most = self._most_left_out(case, draw) if distribution in values.LENIENT else fairness.MOST_LEFT_OUT
        try:
            if draw == 0 and (names := self.problem.random_operators(known)):
                refuse_random(self.problem.instance(known, seed=seed, device=self.device), names)
            made = answered(
                self.problem, known, seed=seed, device=self.device, distribution=distribution,
                sensitive=sensitive, floors=self.floors.get(case), gains=self._gains(case),
                known=None if sensitive else self.errors.get((case, draw)),
                labels=self.labels[case] if is_varied else None, most_left_out=most,
                has_float16=any(getattr(one, "dtype", "") == "float16" for one in self.specs[case].inputs),
            )  # fmt: skip
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, IndexError) as error:
            raise ProblemError(
                f"{self.problem.file}: case {case!r}: the outputs of forward in two precisions cannot be compared: "
                f"{type(error).__name__}: {error}",
                "return dense tensors whose sizes depend on the case only",
            ) from error
        return as_described(made, case, self.specs[case])

    def _gains(self, case: str) -> dict[str, float]:
        """The gains of the parameters in every draw of a case, so that its outputs depend on its inputs (`signal`)."""
        if case not in self.gains:
            known = self.cases[case]
            self.gains[case] = {}
            if signal.is_deep(self.problem.outline(known).module):
                one, other = (self.problem.instance(known, seed=self.secret + draw, device=self.device)
                              for draw in (0, PERIOD))  # fmt: skip
                self.gains[case] = signal.gains(one, other)
        return self.gains[case]

    # --- tolerance ------------------------------------------------------------------------------------------

    def limit(self, case: str, draw: int, output: int) -> tolerance.Allowed:
        """The tolerance of a draw, from the framework's errors and the output's scale on inputs of its distribution."""
        dtype = getattr(torch, self.specs[case].outputs[output].dtype)
        exact = tolerance.is_exact(self._own(case, 0, output))
        own = self._own(case, draw, output)
        if self.errors[case, draw][0] in values.TINY:  # `elementwise` judges it
            own.append(replace(self._own(case, 0, output)[0], max_abs=0.0, rms_abs=0.0))
        has_tf32 = self.problem.precision == "tf32" and self.device != "cpu" and dtype == torch.float32
        return tolerance.allowed(
            own, dtype, self.terms(case, output), exact, self._errors(case, 0)[output].scale,
            tolerance.ROUNDED_FACTORS if has_tf32 else None,
            tolerance.most_rms(dtype, self.errors[case, draw][0] == values.AS_GIVEN),
        )  # fmt: skip

    def measure(self, case: str, draw: int) -> float:
        """Measure what candidates are compared with on this draw, unless it is known: the framework's errors on it and
        on the draws that it is pooled with. Returns the seconds that this took."""
        if (case, draw) in self.measured:
            return 0.0
        start_s = time.monotonic()
        sensitive = self.answer(case, draw).sensitive
        for output, one in enumerate(sensitive):
            self.limit(case, draw, output)
            if one is not None:
                self.own_units(case, draw, output)
        self.measured.add((case, draw))
        return time.monotonic() - start_s

    def own_units(self, case: str, draw: int, output: int) -> float:
        """The framework's largest error in units of its element, on the same draws as `limit`."""
        return max(self.units[case, one][output] for one in self._pooled(case, draw, output))

    def _own(self, case: str, draw: int, output: int) -> list[tolerance.Errors]:
        """The framework's errors on all draws that set the tolerance of this one."""
        return [self.errors[case, one][1][output] for one in self._pooled(case, draw, output)]

    def _pooled(self, case: str, draw: int, output: int) -> list[int]:
        """This draw and another one of its distribution; for a draw made from draw 0, also those of draw 0. Their
        errors are known then."""
        self._errors(case, draw)
        if is_derived(draw):
            return [draw, *self._pooled(case, 0, output)]
        other, enough = (draw + PERIOD) % (2 * PERIOD), FEW_OUTPUTS if self.is_large(case) else MANY_OUTPUTS
        if not (self.is_affordable(case) or math.prod(self.specs[case].outputs[output].shape) < enough):
            return [draw]
        self._errors(case, other)
        return [draw, other] if self.errors[case, draw][0] == self.errors[case, other][0] else [draw]

    def _errors(self, case: str, draw: int) -> list[tolerance.Errors]:
        if (case, draw) not in self.errors:
            self._new(case, draw)
        return self.errors[case, draw][1]

    def terms(self, case: str, output: int) -> float:
        return self.counts.of(case, output, lambda one: self.answer(one, 0).instance)


def with_strided(draws: Draws) -> tuple[dict[str, Specs], dict[str, str]]:
    """The specs of every case, and of copies of the smallest small case with other layouts of the inputs; and a dict
    from the name of each copy to the name of its original. Only kernels for any layout get one without adjacent
    elements."""
    small = {name: case for name, case in draws.cases.items() if case.small}
    if not small:
        return draws.specs, {}
    name = min(small, key=lambda one: (small[one].held_out, draws.input_bytes(one)))  # a search sees no held-out case
    copies = {f"{name}/{STRIDED}": strided(draws.specs[name])}
    if draws.problem.layouts == "any":
        copies[f"{name}/{APART}"] = apart(draws.specs[name])
    return {**draws.specs, **copies}, dict.fromkeys(copies, name)
