"""Diagnosis of an implementation on one case: the first rule that matches gives the bottleneck, the others
alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelwright.devices import WARP_THREADS
from kernelwright.diagnosis.figures import Seen
from kernelwright.diagnosis.table import RULES
from kernelwright.diagnosis.wording import percent
from kernelwright.model import (
    CaseInfo,
    Counter,
    Diagnosis,
    Evaluation,
    Finding,
    KernelResources,
    LaunchProfile,
    Limit,
    ProblemInfo,
    Profile,
    Timing,
)


def diagnose(
    info: CaseInfo, timing: Timing | None, profile: Profile | None, peaks: Mapping[str, float] | None = None
) -> Diagnosis:
    """The bottleneck of an implementation on a case. peaks: of the device, as in `Environment.peaks`.

    With less data it finds less: without counters the rules use the compiler's figures and the time, without those
    nothing.
    """
    seen = Seen(info=info, timing=timing, profile=profile, peaks=peaks or {})
    found = [finding for rule in RULES if (finding := rule(seen)) is not None]
    bottleneck, *alternatives = found or [unknown(seen)]
    return Diagnosis(
        implementation=profile.implementation if profile is not None else "",
        case=info.case.name,
        share=seen.share,
        kind=timing.kind if timing is not None else "measured" if seen.time_us else None,
        counters=profile.tool if profile is not None else None,
        bottleneck=bottleneck,
        alternatives=tuple(alternatives),
    )


def unknown(seen: Seen) -> Finding:
    """The finding where no rule matches: it states the share of the bound, and whether bytes or FLOP set the bound."""
    bound = seen.info.bound
    sets = f"{bound.bytes:,} compulsory bytes" if bound.bound_by == "bytes" else f"{bound.flop:,} FLOP"
    far = f"{percent(seen.share)} of the bound, which" if seen.share is not None else "The bound, which"
    known = f"It reaches {far} {sets} set" if seen.share is not None else f"{far} {sets} set, is all that is known"
    return Finding(limit=Limit.UNKNOWN, kernel=None, summary=f"No figure points to a limit. {known}.", evidence=())


def diagnoses(
    evaluation: Evaluation, profiles: Sequence[Profile], problem: ProblemInfo, peaks: Mapping[str, float]
) -> tuple[Diagnosis, ...]:
    """One diagnosis per timed case of the search, the furthest from its bound first. Held-out cases, which a
    confirmation times too, are left out. A case that was not profiled is judged by the compiler's figures."""
    cases = {info.case.name: info for info in problem.cases if info.case.timed}
    by_case = {profile.case: profile for profile in profiles}
    found = [
        diagnose(
            cases[result.case], result.timing, by_case.get(result.case) or of_resources(evaluation, result.case), peaks
        )
        for result in evaluation.results
        if result.timing is not None and result.case in cases
    ]
    return tuple(sorted(found, key=lambda one: one.share if one.share is not None else 1.0))


def furthest(evaluation: Evaluation, problem: ProblemInfo) -> str | None:
    """The timed case that is furthest from its bound; None where nothing was timed."""
    bounds = {info.case.name: info.bound.bound_us for info in problem.cases if info.case.timed}
    shares = {
        result.case: bounds[result.case] / result.timing.median_us
        for result in evaluation.results
        if result.timing is not None and result.timing.median_us > 0 and result.case in bounds
    }
    return min(shares, key=lambda case: shares[case], default=None)


def of_resources(evaluation: Evaluation, case: str) -> Profile | None:
    """An evaluation's compiled kernels as a profile without grids. It includes the kernels of all cases, since an
    evaluation does not say which kernel ran for which case."""
    if not evaluation.kernels:
        return None
    return Profile(
        implementation="", case=case, device=None, target=evaluation.kernels[0].target, tool=None,
        launches=tuple(of_kernel(kernel) for kernel in evaluation.kernels),
    )  # fmt: skip


def of_kernel(kernel: KernelResources) -> LaunchProfile:
    figures = {
        "registers": (kernel.registers, "registers/thread"),
        "spills": (kernel.spill_bytes, "bytes/thread"),
        "shared_memory": (kernel.shared_bytes, "bytes/block"),
        "occupancy_limit": (kernel.occupancy, "fraction"),
    }
    return LaunchProfile(
        kernel=kernel.kernel,
        block=(kernel.num_warps * WARP_THREADS, 1, 1),
        counters=tuple(
            Counter(name=name, value=value, unit=unit, tool="compiler") for name, (value, unit) in figures.items()
        ),
    )
