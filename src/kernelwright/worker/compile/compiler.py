"""The compiler process: compiles one launch of a plan to machine code for a named target. Needs no GPU.

It runs in a sandbox, because compiling a kernel can execute its text. It gets the text, works in an empty private
folder, answers with machine code and resources or with a failure, and is killed after one job.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch
import triton
from triton.compiler import ASTSource, make_backend
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime import cache

from kernelwright import codec
from kernelwright.devices import Target, find_target, occupancy
from kernelwright.devices.backend import BACKEND
from kernelwright.model import KernelResources, Status
from kernelwright.worker import confine
from kernelwright.worker.compile.branches import watching
from kernelwright.worker.compile.code import code_counters, moved_bytes, read_by
from kernelwright.worker.compile.kernels import arguments, given, load_kernels
from kernelwright.worker.compile.libdevice import FUNCTIONS
from kernelwright.worker.compile.machine_code import MachineCode, Metadata
from kernelwright.worker.compile.messages import (
    Asserted,
    Compile,
    Compiled,
    CountInstructions,
    InstructionsCounted,
    ToCompiler,
    TooLarge,
)
from kernelwright.worker.compile.offsets import overflowing_offsets
from kernelwright.worker.compile.skeleton import parameters_of, skeleton
from kernelwright.worker.compile.target import install
from kernelwright.worker.plan import plan as plans
from kernelwright.worker.processes.channel import Channel, Failure
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.rules.outside import outside_functions, unfair_calls

CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def main(channel: Channel, options: Options) -> None:
    target, scratch = find_target(options.target), Path(options.scratch)
    confine.enter(scratch, (channel.socket.fileno(),), confine.ALLOWANCES["compiler"])
    install(target)
    leave_installation_unread()
    job: ToCompiler = codec.record(channel.receive(None), ToCompiler)  # type: ignore[arg-type]
    match job:
        case Compile():
            channel.send(compiled(job, target, scratch))
        case CountInstructions(kernels=kernels, launch=launch):
            channel.send(counted(kernels, launch, scratch))


def leave_installation_unread() -> None:
    """Make Triton's cache key without the hash over all files of its installation.

    The hash takes 0.36 s of processor time, compiling a small kernel 0.05 s (Triton 3.7, AMD EPYC, one run). It only
    distinguishes versions of Triton, and this process has an empty private cache, which is removed with it.
    """
    cache.triton_key = lambda: triton.__version__


def compiled(job: Compile, target: Target, folder: Path) -> Compiled | Failure:
    """Compile one launch. folder: an empty private one."""
    source, launch = job.kernels, job.launch
    try:
        kernels = load_kernels(source, folder)
        with watching(kernels, source if job.branches else None) as report:
            binary = launched(kernels, launch) if job.whole else front_end(kernels, launch)
    except Exception as error:  # noqa: BLE001 - the compiler raises all kinds on bad kernels; each is a result
        return failure(launch.kernel, error)
    unfair = unfair_in(binary.asm["ttir"], binary.asm.get("ptx", ""))
    if unfair:
        return Failure(status=Status.REJECTED, reason=f"{launch.kernel} {unfair}")
    resources = resources_of(launch.kernel, binary, target) if job.whole else None
    if resources is not None and resources.shared_bytes > target.shared_bytes_per_block:
        reason = (f"{launch.kernel} needs {resources.shared_bytes} bytes of shared memory per block, {target.name} has "
                  f"{target.shared_bytes_per_block}: use smaller blocks or fewer stages")  # fmt: skip
        return TooLarge(status=Status.COMPILE_ERROR, reason=reason)
    ttir, is_long = binary.asm["ttir"], any(map(plans.is_long, plans.argument_views(launch)))
    parameters = parameters_of(binary.src.signature)
    overflow = overflowing_offsets(ttir, parameters, launch) if is_long else {}
    lines = {is_certain: source_line(ttir, step, source) for step, is_certain in overflow.items()}
    if True in lines:
        reason = f"{launch.kernel}: an offset needs more than 32 bits, use .to(tl.int64) on a factor: {lines[True]}"
        return Failure(status=Status.REJECTED, reason=reason)
    return Compiled(
        code=machine_code_of(binary) if job.whole else None, resources=resources, branches=tuple(report),
        untrue=tuple(untrue_on_interpreter(ttir)),
        skeleton=skeleton(ttir, parameters, lambda step: source_line(ttir, step, source)),
        doubts=tuple(f"{launch.kernel}: an offset may need more than 32 bits: {line}" for line in lines.values()),
    )  # fmt: skip


def source_line(ttir: str, step: str, source: str) -> str:
    """The line of the module that a line of TTIR was compiled from; the latter itself if that is not known."""
    while (name := re.search(r"#loc\d+", step)) and (place := re.search(rf"^{name[0]} = (.*)", ttir, re.M)):
        if number := re.search(r'/kernels\.py":(\d+):', step := place[1]):
            return source.splitlines()[int(number[1]) - 1].strip()
    return step.strip()


def counted(source: str, launch: plans.TritonLaunch, folder: Path) -> InstructionsCounted | Failure:
    """Counters of the instructions in the machine code of a launch. source, folder: as for `compiled`."""
    try:
        binary = launched(load_kernels(source, folder), launch)
    except Exception as error:  # noqa: BLE001 - the compiler raises all kinds on bad kernels; each is a result
        return failure(launch.kernel, error)
    return InstructionsCounted(counters=code_counters(binary.asm["cubin"], binary.asm["ptx"]))


def machine_code_of(binary: Any) -> MachineCode:
    """The parts of a kernel that Triton compiled which a bench needs to launch it."""
    known = binary.metadata._asdict()
    metadata = {name: known[name] for name in Metadata.__struct_fields__ if name in known}
    return MachineCode(
        cubin=binary.asm["cubin"], metadata=codec.record(metadata, Metadata),
        signature=tuple(binary.src.signature.items()),
    )  # fmt: skip


def launched(kernels: ModuleType, launch: plans.TritonLaunch) -> Any:
    args, kwargs = given(launch, arguments(launch, kernels, Pointer))
    kwargs = {"enable_fp_fusion": True, **kwargs}  # the default; Triton 3.9 warns where it is not stated
    return getattr(kernels, launch.kernel).run(*args, grid=launch.grid, warmup=True, **kwargs)


class FrontEnd(Exception):
    """Raised to end a compilation once Triton's IR (TTIR) is made. src: what it was made of. asm: its text by name."""

    def __init__(self, src: ASTSource, ttir: str) -> None:
        super().__init__()
        self.src, self.asm = src, {"ttir": ttir}


def front_end(kernels: ModuleType, launch: plans.TritonLaunch) -> FrontEnd:
    """What the compiler's front end makes of a launch."""
    make_ir = ASTSource.make_ir

    def stopping(src: ASTSource, target: Any, options: Any, *more: Any) -> NoReturn:
        module, stages = make_ir(src, target, options, *more), dict[str, Any]()
        make_backend(target).add_stages(stages, options, src.language)
        raise FrontEnd(src, str(stages["ttir"](module, {})))

    ASTSource.make_ir = stopping
    try:
        launched(kernels, launch)
    except FrontEnd as made:
        return made
    finally:
        ASTSource.make_ir = make_ir
    raise RuntimeError("the compiler made no IR of its own")


UNFAIR = {
    "reads the clock of the device (%clock, %globaltimer): a call must do the same whenever it runs":
        r"%(?:clock|globaltimer)",
    "reads the number of the launch (%gridid): a call must do the same however often it ran": r"%gridid\b",
    "takes an address for a number, or a number for an address: where memory lies must not matter":
        r"tt\.ptr_to_int\b|tt\.int_to_ptr\b|tt\.ptr<!tt\.ptr|tt\.(?:elementwise_inline_asm|extern_elementwise)\b.*!tt\.ptr",
    "prints from the device, without end where it is timed": r"\btt\.print\b",
}  # fmt: skip
"""Operations that are forbidden in a kernel, mostly because a kernel could tell one call from another by them, with a
pattern for Triton's IR (TTIR) or PTX. Every way to write such an operation ends there."""


def unfair_in(ttir: str, ptx: str) -> str:
    """The first operation of UNFAIR in a kernel, or inline assembly that is not arithmetic; "" if there is none."""
    text = "\n".join([*_without_null_checks(_operations(ttir)), ptx])
    return next((what for what, pattern in UNFAIR.items() if re.search(pattern, text)), "") or unfair_calls(ttir)


def _operations(ttir: str) -> list[str]:
    """The lines of TTIR without source locations and the names in them, because a candidate may choose such names.

    Only locations without a quote inside are removed, so the text of inline assembly is kept.
    """
    lines = [line for line in ttir.splitlines() if not line.startswith("#loc")]
    return [re.sub(r'loc\("[^"]*"\(#loc\d*\)\)', "", line) for line in lines]


def _without_null_checks(lines: list[str]) -> list[str]:
    """The lines of TTIR without addresses of a kernel's own arguments that are only compared with zero (`if bias:`).
    That says whether there is a tensor, not where it lies."""
    entry = next((number for number, line in enumerate(lines) if "tt.func public" in line), len(lines))
    size = next((number for number, line in enumerate(lines[entry + 1 :], 1) if "tt.func" in line), len(lines))
    own = lines[entry : entry + size]
    arguments = set(re.findall(r"(%\w+): !tt\.ptr<", "".join(own[:1])))
    zeros = {name for name in re.findall(r"(%\w+) = arith\.constant 0 : i64", "\n".join(own))
             if sum(f"{name} = " in line for line in own) == 1}  # fmt: skip
    idle = set[str]()
    for line in own:
        made = re.match(r"\s*(%\w+) = tt\.ptr_to_int (%\w+) : !tt\.ptr<\w+> -> i64", line)
        if made and made[2] in arguments:
            uses = [one for one in own if re.search(rf"{made[1]}\b", one) and one is not line]
            compared = [re.search(rf"= arith\.cmpi (?:ne|eq), {made[1]}, (%\w+) : i64", one) for one in uses]
            idle |= {line} if all(one and one[1] in zeros for one in compared) else set()
    return [line for line in lines if line not in idle]


UNTRUE = {
    "bf16 arithmetic": r"(?:x|<|: )bf16\b",
    "fp8 arithmetic": r"(?:x|<|: )f8E\w+",
    "TF32 in tl.dot (input_precision='ieee' is not)": r"tt\.dot\b.*inputPrecision = (?!ieee).*tensor<\w+xf32> \*",
    "tl.dot adding up in fp16": r"tt\.dot\b.*-> tensor<\w+xf16>",
    "scaled products": r"tt\.dot_scaled\b",
    "inline assembly": r"tt\.elementwise_inline_asm\b",
}
"""Operations that Triton's CPU interpreter computes differently from a GPU, or not at all, with a pattern for TTIR.
Names, aliases and constants are resolved there, so no way to write an operation is missed."""


def untrue_on_interpreter(ttir: str) -> list[str]:
    """The operations of UNTRUE in a kernel, and "libdevice" if it calls functions that are not in FUNCTIONS."""
    lines = _operations(ttir)
    found = [what for what, pattern in UNTRUE.items() if any(re.search(pattern, line) for line in lines)]
    outside = {name for line in lines for name in outside_functions(line)}
    return [*found, *(["libdevice"] if outside - FUNCTIONS.keys() else [])]


def failure(kernel: str, error: Exception) -> Failure:
    """A compile error as a failure: type and message of the exception, and of its first cause. Of a long text the
    beginning and the end, which says what is wrong. If ptxas was killed, this process ends alike, because that shows no
    compile error."""
    tool = error.__context__
    if isinstance(tool, subprocess.CalledProcessError) and tool.returncode == -signal.SIGKILL:
        os._exit(128 + signal.SIGKILL)
    reason = f"{kernel}: {type(error).__name__}: {str(error).strip() or type(error).__name__}"
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is not error:
        reason += f"\n{type(cause).__name__}: {cause}".rstrip(": ")
    if len(reason) > MOST_CHARACTERS:
        reason = f"{reason[: MOST_CHARACTERS // 2]}\n...\n{reason[-MOST_CHARACTERS // 2 :]}"
    kind = Asserted if isinstance(cause, CompileTimeAssertionFailure) else Failure
    return kind(status=Status.COMPILE_ERROR, reason=reason)


MOST_CHARACTERS = 1500


class Pointer:
    """Substitute for a tensor argument, with only the attributes that Triton's specialisation reads."""

    def __init__(self, view: plans.View) -> None:
        self.dtype = getattr(torch, view.dtype)
        self.shape, self.strides = view.shape, view.stride
        self.offset_bytes = view.offset * plans.ITEMSIZE[view.dtype]

    def data_ptr(self) -> int:
        return (1 << 30) + self.offset_bytes

    def element_size(self) -> int:
        return int(self.dtype.itemsize)

    def stride(self) -> tuple[int, ...]:
        return self.strides


def resources_of(name: str, binary: Any, target: Target) -> KernelResources:
    """Resources of a compiled kernel: registers and spills from the cubin, shared memory from Triton's metadata."""
    cubin: bytes = binary.asm["cubin"]
    registers, spill_bytes = usage(cubin)
    warps, shared = int(binary.metadata.num_warps), int(binary.metadata.shared)
    threads = warps * BACKEND.warp_threads
    fraction, limited_by = occupancy(target, warps, registers, shared)
    if registers * threads > target.registers_per_multiprocessor:
        fraction, limited_by = 0.0, "registers"
    return codec.record(
        {"kernel": name, "target": target.name, "registers": registers, "spill_bytes": spill_bytes,
         "shared_bytes": shared, "num_warps": warps, "num_stages": int(binary.metadata.num_stages),
         "occupancy": fraction, "limited_by": limited_by, "cubin_sha": hashlib.sha256(code_of(binary)).hexdigest(),
         "moved_bytes": moved_bytes(binary.asm["ptx"])},
        KernelResources,
    )  # fmt: skip


def code_of(binary: Any) -> bytes:
    """PTX without comments, the kernel's name and line information: equal for two kernels with the same code."""
    text = re.split(r"\.section\s+\.debug", binary.asm["ptx"])[0]  # that section contains the file's name
    lines = [line for line in text.splitlines() if not re.match(r"\s*(//|\.loc|\.file)", line)]
    return "\n".join(lines).replace(binary.metadata.name, "kernel").encode()


def usage(cubin: bytes) -> tuple[int, int]:
    """Registers per thread and local-memory (stack and spill) bytes per thread, from `cuobjdump`."""
    ended = read_by(CUOBJDUMP, "--dump-resource-usage", cubin)
    ended.check_returncode()
    text = ended.stdout
    found = re.search(r"REG:(\d+)\s+STACK:(\d+).*?LOCAL:(\d+)", text, re.S)
    if found is None:
        raise RuntimeError(f"cuobjdump printed no resource usage: {text[:200]!r}")
    registers, stack, local = (int(group) for group in found.groups())
    return registers, stack + local
