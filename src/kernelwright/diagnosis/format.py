"""Selection of counters for short lists, and formatting of their values. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.model import Counter, Finding, LaunchProfile

SHOWN = (
    "duration", "dram_read", "dram_write", "dram_bandwidth", "dram_throughput", "memory_throughput", "l2_throughput",
    "l1_throughput", "compute_throughput", "issue_active", "tensor_pipe", "l1_hit_rate", "l2_hit_rate", "occupancy",
    "occupancy_limit", "occupancy_estimate", "waves", "registers", "spills", "shared_memory", "code_global_loads",
    "code_global_load_width", "code_global_stores", "code_global_store_width", "code_local_accesses",
    "code_tensor_instructions", "moved",
)  # fmt: skip
"""Counters in reading order: time, bytes, utilisation of units, occupancy, instructions in the code."""


EVIDENCE = ("evidence", "value", "threshold", "read by", "implies")
COUNTERS = ("counter", "value", "read by")
"""Heads of the tables of `evidence_rows` and `counter_rows`."""


def evidence_rows(finding: Finding) -> list[tuple[str, ...]]:
    return [
        (one.metric, value_text(one.value, one.unit), f"{one.relation} {value_text(one.threshold, one.unit)}", one.tool,
         one.implies)
        for one in finding.evidence
    ]  # fmt: skip


def counter_rows(counters: Sequence[Counter]) -> list[tuple[str, ...]]:
    return [(one.name, value_text(one.value, one.unit), one.tool) for one in counters]


def longest(launches: Sequence[LaunchProfile], most: int) -> tuple[LaunchProfile, ...]:
    """The launches that take the most time, in their order; the first ones where no durations were read."""
    by_time = sorted(range(len(launches)), key=lambda i: (-(launches[i].value("duration") or 0.0), i))
    return tuple(launches[i] for i in sorted(by_time[:most]))


def shown_counters(launch: LaunchProfile) -> tuple[Counter, ...]:
    named = {counter.name: counter for counter in launch.counters}
    return tuple(named[name] for name in SHOWN if name in named)


def value_text(value: float, unit: str) -> str:
    """A value with its unit, short; a unit without a short form keeps its name."""
    match unit:
        case "fraction":
            return f"{100 * value:.1f} %" if 0 < value < 0.0995 else f"{100 * value:.0f} %"
        case "us":
            return f"{value:.4g} µs"
        case "bytes" | "bytes/s" | "bytes/block":
            for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
                if value >= scale:
                    return f"{value / scale:.3g} {prefix}B{unit.removeprefix('bytes')}"
            return f"{value:.0f} B{unit.removeprefix('bytes')}"
        case _:
            pass
    number = f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()
