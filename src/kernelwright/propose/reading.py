"""What limits a kernel first, read off its times, the bound and the compiler's figures. Pure.

Not a profile: no counter is read. The one rule: one limit with its evidence, the first of an order of precedence,
because a model given a list of worries fixes none of them.
"""

from __future__ import annotations

from kernelwright.model import Bound, Evaluation, KernelResources, ProblemInfo, Timing

CLOSE = 0.9
"""Share of the bound from which on little can be gained: copy bandwidth itself is measured to about a tenth."""
LOW_OCCUPANCY = 0.25
"""Below it a memory-bound kernel has too few loads under way to hide latency (Volkov, "Better Performance at Lower
Occupancy", GTC 2010, shows how far fewer, busier threads can go: so a hint, not a law)."""
LAUNCH_BOUND_US = 4.0
"""Twice what starting a kernel costs on the device (`roofline.LAUNCH_US`): below it little of the time is work."""


def first_limit(evaluation: Evaluation | None, problem: ProblemInfo) -> str:
    """One sentence or two: what holds the kernel back, and the figures that say so."""
    if evaluation is None:
        return "Nothing is known: it was not evaluated."
    spilling = max(evaluation.kernels, key=lambda kernel: kernel.spill_bytes, default=None)
    if spilling is not None and spilling.spill_bytes > 0:
        return (
            f"Registers. `{spilling.kernel}` spills {spilling.spill_bytes} bytes per thread to memory with "
            f"{spilling.registers} registers and {spilling.num_warps} warps: smaller tiles, shorter-lived values or "
            "more warps would keep them."
        )
    worst = worst_case(evaluation, problem)
    if worst is None:
        return "Nothing is known: it was not timed."
    case, timing, bound = worst
    share = bound.bound_us / timing.median_us
    estimate = " (an estimate)" if timing.kind == "estimate" else ""
    evidence = f"Case {case} takes {timing.median_us:.4g} µs{estimate} against a bound of {bound.bound_us:.4g} µs"
    if share >= CLOSE:
        return f"The bound itself. {evidence}: {100 * share:.0f} % of it. Only less work could make it much faster."
    if timing.median_us < LAUNCH_BOUND_US:
        return f"Launching. {evidence}, so most of it is the start and the end of kernels: fewer and simpler launches."
    idle = min(evaluation.kernels, key=lambda kernel: kernel.occupancy, default=None)
    if idle is not None and idle.occupancy < LOW_OCCUPANCY and bound.bound_by == "bytes":
        return f"Too few threads at once. {evidence}, set by {limit_of(bound)}, and {occupancy(idle)}."
    if bound.bound_by == "flop":
        return (
            f"Arithmetic. {evidence}, set by {limit_of(bound)}: {100 * share:.0f} % of it. See that the work goes "
            "through `tl.dot`, that tiles are large, and that no arithmetic is spent on zeros or addresses."
        )
    return (
        f"Memory traffic. {evidence}, set by {limit_of(bound)}: {100 * share:.0f} % of it. Either more bytes move than "
        "these (inputs read twice, uncoalesced or masked loads, scratch), or too few loads are under way."
    )


def worst_case(evaluation: Evaluation, problem: ProblemInfo) -> tuple[str, Timing, Bound] | None:
    """The timed case that is furthest from its bound."""
    bounds = {case.case.name: case.bound for case in problem.cases if case.case.timed}
    timed = [
        (result.case, result.timing, bounds[result.case])
        for result in evaluation.results
        if result.timing is not None and result.timing.median_us > 0 and result.case in bounds
    ]
    return min(timed, key=lambda one: one[2].bound_us / one[1].median_us, default=None)


def limit_of(bound: Bound) -> str:
    return f"{bound.bytes:,} compulsory bytes" if bound.bound_by == "bytes" else f"{bound.flop:,} FLOP"


def occupancy(kernel: KernelResources) -> str:
    return (
        f"`{kernel.kernel}` fills only {100 * kernel.occupancy:.0f} % of the warp slots, limited by "
        f"{kernel.limited_by} ({kernel.registers} registers, {kernel.shared_bytes} bytes of shared memory, "
        f"{kernel.num_warps} warps)"
    )
