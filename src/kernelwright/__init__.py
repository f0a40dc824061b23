"""kernelwright: from a PyTorch computation to a verified, honestly timed, faster Triton kernel.

    import kernelwright

    problem = kernelwright.Problem.from_module(block, [x])
    print(kernelwright.verify(problem, "kernel.py"))

`API` lists the public names; their types are in `__init__.pyi`. Each name is imported when it is first used: importing
kernelwright imports neither torch nor anything else.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

__version__ = "0.1.0"

API = {
    "Model": "kernelwright.api.model",
    "Problem": "kernelwright.problems.problem",
    "bench": "kernelwright.api.verbs",
    "check": "kernelwright.api.verbs",
    "export": "kernelwright.api.verbs",
    "open_run": "kernelwright.api.run",
    "optimize": "kernelwright.api.search",
    "optimize_all": "kernelwright.api.search",
    "profile": "kernelwright.api.verbs",
    "tune": "kernelwright.api.search",
    "verify": "kernelwright.api.verbs",
    "verify_all": "kernelwright.api.verbs",
}
"""Public names, each with the module that defines it."""

__all__ = ["__version__", *API]


class _Package(types.ModuleType):
    """The package's module object, with the public names as properties. A module-level `__getattr__` is not enough:
    `export` and `tune` are also subpackages, and importing one sets an attribute of the same name."""

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *API})


def _public(name: str, module: str) -> property:
    def value(package: types.ModuleType) -> Any:
        return getattr(importlib.import_module(module), name)

    def ignore(package: types.ModuleType, subpackage: types.ModuleType) -> None:
        """Ignore that the import system sets the attribute to the imported subpackage. The subpackage stays reachable
        by its full name."""

    return property(value, ignore)


for _name, _module in API.items():
    setattr(_Package, _name, _public(_name, _module))
sys.modules[__name__].__class__ = _Package
