"""Tunables: the integers in a candidate's source that change how fast it runs, not what it computes.

`find_tunables` reads them off the syntax tree, `apply_config` writes other values in and leaves every other byte of
the text alone. Nothing is imported or run. It is not a tuner (`propose.builtin` chooses values), and it does not
promise that another value works: a block that must cover a whole row fails when halved, and the worker says so.

What cannot be read with certainty is not a tunable. These can:

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

from collections.abc import Mapping

from kernelwright.source.languages import language_of
from kernelwright.source.launches import KernelConfig
from kernelwright.source.names import AUTOTUNE, Tunable
from kernelwright.source.rewrite import autotune_choices

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


def find_tunables(source: str) -> tuple[Tunable, ...]:
    """The tunables of `source`, in source order; none where it does not parse."""
    return language_of(source).find_tunables(source)


def default_config(source: str) -> dict[str, int]:
    """The values with which `source` runs as it is written. Autotuned kernels choose for themselves: no key."""
    return language_of(source).default_config(source)


def apply_config(source: str, config: Mapping[str, int]) -> str:
    """`source` with the values of `config` in place of the present ones; `autotune:` keys are left to the worker.

    Raises `ConfigError` for a source that does not parse, a key it does not have, or a value that is no choice.
    """
    return language_of(source).apply_config(source, config) if config else source


def render(source: str, config: Mapping[str, int]) -> str:
    """`source` with `config` written in, except for choices among configs of `triton.autotune`, which are not checked.

    Raises `ConfigError` as `apply_config` does.
    """
    return apply_config(source, {key: value for key, value in config.items() if not key.startswith(AUTOTUNE)})


def kernel_configs(source: str, autotune: Mapping[str, int] | None = None) -> dict[str, KernelConfig]:
    """What `source` gives each kernel that it launches; the second launch of a kernel with other values is `name#2`.

    autotune: for kernels under `triton.autotune`, the index of the config. One whose configs cannot be read is left
    out. Raises `ConfigError` for a source that does not parse.
    """
    return language_of(source).kernel_configs(source, autotune)
