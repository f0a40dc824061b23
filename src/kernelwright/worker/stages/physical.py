"""A time below the bound of a case: refused where the problem states that work, flagged where it was derived.

A derived bound counts what the reference does. A kernel that needs less (a zero that is known, a sum taken in another
order) is right, so it is verified once more and passes with a remark.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kernelwright.model import Bound, Case, CaseResult, Status
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify, verify_strided

PHYSICAL = 0.95
"""A time under this fraction of the bound is a fault of the measurement, of the bound, or a trick, not a record. The
bound is computed from measured peaks, which repeat within some percent."""


def impossible(least: Bound, median_us: float) -> str:
    """Why no kernel can be that fast by the work that the problem states; "" where it can, or where none is stated."""
    if median_us >= PHYSICAL * least.stated_us:
        return ""
    return f"{median_us:.4g} µs is less than the {least.stated_us:.4g} µs that no kernel can beat by the stated work"


def below_bound(least: Bound, median_us: float) -> str:
    """The remark on a time below the bound; "" where it is not below."""
    if median_us >= PHYSICAL * least.bound_us:
        return ""
    if impossible(least, median_us):
        return f"below the stated bound of {least.stated_us:.4g} µs: work() states too much, or the time is wrong"
    return f"below the derived bound of {least.bound_us:.4g} µs: state work()"


def verified_anew(subject: Subject, cases: Sequence[Case]) -> CaseResult | None:
    """Every case once more, on draws of a new judge; the first on which the candidate is not shown to be right."""
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
