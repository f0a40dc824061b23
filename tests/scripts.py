"""Scripts that the package does not hold, as modules, for tests of what they keep and say. Not a way to run one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def script(name: str, folder: Path = BENCHMARKS) -> ModuleType:
    """FOLDER/NAME.py, imported; `main` is not called."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))  # as where a script is run
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
