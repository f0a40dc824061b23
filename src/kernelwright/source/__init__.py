"""Tunables: the integers in a candidate's source that change how fast it runs, not what it computes.

`find_tunables` reads them off the syntax tree, `apply_config` writes other values in and leaves every other byte of
the text alone. Nothing is imported or run. It is not a tuner (`propose.builtin` chooses values), and it does not
promise that another value works: a block that must cover a whole row fails when halved, and the worker says so.

The one rule: what cannot be read with certainty is not a tunable. These can:

- `num_warps` and `num_stages` at a launch `kernel[grid](...)`, also where absent (Triton's defaults then apply);
- an int given to a `tl.constexpr` parameter: written at the launch, as the parameter's default, or by a name that
  is bound exactly once to an int; also a module's `NAME = tl.constexpr(64)`, a kernel's `NAME: tl.constexpr = 64`.
  Only where its name says block, tile, … (`names.py`), because `STRIDE` or `GROUPS` would change the operation;
- the index of a config under `triton.autotune` (key `autotune:<kernel>`): the worker applies it, not the text.

These cannot: values that pass through a dict (`**kwargs` may carry any key, so nothing is known to be absent), a
parameter of the host function (its callers decide), an expression (`2 * BLOCK`, a conditional), a name bound twice,
and a number repeated in the launch's grid (one would change without the other).
"""

from __future__ import annotations

from kernelwright.source.launches import KernelConfig, kernel_configs
from kernelwright.source.names import AUTOTUNE, Tunable
from kernelwright.source.rewrite import apply_config, autotune_choices, render
from kernelwright.source.tunables import default_config, find_tunables

__all__ = [
    "AUTOTUNE",
    "KernelConfig",
    "Tunable",
    "apply_config",
    "autotune_choices",
    "default_config",
    "find_tunables",
    "kernel_configs",
    "render",
]
