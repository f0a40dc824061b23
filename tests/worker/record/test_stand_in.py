"""What a recorded module finds of its machine."""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType

from kernelwright.worker.record.remains import CANDIDATE
from kernelwright.worker.record.stand_in import alone

ASKS = """
import importlib.metadata
import importlib.util
import os

PATH = os.getenv("PATH"), os.environ.get("PATH", "none")
FOUND = [importlib.util.find_spec(name) is not None for name in ("torch", "json", "pytest")]
try:
    VERSION = importlib.metadata.version("pytest")
except importlib.metadata.PackageNotFoundError:
    VERSION = ""
"""


def test_a_recorded_module_finds_no_variable_and_no_package_beside_the_framework() -> None:
    module = ModuleType(CANDIDATE)
    with alone():
        exec(ASKS, vars(module))
        assert os.getenv("PATH"), "others do"
        assert importlib.util.find_spec("pytest") is not None
    assert (module.PATH, module.FOUND, module.VERSION) == ((None, "none"), [True, True, False], "")
