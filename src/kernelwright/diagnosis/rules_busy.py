"""Rules about units of the device: which unit is busy, or why none is. Pure."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.diagnosis.figures import RESOURCES, Seen
from kernelwright.diagnosis.wording import above, below, finding, percent, to_bound_us
from kernelwright.model import Evidence, Finding, Limit

BUSY = 0.6
"""Utilisation from which a unit is the limiter. NVIDIA's Kernel Profiling Guide calls a unit above 60 % of its peak a
limiter, and utilisation below that a latency problem."""

LOW_OCCUPANCY = 0.3
"""Occupancy limit below which too few loads are in flight. A third of the warp slots hides the latency of DRAM with two
16-byte loads in flight per thread (Little's law with `roofline.LATENCY_S`). Tensor-core kernels need less and are
exempt."""

FED = 0.3
"""Tensor cores that are busy for this fraction of the time have enough work, even with few warps."""

WAITING = 0.3
"""Fraction of all stalls that one reason must have."""

NARROW_BYTES = 8.0
"""Loads below this width are narrow. It is half of what a thread can load with one instruction, so narrow loads need
more than twice the requests."""

SHARED = 0.5
"""Fraction of L1's work that is shared memory. Above a half, the rest alone could not make L1 the busiest unit."""

CONFLICTS = 0.25
"""Fraction of the shared-memory accesses that wait for a bank conflict."""

WIDENED = (Limit.CACHE, Limit.INSTRUCTIONS)
"""The limits that wider loads reduce, through fewer requests or fewer instructions."""

WIDER = ("wider loads", "several outputs a program")
"""The moves against many small loads."""

Rule = Callable[[Seen], Finding | None]


def busy_part(name: str, limit: Limit, summary: str) -> Rule:
    """A rule that matches where this unit is the busiest and above BUSY."""

    def rule(seen: Seen) -> Finding | None:
        value = busiest(seen, name)
        if value < BUSY:
            return None
        evidence = above(name, value, "fraction", BUSY, f"{RESOURCES[name]} is the busiest part", seen.tool(name))
        narrow = narrow_loads(seen) if limit in WIDENED else []
        return finding(
            seen, limit, summary + reached(seen), evidence, *narrow, *pipes(seen, limit),
            at_stake_us=to_bound_us(seen), first=WIDER if narrow else (),
        )  # fmt: skip

    return rule


def busiest(seen: Seen, name: str) -> float:
    """The utilisation of this unit; 0 where another one is busier, or where it was not measured."""
    first, value = next(iter(seen.busy.items()), ("", 0.0))
    return value if first == name else 0.0


def reached(seen: Seen) -> str:
    return f" The call reaches {percent(seen.share)} of the bound." if seen.share is not None else ""


def narrow_loads(seen: Seen) -> list[Evidence]:
    width = seen.value("code_global_load_width")
    if width is None or width >= NARROW_BYTES:
        return []
    implies, tool = "many small loads where few wide ones would do", seen.tool("code_global_load_width")
    return [below("width of global loads", width, "bytes/instruction", NARROW_BYTES, implies, tool)]


def pipes(seen: Seen, limit: Limit) -> list[Evidence]:
    """Evidence of the busy execution units, for the limit INSTRUCTIONS."""
    counters = seen.main.counters if limit is Limit.INSTRUCTIONS and seen.main is not None else ()
    busy = sorted((c for c in counters if c.name.startswith("pipe_") and c.value >= BUSY), key=lambda c: -c.value)
    return [
        above(c.name, c.value, "fraction", BUSY, f"the {c.name.removeprefix('pipe_')} unit is busy", c.tool)
        for c in busy
    ]


def exchanging(seen: Seen) -> Finding | None:
    """L1 is the busiest unit, mainly because of shared memory."""
    value, part = busiest(seen, "l1_throughput"), seen.exchanged
    if value < BUSY or part is None or part < SHARED:
        return None
    evidence = [
        above("l1_throughput", value, "fraction", BUSY, "the L1 cache is the busiest part", seen.tool("l1_throughput")),
        above("shared memory's part of it", part, "fraction", SHARED, "threads exchange values through it",
              seen.tool("shared_wavefronts")),
    ]  # fmt: skip
    conflicts, wavefronts = seen.value("shared_conflicts"), seen.value("shared_wavefronts")
    if conflicts and wavefronts and conflicts / wavefronts >= CONFLICTS:
        evidence.append(above("bank conflicts", conflicts / wavefronts, "fraction", CONFLICTS,
                              "many of these accesses wait for each other", seen.tool("shared_conflicts")))  # fmt: skip
    summary = "Threads exchange values through shared memory most of the time: reductions or changes of layout."
    return finding(seen, Limit.SHARED, summary + reached(seen), *evidence, at_stake_us=to_bound_us(seen))


def crowded_out(seen: Seen) -> Finding | None:
    limit = seen.value("occupancy_limit")
    if limit is None or limit >= LOW_OCCUPANCY or max(seen.busy.values(), default=0) >= BUSY:
        return None
    if seen.uses_tensor_cores and (seen.value("tensor_pipe") or BUSY) >= FED:
        return None
    by = seen.occupancy_limited_by
    why = f", limited by {by}" if by else ""
    return finding(
        seen, Limit.OCCUPANCY, f"At most {percent(limit)} of the warp slots can be filled{why}.",
        below("occupancy limit", limit, "fraction", LOW_OCCUPANCY, "too few loads are under way to hide latency",
              seen.tool("occupancy_limit")),
        at_stake_us=to_bound_us(seen),
    )  # fmt: skip


def synchronising(seen: Seen) -> Finding | None:
    part = sum(seen.stalls.get(name, 0.0) for name in ("stall_barrier", "stall_membar"))
    if part < WAITING:
        return None
    return finding(
        seen, Limit.SYNCHRONISATION, f"{percent(part)} of all waiting is at barriers.",
        above("waiting at barriers", part, "fraction", WAITING, "warps wait for each other",
              seen.tool("stall_barrier")),
    )  # fmt: skip


def starved(seen: Seen) -> Finding | None:
    """Tensor cores are used and bound by FLOP, but not busy."""
    pipe = seen.value("tensor_pipe")
    if pipe is None or pipe >= BUSY or not seen.uses_tensor_cores or seen.info.bound.bound_by != "flop":
        return None
    return finding(
        seen, Limit.TENSOR, "The tensor cores wait for operands.",
        below("tensor_pipe", pipe, "fraction", BUSY, "the work is arithmetic and the tensor cores are often idle",
              seen.tool("tensor_pipe")),
        at_stake_us=to_bound_us(seen),
    )  # fmt: skip


def waiting(seen: Seen) -> Finding | None:
    if not seen.busy:
        return None
    name, most = next(iter(seen.busy.items()))
    if most >= BUSY:
        return None
    evidence = [
        below(name, most, "fraction", BUSY, "no part of the device is busy, not even the busiest", seen.tool(name))
    ]
    why, part = next(iter(seen.stalls.items()), ("", 0.0))
    if part >= WAITING:
        what = "memory" if why == "stall_long_scoreboard" else why.removeprefix("stall_").replace("_", " ")
        evidence.append(above(why, part, "fraction", WAITING, f"warps wait for {what}", seen.tool(why)))
    return finding(seen, Limit.LATENCY, "Nothing is busy: each step waits for the one before.", *evidence,
                   at_stake_us=to_bound_us(seen))  # fmt: skip
