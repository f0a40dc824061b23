"""Other plans that the same text has, each judged on one small case: with other configs of its autotuned kernels, as
Triton's tuner may pick any, and in other surroundings, which host code may read (gradients, inference mode, addresses).

Only `verify` needs the configs: files and exports keep only the judged config.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from kernelwright.model import RAISES, CaseResult, Status
from kernelwright.source import kernel_configs
from kernelwright.source.branches import NOT_JUDGED
from kernelwright.source.names import AUTOTUNE
from kernelwright.worker.plan.plan import Launch, Plan
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.record.messages import Surroundings
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify

MOST = 64
"""Most configs that are judged. Each takes a recording, and on the interpreter some seconds of replays."""

FAILED = (Status.WRONG, Status.RUNTIME_ERROR, Status.CRASHED)
"""Statuses of another plan that make the candidate fail. Triton's tuner passes over a config that does not fit, and a
slow one proves nothing."""

OTHERS: dict[Surroundings, tuple[str, str]] = {
    "training": ("where gradients are recorded", "call it under torch.no_grad()"),
    "inference": ("in inference mode, or with memory that is not aligned",
                  "call it outside of torch.inference_mode(), on tensors that are no parts of others"),
}  # fmt: skip
"""Where a file may do something else, and what a user can do where it raises."""


def judge_configs(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """The first failure of another config on the largest small case that passed. Configs that were not judged are added
    to `subject.unjudged`."""
    case = largest_small(subject, results)
    stated, chosen = subject.autotune_stated, subject.autotune_stated | subject.autotune_moved
    judged = [_computed(subject, subject.plans[case])] if case else []

    def prepared(kernel: str, index: int) -> Subject:
        other = subject.beside()
        other.autotune_stated = {**chosen, kernel: index}
        return other.record_and_compile([case])

    others = [(kernel, index) for kernel, count in subject.autotune.items() for index in range(count)]
    for number, (kernel, index) in enumerate(one for one in others if chosen.get(one[0], 0) != one[1]):
        if kernel in stated or not case or number >= MOST:
            why = "not chosen" if kernel in stated else f"only {MOST} are judged" if case else "no small case passed"
        else:
            found = _result(partial(prepared, kernel, index), case, judged)
            if found.status in FAILED and NOT_JUDGED not in found.reason:
                return msgspec.structs.replace(found, reason=f"with {_named(subject, kernel, index)}: {found.reason}")
            why = "" if found.status is Status.PASSED else f"{found.status.value}: {found.reason}"
        subject.unjudged += [f"{_named(subject, kernel, index)}: {why}"] * bool(why)
    return None


def judge_surroundings(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """The first failure in other surroundings on the largest small case that passed. What raises there, or cannot be
    judged, is added to `subject.unjudged`."""
    case = largest_small(subject, results)
    if not case:
        return None
    judged = [_computed(subject, subject.plans[case])]
    for surroundings, other in subject.recorded_in(tuple(OTHERS), case).items():
        (where, cure), is_planned = OTHERS[surroundings], case in other.plans
        is_usual = subject.session.loaded().gradients and surroundings == "training"
        found = _result(other.compile_plans, case, judged)
        if (is_planned or is_usual) and found.status in FAILED:
            return msgspec.structs.replace(found, reason=f"{where}: {found.reason}")
        if found.status is Status.PASSED:
            subject.taken[case] |= other.taken[case]
        elif found.status is Status.RUNTIME_ERROR and NOT_JUDGED not in found.reason:
            subject.unjudged.append(f"{RAISES}{where}: {cure} ({found.reason})")
        else:
            subject.unjudged.append(f"{where} it does something else: {found.status.value}: {found.reason}")
    return None


def largest_small(subject: Subject, results: list[CaseResult]) -> str:
    """The largest small case that passed, "" if none did."""
    sizes = {one.case.name: one.bytes for one in subject.session.loaded().cases if one.case.small}
    passed = [one.case for one in results if one.status is Status.PASSED and one.case in sizes]
    return max(passed, key=lambda name: sizes[name], default="")


def _result(compiled: Callable[[], Subject], case: str, judged: list[Plan]) -> CaseResult:
    """The result of a case with another plan. judged: what passed so far, which is not replayed again."""
    try:
        other = compiled()
        plan = _computed(other, other.plans[case]) if case in other.plans else None
        if plan in judged:
            return CaseResult(case=case, status=Status.PASSED)
        with other.undisturbed():
            result = verify(other, other.info(case).case)
    except Ended as ended:
        return CaseResult(case=case, status=ended.status, reason=ended.reason)
    if plan is not None and result.status is Status.PASSED:
        judged.append(plan)
    return result


def _computed(subject: Subject, plan: Plan) -> Plan:
    """What a replay computes: on the interpreter, launch options change nothing."""
    if subject.processes.on_gpu:
        return plan
    steps = tuple(msgspec.structs.replace(step, options={}) if isinstance(step, Launch) else step
                  for step in plan.steps)  # fmt: skip
    return msgspec.structs.replace(plan, steps=steps)


def _named(subject: Subject, kernel: str, index: int) -> str:
    """The key that chooses a config, and its values where the text states them."""
    found = kernel_configs(subject.source, {kernel: index}).get(kernel)
    values = {} if found is None else {**found.kwargs, "num_warps": found.num_warps, "num_stages": found.num_stages}
    listed = ", ".join(f"{name}={value}" for name, value in values.items())
    return f"{AUTOTUNE}{kernel}={index}" + (f" ({listed})" if listed else "")
