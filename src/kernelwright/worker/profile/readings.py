"""Table of the Nsight Compute metrics that are read, with our names and units.

To add a counter, add a line to `CHOSEN`. A metric that this GPU does not have is "n/a" in ncu's output and is left out.
Names of metrics: NVIDIA's "Kernel Profiling Guide" 2025.3, metrics reference and decoder.
"""

from __future__ import annotations

STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "wait", "math_pipe_throttle", "lg_throttle",
          "mio_throttle", "tex_throttle", "drain", "membar", "no_instruction", "not_selected", "gmma")  # fmt: skip
"""Reasons why a warp could not issue. The counter is the mean number of warps that waited for this reason per issued
instruction."""

PIPES = ("alu", "fma", "lsu", "xu", "uniform")
"""Execution units, without tensor cores."""

CHOSEN = {
    "duration": "gpu__time_duration.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_write": "dram__bytes_write.sum",
    "dram_bandwidth": "dram__bytes.sum.per_second",
    "dram_throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "compute_throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_throughput": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l2_throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit_rate": "l1tex__t_sector_hit_rate.pct",
    "l2_hit_rate": "lts__t_sector_hit_rate.pct",
    "tensor_pipe": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_instructions": "sm__inst_executed_pipe_tensor.sum",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "occupancy_limit": "sm__maximum_warps_per_active_cycle_pct",
    "eligible_warps": "smsp__warps_eligible.avg.per_cycle_active",
    "issue_active": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "instructions": "smsp__inst_executed.sum",
    "cycles_active": "sm__cycles_active.avg",
    "cycles_elapsed": "sm__cycles_elapsed.max",
    "sm_clock": "sm__cycles_elapsed.avg.per_second",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "registers": "launch__registers_per_thread",
    "shared_memory": "launch__shared_mem_per_block",
    "waves": "launch__waves_per_multiprocessor",
    **{f"pipe_{pipe}": f"sm__inst_executed_pipe_{pipe}.avg.pct_of_peak_sustained_active" for pipe in PIPES},
    **{f"stall_{why}": f"smsp__average_warps_issue_stalled_{why}_per_issue_active.ratio" for why in STALLS},
}
"""ncu's metric by our name. Shares of a peak are fractions in our counters and percent in ncu's."""

PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

BASES = {
    "second": ("us", 1e6), "s": ("us", 1e6), "byte": ("bytes", 1.0), "byte/second": ("bytes/s", 1.0),
    "byte/s": ("bytes/s", 1.0), "%": ("fraction", 0.01), "hz": ("Hz", 1.0), "Hz": ("Hz", 1.0),
    "cycle/second": ("Hz", 1.0), "cycle/s": ("Hz", 1.0), "byte/block": ("bytes/block", 1.0),
    "inst": ("instructions", 1.0),
}  # fmt: skip
"""Our unit and the conversion factor, by ncu's unit without its prefix. Other units are kept (cycle, sector, …)."""


def normalised(value: float, unit: str) -> tuple[float, str]:
    """A value in our unit: µs, bytes, bytes/s, Hz and fractions, whatever prefix ncu chose."""
    for prefix, factor in PREFIXES.items():
        base = unit.removeprefix(prefix)
        if prefix + base == unit and base in BASES:
            name, scale = BASES[base]
            return value * factor * scale, name
    return value, unit
