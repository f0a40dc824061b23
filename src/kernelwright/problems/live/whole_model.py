"""Writes a live module and its inputs as a script for `kernelwright model`, in a folder with the caller's own sources.

Parameters are written with their shapes, dtypes and strides, and without their values.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.live.expressions import Expressions
from kernelwright.problems.live.stored import store
from kernelwright.problems.live.write import write_sources
from kernelwright.problems.paths import MODULE_FILE, SOURCES_FOLDER


def write_model(module: Any, inputs: Mapping[str, Any], name: str | None, folder: Path, train: bool) -> Path:
    """The path of the script, in `folder`/NAME_module. Raises `ProblemError` for a module that cannot be stored."""
    torch = sys.modules.get("torch")
    module = getattr(module, "_orig_mod", module)
    if torch is None or not isinstance(module, torch.nn.Module):
        raise ProblemError(f"{type(module).__name__} is no torch.nn.Module", "give the module itself")
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(module).__name__).lower()
    device = next((one.device.type for one in module.parameters()), "cpu")
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    empty = {id(one): torch.nn.Parameter(torch.empty_like(one, device="meta"), one.requires_grad)
             for one in module.parameters()}  # fmt: skip
    home, written = folder / f"{name}_module", Expressions(f"{name}_code")
    home.mkdir(parents=True, exist_ok=True)
    imports = store({"module": copy.deepcopy(module, empty), "inputs": dict(inputs)}, written, home / MODULE_FILE)
    write_sources(home / SOURCES_FOLDER, written, imports)
    template = (resources.files("kernelwright.problems.live") / "model.py.txt").read_text(encoding="utf-8")
    text = template.format(title=type(module).__name__, home=written.home, train=train, autocast=dtype)
    (home / f"{name}.py").write_text(text, encoding="utf-8")
    return home / f"{name}.py"
