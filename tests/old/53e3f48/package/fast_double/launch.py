"""Launches of the candidate's kernels that were made before, without working them out again.

Triton's own launch binds the arguments, specialises and looks the kernel up by text, every time: two thirds of what it
costs. Here the compiled kernel that it found is kept by everything it was found by, and launched with the caller's own
arguments. The rule: what was not launched just so, what is watched and what is not understood goes to Triton's `run`.
"""

from __future__ import annotations

import torch
import triton
from triton import knobs
from triton import language as tl
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction, KernelInterface

VERSIONS = ("3.6.", "3.7.")
"""Of Triton, whose compiled kernels are launched as is written here; others launch as they do."""
ALIGNED_BYTES = 16
"""Triton compiles for pointers that are multiples of this apart from others."""
MOST_LAUNCHES = 1024
"""Kept of one kernel; after so many it starts anew, so that an argument that never repeats fills no memory."""

TENSORS = frozenset((torch.Tensor, torch.nn.Parameter))
PLAIN = frozenset((int, bool, float, str, type(None), tl.dtype))


class Launches:
    """In place of a kernel's `run`. Settings of Triton that change later count for launches that are new."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.worked_out = kernel.run
        self.names = [parameter.name for parameter in kernel.params]
        self.defaults = {one.name: one.default for one in kernel.params if one.has_default}
        self.kept = {}

    def __call__(self, *args, grid, warmup, **named):
        active = driver.active
        device = active.get_current_device()
        key = None if warmup or self.watched() else key_of(device, args, named)
        if key is None:
            return self.worked_out(*args, grid=grid, warmup=warmup, **named)
        found = self.kept.get(key)
        if found is None:
            compiled = self.worked_out(*args, grid=grid, warmup=warmup, **named)
            self.keep(key, compiled, len(args))
            return compiled
        compiled, run, function, metadata, left = found
        if left:
            args = (*args, *[named[name] if name in named else self.defaults[name] for name in left])
        if callable(grid):
            grid = grid(dict(zip(self.names, args, strict=True)))
        sizes = (*grid, 1, 1)
        stream = active.get_current_stream(device)
        run(sizes[0], sizes[1], sizes[2], stream, function, metadata, None, None, None, *args)
        return compiled

    def keep(self, key, compiled, given):
        """given: how many arguments came by place; the others come by name, or have a default."""
        if compiled is None or compiled.metadata.target.backend != "cuda":
            return
        if len(self.kept) >= MOST_LAUNCHES:
            self.kept.clear()
        self.kept[key] = (
            compiled, compiled.run, compiled.function, compiled.packed_metadata, tuple(self.names[given:])
        )  # fmt: skip

    def watched(self):
        """Whether somebody wants to be told of launches, as a profiler does; None stands for a hook of another form."""
        runtime = knobs.runtime
        enter = getattr(runtime.launch_enter_hook, "calls", None)
        leave = getattr(runtime.launch_exit_hook, "calls", None)
        return enter is None or leave is None or bool(enter or leave or self.kernel.pre_run_hooks)


def key_of(device, args, named):
    """All that Triton compiles and chooses by, values included; None where an argument is of another kind."""
    key = [device, len(args), *named]
    for value in (*args, *named.values()):
        kind = type(value)
        if kind in PLAIN:
            key += (kind, value)
        elif kind in TENSORS:
            key += (value.dtype, value.data_ptr() % ALIGNED_BYTES == 0)
        else:
            return None
    return tuple(key)


def shorten(module):
    """Let the kernels of a module be launched so; those that are interpreted or of another kind stay as they are."""
    if not triton.__version__.startswith(VERSIONS):
        return
    for kernel in [value for value in vars(module).values() if isinstance(value, KernelInterface)]:
        while not isinstance(kernel, JITFunction) and isinstance(getattr(kernel, "fn", None), KernelInterface):
            kernel = kernel.fn  # under triton.autotune or triton.heuristics
        if type(kernel) is JITFunction and not isinstance(kernel.run, Launches):
            kernel.run = Launches(kernel)
