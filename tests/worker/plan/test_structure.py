"""Values in lists, tuples and dicts: their leaves, and how they are put together again."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from kernelwright.worker.plan.structure import arguments_from, names_of, nested, put_together, result_of


class Pair(NamedTuple):
    one: str
    other: str


@dataclass
class Output:
    logits: str
    loss: str | None = None


@pytest.mark.parametrize("value", ["a", ["a", "b"], ("a", ["b", {"k": "c", 3: ()}]), {"z": "a", "b": {}}, None])
def test_what_was_taken_apart_is_put_together_again(value: Any) -> None:
    leaves: list[Any] = []
    structure = nested(value, leaves)
    assert put_together(ast.literal_eval(repr(structure)), leaves) == value


def test_every_leaf_has_a_name() -> None:
    leaves: list[Any] = []
    structure = nested({"k": "a", "layers": ["b", ("c",)]}, leaves)
    assert names_of("cache", structure) == ["cache.k", "cache.layers.0", "cache.layers.1.0"]
    assert leaves == ["a", "b", "c"]
    assert names_of("x", 0) == ["x"]


@pytest.mark.parametrize(
    ("value", "literal", "leaves"),
    [
        ("a", "", ["a"]),
        (["a", "b"], "", ["a", "b"]),
        (Pair("a", "b"), "", ["a", "b"]),
        (("a", None), "(0, None)", ["a"]),
        ({"z": "a", "b": "b"}, "{'b': 0, 'z': 1}", ["b", "a"]),
        (["a", ["b"]], "(0, (1,))", ["a", "b"]),
        (Output("a"), "{'logits': 0, 'loss': None}", ["a"]),
        ({"out": Output("a", "b")}, "{'out': {'logits': 0, 'loss': 1}}", ["a", "b"]),
    ],
)
def test_a_result_is_compared_whatever_its_lists_are_and_in_which_order_its_keys_stand(
    value: Any, literal: str, leaves: list[str]
) -> None:
    found: list[Any] = []
    assert result_of(value, found) == literal
    assert found == leaves


def test_keys_of_other_kinds_and_endless_nesting_are_refused() -> None:
    with pytest.raises(ValueError, match="keys are neither"):
        nested({(1, 2): "a"}, [])
    endless: list[Any] = []
    endless.append(endless)
    for take_apart in (nested, result_of):
        with pytest.raises(ValueError, match="nested deeper"):
            take_apart(endless, [])


def test_arguments_that_are_not_nested_need_no_literal() -> None:
    assert arguments_from("", ("x", "y"), [1, 2]) == {"x": 1, "y": 2}
    assert arguments_from("{'x': [1, 0]}", ("x.0", "x.1"), [1, 2]) == {"x": [2, 1]}
