"""An evaluation as text: its status, its cases, what the compiler said, what confined it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernelwright.model import (
    LEFT_OUT,
    NEVER_EXERCISED,
    RAISES,
    CaseInfo,
    CaseResult,
    Clocks,
    Environment,
    Evaluation,
    KernelResources,
    LibraryMode,
    LibraryShare,
    Status,
)
from kernelwright.text.markdown import shortened
from kernelwright.text.table import Grid, grid_text, table
from kernelwright.text.units import bytes_text, label, number_text, share_text, time_text, unit_for

TRIED = {"torch": "2.15", "triton": "3.9"}
"""The newest that were tried, by `make newest` on a machine without a GPU. A newer version may work: `kernelwright
doctor` tries it."""

VERIFIED_ON = {
    "device": "verified on the device that it runs on",
    "interpreter": "verified on Triton's CPU interpreter, small cases only: plausible, not run on a GPU",
    None: "values never compared",
}


class SecondLook(NamedTuple):
    """What the evaluation after a search is called, and what a kernel is that passed it."""

    name: str
    passed: str


SECOND_LOOK = {
    "measured": SecondLook("confirmation", "confirmed"),
    "estimate": SecondLook("second verification", "verified again"),
    None: SecondLook("confirmation", "verified again"),
}
"""By the kind of its time: where nothing was measured it confirms no speed."""

MOST_UNSEEN = 3
"""Most large cases that are named with the distributions that were not seen on them."""


MOST_REASONS = 3
"""Most reasons of single cases in the short text."""


def evaluation_text(evaluation: Evaluation, cases: Sequence[CaseInfo] = ()) -> str:
    """Everything an evaluation holds; `cases` adds each case's bound."""
    parts = [headline(evaluation)]
    if evaluation.results:
        parts.append(results_table(evaluation.results, cases))
        parts.extend(_reasons(evaluation.results))
        parts.extend(derived_texts(evaluation.results, cases))
        parts.extend(unseen_texts(evaluation.results))
    if evaluation.kernels:
        parts.append(grid_text(kernels_grid(evaluation.kernels)))
    if evaluation.confinement:
        parts.append(settings_text("confinement", evaluation.confinement))
    if evaluation.stages_s:
        spent = {stage: f"{seconds:.2f} s" for stage, seconds in evaluation.stages_s.items()}
        parts.append(settings_text("time spent", spent))
    if evaluation.log:
        parts.append("what the candidate printed (the end of it):\n" + evaluation.log.rstrip())
    return "\n\n".join(parts)


def verdict_texts(evaluation: Evaluation, cases: Sequence[CaseInfo]) -> list[str]:
    """The verdict in a few lines: the headline, the cases by status with the reasons, and the largest error."""
    results = evaluation.results
    counts = Counter(result.status.value for result in results)
    lines = [headline(evaluation)]
    if results:
        lines.append("cases: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
    reasons = {text: names for text, names in _cases_by_reason(results).items() if text not in evaluation.reason}
    for reason, names in list(reasons.items())[:MOST_REASONS]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"  {names[0]}{more}: {reason}")
    if len(reasons) > MOST_REASONS:
        lines.append(f"  and {len(reasons) - MOST_REASONS} other reasons")
    shares = [
        (result.max_rel_error / result.allowed_rel_error, result)
        for result in results
        if result.max_rel_error is not None and result.allowed_rel_error
    ]
    if shares:
        share, worst = max(shares, key=lambda one: one[0])
        lines.append(f"largest error: {share:.2g} of what is allowed, on {worst.case}")
    return [*lines, *derived_texts(results, cases), *timing_texts(results)]


def where_text(environment: Environment) -> str:
    """Device, versions and sandbox of a verdict in one line."""
    device = environment.device or f"no GPU: compiled for {environment.target}, nothing was timed"
    parts = [device, f"torch {environment.torch}", f"Triton {environment.triton}", newer_text(environment)]
    sandbox = f"sandbox {environment.sandbox}" if environment.sandbox else ""
    return "; ".join(part for part in (*parts, sandbox) if part)


def derived_texts(results: Sequence[CaseResult], cases: Sequence[CaseInfo]) -> list[str]:
    """A line that names the derived cases on which values were compared; none where there are none."""
    derived = {info.case.name for info in cases if info.case.derived}
    judged = [one.case for one in results if one.case in derived and one.status in (Status.PASSED, Status.WRONG)]
    return [f"derived, not stated by the problem: {', '.join(judged)}"] if judged else []


def unseen_texts(results: Sequence[CaseResult]) -> list[str]:
    """For each case that is too large for all distributions, those that were not seen on it; one line for more than
    MOST_UNSEEN cases."""
    large = [result for result in results if result.unseen]
    if len(large) <= MOST_UNSEEN:
        return [f"not seen on {result.case} (too large): {', '.join(result.unseen)}" for result in large]
    counts = sorted({len(result.unseen) for result in large})
    judged = [result for result in results if result.status is Status.PASSED]
    on_none = [one for one in large[0].unseen if all(one in result.unseen for result in judged)]
    rest = f"seen on no case: {', '.join(on_none)}" if on_none else "each was seen on other cases"
    share = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return [
        f"{len(large)} of {len(results)} cases are too large for all distributions, {share} not seen on each; {rest}"
    ]


def verifications_table(evaluations: Sequence[tuple[str, Evaluation]]) -> str:
    """One row per candidate: its name, status, seconds, and the first line of the reason; and what no draw varied."""
    rows = [
        [name, found.status.value, f"{sum(found.stages_s.values()):.1f}", found.reason.partition("\n")[0]]
        for name, found in evaluations
    ]
    constant = dict.fromkeys(name for _, found in evaluations for name in found.constant)
    listed = table(["candidate", "status", "seconds", "reason"], rows, left=("status", "reason"))
    return "\n\n".join([listed, *constant_texts(tuple(constant))])


def headline(evaluation: Evaluation) -> str:
    """Status, reason, where it was verified, and the score with its kind."""
    status = f"{evaluation.status.value}: {evaluation.reason}" if evaluation.reason else evaluation.status.value
    lines = [status]
    if evaluation.status is Status.PASSED:
        lines.append(VERIFIED_ON[evaluation.verified_on])
    lines += serves_texts(evaluation) + library_texts(evaluation) + unjudged_texts(evaluation)
    if evaluation.unqualified:
        lines.append(unqualified_text(evaluation.unqualified))
    if evaluation.dead:
        lines.append(dead_text(evaluation.dead))
    lines += constant_texts(evaluation.constant)
    if evaluation.precision == "tf32":
        lines.append(TF32)
    if evaluation.score_us is not None:
        timed = sum(result.timing is not None for result in evaluation.results)
        over = f", geometric mean over {timed} timed cases" if timed > 1 else ""
        lines.append(f"{time_text(evaluation.score_us, evaluation.timing_kind)}{over}")
    return "\n".join(lines)


def library_texts(evaluation: Evaluation) -> list[str]:
    """What the problem allowed of the framework's operators, and those that a call takes; none in mode "none"."""
    if evaluation.library == "none":
        return []
    cases = [result for result in evaluation.results if result.library]
    longest = max(cases, key=lambda result: result.timing.median_us if result.timing is not None else 0.0, default=None)
    used = "no library step" if longest is None else shares_text(longest.library)
    at = f" (case {longest.case})" if longest is not None and longest.timing is not None else ""
    return [f"library: {used}{at}; LIBRARY = {evaluation.library!r}"]


def library_text(evaluation: Evaluation) -> str:
    """The mode that a kernel was judged in, also where it allows nothing; for what is read away from other figures."""
    return "".join(library_texts(evaluation)) or "library: no library step was allowed; LIBRARY = 'none'"


def mode_text(mode: LibraryMode) -> str:
    """The mark of figures of candidates that may hold library steps; "" where they may not."""
    if mode == "none":
        return ""
    return f"library steps are allowed: LIBRARY = {mode!r}; not to be ranked with figures of other modes"


def shares_text(shares: Sequence[LibraryShare]) -> str:
    """ "aten.mm, 71 % of the time"; without the share where nothing was timed."""
    return "; ".join(
        f"{one.operator}{f' x{one.calls}' if one.calls > 1 else ''}"
        f"{f', {share_text(one.share)} of the time' if one.share is not None else ''}"
        for one in shares
    )


def serves_texts(evaluation: Evaluation) -> list[str]:
    """Lines that say which inputs a candidate serves; none where nothing is known to keep it from serving all."""
    sizes = [one for one in evaluation.serves if one.name == "sized"]
    lines = []
    for found in [one for one in evaluation.serves if one.name == "dense"][:1]:
        how = {
            "declared": "the candidate declares it",
            "refused": f"its host code refuses others: {shortened(found.detail, 200)}",
            "wrong": f'it is wrong for others, which SERVES = "dense" would declare: {shortened(found.detail, 200)}',
        }
        lines.append(f"serves: dense inputs only ({how[found.shown_by]})")
    for one in sorted(sizes, key=lambda one: one.shown_by)[-1:]:
        verb = "is wrong at" if one.shown_by == "wrong" else "refuses"
        lines.append(f"serves: not every size (it {verb} some: {shortened(one.detail, 200)})")
    return lines


MOST_UNJUDGED = 6
"""What is listed of them; more are counted."""


def unjudged_texts(evaluation: Evaluation) -> list[str]:
    """A line for what was not judged of branches, configs and offsets, and one each for what no judged case exercised,
    where it raises, and what breaks a rule and was left out."""
    judged = "not judged (other branches and configs are left out of files and exports): "
    begins: dict[str, list[str]] = {judged: [], NEVER_EXERCISED: [], RAISES: [], LEFT_OUT: []}
    for one in evaluation.unjudged:
        begin = next((begin for begin in begins if one.startswith(begin)), judged)
        begins[begin].append(one.removeprefix(begin))
    return [begin + _listed(texts) for begin, texts in begins.items() if texts]


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - MOST_UNJUDGED} more"] if len(texts) > MOST_UNJUDGED else []
    return "; ".join([*(shortened(text, 120) for text in texts[:MOST_UNJUDGED]), *more])


def unqualified_text(reason: str) -> str:
    """The mark of a result on a problem that does not qualify."""
    return (
        f"NOT QUALIFIED: this proves little, the problem cannot distinguish a kernel from a trivial answer ({reason})"
    )


def dead_text(dead: Sequence[str]) -> str:
    """Which tensors no kernel needs."""
    return f"no output depends on {', '.join(dead)}: a kernel may leave that out"


def constant_texts(constant: Sequence[str]) -> list[str]:
    """A line that names the inputs, parameters and buffers that no draw varied; none where there are none."""
    return [f"the same in every draw, so a kernel may have it built in: {', '.join(constant)}"] if constant else []


TF32 = 'float32 products: judged by PyTorch with TF32, as the problem states (PRECISION = "tf32")'
IEEE = 'float32 products: judged by PyTorch without TF32 (PRECISION = "tf32" in the problem allows it)'


def results_table(results: Sequence[CaseResult], cases: Sequence[CaseInfo] = ()) -> str:
    """One row per case; time and bound columns only where something was timed."""
    header = ["case", "status", "max abs error", "max rel error", "allowed"]
    rows = [
        [result.case, result.status.value]
        + [_error(error) for error in (result.max_abs_error, result.max_rel_error, result.allowed_rel_error)]
        for result in results
    ]
    timings = [result.timing for result in results]
    known = [timing for timing in timings if timing is not None]
    if known:
        bounds_us = {info.case.name: info.bound.bound_us for info in cases}
        unit = unit_for(timing.median_us for timing in known)
        header += [f"time ({label(unit, known[0].kind)})", f"bound ({unit.name})", "share of bound"]
        for row, timing in zip(rows, timings, strict=True):
            bound_us = bounds_us.get(row[0])
            median_us = timing.median_us if timing is not None else None
            is_measured = timing is not None and timing.kind == "measured"
            share = bound_us / median_us if is_measured and bound_us is not None and median_us else None
            row += [
                number_text(median_us, unit),
                number_text(bound_us if median_us is not None else None, unit),
                share_text(share),
            ]
    return table(header, rows, left=("status",))


KERNELS_HEADER = ("kernel", "target", "registers", "spills", "shared", "warps", "stages", "occupancy", "limited by")


def kernels_grid(kernels: Sequence[KernelResources]) -> Grid:
    """What the compiler says of each kernel; those that differ in nothing shown (dtypes of one kernel) share a row."""
    rows = [
        [
            kernel.kernel,
            kernel.target,
            str(kernel.registers),
            bytes_text(kernel.spill_bytes),
            bytes_text(kernel.shared_bytes),
            str(kernel.num_warps),
            str(kernel.num_stages),
            share_text(kernel.occupancy),
            kernel.limited_by,
        ]
        for kernel in kernels
    ]
    variants = Counter(tuple(row) for row in rows)
    shown = tuple((f"{row[0]} x{count}" if count > 1 else row[0], *row[1:]) for row, count in variants.items())
    return Grid(KERNELS_HEADER, shown, frozenset({"target", "limited by"}))


def settings_text(title: str, settings: Mapping[str, object]) -> str:
    """`title` and one indented line per setting."""
    width = max((len(name) for name in settings), default=0)
    return "\n".join([f"{title}:", *(f"  {name.ljust(width)}  {value}" for name, value in settings.items())])


def environment_settings(environment: Environment) -> dict[str, str]:
    """What a reader needs to know to trust or repeat a number."""
    settings = {
        "device": environment.device or f"none (compiled for {environment.target}; nothing was timed)",
        "target": environment.target,
        "python": environment.python,
        "torch": environment.torch,
        "triton": environment.triton,
        "versions": newer_text(environment),
        "driver": environment.driver,
        "kernelwright": environment.kernelwright,
        "date": environment.date,
        "peaks": environment.peaks_source,
        "sandbox": environment.sandbox,
    }
    return {name: value for name, value in settings.items() if value}


def _reasons(results: Sequence[CaseResult]) -> list[str]:
    lines = [f"  {', '.join(names)}: {reason}" for reason, names in _cases_by_reason(results).items()]
    remarks = timing_texts(results)
    return [*(["\n".join(["why:", *lines])] if lines else []), *(["\n".join(remarks)] if remarks else [])]


def _cases_by_reason(results: Sequence[CaseResult]) -> dict[str, list[str]]:
    cases: dict[str, list[str]] = {}
    for result in results:
        if result.reason:
            cases.setdefault(result.reason, []).append(result.case)
    return cases


def timing_texts(results: Sequence[CaseResult]) -> list[str]:
    """A line for each case whose time lies below its derived bound, and for each whose clock was slowed down while it
    was timed."""
    below = [f"{result.case}: {result.below_bound}" for result in results if result.below_bound]
    timings = [(result.case, result.timing) for result in results if result.timing is not None]
    return below + [f"{case}: {text}" for case, timing in timings if (text := slowdown_text(timing.clocks))]


def slowdown_text(clocks: Clocks | None) -> str:
    """What lowered the clock while something was timed; "" where nothing did."""
    if clocks is None or not clocks.slowdowns:
        return ""
    read = [(clocks.sm_mhz, "SM clock {} MHz"), (clocks.power_w, "{:.0f} W"), (clocks.temperature_c, "{} °C")]
    figures = ", ".join(form.format(value) for value, form in read if value is not None)
    return f"throttled while it was timed: {', '.join(clocks.slowdowns)}" + (f" ({figures})" if figures else "")


def _error(error: float | None) -> str:
    return "-" if error is None else f"{error:.3g}"


def newer_text(environment: Environment) -> str:
    """Which of torch and Triton is newer than TRIED; "" where neither is."""
    have = {"torch": environment.torch, "triton": environment.triton}
    return "; ".join(f"{name} {have[name]} is newer than {last}, the newest that was tried"
                     for name, last in TRIED.items() if _number(have[name]) > _number(last))  # fmt: skip


def _number(version: str) -> tuple[int, ...]:
    """Major and minor number; empty for a text that does not begin with them."""
    parts = version.split(".")[:2]
    return tuple(int(one) for one in parts) if all(one.isdecimal() for one in parts) else ()
