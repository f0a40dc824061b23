"""State of a candidate between calls: a snapshot of every object that its module and its model lead to.

If the second call does the same as the first and changes no object, any later call does the same, too. The rules on
host code (`rules.state`) refuse state that the syntax shows. The snapshots find state that it does not show.
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
"""The module name under which a candidate is imported."""

UNCHANGED = (BuiltinFunctionType, CodeType, MethodDescriptorType, WrapperDescriptorType, ModuleSpec, weakref.ref, str,
             int, float, bool, type(None))  # fmt: skip
"""Types of objects that host code cannot change, and ModuleSpec, which Python itself changes when it is read."""

MOST_OBJECTS = 1_000_000


class Remains:
    """Snapshot of all objects that `roots` (a module's names, a model) lead to, each with the objects it refers to. It
    keeps them alive, so that no new object gets the id of an old one. For modules, functions and classes from elsewhere
    it has the attributes, but not the objects that these refer to."""

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
            attributes = getattr(one, "__dict__", {})  # creates the dict now, so that a later read does not
            is_other = id(one) in elsewhere or _is_other(one)
            inside = list(attributes.values()) if is_other else _inside(one)
            self.found[id(one)] = one, inside, state_of(one)
            left += [] if is_other else inside

    def refuse_changed(self, after: Remains) -> None:
        """Raise Refused if an object in `after` is new, refers to other objects, or has another state."""
        for number, (one, inside, state) in after.found.items():
            _, before, earlier = self.found.get(number, (None, [], None))
            if state != earlier or [id(part) for part in inside] != [id(part) for part in before]:
                raise Refused(f"the second call changed an object that outlives it, of type {type(one).__name__}; "
                              "nothing may be kept between calls")  # fmt: skip


def _inside(one: Any) -> list[Any]:
    """The objects that an object refers to; for a dict, keys and values in order, whatever its memory layout."""
    if type(one) in (dict, OrderedDict):
        return [*one.keys(), *one.values()]
    return [*gc.get_referents(one), *(OrderedDict.keys(one) if isinstance(one, OrderedDict) else ())]


def state_of(one: Any) -> object:
    """The part of an object's state that is not references to other objects: of bytearrays and arrays their bytes."""
    if isinstance(one, torch.Tensor):
        return one.requires_grad, one.dtype, one.shape, one.stride(), one.storage_offset()
    if isinstance(one, torch.Generator):
        return one.initial_seed()
    try:
        view = memoryview(one)
    except TypeError:
        return None
    if "O" in view.format:  # an array of Python objects, which the garbage collector does not see
        raise Refused(f"a {type(one).__name__} of objects could keep results between calls; use a tuple")
    return view.tobytes()


def candidate_name() -> str:
    """The name of the candidate's module, which varies."""
    return getattr(sys.modules.get(CANDIDATE), "__name__", CANDIDATE)


def _is_other(one: Any) -> bool:
    """Whether `one` is a module, or a function or class that the candidate does not define."""
    if isinstance(one, FunctionType):  # functools.wraps gives it another `__module__`
        return one.__globals__ is not getattr(sys.modules.get(CANDIDATE), "__dict__", None)
    return isinstance(one, ModuleType) or (isinstance(one, type) and one.__module__ != candidate_name())
