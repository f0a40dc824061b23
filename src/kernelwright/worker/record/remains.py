"""What of a candidate outlives a call: every object that its module and its model lead to, as it is between calls.

If the second call does what the first did and leaves every object as it found it, so does any later one. The rules on
host code (`rules.state`) refuse what shows in the syntax, and this what does not.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import torch

from kernelwright.worker.record.trace import Refused

CANDIDATE = "candidate"
"""The name of the module that a candidate is imported as."""

UNCHANGED = (BuiltinFunctionType, CodeType, MethodDescriptorType, WrapperDescriptorType, ModuleSpec, weakref.ref, str,
             int, float, bool, type(None))  # fmt: skip
"""Types of objects that host code cannot change. Python itself notes things in a module's spec when it is asked."""

MOST_OBJECTS = 1_000_000


class Remains:
    """The objects behind `roots` (a module's names, a model), each with what it refers to. All stay alive, so that no
    other object takes their place in memory. Of a module, function or class from elsewhere only the attributes count,
    not what these hold."""

    def __init__(self, *roots: Any) -> None:
        self.found: dict[int, tuple[Any, list[Any], object]] = {}
        others = [vars(module) for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
        elsewhere = set(map(id, others)) - set(map(id, roots))
        left = list(roots)
        while left:
            one = left.pop()
            if id(one) in self.found or type(one) in UNCHANGED:
                continue
            if isinstance(one, Iterator):
                raise Refused("an iterator keeps its place between calls; use a tuple")
            if len(self.found) > MOST_OBJECTS:
                raise Refused(f"over {MOST_OBJECTS} objects outlive a call")
            attributes = getattr(one, "__dict__", {})  # makes the dict, so that asking for it later changes nothing
            is_other = id(one) in elsewhere or _is_other(one)
            inside = list(attributes.values()) if is_other else _inside(one)
            self.found[id(one)] = one, inside, _state(one)
            left += [] if is_other else inside

    def refuse_changed(self, after: Remains) -> None:
        """Raise Refused where an object refers to something else than it did, or is new."""
        for number, (one, inside, state) in after.found.items():
            _, before, earlier = self.found.get(number, (None, [], None))
            if state != earlier or [id(part) for part in inside] != [id(part) for part in before]:
                raise Refused(f"what outlives a call was changed by the second call, in a {type(one).__name__}; "
                              "nothing may be kept between calls")  # fmt: skip


def _inside(one: Any) -> list[Any]:
    """What an object refers to; of a dict keys and values in their order, however Python lays them out."""
    if type(one) in (dict, OrderedDict):
        return [*one.keys(), *one.values()]
    return [*gc.get_referents(one), *(OrderedDict.keys(one) if isinstance(one, OrderedDict) else ())]


def _state(one: Any) -> object:
    """What an object holds beside references."""
    if isinstance(one, torch.Tensor):
        return one.requires_grad, one.dtype, one.shape, one.stride(), one.storage_offset()
    if isinstance(one, torch.Generator):
        return one.initial_seed()
    return bytes(one) if isinstance(one, bytearray) else None


def _is_other(one: Any) -> bool:
    """Whether it is a module, or a function or class of another module."""
    named = isinstance(one, type | FunctionType)
    return isinstance(one, ModuleType) or (named and getattr(one, "__module__", None) != CANDIDATE)
