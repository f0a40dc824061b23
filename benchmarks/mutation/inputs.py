"""Inputs of a problem's own kind, made without any code of the judge: other sizes, other scales, other values.

Sizes are those of the stated cases, and a few mixed of them and smaller; values are what the file draws, changed as a
user's data might differ from it. Whole numbers keep their range, and a buffer of positive values stays positive.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

OTHERS = 3
"""Sizes beside those of the stated cases: a kernel is compiled anew for most."""

MANY = 1 << 20
"""Elements of one input; more are not drawn."""


@dataclass
class Drawn:
    """One input of a problem, on the CPU. model: in the case's dtype, its values drawn, too. about: to be read."""

    model: nn.Module
    inputs: list[Any]
    init_inputs: list[Any]
    about: str


def drawn(problem: str, count: int) -> Iterator[Drawn]:
    """The same inputs for every kernel of a problem and in every run. Sizes that the file cannot make are left out."""
    cases = _names(problem)["CASES"]
    sizes = [_parameters(case) for case in cases]
    sizes += [_mixed(cases, random.Random(f"sizes {number}")) for number in range(OTHERS)]
    for number in range(count):
        choice = random.Random(f"{number}")
        torch.manual_seed(number)
        parameters, dtype = sizes[number % len(sizes)]
        try:
            yield _made(problem, parameters, getattr(torch, dtype), choice, number == 0)
        except (RuntimeError, ValueError, IndexError, AssertionError):
            continue


def _parameters(case: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Parameters and dtype of a stated case."""
    ours = ("name", "dtype", "small", "held_out")
    return {key: value for key, value in case.items() if key not in ours}, case.get("dtype") or "float32"


def _mixed(cases: list[dict[str, Any]], choice: random.Random) -> tuple[dict[str, Any], str]:
    """A stated case with some of its sizes those of other cases, or smaller."""
    parameters, dtype = _parameters(choice.choice(cases))
    for key, value in parameters.items():
        if type(value) is int and value > 1:
            stated = [other[key] for other in cases if key in other]
            parameters[key] = choice.choice([*stated, choice.randint(1, max(stated)), choice.randint(1, 40)])
    return parameters, dtype


def _names(problem: str, constants: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the file defines, with other values for some of its constants."""
    tree = ast.parse(problem)
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in (constants or {}):
                statement.value = ast.Constant((constants or {})[name])
    names: dict[str, Any] = {"__name__": "problem"}
    exec(compile(ast.fix_missing_locations(tree), "problem.py", "exec"), names)
    return names


def _made(problem: str, parameters: dict[str, Any], dtype: torch.dtype, choice: random.Random, plain: bool) -> Drawn:
    names = _names(problem)
    takers = [names["get_inputs"], names["get_init_inputs"]]
    taken = {key for taker in takers for key in inspect.signature(taker).parameters}
    names = _names(problem, {key: value for key, value in parameters.items() if key not in taken})

    def call(taker: str) -> list[Any]:
        wanted = inspect.signature(names[taker]).parameters
        return list(names[taker](**{key: value for key, value in parameters.items() if key in wanted}))

    init_inputs, inputs = call("get_init_inputs"), call("get_inputs")
    if any(isinstance(value, Tensor) and value.numel() > MANY for value in inputs):
        raise ValueError("too large")
    model = names["Model"](*init_inputs).eval()
    kind, exponent = ("as the file draws", 0) if plain else (choice.choice(list(KINDS)), choice.choice(EXPONENTS))
    changed = [_value(value, kind, exponent, choice, dtype) for value in inputs]
    weights = "as the file draws"
    if not plain and choice.random() > 0.5:
        weights = choice.choice(list(KINDS))
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                if tensor.is_floating_point():
                    tensor.copy_(_weight(tensor, weights, choice))
    sizes = ", ".join(f"{key} {value}" for key, value in parameters.items())
    about = f"{sizes or 'sizes of the file'}; {str(dtype)[6:]}; inputs {kind}, times 2^{exponent}; weights {weights}"
    return Drawn(model.to(dtype), changed, init_inputs, about)


EXPONENTS = (0, 0, 0, 0, 2, 4, 7, -2, -4, -8)

KINDS: dict[str, Callable[[Tensor, random.Random], Tensor]] = {
    "as the file draws": lambda x, _: x,
    "normal": lambda x, _: torch.randn_like(x),
    "positive": lambda x, _: x.abs() + 0.01,
    "negative": lambda x, _: -x.abs() - 0.01,
    "heavy tails": lambda x, _: torch.randn_like(x) ** 3,
    "shifted": lambda x, choice: x + choice.choice([-5.0, 3.0, 10.0]),
    "few values": lambda x, _: (x * 2).round() / 2,
    "some zeros": lambda x, _: x * (torch.rand_like(x) > 0.3),
    "one value a row": lambda x, _: x[..., :1].expand_as(x).clone() if x.dim() else x,
    "one row of zeros": lambda x, choice: _with_row(x, choice),
    "one large": lambda x, choice: _with_large(x, choice),
}


def _with_row(x: Tensor, choice: random.Random) -> Tensor:
    made = x.clone()
    if made.dim() and made.shape[0]:
        made[choice.randrange(made.shape[0])] = 0
    return made


def _with_large(x: Tensor, choice: random.Random) -> Tensor:
    made = x.clone().reshape(-1)
    if made.numel():
        made[choice.randrange(made.numel())] = 50.0
    return made.reshape(x.shape)


def _value(value: Any, kind: str, exponent: int, choice: random.Random, dtype: torch.dtype) -> Any:
    """An input, changed. Whole numbers (indices, masks, also as floats) are put in another order, along rows."""
    if not isinstance(value, Tensor):
        return value
    if not value.is_floating_point() or _is_whole(value):
        made = value[torch.randperm(value.shape[0])] if value.dim() and value.shape[0] > 1 else value
        return made.to(dtype) if made.is_floating_point() else made
    return (KINDS[kind](value.float(), choice) * 2.0**exponent).to(dtype)


def _weight(tensor: Tensor, kind: str, choice: random.Random) -> Tensor:
    if _is_whole(tensor) and not bool((tensor == tensor.reshape(-1)[:1]).all()):
        return tensor
    is_scale = bool((tensor > 0).all())
    made = KINDS[kind](tensor + 0.1 * torch.randn_like(tensor), choice)
    return made.abs() + 1e-3 if (is_scale and choice.random() < 0.5) or _is_variance(tensor) else made


def _is_variance(tensor: Tensor) -> bool:
    return not tensor.requires_grad and bool((tensor > 0).all())


def _is_whole(tensor: Tensor) -> bool:
    return bool((tensor == tensor.round()).all())
