"""Check of a time against the roofline bound of a case: rejected below a stated bound, flagged below a derived one.

A derived bound counts the work of the reference. A right kernel may need less (a known zero, another order of a sum).
So a kernel below a derived bound is verified once more and passes with a remark.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kernelwright.model import Bound, Case, CaseResult, Status
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify, verify_strided

PHYSICAL = 0.95
"""A time under this fraction of the bound means a wrong measurement, a wrong bound, or a trick. The margin is there
because bounds come from measured peaks, which repeat within a few percent."""


def impossible(least: Bound, median_us: float) -> str:
    """Why a time is impossible for the work that the problem states; "" if it is possible, or no work is stated."""
    if median_us >= PHYSICAL * least.stated_us:
        return ""
    return (
        f"{median_us:.4g} µs is below the stated bound of {least.stated_us:.4g} µs: the kernel skips work, or the "
        "problem's work() states too much"
    )


def below_bound(least: Bound, median_us: float) -> str:
    """The remark on a time below the bound; "" if it is not below."""
    if median_us >= PHYSICAL * least.bound_us:
        return ""
    if impossible(least, median_us):
        return f"below the stated bound of {least.stated_us:.4g} µs: work() states too much, or the time is wrong"
    return f"below the derived bound of {least.bound_us:.4g} µs: state work()"


def verified_anew(subject: Subject, cases: Sequence[Case]) -> CaseResult | None:
    """Verify every case once more, on draws of a new judge; returns the first failure, None if all pass."""
    subject.prepare([case.name for case in cases])
    with subject.processes.lease:
        subject.processes.drop("judge")
    known = {info.case.name for info in subject.session.loaded().cases}
    for case in cases:
        result = verify(subject, case) if case.name in known else verify_strided(subject, case)
        refuses = result.status is Status.NOT_VERIFIED and (case.name not in known or bool(result.serves))
        if result.status is not Status.PASSED and not refuses:
            reason = f"faster than the derived bound, and when verified once more: {result.reason}"
            return msgspec.structs.replace(result, reason=reason)
    return None
