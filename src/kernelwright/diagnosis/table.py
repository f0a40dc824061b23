"""The table of diagnosis rules in order of precedence. Each rule looks for one limit and returns a finding or None.

Causes come before their effects (loads that waste sectors before the bytes that they move), certain findings before
likely ones, and a busy unit before bytes that DRAM still has time for. The first finding is the bottleneck, the others
are alternatives. "at the bound" refers to a time near the bound, never to a busy counter.
"""

from __future__ import annotations

from kernelwright.diagnosis import rules_busy as parts
from kernelwright.diagnosis import rules_cause as causes
from kernelwright.diagnosis.rules_busy import Rule, busy_part
from kernelwright.model import Limit

AGAIN = "not DRAM: the same bytes are asked for again and again, or in small pieces."

RULES: tuple[Rule, ...] = (
    causes.at_the_bound,
    causes.launching,
    causes.spilling,
    causes.without_tensor_cores,
    causes.unfilled,
    causes.scattered,
    parts.exchanging,
    busy_part("l1_throughput", Limit.CACHE, f"The L1 cache is the busiest part, {AGAIN}"),
    busy_part("l2_throughput", Limit.CACHE, f"The L2 cache is the busiest part, {AGAIN}"),
    busy_part("issue_active", Limit.INSTRUCTIONS, "Issuing instructions is what takes the time."),
    busy_part("tensor_pipe", Limit.TENSOR, "The tensor cores are the busiest part."),
    causes.excessive,
    busy_part("dram_throughput", Limit.DRAM, "DRAM is the busiest part."),
    parts.crowded_out,
    parts.synchronising,
    parts.starved,
    parts.waiting,
    causes.excessive_aside,
    causes.narrow,
)
