"""Launches kernels through an exported package's `launch.py`, with a driver that only notes what it is given: run in a
process of its own, says what came of it as JSON. Not a test: test_launch.py is.

Kernels are compiled for a real target, so that what Triton specialises is Triton's own.
"""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import torch
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

FOUND: dict[str, Any] = {}
NOTED: list[tuple[Any, ...]] = []
DEVICE = [0]


class Launcher:
    """As Triton's own is called; notes grid, function and arguments."""

    def __init__(self, src: Any, metadata: Any) -> None:
        pass

    def __call__(self, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        _, metadata, enter, _, *given = rest
        if enter is not None:
            enter(metadata)
        NOTED.append(((x, y, z), stream, function, tuple(given)))


class Driver:
    """Of a GPU that is not there. Every binary that is loaded is a function with a number of its own."""

    launcher_cls = Launcher

    def __init__(self) -> None:
        self.utils, self.loaded = self, 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return DEVICE[0]

    def get_current_stream(self, device: int) -> int:
        return 70 + device

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 232448, "multiprocessor_count": 132, "max_num_regs": 65536, "warpSize": 32}

    def load_binary(self, *given: Any) -> tuple[int, ...]:
        self.loaded += 1
        return 1, self.loaded, 32, 0, 1024


driver.set_active(Driver())


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, FULL: tl.constexpr = True):  # type: ignore[no-untyped-def]
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane, mask=lane < n)
    if FULL:
        x = x * factor
    tl.store(out_ptr + lane, x, mask=lane < n)


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2)], key=[])
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + lane, lane, mask=lane < n)


def by_triton(use: Any) -> tuple[Any, ...]:
    """What Triton's own launch hands to the driver."""
    shortened = scale.__dict__.pop("run")
    try:
        use()
    finally:
        scale.run = shortened
    return NOTED[-1]


def worked_out(use: Any) -> bool:
    """Whether a launch was left to Triton; it has to be what Triton's own hands over either way."""
    launches = scale.run
    asked: list[bool] = []
    own = launches.worked_out

    def counting(*given: Any, **named: Any) -> Any:
        asked.append(True)
        return own(*given, **named)

    launches.worked_out = counting
    before = len(NOTED)
    use()
    launches.worked_out = own
    noted = NOTED[-1]
    assert len(NOTED) == before + 1, "one launch was to be made"
    expected = by_triton(use)
    assert repr(noted) == repr(expected), f"{noted} is not Triton's {expected}"
    return bool(asked)


def launched(*given: Any, grid: Any = (4,), **named: Any) -> bool:
    return worked_out(lambda: scale[grid](*given, **named))


def use_scale() -> None:
    x, out = torch.zeros(257), torch.zeros(257)
    FOUND["the first"] = launched(x, out, 256, 2.0, BLOCK=64)
    FOUND["the second"] = launched(x, out, 256, 2.0, BLOCK=64)
    FOUND["another tensor"] = launched(torch.zeros(257), out, 256, 2.0, BLOCK=64)
    FOUND["another grid"] = launched(x, out, 256, 2.0, grid=(2, 3), BLOCK=64)
    FOUND["a grid that is computed"] = launched(x, out, 256, 2.0, grid=lambda meta: (meta["n"] // 64,), BLOCK=64)
    FOUND["by place"] = [launched(x, out, 256, 2.0, 64, True) for _ in range(2)][1]
    FOUND["tensors by name"] = [
        launched(out_ptr=one, x_ptr=x, n=256, factor=2.0, FULL=True, BLOCK=64) for one in (out, torch.zeros(9))
    ][1]
    FOUND["misaligned"] = launched(x[1:], out, 256, 2.0, BLOCK=64)
    FOUND["another dtype"] = launched(x.half(), out, 256, 2.0, BLOCK=64)
    FOUND["a size that is no multiple"] = launched(x, out, 255, 2.0, BLOCK=64)
    FOUND["one as a size"] = launched(x, out, 1, 2.0, BLOCK=64)
    FOUND["true as a size"] = launched(x, out, True, 2.0, BLOCK=64)
    FOUND["a whole number as a factor"] = launched(x, out, 256, 2, BLOCK=64)
    FOUND["another constant"] = launched(x, out, 256, 2.0, BLOCK=64, FULL=False)
    FOUND["more warps"] = launched(x, out, 256, 2.0, BLOCK=64, num_warps=8)
    FOUND["a kind that is not known"] = [launched(x, out, 256, 2.0, BLOCK=tl.constexpr(64)) for _ in range(2)][1]
    DEVICE[0] = 1
    FOUND["another device"] = launched(x, out, 256, 2.0, BLOCK=64)
    FOUND["another device, again"] = launched(x, out, 256, 2.0, BLOCK=64)
    DEVICE[0] = 0

    def told(metadata: Any) -> None:
        FOUND["a profiler is told"] = True

    knobs.runtime.launch_enter_hook.add(told)
    FOUND["watched"] = launched(x, out, 256, 2.0, BLOCK=64)
    knobs.runtime.launch_enter_hook.remove(told)
    FOUND["no longer watched"] = launched(x, out, 256, 2.0, BLOCK=64)
    before = len(NOTED)
    scale.warmup(x, out, 256, 2.0, BLOCK=64, grid=(4,))
    FOUND["warming up launches nothing"] = len(NOTED) == before
    scale.run.kept.update(dict.fromkeys(range(5000)))
    launched(x, out, 251, 2.0, BLOCK=64)
    FOUND["kept is bounded"] = len(scale.run.kept) == 1


def use_package(launch: Any) -> None:
    from fast_softmax.kernel_host import Built

    host = Built([])
    x = torch.randn(32, 64)
    host.function(x)
    kernels = [value for value in vars(sys.modules["fast_softmax.kernel"]).values() if hasattr(value, "run")]
    FOUND["the package's kernels are shortened"] = [isinstance(kernel.run, launch.Launches) for kernel in kernels]
    FOUND["the package's launches are kept"] = sum(len(kernel.run.kept) for kernel in kernels)
    other = types.SimpleNamespace(scale=scale)
    own = scale.run
    launch.shorten(other)
    FOUND["shortened once"] = scale.run is own
    launch.shorten(types.SimpleNamespace(tuned=tuned))
    for _ in range(2):
        tuned[(4,)](x, 256)
    FOUND["under autotune"] = len(tuned.fn.run.kept)
    triton.__version__ = "9.0.0"
    del scale.run
    launch.shorten(other)
    FOUND["a Triton that is not known is left alone"] = "run" not in vars(scale)


if __name__ == "__main__":
    from fast_softmax import launch

    launch.shorten(sys.modules["__main__"])
    use_scale()
    use_package(launch)
    json.dump(FOUND, sys.stdout)
