"""Refusing at once what cannot be a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ProblemError
from kernelwright.problems import read_problem_text

KERNELBENCH = Path(__file__).parent / "kernelbench"


@pytest.mark.parametrize("file", sorted(KERNELBENCH.glob("*.py")), ids=lambda file: file.stem)
def test_a_kernelbench_file_is_read_as_it_is(file: Path) -> None:
    assert read_problem_text(file) == file.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "from somewhere import Model, get_inputs, get_init_inputs",
        "from somewhere import *",
        "class Net: ...\nModel = Net\nget_inputs = get_init_inputs = lambda: []",
        "if True:\n    class Model: ...\nelse:\n    Model = None\nget_inputs, get_init_inputs = 1, 2",
        "try:\n    import m as Model\nexcept ImportError:\n    class Model: ...\n"
        "def get_inputs(): ...\nget_init_inputs, other = list, 1",
    ],
)
def test_however_the_names_are_bound_they_count(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bound.py"
    file.write_text(text)
    assert read_problem_text(file) == text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", b"", "notes.txt is not a Python file"),
        ("absent.py", None, "No such file"),
        ("latin.py", b"# caf\xe9", "not text in UTF-8: byte 5 is 0xe9"),
        ("zero.py", b"x = 1\0", "null bytes"),
        ("broken.py", b"import torch\n\ndef f(:\n", "line 3: "),
        ("empty.py", b"", "does not define Model, get_inputs, get_init_inputs"),
        ("half.py", b"class Model: ...\ndef get_inputs(): ...", "does not define get_init_inputs"),
        ("inner.py", b"def f():\n    class Model: ...\ndef get_inputs(): ...\nget_init_inputs = f", "define Model ("),
    ],
)
def test_what_cannot_be_a_problem_is_refused_with_its_reason(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ProblemError) as caught:
        read_problem_text(file)
    assert said in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def first(x): ...\ndef norm(x, w): ...", "import norm` and `kernelwright.Problem.from_function(norm, ["),
        ("class Block(nn.Module): ...\ndef norm(x): ...", "`kernelwright.Problem.from_module(Block(…), [tensor"),
        ("class Model(nn.Module): ...\ndef norm(x): ...", "get_init_inputs())"),
        ("x = 1", "get_init_inputs())"),
    ],
    ids=["functions", "a module", "a Model", "neither"],
)
def test_without_a_model_the_python_api_is_named_that_writes_one(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(ProblemError) as caught:
        read_problem_text(tmp_path / "own.py")
    assert said in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text("from somewhere import *", encoding="utf-8-sig")
    assert read_problem_text(tmp_path / "marked.py") == "from somewhere import *"
