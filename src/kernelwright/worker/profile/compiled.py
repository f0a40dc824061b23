"""Static profile of a launch, known before it runs: resources, instruction counts, occupancy limit and waves.

It needs no GPU and is for the target that the kernel was compiled for.
"""

from __future__ import annotations

from kernelwright.devices import Target
from kernelwright.devices.backend import BACKEND
from kernelwright.model import Counter, KernelResources, LaunchProfile
from kernelwright.worker.compile.messages import CountInstructions, InstructionsCounted
from kernelwright.worker.plan.plan import Launch, Plan
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.profile.protocol import CannotProfile
from kernelwright.worker.stages.subject import Subject

TOOL = "compiler"


def launches(subject: Subject, plan: Plan) -> tuple[LaunchProfile, ...]:
    """The static profile of each launch of the plan, in order. Raises `CannotProfile` if a launch fails to compile."""
    known = subject.launches(plan)
    return tuple(
        profiled(launch, resources, code(subject, launch), subject.processes.target)
        for launch, (resources, _, _) in zip(plan.launches, known, strict=True)
    )


def code(subject: Subject, launch: Launch) -> tuple[Counter, ...]:
    """Instruction counters of a launch, from a separate compiler process."""
    job = CountInstructions(kernels=subject.kernels_source, launch=launch)
    match subject.processes.compile(subject.key(launch), job).result():
        case InstructionsCounted(counters=counters):
            return counters
        case answer:
            raise CannotProfile(answer.reason if isinstance(answer, Failure) else "no instructions were counted")


def profiled(launch: Launch, resources: KernelResources, in_code: tuple[Counter, ...], target: Target) -> LaunchProfile:
    def counter(name: str, value: float, unit: str) -> Counter:
        return Counter(name=name, value=value, unit=unit, tool=TOOL)

    grid = (*launch.grid, 1, 1)[:3]
    blocks = grid[0] * grid[1] * grid[2]
    found = [
        counter("registers", resources.registers, "registers/thread"),
        counter("spills", resources.spill_bytes, "bytes/thread"),
        counter("shared_memory", resources.shared_bytes, "bytes/block"),
        counter("stages", resources.num_stages, "stages"),
        counter("occupancy_limit", resources.occupancy, "fraction"),
    ]
    resident = round(resources.occupancy * target.warps_per_multiprocessor / resources.num_warps)
    if resident:
        found.append(counter("waves", blocks / (resident * target.multiprocessors), "waves"))
    return LaunchProfile(
        kernel=launch.kernel,
        grid=grid,
        block=(resources.num_warps * BACKEND.warp_threads, 1, 1),
        counters=(*found, *in_code),
    )


def joined(seen: tuple[LaunchProfile, ...], planned: tuple[LaunchProfile, ...]) -> tuple[LaunchProfile, ...]:
    """Merge the launches that a profiler saw with the static profiles of the plan.

    A launch that was seen gets the counters of the plan's next launch of the same kernel name. Other launches (the
    framework's fills and copies) are kept unchanged. If both have a counter, the profiler's is kept.
    """
    waiting = list(planned)
    found = []
    for launch in seen:
        position = next((i for i, one in enumerate(waiting) if one.kernel == launch.kernel), None)
        if position is None:
            found.append(launch)
            continue
        own = waiting.pop(position)
        names = {counter.name for counter in launch.counters}
        added = tuple(counter for counter in own.counters if counter.name not in names)
        found.append(
            LaunchProfile(
                kernel=launch.kernel,
                grid=launch.grid or own.grid,
                block=launch.block or own.block,
                counters=(*launch.counters, *added),
            )
        )
    return tuple(found)
