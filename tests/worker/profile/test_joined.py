"""What the device showed and what the compiler said meet by the kernel's name, in the order of the plan."""

from __future__ import annotations

from kernelwright.devices import find_target
from kernelwright.model import Counter, KernelResources, LaunchProfile
from kernelwright.worker.plan.plan import Launch
from kernelwright.worker.profile.compiled import joined, profiled

RESOURCES = KernelResources(
    kernel="k", target="sm_90", registers=64, spill_bytes=16, shared_bytes=0, num_warps=4, num_stages=2, occupancy=0.5,
    limited_by="registers", cubin_sha="a",
)  # fmt: skip


def counter(name: str, value: float, tool: str) -> Counter:
    return Counter(name=name, value=value, unit="x", tool=tool)


def launch(kernel: str, *counters: Counter) -> LaunchProfile:
    return LaunchProfile(kernel=kernel, counters=counters)


def test_launches_of_one_kernel_are_told_apart_by_their_order() -> None:
    seen = (launch("k"), launch("fill"), launch("k"))
    planned = (launch("k", counter("spills", 1, "compiler")), launch("k", counter("spills", 2, "compiler")))
    assert [one.value("spills") for one in joined(seen, planned)] == [1, None, 2]


def test_what_both_know_is_what_the_device_showed() -> None:
    (both,) = joined((launch("k", counter("waves", 1, "ncu")),), (launch("k", counter("waves", 2, "compiler")),))
    assert [(one.tool, one.value) for one in both.counters] == [("ncu", 1)]


def test_without_a_device_a_launch_has_its_place_resources_and_waves() -> None:
    target = find_target("sm_90")
    found = profiled(Launch(kernel="k", grid=(132 * 8, 3), arguments={}), RESOURCES, (), target)
    assert (found.grid, found.block) == ((1056, 3, 1), (128, 1, 1))
    assert found.value("waves") == 3.0  # half of 64 warp slots hold 8 blocks of 4 warps
    assert found.value("spills") == 16
    assert {one.tool for one in found.counters} == {"compiler"}
