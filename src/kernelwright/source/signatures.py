"""Binds the arguments of a candidate's `kernel_function` and `kernel_backward` to the problem's values, by signature.

The recorder calls the functions with these arguments, and exported packages have the same calls as text.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.source.parameter_names import as_argument


@dataclass(frozen=True)
class CallArgument:
    """One argument of a call: the value's group and its index in it. A "default" is that of the parameter with this
    index. keyword: its name if it is passed by name."""

    origin: Literal["input", "parameter", "init", "default"]
    index: int
    keyword: str | None = None


def bind(
    signature: inspect.Signature, inputs: Sequence[str], parameters: Sequence[str], init: Sequence[str]
) -> list[CallArgument]:
    """The arguments of a call, matched by name: inputs, then the problem's parameters (see `as_argument`, or a unique
    last part), then constructor arguments. An argument with another name takes the next input that no name matches if
    it has no default or the default None, and otherwise keeps its default.

    `*args` gets the inputs and parameters that no name matches, in order. `**kwargs` gets constructor arguments, and
    without `*args` also these inputs and parameters (a parameter under each of its names). With `*args` and without
    `**kwargs`, constructor arguments follow the parameters. Raises ValueError for an argument without a value.
    """
    leaves = [name.rpartition(".")[2] for name in parameters]
    spelled = {leaf: place for place, leaf in enumerate(leaves) if leaves.count(leaf) == 1}
    spelled |= {as_argument(name): place for place, name in enumerate(parameters)}
    named = {name: CallArgument("init", place) for place, name in enumerate(init)}
    named |= {name: CallArgument("parameter", place) for name, place in spelled.items()}
    named |= {name: CallArgument("input", place) for place, name in enumerate(inputs)}
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    kinds = [one.kind for one in signature.parameters.values()]
    taken = {one.name for one in signature.parameters.values() if one.kind not in stars}
    unnamed = [named[name] for name in inputs if name not in taken]
    matched = {place for name, place in spelled.items() if name in taken}
    loose = [place for place in range(len(parameters)) if place not in matched]
    options = [CallArgument("init", place) for place, name in enumerate(init) if name not in taken]
    found: list[CallArgument] = []
    for place, one in enumerate(signature.parameters.values()):
        if one.kind is one.VAR_POSITIONAL:
            found += [*unnamed, *(CallArgument("parameter", place) for place in loose)]
            found += options if one.VAR_KEYWORD not in kinds else []
            unnamed, loose = [], []
        elif one.kind is one.VAR_KEYWORD:
            more = {init[option.index]: option for option in options}
            more |= {name: named[name] for name, at in spelled.items() if at in loose}
            more |= {inputs[value.index]: value for value in unnamed}
            found += [replace(value, keyword=name) for name, value in more.items()]
        else:
            value = named.get(one.name)
            if value is None and unnamed and (one.default is one.empty or one.default is None):
                value = unnamed.pop(0)
            if value is None and one.default is one.empty:
                raise ValueError(f"the argument {one.name!r} is none of the problem's: {', '.join(named)}")
            value = value or CallArgument("default", place)
            found.append(replace(value, keyword=one.name) if one.kind is one.KEYWORD_ONLY else value)
    return found
