"""Constructors of findings and evidence for the diagnosis rules."""

from __future__ import annotations

from kernelwright.diagnosis.figures import Seen
from kernelwright.diagnosis.moves import moves_against
from kernelwright.model import Evidence, Finding, Limit


def finding(
    seen: Seen,
    limit: Limit,
    summary: str,
    *evidence: Evidence,
    at_stake_us: float | None = None,
    first: tuple[str, ...] = (),
) -> Finding:
    """A finding about the main launch. first: moves that the evidence favours."""
    main = seen.main
    names = tuple(move.name for move in moves_against(limit))
    assert set(first) <= set(names), (limit, first)
    return Finding(
        limit=limit,
        kernel=main.kernel if main is not None else None,
        summary=summary,
        evidence=evidence,
        moves=(*first, *(name for name in names if name not in first)),
        at_stake_us=at_stake_us,
    )


def above(metric: str, value: float, unit: str, threshold: float, implies: str, tool: str) -> Evidence:
    return Evidence(metric=metric, value=value, unit=unit, relation="above", threshold=threshold, implies=implies,
                    tool=tool)  # fmt: skip


def below(metric: str, value: float, unit: str, threshold: float, implies: str, tool: str) -> Evidence:
    return Evidence(metric=metric, value=value, unit=unit, relation="below", threshold=threshold, implies=implies,
                    tool=tool)  # fmt: skip


def to_bound_us(seen: Seen) -> float | None:
    """The difference between the time and the bound."""
    return seen.time_us - seen.info.bound.bound_us if seen.time_us is not None else None


def percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"
