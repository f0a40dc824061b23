"""What to use: `Module`, a stand-in for the problem's Model, and `patch`, which puts the kernel into a model you have.

Both leave parameters, buffers and state_dict as they were. The rule: PyTorch's own forward stays and is what runs
wherever the kernel was not measured to win.
"""

from __future__ import annotations

import copy
import inspect
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MethodType

import torch

from . import arguments, instance, reference
from .dispatch import State
from .forward import dispatching


class Module(reference.Model):
    """The problem's Model, constructed and used like it.

    graphs: for a program that replays CUDA graphs, captured by hand or by torch.compile(mode="reduce-overhead"); the
    kernel is then taken wherever it wins in device time alone.
    """

    def __init__(self, *init, graphs=False, **named):
        super().__init__(*init, **named)
        self.fast_state = State(self, positional(init, named), arguments.PARAMETERS, graphs)

    forward = dispatching(reference.Model.forward)


def positional(init, named):
    """Constructor arguments in the order of `Model`, however they were given."""
    if not named:
        return list(init)
    bound = inspect.signature(reference.Model).bind(*init, **named)
    return list(bound.arguments.values())


@lru_cache(maxsize=None)
def choosing(forward):
    """One function for each class that is patched, so that torch.compile sees the same one everywhere."""
    return dispatching(forward)


def patch(model, which, *, init=None, parameters=None, example=None, graphs=False):
    """Let the kernel into the modules of `model` that are meant; gives their names. Undo with `unpatch`.

    which: a class, a pattern for qualified names ("layers.*.norm"), or a function of name and module. init: what the
    problem's Model would be constructed with, a list or a function of the module; by default what the module has under
    the names of Model's arguments. parameters: where the problem's parameters are in the module, by name, if under
    other names. example: inputs on which the module has to give what the problem's Model gives, in training and in
    evaluation; by default a small case of the problem. graphs: as of `Module`. Raises LookupError where nothing is
    meant, and ValueError for a module that computes something else; then nothing was changed.
    """
    meant = [(name, module) for name, module in model.named_modules() if matches(which, name, module)]
    if not meant:
        raise LookupError(f"no module of {type(model).__name__} is meant by {which!r}; see model.named_modules()")
    states = []
    for name, module in meant:
        given = constructor_arguments(module, name, init)
        names = [(parameters or {}).get(own, own) for own in arguments.PARAMETERS]
        check_same(module, name, given, names, example)
        states.append(State(module, given, names, graphs))
    for (_, module), state in zip(meant, states, strict=True):
        module.fast_state = state
        module.forward = MethodType(choosing(type(module).forward), module)
    return [name for name, _ in meant]


def unpatch(model):
    """Take the kernel out of every module that `patch` has changed; gives their names."""
    changed = [
        (name, module) for name, module in model.named_modules() if {"fast_state", "forward"} <= vars(module).keys()
    ]
    for _, module in changed:
        del module.forward, module.fast_state
    return [name for name, _ in changed]


def matches(which, name, module):
    if isinstance(which, str):
        return fnmatchcase(name, which)
    return isinstance(module, which) if isinstance(which, type) else which(name, module)


def constructor_arguments(module, name, init):
    if "forward" in vars(module):
        raise ValueError(f"{name or 'the model'} has a forward of its own already; unpatch it first")
    if callable(init):
        return list(init(module))
    if init is not None:
        return list(init)
    wanted = [
        parameter.name
        for parameter in inspect.signature(reference.Model).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    missing = [one for one in wanted if not hasattr(module, one)]
    if missing:
        raise ValueError(f"{name or 'the model'} has no {', '.join(missing)}; give init=[…] as for the problem's Model")
    return [getattr(module, one) for one in wanted]


def check_same(module, name, init, names, example):
    """Raise ValueError where the module is not the problem's Model on `example`."""
    given = instance.example() if example is None else list(example)
    given = [one.detach().cpu().float() if is_floating(one) else one for one in given]
    theirs = copy.deepcopy(module).cpu().float()
    with torch.no_grad(), torch.device("meta"):
        ours = reference.Model(*init).eval()
    for training in (False, True):
        theirs.train(training)
        try:
            held = dict(zip(arguments.PARAMETERS, [instance.found(theirs, one) for one in names], strict=True))
            with torch.no_grad():
                expected = torch.func.functional_call(ours, held, tuple(given))
                answer = theirs(*given)
        except (AttributeError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"{name or 'the model'} cannot be compared with the problem's Model: {error}; give example=(…), and "
                "init and parameters where they are under other names"
            ) from error
        if not same(answer, expected):
            mode = "training" if training else "evaluation"
            raise ValueError(f"{name or 'the model'} does not compute what the problem's Model computes, in {mode}")


def same(answer, expected):
    pairs = [(answer, expected)] if isinstance(expected, torch.Tensor) else [*zip(answer, expected, strict=False)]
    return all(
        isinstance(one, torch.Tensor)
        and one.shape == other.shape
        and torch.allclose(one, other, 1e-4, 1e-5, equal_nan=True)
        for one, other in pairs
    )


def is_floating(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


COUNTED = {
    "calls": "an awaited call, calls in a row and device time, on a host half as fast, too",
    "graphs": "device time alone (graphs=True)",
}


def explain(module, *inputs):
    """What a call with these inputs runs, and why; about the shape only, not about gradients, autocast or layout."""
    lines = []
    for how, regime in (("called", "eager"), ("in torch.compile", "compiled")):
        answer, why, _ = module.fast_state.judged(inputs, regime)
        lines.append(f"{how}: {'kernel' if answer else 'PyTorch'} ({why})")
    return "\n".join([*lines, f"what counts: {COUNTED[module.fast_state.kind.use]}"])
