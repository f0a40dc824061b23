"""The rules in their order of precedence: each looks for one limit and says what speaks for it, or finds nothing.

Causes come before what they cause (loads that waste sectors before the bytes that these move), what is certain before
what is likely, and a busy part of the chip before bytes that DRAM still has time for. The first that finds something is
the bottleneck, the others are alternatives. "at the bound" is said of a time near the bound, never of a
busy counter.
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
