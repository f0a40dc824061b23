"""Kernel languages, and detection of the language of a source.

An entry has the functions that read sources of a language, and the name of the worker's module with its rules. It is
only a name because code outside of the worker must not import the worker's modules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelwright.source import launches, rewrite, tunables
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import imported
from kernelwright.source.launches import KernelConfig
from kernelwright.source.names import Tunable


@dataclass(frozen=True)
class Language:
    """The functions for kernels of one language.

    module: the module that a source in this language imports. find_tunables, default_config, apply_config,
    kernel_configs: as the functions of `kernelwright.source`. rules: the worker's module with `check(source)`, which
    returns the kernels and the rules that they break, and `why_not_judged(on_gpu)`.
    """

    module: str
    rules: str
    find_tunables: Callable[[str], tuple[Tunable, ...]]
    default_config: Callable[[str], dict[str, int]]
    apply_config: Callable[[str, Mapping[str, int]], str]
    kernel_configs: Callable[[str, Mapping[str, int] | None], dict[str, KernelConfig]]


TRITON = Language(
    module="triton",
    rules="kernelwright.worker.rules.triton",
    find_tunables=tunables.find_tunables,
    default_config=tunables.default_config,
    apply_config=rewrite.apply_config,
    kernel_configs=launches.kernel_configs,
)

LANGUAGES = {"triton": TRITON}
"""By name. The name is also the tag of a language's launches in a plan."""


def language_of(source: str) -> Language:
    """The language whose module `source` imports; the longest module name where there are several. Triton where there
    is none, or where the source does not parse."""
    paths = _imports_of(source)
    used = [one for one in LANGUAGES.values() if any(f"{path}.".startswith(f"{one.module}.") for path in paths)]
    return max(used, key=lambda one: len(one.module), default=TRITON)


@functools.lru_cache(maxsize=256)
def _imports_of(source: str) -> frozenset[str]:
    """Full names that a source imports; none where it does not parse. Cached, because a search reads the same few
    sources with many configs."""
    try:
        return frozenset(found.path for node in syntax.parse(source).body for found in imported(node))
    except (SyntaxError, ValueError):
        return frozenset()
