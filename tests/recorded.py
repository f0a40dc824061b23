"""Recording a candidate in this process, on fake tensors, and carrying out its plan with Python in place of kernels.

Nothing is compiled and no GPU is needed. A plan is carried out by the worker's own `Replay`, so a test
that compares values checks what a replay would do with them.
"""

from __future__ import annotations

import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelwright import codec
from kernelwright.model import LibraryMode, Status, TensorSpec
from kernelwright.worker.compile.kernels import interpreted
from kernelwright.worker.plan.arena import window
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Buffer, Plan, Recorded
from kernelwright.worker.plan.replay import Replay
from kernelwright.worker.record import recorder
from kernelwright.worker.record.messages import RecordCases

HEAD = """import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pass


"""


def spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(
        shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."), stride=tuple(tensor.stride())
    )


def recorded(
    source: str,
    inputs: dict[str, Any],
    parameters: dict[str, torch.Tensor] | None = None,
    init: dict[str, Any] | None = None,
    autotune: dict[str, int] | None = None,
    library: LibraryMode = "none",
) -> Recorded:
    """The recording of `source` for one case with these inputs (tensors stand for their shapes)."""
    init = init or {}
    case = CaseShape(
        name="case",
        inputs=tuple(spec(value) if isinstance(value, torch.Tensor) else value for value in inputs.values()),
        input_names=tuple(inputs),
        parameters={name: spec(tensor) for name, tensor in (parameters or {}).items()},
        init=tuple(spec(value) if isinstance(value, torch.Tensor) else value for value in init.values()),
        init_names=tuple(init),
        init_tensors=tuple(n for n, value in enumerate(init.values()) if isinstance(value, torch.Tensor)),
    )
    job = RecordCases(source=source, autotune=autotune or {}, target="sm_90", cases=(case,), library=library)
    with tempfile.TemporaryDirectory() as folder:
        return recorder.record(codec.record(codec.plain(job), RecordCases), Path(folder))  # as it comes out of JSON


def plan_of(source: str, inputs: dict[str, Any], **more: Any) -> Plan:
    """The plan of a candidate that can be recorded."""
    (found,) = recorded(source, inputs, **more).recordings
    assert found.plan is not None, f"{found.status.value}: {found.reason}"
    return found.plan


def refusal(source: str, inputs: dict[str, Any], **more: Any) -> tuple[Status, str]:
    """Status and reason of a candidate that cannot."""
    (found,) = recorded(source, inputs, **more).recordings
    assert found.plan is None, found.plan
    return found.status, found.reason


class Kernel:
    """A Python function in place of a Triton kernel: `kernel[grid](**arguments)`."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function, self.calls = function, []  # type: tuple[Callable[..., None], list[tuple[int, ...]]]

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        self.calls.append(grid)
        return self.function


def copies(x_ptr: torch.Tensor, y_ptr: torch.Tensor, **rest: Any) -> None:
    """What the kernel `copy` stands for: all of x to y, cast to y's dtype."""
    y_ptr.copy_(x_ptr.expand(y_ptr.shape))


def carried_out(
    plan: Plan, given: dict[str, torch.Tensor], kernels: dict[str, Callable[..., None]] | None = None
) -> list[torch.Tensor]:
    """The outputs of `plan` on these inputs and parameters, with scratch memory poisoned (NaN)."""
    layout = Layout(plan.buffers)
    arena = torch.full((layout.nbytes,), 0xFF, dtype=torch.uint8)
    for buffer in plan.buffers:
        if buffer.origin != "scratch":
            _write(arena, layout, buffer, given[buffer.name])
    module = types.SimpleNamespace(**{k: Kernel(f) for k, f in (kernels or {"copy": copies}).items()})
    Replay(plan, interpreted(module), arena, layout).run()  # type: ignore[arg-type]
    return [window(arena, layout, view).clone() for view in plan.outputs]


def _write(arena: torch.Tensor, layout: Layout, buffer: Buffer, tensor: torch.Tensor) -> None:
    start = layout.offsets[buffer.id]
    flat = arena[start : start + buffer.nbytes].view(tensor.dtype)
    flat.as_strided(tensor.shape, tensor.stride(), flat.storage_offset()).copy_(tensor)
