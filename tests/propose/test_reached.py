"""Which of a problem's own modules its Model reaches."""

from __future__ import annotations

from kernelwright.propose.reached import LEFT_OUT, reached

PROBLEM = """
import torch
from layers.block import Block
import data

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)

def get_inputs():
    return [data.secret_rows()]
"""
BLOCK = '''
"""The block."""
import torch
from .activations import squash
from layers import tables

SIZE = 4
TABLE = {}
TABLE["a"] = SIZE

@torch.no_grad()
def other(x):
    return unused_helper(x)

def unused_helper(x):
    return x

class Block(torch.nn.Module):
    def forward(self, x):
        return squash(x) * TABLE["a"] + tables.FACTOR
'''
ACTIVATIONS = "def squash(x):\n    return base(x)\n\ndef base(x):\n    return x\n\ndef unrelated(x):\n    return x\n"
TABLES = "FACTOR = 2\nSECRET = 3\n"


def modules(**changed: str) -> dict[str, str]:
    every = {
        "layers/__init__.py": "",
        "layers/block.py": BLOCK,
        "layers/activations.py": ACTIVATIONS,
        "layers/tables.py": TABLES,
        "data.py": "def secret_rows():\n    return 3\n",
        "optimiser.py": "def step():\n    return 1\n",
    }
    return every | {name.replace("__", "/") + ".py": text for name, text in changed.items()}


def test_only_what_model_reaches_is_shown_statement_by_statement() -> None:
    found = reached(PROBLEM, modules())
    assert set(found) == {"layers/block.py", "layers/activations.py", "layers/tables.py"}
    assert "class Block" in found["layers/block.py"]
    assert 'TABLE["a"] = SIZE' in found["layers/block.py"]
    assert "SIZE = 4" in found["layers/block.py"]
    for left_out in ("unused_helper", "no_grad", "The block"):
        assert left_out not in found["layers/block.py"]
    assert LEFT_OUT in found["layers/block.py"]
    assert "def base" in found["layers/activations.py"]
    assert "unrelated" not in found["layers/activations.py"]
    assert "SECRET" not in found["layers/tables.py"]


def test_a_decorator_belongs_to_what_it_decorates() -> None:
    decorated = BLOCK.replace("class Block", "@keep\nclass Block") + "\ndef keep(one):\n    return one\n"
    shown = reached(PROBLEM, modules(layers__block=decorated))["layers/block.py"]
    assert "@keep\nclass Block" in shown
    assert "def keep" in shown


def test_what_cannot_be_followed_is_shown_whole() -> None:
    dynamic = ACTIVATIONS.replace("return base(x)", "return globals()['base'](x)")
    assert "unrelated" in reached(PROBLEM, modules(layers__activations=dynamic))["layers/activations.py"]
    passed_on = (
        BLOCK.replace("+ tables.FACTOR", "+ factor_of(tables)") + "\ndef factor_of(one):\n    return one.FACTOR\n"
    )
    assert "SECRET" in reached(PROBLEM, modules(layers__block=passed_on))["layers/tables.py"]


def test_a_star_import_reaches_the_names_that_are_used() -> None:
    starred = BLOCK.replace("from .activations import squash", "from .activations import *")
    found = reached(PROBLEM, modules(layers__block=starred))
    assert "def squash" in found["layers/activations.py"]
    assert "def base" in found["layers/activations.py"]


def test_an_import_within_a_function_is_followed() -> None:
    inner = BLOCK.replace("from .activations import squash\n", "").replace(
        "        return squash", "        from .activations import squash\n        return squash"
    )
    assert "def squash" in reached(PROBLEM, modules(layers__block=inner))["layers/activations.py"]


def test_a_dotted_import_is_followed() -> None:
    dotted = PROBLEM.replace("from layers.block import Block", "import layers.block").replace(
        "= Block()", "= layers.block.Block()"
    )
    assert "class Block" in reached(dotted, modules())["layers/block.py"]


def test_a_function_that_init_of_a_package_passes_on_is_found_there() -> None:
    through = PROBLEM.replace("from layers.block import Block", "from layers import Block")
    found = reached(through, {**modules(), "layers/__init__.py": "from .block import Block\nOTHER = 1\n"})
    assert "class Block" in found["layers/block.py"]
    assert "OTHER" not in found["layers/__init__.py"]


def test_where_a_text_does_not_parse_all_are_shown() -> None:
    assert reached("def (:", modules()) == modules()
