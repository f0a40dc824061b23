"""A file of a package becomes one text with what it uses of the package, which does the same."""

from __future__ import annotations

from pathlib import Path

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
def kernel(x):
    return 0.5 * x


@triton.jit
def gelu(x):
    return kernel(x) * (1 + tl.erf(scaled(x)))
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


def test_definitions_follow_the_imports_each_behind_what_it_needs(file: Path) -> None:
    found = merged(file)
    places = [found.text.index(one) for one in (
        "import numpy as np", "from triton import cdiv", "# from gelu.py", "def kernel_gelu(x)", "def scaled(x)",
        "def gelu(x)", "BASE = 64", "COLUMNS = 2 * BASE", "def programs(n, width)", "def kernel(x_ptr",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "kernel_gelu(x) * (1 + tl.erf(scaled(x)))" in found.text, "a name that clashes has the module's at its end"
    assert "kernel[((programs)(x.numel(), COLUMNS),)](" in found.text
    for left in ("pack.act", "..tables", "import shapes", "unread", "print", "ROOT = ", "import math"):
        assert left not in found.text
    assert found.names == {
        "gelu.py": ["gelu", "kernel_gelu", "scaled"], "tables.py": ["COLUMNS", "BASE"], "shapes.py": ["programs"]
    }  # fmt: skip


def test_lines_behind_the_copies_are_moved_as_is_said(file: Path) -> None:
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


def test_text_that_is_no_python_is_unchanged(file: Path) -> None:
    assert merged(edited(file, "def kernel(", "def (")).text == file.read_text()
    edited(file, "def (", "def kernel(")
    (file.parents[1] / "tables.py").write_text("def (")
    assert merged(file).text == file.read_text()


def test_what_is_not_found_stays_an_import_beside_what_is(file: Path) -> None:
    edited(file, "import gelu, unread", "import gelu, missing")
    found = merged(edited(file, "    return y", "    return missing(y)")).text
    assert "from pack.act import missing\n" in found
    assert "def gelu(x)" in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import math\n", "from .nowhere import tl as other\n"),
        ("import triton.language as tl\n", "import math as tl\n"),
        ("    return 0.5 * x", "    return other(x)\n\n\nfrom .nowhere import other"),
    ],
)
def test_a_definition_whose_own_needs_cannot_be_copied_is_not(old: str, new: str, file: Path) -> None:
    edited(file.parents[1] / "act/gelu.py", old, new)
    found = merged(file)
    is_copied = old.startswith("import math\n")
    assert ("def gelu(x)" in found.text) is is_copied
    assert ("from pack.act import gelu" in found.text) is not is_copied
    assert "COLUMNS = 2 * BASE" in found.text
    assert "def scaled" not in found.text or is_copied, "nothing is left of it"


def test_a_local_variable_is_not_the_modules_name(file: Path) -> None:
    (file.parents[1] / "tables.py").write_text(
        "BASE = 64\nmake = lambda BASE: BASE\n\n\ndef width(BASE=BASE):\n    x = [BASE for BASE in (BASE,)]\n"
        "    return x[0]\n\n\nWIDTH = width() * make(2)\n"
    )
    edited(file, "import numpy as np", "import numpy as np\n\nBASE = 1")
    text = merged(file).text
    assert "BASE_tables = 64" in text
    assert "make = lambda BASE: BASE" in text
    assert "def width(BASE=BASE_tables):\n    x = [BASE for BASE in (BASE,)]" in text
    namespace: dict[str, object] = {}
    start = text.index("# from tables.py")
    exec(text[start : text.index("COLUMNS")] + "found = width() * make(2)", namespace)
    assert namespace["found"] == 128


def test_a_module_that_is_used_as_a_whole_stays_an_import(file: Path) -> None:
    found = merged(edited(file, "    return y", "    return shapes or y")).text
    assert "from . import shapes" in found
    assert "shapes.programs(x.numel()" in found


def test_what_only_decorates_kernels_stays_an_import(file: Path) -> None:
    (file.parent / "cache.py").write_text("def cached(function):\n    return function\n")
    edited(file, "from . import shapes", "from . import shapes\nfrom .cache import cached")
    above = "@cached(3)\n@triton.jit\ndef kernel(x_ptr"
    found = merged(edited(file, "@triton.jit\ndef kernel(x_ptr", above)).text
    assert "from .cache import cached" in found
    assert above in found
    assert "def cached(" in merged(edited(file, "    return y", "    return cached(y)")).text


def test_a_definition_that_names_itself_is_copied_once(file: Path) -> None:
    (file.parent / "shapes.py").write_text(
        "def programs(n, width):\n    return 1 + programs(n - width, width) if n > 0 else 0\n"
    )
    assert merged(file).text.count("def programs(") == 1


def test_a_file_beside_a_script_is_found(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "script.py").write_text("from helpers import twice\nimport helpers as h\n\ny = twice(1) + h.twice(2)\n")
    text = merged(tmp_path / "script.py").text
    assert text.count("def twice(x)") == 1
    assert "y = twice(1) + (twice)(2)" in text
    assert "import" not in text
