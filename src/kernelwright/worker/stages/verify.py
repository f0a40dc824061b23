"""Verification of a candidate's values: the bench replays its plan on the judge's inputs, the judge compares outputs.

On a machine without a GPU small cases run on Triton's CPU interpreter. Cases that it cannot judge are "not verified
here", never "passed".
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar

import msgspec

from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import Case, CaseResult, Property, ShownBy, Status
from kernelwright.text.escape import legible
from kernelwright.worker.bench.messages import Order, Reserve, Run
from kernelwright.worker.judge.messages import AddPlan, Again, Check, Draws, Fill, Measure, Unjudged
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Plan, backward_twice, forward_alone, is_kept, views
from kernelwright.worker.plan.stores import uncovered
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.outcome import Ended, Lost
from kernelwright.worker.session import Session
from kernelwright.worker.stages.subject import Subject

T = TypeVar("T")

INTERPRET_BYTES = 64 << 20
"""Maximum size of a case's buffers for the CPU interpreter."""

OTHER_ORDERS: dict[int, Order] = {1: "reversed", 2: "shuffled"}
"""Which draws, counted from 0, the interpreter runs with programs in another order. A case has three or more."""

GARBAGE = (
    "memory that construction allocates holds garbage at the start of a call, zeros too: write it before it is read"
)

STALE = "on memory that an earlier call left behind"


def measure_ahead(session: Session) -> None:
    """Measure the tolerances of the small cases that a search judges, while there is no candidate yet. What fails here
    fails again, with its reason, where a candidate is judged; so does a case of a problem that was replaced."""
    processes, problem = session.processes, session.read_from()

    def ask(message: Message[T]) -> T:
        with processes.lease:
            if processes.problem is not problem:
                raise WorkerError("another problem was loaded")
            return processes.ask_judge(message)

    with suppress(ProblemError, WorkerError):
        for case in [info.case.name for info in session.loaded().cases if info.case.small and not info.case.held_out]:
            for draw in [*ask(Draws(case=case)), *ask(Again(case=case))]:
                session.measured_s += ask(Measure(case=case, draw=draw))


def verify(subject: Subject, case: Case) -> CaseResult:
    """Replay a plan on every draw of the case and let the judge compare. The result has the largest error over all
    draws, relative to its limit, for each of the two criteria (whole output, single elements).

    The draws are the same for every candidate. A candidate that exceeds `Limits.draws_s` is not verified, nor is its
    evaluation.
    """
    if case.name in subject.unplanned:
        return _unplanned(case, subject.unplanned[case.name])
    processes, plan = subject.processes, subject.plans[case.name]
    if why := uncovered(plan, subject.work):
        return CaseResult(case=case.name, status=Status.WRONG, reason=why)
    why = "" if processes.on_gpu else not_for_interpreter(case, plan, subject.untrue_on_interpreter(plan))
    if why and (doubts := subject.doubts(plan)):
        return unfinished(subject, case, doubts[0])
    if why:
        return CaseResult(case=case.name, status=Status.NOT_VERIFIED, reason=f"not verified here: {why}")
    results: list[CaseResult] = []
    with subject.leased("verify"):
        before_s = subject.replayed_s
        draws = processes.ask_judge(Draws(case=case.name))
        for count, draw in enumerate(draws):
            spent_s = subject.replayed_s - before_s
            if spent_s > processes.limits.draws_s:
                limit_s = processes.limits.draws_s
                return unfinished(
                    subject, case, f"only {count} of {len(draws)} draws in {spent_s:.0f} s (limit {limit_s:g} s)"
                )
            order = "forward" if processes.on_gpu else OTHER_ORDERS.get(count, "forward")
            for result in _replays(subject, case.name, plan, draw, order):
                if result.status is Status.WRONG and any(map(is_kept, plan.buffers)):
                    return msgspec.structs.replace(result, reason=f"{result.reason}; {GARBAGE}")
                if result.status is not Status.PASSED:
                    return result
                results.append(result)
        doubts = processes.ask_judge(Unjudged(case=case.name)) + undecided(subject, case.name, plan)
    if doubts:
        subject.unjudged += doubts
        return unfinished(subject, case, doubts[0])
    closest = max(results, key=lambda one: share(one.max_rel_error, one.allowed_rel_error))
    element = max(results, key=lambda one: share(one.element_error, one.allowed_element_error))
    return msgspec.structs.replace(
        closest,
        element_error=element.element_error, allowed_element_error=element.allowed_element_error,
    )  # fmt: skip


def undecided(subject: Subject, case: str, plan: Plan) -> list[str]:
    """What decided the result of draw 0 on the interpreter and does not on a GPU, in words."""
    shared, *undefined = subject.noted.get(case, [""])
    alike = (
        "programs of one launch, or lanes of one program, load and store the same memory without atomics or a barrier"
    )
    found = [f"{alike}: {shared}"] if shared else []

    def changes(lines: list[str]) -> bool:
        return replayed(subject, case, plan, 0, filled=tuple(lines)).status is not Status.PASSED

    if undefined and changes(undefined):
        line = next((one for one in undefined[:8] if changes([one])), undefined[0])
        found.append(f"the result depends on masked lanes of a load without other: {line}")
    return [legible(one[:480]) for one in found]


def _replays(subject: Subject, case: str, plan: Plan, draw: int, order: Order) -> Iterator[CaseResult]:
    """The results of a draw; of draw 0 also for the parts of a backward and for calls that follow. A program may never
    call the backward, or call it twice (`retain_graph=True`): it may not change tensors that the forward saved."""
    yield _replayed_in(subject, case, plan, draw, order)
    if draw != 0:
        return
    if (part := plan.forward) is not None:
        result = replayed(subject, case, forward_alone(plan, part), draw, first=part.outputs)
        yield _said_where(result, "before kernel_backward was called")
        yield _said_where(
            replayed(subject, case, backward_twice(plan, part), draw), "after a second call of kernel_backward"
        )
    yield _called_again(subject, case, plan)


def _said_where(result: CaseResult, where: str) -> CaseResult:
    """The result; a failure's reason begins with `where`."""
    if result.status is Status.PASSED:
        return result
    return msgspec.structs.replace(result, reason=f"{where}: {result.reason}")


def _replayed_in(subject: Subject, case: str, plan: Plan, draw: int, order: Order) -> CaseResult:
    """`replayed`, with programs in another order; a wrong result says so where it is right in the usual order."""
    result = replayed(subject, case, plan, draw, order=order)
    if result.status is not Status.WRONG or order == "forward":
        return result
    if (usual := replayed(subject, case, plan, draw)).status is not Status.PASSED:
        return usual
    return _said_where(result, f"with programs in another order ({order})")


def unfinished(subject: Subject, case: Case, reason: str) -> CaseResult:
    """The result of a case that was judged in part, so that the candidate is not verified."""
    found = CaseResult(case=case.name, status=Status.NOT_VERIFIED, reason=f"not verified: {reason}")
    subject.unfinished[case.name] = found
    return found


def _unplanned(case: Case, refusal: CaseResult) -> CaseResult:
    """The result of a case without a plan. The candidate must support sizes that the problem states. Its host code and
    kernels may refuse derived sizes; the refusal is then a property of the candidate."""
    if not case.derived or not refusal.serves:
        return msgspec.structs.replace(refusal, serves=())
    reason = f"the candidate refuses this size, which was derived: {refusal.reason}"
    return msgspec.structs.replace(refusal, status=Status.NOT_VERIFIED, reason=reason)


def _called_again(subject: Subject, case: str, plan: Plan) -> CaseResult:
    """Replay right after draw 0, with scratch and outputs as the last call left them; first a few inputs are changed,
    then more. Returns the first result that does not pass, otherwise the last.

    A kernel could find its earlier output, a flag that the work is done, or inputs that it recognises in that memory,
    and skip the work; in a timed loop its calls would then cost nothing.
    """
    for draw in subject.processes.ask_judge(Again(case=case)):
        result = replayed(subject, case, plan, draw, fresh=False)
        if result.status is Status.PASSED:
            continue
        if replayed(subject, case, plan, draw).status is not Status.PASSED:
            return result
        return _said_where(result, STALE)
    return result


def verify_strided(subject: Subject, case: Case) -> CaseResult:
    """Verify a copy of a case whose inputs are not dense, after the case itself.

    A candidate that declares dense inputs, refuses the copy in its host code, or is not right on it, serves dense
    inputs only: what it does on others is never used. If the problem demands any layout, it is wrong.
    """
    result = _strided(subject, case)
    if result.serves and subject.session.loaded().layouts == "any":
        reason = f"{WRONG_IF_PADDED}; {ANY_IS_STATED} ({result.serves[0].detail or result.reason})"
        return msgspec.structs.replace(result, status=Status.WRONG, reason=reason, serves=())
    return result


WRONG_IF_PADDED = "right for dense inputs and wrong for others"
ANY_IS_STATED = (
    'the problem states LAYOUTS = "any": pass the strides of what is read and of what is written, or call .contiguous()'
)


def _strided(subject: Subject, case: Case) -> CaseResult:
    def dense(shown_by: ShownBy, reason: str, detail: str = "") -> CaseResult:
        serves = (Property(name="dense", shown_by=shown_by, detail=detail),)
        return CaseResult(case=case.name, status=Status.NOT_VERIFIED, reason=reason, serves=serves)

    if subject.declares_dense:
        return dense("declared", "declared: dense inputs only")
    if (refusal := subject.unplanned.get(case.name)) is not None:
        if case.name.rpartition("/")[0] in subject.unplanned:
            return CaseResult(case=case.name, status=Status.NOT_VERIFIED, reason="the host code refuses this size")
        reason = f"the host code refuses inputs that are not contiguous: {refusal.reason}"
        return dense("refused", reason, refusal.reason)
    try:
        result = subject.processes.twice_if_lost(lambda: verify(subject, case))
    except Lost as lost:
        result = CaseResult(case=case.name, status=lost.status, reason=lost.reason)
    if result.status in (Status.PASSED, Status.NOT_VERIFIED):
        return result
    reason = f'{WRONG_IF_PADDED}, which SERVES = "dense" would declare: {result.reason}'
    return dense("wrong", reason, result.reason)


def share(error: float | None, allowed: float | None) -> float:
    """An error over the allowed error."""
    return (error or 0.0) / (allowed or 1.0)


def place(subject: Subject, case: str, draw: int, plan: Plan | None = None, fresh: bool = True) -> Check:
    """Have the judge write the inputs of a draw to the arena, where the bench replays; returns the request to check the
    outputs.

    plan: None for the plan of the case. fresh: whether all other memory is poisoned.
    """
    plan = plan or subject.plans[case]
    arena = subject.processes.ask_bench(Reserve(nbytes=Layout(plan.buffers).nbytes))
    name = subject.replayable(plan).name
    fill = Fill(case=case, draw=draw, plan=name, arena=arena, fresh=fresh)
    subject.measured_s += subject.processes.ask_judge(fill, plan=AddPlan(name=name, plan=plan))
    return Check(case=case, draw=draw, plan=name, arena=arena)


def replayed(
    subject: Subject, case: str, plan: Plan, draw: int, limit_s: float | None = None, fresh: bool = True,
    first: int | None = None, order: Order = "forward", filled: tuple[str, ...] = (),
) -> CaseResult:  # fmt: skip
    """Replay one call of `plan` and have the judge compare its outputs.

    limit_s: None for the limit of a replay. fresh: see `place`. first: how many outputs are compared; None for all.
    order, filled: of an interpreter, see `Run`.
    Raises Ended if the interpreter and the compiler disagree on an expression: a kernel could disagree on purpose in
    some cases, and be judged by the others.
    """
    limits = subject.processes.limits
    limit_s = limit_s or (limits.replay_s if subject.processes.on_gpu else limits.interpret_s)
    try:
        placed = place(subject, case, draw, plan, fresh)
        start_s = time.monotonic()
        sent = subject.replayable(plan)
        is_watched = plan is subject.plans[case] and case not in subject.noted
        run = Run(plan=sent.name, order=order, filled=filled, is_watched=is_watched)
        if noted := subject.processes.ask_bench(run, limit_s, plan=sent):
            subject.noted[case] = noted
        subject.replayed_s += time.monotonic() - start_s
    except Ended as ended:
        if ended.whole:
            raise
        return CaseResult(case=case, status=ended.status, reason=ended.reason)
    return subject.processes.ask_judge(msgspec.structs.replace(placed, first=first))


def not_for_interpreter(case: Case, plan: Plan, untrue: list[str]) -> str:
    """Why Triton's CPU interpreter cannot judge this case, "" if it can. untrue: operations that it computes
    differently from a GPU."""
    if not case.small:
        return "only small cases run on the CPU interpreter; a GPU is needed for this one"
    if sum(buffer.nbytes for buffer in plan.buffers) > INTERPRET_BYTES:
        return f"its buffers exceed {INTERPRET_BYTES >> 20} MiB"
    if "bfloat16" in {view.dtype for view in views(plan)}:
        return "the CPU interpreter computes bf16 wrongly"
    return f"the CPU interpreter is not true to a GPU here: {', '.join(untrue)}" if untrue else ""
