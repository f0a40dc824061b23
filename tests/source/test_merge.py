"""A file of a package becomes one text with what it uses of the package, which does the same."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernelwright.source.merge import merged

KERNEL = """import torch
import triton
import triton.language as tl

from pack.act import gelu, unread
from ..tables import WIDTH as COLUMNS
from . import shapes
import numpy as np


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, gelu(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


def kernel_function(x):
    y = torch.empty_like(x)
    kernel[(shapes.programs(x.numel(), COLUMNS),)](x, y, x.numel(), BLOCK=COLUMNS)
    return y
"""

ACT = """import math

import triton
import triton.language as tl

print("a statement that is not copied")
ROOT = math.sqrt(2.0)
unread = 1


@triton.jit
def scaled(x):
    ROOT_OF_TWO: tl.constexpr = 1.4142135623730951
    return x / ROOT_OF_TWO


@triton.jit
def half(x):
    return 0.5 * x


@triton.jit
def gelu(x):
    return half(x) * (1 + tl.erf(scaled(x)))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """pack/kernels/gelu.py"""
    files = {
        "pack/__init__.py": "", "pack/kernels/__init__.py": "", "pack/kernels/gelu.py": KERNEL,
        "pack/act/__init__.py": "from .all import *\n", "pack/act/all.py": "from .gelu import gelu, unread\n",
        "pack/act/gelu.py": ACT, "pack/tables.py": "BASE = 64\nWIDTH = 2 * BASE\n",
        "pack/kernels/shapes.py": "from triton import cdiv\n\n\ndef programs(n, width):\n    return cdiv(n, width)\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "pack/kernels/gelu.py"


def edited(file: Path, old: str, new: str) -> Path:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    return file


def test_definitions_follow_the_imports_in_the_order_of_their_modules(file: Path) -> None:
    found = merged(file)
    places = [found.text.index(one) for one in (
        "import numpy as np", "from triton import cdiv", "def scaled(x)", "def half(x)", "def gelu(x)",
        "COLUMNS = WIDTH", "def kernel(x_ptr",
    )]  # fmt: skip
    assert places == sorted(places)
    assert found.text.index("BASE = 64") < found.text.index("WIDTH = 2 * BASE") < found.text.index("COLUMNS = WIDTH")
    assert "kernel[((programs)(x.numel(), COLUMNS),)](" in found.text
    for left in ("import gelu\n", "..tables", "import shapes", "print", "ROOT = ", "import math"):
        assert left not in found.text
    assert "from pack.act import unread\n" in found.text, "the judge leaves out what is not read"
    assert {name: {*names} for name, names in found.names.items()} == {
        "../act/gelu.py": {"gelu", "half", "scaled"}, "../tables.py": {"WIDTH", "BASE"}, "shapes.py": {"programs"}
    }  # fmt: skip


def test_the_text_is_the_same_in_every_process(file: Path) -> None:
    names, modules = "abcdefgh", [f"m{number}" for number in range(8)]
    for module in modules:
        (file.parents[1] / f"{module}.py").write_text("x = [1]\n".replace("x", f"x_{module}"))
    imports = "".join(f"from .{module} import x_{module}\n" for module in modules)
    values = ", ".join(f"x_{module}" for module in modules)
    (file.parents[1] / "many.py").write_text(f"{imports}{', '.join(names)} = {values}\n")
    file.write_text("from ..many import a\n\nprint(a)\n")
    command = [sys.executable, "-c", f"from kernelwright.source.merge import *; print(merged(Path({str(file)!r})))"]
    texts = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        for seed in "1234"
    ]
    assert len({one.stdout for one in texts}) == 1
    assert "x_m0, x_m1, x_m2, x_m3" in texts[0].stdout


def test_lines_after_the_copies_are_moved_as_is_said(file: Path) -> None:
    found = merged(file)
    before, after = KERNEL.splitlines(), found.text.splitlines()
    assert found.line == before.index("import numpy as np") + 1
    last = before.index("    return y")
    assert after[last + found.more] == before[last]


def test_a_file_without_a_package_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton/language.py").write_text("exp = None\n")
    file = tmp_path / "triton/alone.py"
    text = "import json\nimport triton\nimport triton.language as tl\nfrom elsewhere import one\n\nx = [one, tl.exp]\n"
    file.write_text(text)
    (tmp_path / "triton/json.py").write_text("")
    assert merged(file).text == text, "a folder may have the name of a library"
    assert merged(file).names == {}


def test_text_that_is_not_python_is_unchanged(file: Path) -> None:
    assert merged(edited(file, "def kernel(", "def (")).text == file.read_text()


def test_a_neighbour_that_is_not_python_stays_an_import_alone(file: Path) -> None:
    (file.parents[1] / "tables.py").write_text("def (")
    text = merged(file).text
    assert "from ..tables import WIDTH as COLUMNS" in text
    assert "def gelu(x)" in text


def test_what_only_decorates_kernels_stays_an_import(file: Path) -> None:
    (file.parent / "cache.py").write_text("def cached(function):\n    return function\n")
    edited(file, "from . import shapes", "from . import shapes\nfrom .cache import cached")
    above = "@cached(3)\n@triton.jit\ndef kernel(x_ptr"
    found = merged(edited(file, "@triton.jit\ndef kernel(x_ptr", above)).text
    assert "from .cache import cached" in found
    assert above in found
    assert "def cached(" in merged(edited(file, "    return y", "    return cached(y)")).text


def test_decorators_of_copied_kernels_stay_imports(file: Path) -> None:
    (file.parents[1] / "cache.py").write_text("def cached(function):\n    return function\n")
    edited(file.parents[1] / "act/gelu.py", "ROOT = ", "from pack.cache import cached\nROOT = ")
    edited(file.parents[1] / "act/gelu.py", "@triton.jit\ndef gelu", "@cached\n@triton.jit\ndef gelu")
    found = merged(file).text
    assert "from pack.cache import cached\n" in found
    assert "@cached\n@triton.jit\ndef gelu(x)" in found


PACKAGES = tomllib.loads((Path(__file__).parent / "packages.toml").read_text())


def packaged(folder: Path, package: dict[str, Any]) -> Path:
    (folder / "pack").mkdir()
    for name, text in {"__init__": "", **package["modules"], "main": package["main"]}.items():
        (folder / f"pack/{name}.py").write_text(text + "\n")
    return folder / "pack/main.py"


def result(folder: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """What the file computes in its package."""
    monkeypatch.syspath_prepend(str(folder))
    try:
        return importlib.import_module("pack.main").result
    finally:
        for name in [one for one in sys.modules if one.partition(".")[0] == "pack"]:
            del sys.modules[name]


@pytest.mark.parametrize("package", PACKAGES["copied"], ids=lambda one: one["what"])
def test_the_merged_text_does_the_same(
    package: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packaged(tmp_path, package)
    text = merged(file).text
    assert "from ." not in text
    assert "pack" not in text
    alone: dict[str, object] = {}
    exec(text, alone)
    assert alone["result"] == result(tmp_path, monkeypatch)


@pytest.mark.parametrize("package", PACKAGES["kept"], ids=lambda one: one["what"])
def test_what_may_mean_something_else_stays_an_import(
    package: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packaged(tmp_path, package)
    before = result(tmp_path, monkeypatch)
    found = merged(file)
    if package["what"] == "a name of two modules":  # the first of them is copied
        assert "from .b import g" in found.text
    else:
        assert found.text == file.read_text()
    file.write_text(found.text)
    importlib.invalidate_caches()
    for cached in tmp_path.glob("pack/__pycache__/*"):
        cached.unlink()
    assert result(tmp_path, monkeypatch) == before


def test_a_file_beside_a_script_is_found_and_beside_a_module_is_not(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "script.py").write_text("from helpers import twice\nimport helpers as h\n\ny = twice(1) + h.twice(2)\n")
    text = merged(tmp_path / "script.py").text
    assert text.count("def twice(x)") == 1
    assert "y = twice(1) + (twice)(2)" in text
    assert "import" not in text
    (tmp_path / "__init__.py").write_text("")
    assert merged(tmp_path / "script.py").names == {}, "in a package, helpers is another package"
