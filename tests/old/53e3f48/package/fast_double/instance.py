"""Modules and inputs of the problem's cases, for the check and the benchmark; nothing here runs in a program's calls.

The rule: a case is drawn as the problem's file says, with plain random seeds. For judging a kernel that may cheat there
is kernelwright.
"""

from __future__ import annotations

import ast
import inspect
import json
import types
from operator import attrgetter
from pathlib import Path

import torch

from . import reference

HERE = Path(__file__).parent


def cases():
    """As the problem states them: name, params, dtype, small, held_out."""
    return json.loads((HERE / "cases.json").read_text(encoding="utf-8"))


def smallest():
    return min(cases(), key=lambda case: (not case["small"], case["work_bytes"]))


def example():
    """Inputs of the smallest case."""
    return drawn(smallest(), "cpu")[1]


def drawn(case, device, seed=0):
    """(constructor arguments, inputs) of a case, on `device` and in its dtype."""
    namespace = with_constants(case["params"])
    with torch.random.fork_rng(), torch.device(device), torch.no_grad():
        torch.manual_seed(seed)
        inputs = called(namespace.get_inputs, case["params"])
        init = called(namespace.get_init_inputs, case["params"])
    return list(init), [placed(value, device, case["dtype"]) for value in inputs]


def placed(value, device, dtype):
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(device, getattr(torch, dtype) if dtype and value.is_floating_point() else value.dtype)


def module(of, init, device, dtype, seed=0):
    """An `of` (the reference's Model, or this package's) in evaluation mode; the same parameters for the same seed."""
    with torch.random.fork_rng(), torch.device(device), torch.no_grad():
        torch.manual_seed(seed)
        made = of(*init)
        for tensor in (*made.parameters(), *made.buffers()):
            if tensor.is_floating_point() and tensor.numel() and bool((tensor == tensor.flatten()[0]).all()):
                tensor.add_(0.1 * torch.rand_like(tensor))
    return made.to(device, getattr(torch, dtype) if dtype else None).eval()


def called(function, params):
    """A function of the problem's file, given the parameters that it takes by name."""
    names = inspect.signature(function).parameters
    return function(**{name: value for name, value in params.items() if name in names})


def with_constants(params):
    """The problem's module, with the constants that a case overrides in place of what the file assigns."""
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    body, overridden = [], False
    for statement in tree.body:
        body.append(statement)
        for target in getattr(statement, "targets", []):
            if isinstance(target, ast.Name) and target.id in params:
                overridden = True
                assigned = ast.Assign([ast.Name(target.id, ast.Store())], ast.Constant(params[target.id]))
                body.append(ast.fix_missing_locations(ast.copy_location(assigned, statement)))
    if not overridden:
        return reference
    namespace = types.ModuleType(reference.__name__)
    namespace.__file__ = reference.__file__
    exec(compile(ast.Module(body, []), reference.__file__, "exec"), vars(namespace))  # the file imported above, again
    return namespace


def found(held_by, name):
    """The parameter or buffer of that name."""
    return attrgetter(name)(held_by)
