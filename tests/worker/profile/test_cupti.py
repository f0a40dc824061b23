"""What torch's profiler exports is read in the order of time, and holds no counters that it did not take."""

from __future__ import annotations

from kernelwright.worker.profile.cupti import of_trace

KERNEL = {
    "ph": "X", "cat": "kernel", "name": "double_kernel", "ts": 20.0, "dur": 12.5,
    "args": {
        "grid": [64, 1, 1], "block": [128, 1, 1], "registers per thread": 24, "shared memory": 0,
        "est. achieved occupancy %": 50, "stream": 7,
    },
}  # fmt: skip
FILL = {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "ts": 10.0, "dur": 2.0, "args": {"bytes": 4096}}
OTHERS = [{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "ts": 5.0, "dur": 1.0}, {"ph": "M", "name": "process_name"}]


def test_only_what_ran_on_the_device_is_a_launch_in_the_order_of_time() -> None:
    fill, kernel = of_trace({"traceEvents": [KERNEL, FILL, *OTHERS]})
    assert (fill.kernel, fill.value("duration"), fill.value("moved")) == ("Memset (Device)", 2.0, 4096)
    assert (kernel.kernel, kernel.grid, kernel.block) == ("double_kernel", (64, 1, 1), (128, 1, 1))
    assert kernel.value("duration") == 12.5
    assert kernel.value("occupancy_estimate") == 0.5
    assert kernel.value("registers") == 24


def test_bytes_and_hit_rates_that_it_cannot_see_are_absent() -> None:
    (kernel,) = of_trace({"traceEvents": [KERNEL]})
    assert kernel.value("dram_read") is None
    assert kernel.value("l2_hit_rate") is None
    assert {counter.tool for counter in kernel.counters} == {"torch.profiler"}
