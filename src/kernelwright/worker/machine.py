"""Report on this machine for `doctor`: the GPU, NVML, a profiler, and a test of the sandbox.

Imports no torch. To test the sandbox, the intruder process tries to reach a real open port, file and process outside.
That the Linux kernel accepted a measure proves nothing.
"""

from __future__ import annotations

import contextlib
import glob
import socket
import subprocess
from collections.abc import Iterator

from kernelwright import codec
from kernelwright.errors import WorkerError
from kernelwright.model import Attempt, Machine
from kernelwright.python import python
from kernelwright.worker.confine import IN_FORCE
from kernelwright.worker.confine.intruder import Intrude, Intruded, Target
from kernelwright.worker.confine.limits import ALLOWANCES
from kernelwright.worker.processes.channel import ChannelClosed, ChannelTimeout
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile import ncu
from kernelwright.worker.profile.protocol import CannotProfile

INTRUDER_S = 60.0
"""Time limit of all attempts of one role together. They take about a second unless one hangs."""

REFUSED = (
    "no candidate runs on this machine, because its code could {} (see kernelwright doctor; --weak-sandbox allows it, "
    "see docs/confinement.md)"
)

DEVICES = ("/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/kfd", "/dev/dri/render*")


def machine(processes: Processes) -> Machine:
    """The full report; takes a second or two."""
    measures, attempts = intrusion(processes)
    return Machine(
        gpu=gpu(processes), nvml=nvml(processes), profiler=profiler(processes), measures=measures, attempts=attempts
    )


def gpu(processes: Processes) -> str:
    found = processes.machine
    if not processes.on_gpu:
        return f"none: {found.why_not}; kernels are compiled for {processes.target.name} and interpreted on the CPU"
    return f"{found.device}, {processes.target.name}, {found.memory_bytes / 2**30:.0f} GiB"


def nvml(processes: Processes) -> str:
    if not processes.on_gpu:
        return "not asked: no GPU"
    driver = processes.machine.driver
    if driver is None:
        return "not available: nvidia-ml-py is not installed (pip install 'kernelwright[gpu]'); clocks are not read"
    return f"answers; driver {driver}"


def profiler(processes: Processes) -> str:
    """Whether ncu (Nsight Compute's command line) is installed and can read a counter of this GPU, tested by a run."""
    path = ncu.found()
    if path is None:
        return "ncu was not found; profiles have durations and the compiler's figures only (install Nsight Compute)"
    if not processes.on_gpu:
        return f"ncu at {path}; not tried: no GPU"
    try:
        read = ncu.tried(processes, path)
    except CannotProfile as error:
        return f"ncu at {path} reads no counters: {error}"
    return f"ncu at {path} reads counters ({read:.0f} bytes of DRAM)"


def sandbox(processes: Processes, is_weak_allowed: bool) -> tuple[str, str]:
    """What of the sandbox is in force here and what is not, in one line; and why no candidate may run, "" if one may.
    One may not where its code reaches the user's files, environments or sockets, unless that is allowed."""
    measures, attempts = intrusion(processes, brief=True)
    missing = [name for name, state in measures.items() if state != IN_FORCE]
    line = f"in force, without {', '.join(missing)}" if missing else "in force"
    if not (possible := ", ".join(dict.fromkeys(one.what for one in attempts if not one.refused))):
        return line, ""
    return f"WEAK, code of a candidate could {possible}; {line}", "" if is_weak_allowed else REFUSED.format(possible)


def intrusion(processes: Processes, brief: bool = False) -> tuple[dict[str, str], tuple[Attempt, ...]]:
    """Which measures are in force for a recorder, and the attempts of an intruder in each confined role. brief: only
    those of `EXPOSING`."""
    secret = processes.scratch / "outside.txt"
    secret.write_text("not for candidates\n")
    measures: dict[str, str] = {}
    attempts: list[Attempt] = []
    with port_and_process() as (port, process):
        devices = sorted(path for pattern in DEVICES for path in glob.glob(pattern))
        target = Target(port=port, file=str(secret), process=process, devices=tuple(devices))
        for role in ALLOWANCES:
            found = send_intruder(processes, Intrude(role=role, target=target, brief=brief))
            measures = measures or found.measures
            attempts += found.attempts
    return measures, tuple(attempts)


def send_intruder(processes: Processes, job: Intrude) -> Intruded:
    """Report of an intruder. Raises `WorkerError` if it does not report."""
    intruder = processes.spawn("intruder", log=True, interpret=job.role == "interpreter")
    try:
        intruder.channel.send(job)
        return codec.record(intruder.channel.receive(INTRUDER_S), Intruded)
    except (ChannelClosed, ChannelTimeout) as error:
        what = str(error) or "no answer in time"
        raise WorkerError(f"the sandbox could not be tested: {what}", intruder.printed(800) or None) from error
    finally:
        intruder.kill()


@contextlib.contextmanager
def port_and_process() -> Iterator[tuple[int, int]]:
    """A port that accepts connections and a process of this user: targets of the intruder."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sleeper = subprocess.Popen(python("-c", "input()"), stdin=subprocess.PIPE, env={})
        try:
            yield server.getsockname()[1], sleeper.pid
        finally:
            sleeper.kill()
            sleeper.communicate()
