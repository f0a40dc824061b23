"""Tunables: the integers in a candidate's source that change its speed, not its result.

`find_tunables` reads them from the AST. `apply_config` writes other values and changes no other byte. Nothing is
imported or run. Choosing values is the work of samplers (`propose.builtin`). Another value need not work: a block that
must cover a whole row fails when halved, and the worker reports that.

An integer is a tunable only if it can be read with certainty. These can:

- `num_warps` and `num_stages` at a launch `kernel[grid](...)`, also where absent (Triton's defaults then apply);
- an int passed to a `tl.constexpr` parameter: written at the launch, as the parameter's default, or by a name that
  is bound exactly once to an int; also such a name inside `min`, `max` or `//`, a module's `NAME = tl.constexpr(64)`,
  and a kernel's `NAME: tl.constexpr = 64`. Only where its name says block, tile, … (`names.py`), because `STRIDE` or
  `GROUPS` would change the operation;
- the index of a config under `triton.autotune` (key `autotune:<kernel>`): the worker applies it, not the text.

These cannot: values that pass through a dict (`**kwargs` may contain any key, so no option is known to be absent), a
parameter of the host function (its callers decide), another expression (`2 * BLOCK`, a conditional), a name bound
twice, and a number repeated in the launch's grid (one would change without the other).
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.model import Candidate, Evaluation
from kernelwright.source.languages import language_of
from kernelwright.source.launches import KernelConfig
from kernelwright.source.names import AUTOTUNE, Tunable
from kernelwright.source.rewrite import autotune_choices


def find_tunables(source: str) -> tuple[Tunable, ...]:
    """The tunables of `source`, in source order; none where it does not parse."""
    return language_of(source).find_tunables(source)


def default_config(source: str) -> dict[str, int]:
    """The config of `source` as written. Kernels under `triton.autotune` have no key here."""
    return language_of(source).default_config(source)


def apply_config(source: str, config: Mapping[str, int]) -> str:
    """`source` with the values of `config` written in; `autotune:` keys are left to the worker.

    Raises `ConfigError` for a source that does not parse, a key it does not have, or a value that is not a choice.
    """
    return language_of(source).apply_config(source, config) if config else source


def render(source: str, config: Mapping[str, int]) -> str:
    """`source` with `config` written in. `autotune:` keys are ignored and not checked.

    Raises `ConfigError` as `apply_config` does.
    """
    return apply_config(source, {key: value for key, value in config.items() if not key.startswith(AUTOTUNE)})


def judged_text(candidate: Candidate, evaluation: Evaluation) -> str:
    """The text of a candidate that was judged: its source with its config, and with refusals in place of branches that
    no judged case took. Raises `ConfigError` as `apply_config` does."""
    return evaluation.judged_source or render(candidate.source, candidate.config)


def kernel_configs(source: str, autotune: Mapping[str, int] | None = None) -> dict[str, KernelConfig]:
    """The constants and launch options of each launched kernel; a second launch of a kernel with other values is
    `name#2`.

    autotune: for kernels under `triton.autotune`, the index of the config. A kernel whose configs cannot be read is
    left out. Raises `ConfigError` for a source that does not parse.
    """
    return language_of(source).kernel_configs(source, autotune)
