"""Rules about causes: what makes a kernel slow, independent of the unit that it keeps busy. Pure."""

from __future__ import annotations

from kernelwright.diagnosis.figures import Seen
from kernelwright.diagnosis.rules_busy import WIDER, narrow_loads
from kernelwright.diagnosis.wording import above, below, finding, percent, to_bound_us
from kernelwright.model import Finding, Limit
from kernelwright.roofline import LAUNCH_US

CLOSE = 0.9
"""Share of the bound from which little can be gained: copy bandwidth itself is measured to about a tenth."""

HOST = 4.0
"""A call is host-bound above this multiple of its device time: then the host takes three quarters. A Triton launch
takes 9 µs, and calls of 10 µs of device work about 20 (docs/evaluation.md), so ordinary calls are below."""

BETWEEN = 0.3
"""Fraction of the device time above which starting launches counts as the limit."""

CANNOT = 1.2
"""Multiple of the bound that work without tensor cores must need, so that the bound is out of reach for it."""

FILLED = 0.75
"""Fraction of the device that blocks should keep busy. Below it, a better grid saves at least a quarter of the time."""

FEW_WAVES = 4.0
"""Above this number of waves, the last one is too small a part of the time to leave a quarter of the device idle."""

WASTE = 2.0
"""Multiple of the needed sectors; below it, misaligned rows are the explanation."""

EXCESS = 1.25
"""Multiple of the compulsory bytes; below it, write-allocation and partial sectors are the explanation."""

EXPLAINS = 0.25
"""Fraction of the time above the bound that the excess bytes must take to be the bottleneck."""

LOCAL = 0.05
"""Fraction of the sectors through L1 (or L2, where those are more) that must come from spilled registers."""


def at_the_bound(seen: Seen) -> Finding | None:
    if seen.share is None or seen.share < CLOSE:
        return None
    evidence = above(
        "share of bound", seen.share, "fraction", CLOSE, "only less work could make it much faster", "bound"
    )
    return finding(
        seen, Limit.NONE, f"It reaches {percent(seen.share)} of the bound.", evidence, at_stake_us=to_bound_us(seen)
    )


def launching(seen: Seen) -> Finding | None:
    timing = seen.timing
    if timing is None or timing.kind != "measured":
        return None
    if timing.call_us is not None and timing.call_us > HOST * timing.median_us:
        return finding(
            seen, Limit.LAUNCH,
            f"A call takes {timing.call_us:.3g} µs, of which the device works {timing.median_us:.3g} µs.",
            above("call time", timing.call_us, "us", HOST * timing.median_us, "the host, not the kernel, is slow",
                  "clock"),
            at_stake_us=timing.call_us - timing.median_us,
        )  # fmt: skip
    starts_us = LAUNCH_US * len(seen.launches)
    if len(seen.launches) > 1 and starts_us > BETWEEN * timing.median_us:
        return finding(
            seen, Limit.LAUNCH, f"{len(seen.launches)} launches in {timing.median_us:.3g} µs of device time.",
            above("time to start launches", starts_us, "us", BETWEEN * timing.median_us,
                  "starting and ending kernels is much of the work", "clock"),
            at_stake_us=starts_us - LAUNCH_US,
        )  # fmt: skip
    return None


def spilling(seen: Seen) -> Finding | None:
    spills = seen.value("spills")
    local = [seen.value(f"local_{kind}_sectors") for kind in ("load", "store")]
    whole = [seen.value(f"global_{kind}_sectors") for kind in ("load", "store")]
    evidence = []
    if spills:
        evidence.append(above("spills", spills, "bytes/thread", 0, "registers went to memory", seen.tool("spills")))
    if None not in local and None not in whole:
        spilled, others = sum(filter(None, local)), sum(filter(None, whole))
        moved = max(spilled + others, seen.value("l2_sectors") or 0.0)  # the copy engine's pass L1 by
        part = spilled / moved if spilled else 0.0
        if part < LOCAL:
            return None
        evidence.append(above("local sectors", part, "fraction", LOCAL, "spilled values take up the caches",
                              seen.tool("local_load_sectors")))  # fmt: skip
    if not evidence:
        return None
    return finding(seen, Limit.SPILLS, "Registers do not suffice, and values go to memory and back.", *evidence)


def without_tensor_cores(seen: Seen) -> Finding | None:
    rate, least = seen.peaks.get("float32_flop_per_s"), seen.info.bound
    if not seen.half or seen.uses_tensor_cores is not False or not rate:
        return None
    needed_us = least.flop / rate * 1e6
    if needed_us <= CANNOT * least.bound_us:
        return None
    return finding(
        seen, Limit.TENSOR_UNUSED, "No tensor core is used, and without them the bound is out of reach.",
        above("time of the FLOP without tensor cores", needed_us, "us", CANNOT * least.bound_us,
              "the ordinary units alone take longer than the bound", "bound"),
        below("tensor instructions", 0, "instructions", 1, "the code holds none",
              seen.tool("code_tensor_instructions") or seen.tool("tensor_pipe")),
        at_stake_us=to_bound_us(seen),
    )  # fmt: skip


def unfilled(seen: Seen) -> Finding | None:
    filled, waves = seen.filled, seen.value("waves")
    active, elapsed = seen.value("cycles_active"), seen.value("cycles_elapsed")
    if active is not None and elapsed:
        filled = active / elapsed
    if filled is None or waves is None or filled >= FILLED:
        return None
    tool = seen.tool("cycles_active") or seen.tool("waves")
    words = f"{waves:.2f} waves of blocks, the last mostly empty"
    if waves < 1:
        words = "fewer blocks than multiprocessors"
    elif waves > FEW_WAVES:
        words = "blocks take unequally long"
    return finding(
        seen, Limit.GRID, f"Part of the device is idle: {words}.",
        below("device filled", filled, "fraction", FILLED, words, tool),
        at_stake_us=seen.main_us * (1 - filled) if seen.main_us is not None else None,
    )  # fmt: skip


def scattered(seen: Seen) -> Finding | None:
    evidence = []
    for kind in ("load", "store"):
        waste = seen.excess_sectors(kind)
        if waste is not None and waste >= WASTE:
            evidence.append(above(f"sectors for each {kind}, over those needed", waste, "times", WASTE,
                                  "neighbouring threads touch memory that is far apart",
                                  seen.tool(f"global_{kind}_sectors")))  # fmt: skip
    if not evidence:
        return None
    return finding(seen, Limit.UNCOALESCED, "Most of what each access fetches is thrown away.", *evidence)


def excessive(seen: Seen) -> Finding | None:
    """Excess bytes that take a relevant part of the time above the bound, or an unknown part."""
    found = beyond_compulsory(seen)
    return None if found is None or explains_little(seen, found) else found


def excessive_aside(seen: Seen) -> Finding | None:
    """Excess bytes that DRAM has time for: another limit takes the time, and this is reported as an alternative."""
    found = beyond_compulsory(seen)
    return found if found is not None and explains_little(seen, found) else None


def explains_little(seen: Seen, found: Finding) -> bool:
    above_us = to_bound_us(seen)
    return found.at_stake_us is not None and above_us is not None and found.at_stake_us < EXPLAINS * above_us


def beyond_compulsory(seen: Seen) -> Finding | None:
    moved, least = seen.moved_bytes, seen.info.bound
    if moved is None or moved <= EXCESS * least.bytes:
        return None
    at_stake_us = (moved - least.bytes) / least.bytes_per_s * 1e6 if least.bytes_per_s else None
    return finding(
        seen, Limit.EXCESS_BYTES,
        f"{moved / least.bytes:.2f} times the compulsory bytes go through DRAM.",
        above("DRAM bytes", moved, "bytes", EXCESS * least.bytes, "inputs are read more than once, or scratch is used",
              seen.tool("dram_read")),
        at_stake_us=at_stake_us,
    )  # fmt: skip


def narrow(seen: Seen) -> Finding | None:
    """Narrow loads, the only finding about memory access without counters."""
    evidence = narrow_loads(seen)
    if seen.busy or not evidence:
        return None
    summary = f"A thread loads {evidence[0].value:.3g} bytes at a time."
    return finding(seen, Limit.CACHE, summary, *evidence, first=WIDER)
