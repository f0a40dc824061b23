"""What a machine can do, and whether its results count: as text for people and as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelwright.codec import plain
from kernelwright.model import Environment, Machine
from kernelwright.report.evaluation import environment_settings, settings_text


@dataclass(frozen=True)
class Canary:
    """A candidate whose verdict is known, and the verdict that it got. detail: the worker's reason or figures."""

    what: str
    expected: str
    got: str
    detail: str

    @property
    def good(self) -> bool:
        return self.got == self.expected


@dataclass(frozen=True)
class Examination:
    """What this machine can do. providers: whether each environment variable of a model provider is set.
    caches: where each is and how large, or why there is none."""

    environment: Environment
    machine: Machine
    providers: dict[str, bool]
    caches: dict[str, str]
    canaries: tuple[Canary, ...]

    @property
    def failed(self) -> tuple[Canary, ...]:
        """Canaries that got another verdict than the known one."""
        return tuple(canary for canary in self.canaries if not canary.good)


def examination_text(found: Examination) -> str:
    """Everything that was tried, and the conclusion."""
    machine = found.machine
    sections = (
        ("environment", environment_settings(found.environment)),
        ("machine", {"GPU": machine.gpu, "NVML": machine.nvml, "profiler": machine.profiler}),
        ("confinement of candidates: measures", machine.measures),
        ("confinement of candidates: what an intruder tried", attempts_by_outcome(machine)),
        ("model providers", {name: "set" if is_set else "not set" for name, is_set in found.providers.items()}),
        ("caches", found.caches),
        ("canaries", canary_texts(found.canaries)),
    )
    timed_too = found.environment.device is not None
    texts = [settings_text(title, lines) for title, lines in sections]
    return "\n\n".join([*texts, conclusion(machine, found.failed, timed_too, found.environment.refusal)])


def examination_document(found: Examination) -> dict[str, Any]:
    """What `doctor --json` prints of one worker."""
    return {
        "environment": found.environment, "machine": plain(found.machine), "providers": found.providers,
        "caches": found.caches,
        "canaries": [asdict(canary) | {"good": canary.good} for canary in found.canaries],
    }  # fmt: skip


def attempts_by_outcome(machine: Machine) -> dict[str, str]:
    """One line for each attempt to escape, with what stopped it; lines that are the same for all roles are joined."""
    texts: dict[str, str] = {}
    for what in dict.fromkeys(attempt.what for attempt in machine.attempts):
        how = {a.role: f"refused: {a.how}" if a.refused else f"POSSIBLE: {a.how}"
               for a in machine.attempts if a.what == what}  # fmt: skip
        alike = len(set(how.values())) == 1
        texts |= {what: next(iter(how.values()))} if alike else {f"{role}: {what}": text for role, text in how.items()}
    return texts


def canary_texts(canaries: Sequence[Canary]) -> dict[str, str]:
    texts = {}
    for canary in canaries:
        wanted = "as it must be" if canary.good else f"MUST BE {canary.expected}"
        texts[canary.what] = f"{canary.got}, {wanted}" + (f" ({canary.detail})" if canary.detail else "")
    return texts


def conclusion(machine: Machine, failed: Sequence[Canary], timed_too: bool, refusal: str) -> str:
    """The conclusion in a few lines: whether results of this machine count, and what candidates could reach."""
    lines = [f"{len(failed)} of the canaries failed: do not trust results from this machine."]
    if refusal:
        lines = [f"No canary was judged: {refusal}."]
    elif not failed:
        lines = ["Every canary got its known verdict." + ("" if timed_too else " Nothing was timed: no GPU.")]
    open_ways = [f"{attempt.what} ({attempt.role})" for attempt in machine.attempts if not attempt.refused]
    if open_ways:
        lines.append(f"Code of candidates could here: {'; '.join(open_ways)}. See docs/confinement.md.")
    else:
        lines.append("Sandbox: no escape attempt succeeded.")
    return "\n".join(lines)
