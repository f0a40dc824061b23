"""A problem file, imported: its cases, and the reference with inputs for any of them.

Runs inside a worker process, because it executes the user's file; it judges no candidate and times nothing.
An instance depends only on the problem, the case, the seed, the dtype and the device. Two seeds give
different inputs *and* different parameters, and a parameter that the file initialises to a constant (a bias of
zeros, a norm weight of ones) is drawn again around that constant, so that no kernel can leave it out. Buffers
stay as the file makes them.
"""

from __future__ import annotations

import ast
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright import codec
from kernelwright.errors import ProblemError
from kernelwright.model import Case, LibraryMode, StatedBySet
from kernelwright.text.escape import encodable
from kernelwright.worker.bounds.work import Work, least_work, taped
from kernelwright.worker.plan.structure import names_of, nested
from kernelwright.worker.reference.gradients import with_gradients
from kernelwright.worker.reference.instance import (
    Input,
    Instance,
    Specs,
    cast,
    compulsory_bytes,
    operators,
    outputs,
    share_memory,
    specs,
    unusual,
)
from kernelwright.worker.reference.numbers import whole_numbers
from kernelwright.worker.reference.operator_text import operator_text
from kernelwright.worker.reference.problem_module import (
    argument_names,
    assigned_names,
    call,
    call_with,
    check_cases,
    execute,
    floating_dtype,
    own_modules,
    read_sidecar,
    read_source,
    seeded,
    stated_cases,
    stated_gradients,
    stated_layouts,
    stated_library,
    stated_mutates,
    stated_precision,
)
from kernelwright.worker.reference.trace import Recorder, Trace, quiet_meta, trace_of

__all__ = ["Instance", "LoadedProblem", "Specs", "cast", "compulsory_bytes", "load_problem", "outputs", "specs"]

T = TypeVar("T")

REDRAWN_SPREAD = 0.1
"""Standard deviation of the values added to a constant parameter: wide enough that leaving it out is far above
any tolerance, small enough that a norm weight of one stays near one."""
REAL_LIMIT_ELEMENTS = 1 << 24
"""Largest tensor that is made for real where a case cannot be described on fake tensors: 64 MiB in float32."""


def load_problem(path: str) -> LoadedProblem:
    """Import the problem at `path`, a file or a folder with `problem.py`; raises `ProblemError`."""
    given = Path(path)
    file = (given / "problem.py" if given.is_dir() else given).resolve()
    source, tree = read_source(file)
    module = execute(file, tree, {})
    missing = [name for name in ("Model", "get_inputs", "get_init_inputs") if not callable(getattr(module, name, None))]
    if missing:
        raise ProblemError(
            f"{file} does not define {', '.join(missing)}",
            "a problem has a class Model(nn.Module) and the functions get_inputs() and get_init_inputs()",
        )
    if not (isinstance(module.Model, type) and issubclass(module.Model, nn.Module)):
        raise ProblemError(f"{file}: Model is {module.Model!r}, expected a subclass of torch.nn.Module")
    owns_folder = file.name == "problem.py"
    sidecar = read_sidecar(file)
    cases = stated_cases(file, module, sidecar)
    tried = sidecar.tried if sidecar is not None else ()
    arguments = frozenset({**argument_names(module.get_inputs), **argument_names(module.get_init_inputs)})
    check_cases(file, tree, module, (*cases, *tried), arguments)
    problem = LoadedProblem(
        name=file.parent.name if owns_folder else file.stem,
        format="native" if owns_folder or hasattr(module, "CASES") else "kernelbench",
        source=source,
        docstring=docstring_of(module),
        cases=cases,
        file=file,
        tree=tree,
        arguments=arguments,
        modules=own_modules(file) if owns_folder else {},
        layouts=stated_layouts(file, module, sidecar),
        precision=stated_precision(file, module, sidecar),
        mutates=stated_mutates(file, module, sidecar),
        gradients=stated_gradients(file, module),
        stated=sidecar.stated if sidecar is not None else None,
        library=stated_library(file, module, sidecar),
    )
    return replace(problem, cases=(*filter(problem.takes, tried), *cases)) if tried else problem


@dataclass(frozen=True)
class LoadedProblem:
    """A problem whose file was imported once and found sound.

    Each method executes the file again with the case's constants, so that nothing is kept between calls.
    arguments: the names that get_inputs and get_init_inputs take; other case parameters are constants. modules: texts
    of the files in `sources/`, by their path there. layouts: "any" where all strides have to be served. precision: in
    which the framework multiplies float32. mutates: the inputs that forward changes in place. gradients: whether its
    backward belongs to it. stated: what the problem's set says of it.
    """

    name: str
    format: Literal["native", "kernelbench"]
    source: str
    docstring: str
    cases: tuple[Case, ...]
    file: Path
    tree: ast.Module
    arguments: frozenset[str]
    modules: dict[str, str]
    layouts: Literal["dense", "any"] = "dense"
    precision: Literal["ieee", "tf32"] = "ieee"
    mutates: tuple[str, ...] = ()
    gradients: bool = False
    stated: StatedBySet | None = None
    library: LibraryMode = "finish"

    def takes(self, case: Case) -> bool:
        """Whether the reference can be called for `case`."""
        try:
            self.specs(case)
        except ProblemError:
            return False
        return True

    def instance(self, case: Case, *, seed: int, device: str = "cpu", dtype: str | None = None) -> Instance:
        """Reference and inputs of `case`; the same for the same arguments. `dtype` goes before the case's own.

        Everything is made on `device` directly. Floating-point inputs, parameters and buffers are cast one by
        one; other tensors stay as they are. The caller's random state is left as it was.
        """
        wanted = floating_dtype(self.file, dtype or case.dtype)
        module = self._module(case)
        with torch.no_grad():
            with seeded("parameters", seed, device) as given:
                init_inputs = self._sequence("get_init_inputs", module.get_init_inputs, case)
                init_names, _, _ = _bind(self.file, "Model", module.Model, init_inputs, {})
                reference = call(self.file, "Model", module.Model, *init_inputs)
                _refuse_own_seed(self.file, "Model", given)
                trained = call(self.file, "preparing its Model", _settle, self.file, reference, device, wanted)
            with seeded("inputs", seed, device) as given:
                positional, named = self._inputs(module, case)
                _refuse_own_seed(self.file, "get_inputs", given)
            argument_names, arguments, keywords = _bind(self.file, "forward", reference.forward, positional, named)
            input_names, inputs, nesting = _leaves(self.file, argument_names, arguments)
            for position, name in enumerate(input_names):
                inputs[position] = call(
                    self.file, f"preparing the input {name}", _input, self.file, name, inputs[position], device, wanted
                )
            for name, value in zip(init_names, init_inputs, strict=False):
                _refuse_unsendable(self.file, name, value)
        mutates = _mutated_leaves(self.file, self.mutates, dict(zip(input_names, inputs, strict=True)))
        made = Instance(
            reference,
            tuple(inputs),
            tuple(init_inputs),
            input_names,
            init_names,
            self.file,
            mutates,
            arguments=nesting,
            keywords=keywords,
        )
        if not self.gradients:
            return made
        with seeded("gradients", seed, device):
            return with_gradients(made, trained)

    def work(self, case: Case) -> tuple[int | None, int | None]:
        """FLOP and bytes that the problem states for `case`; None where it states nothing."""
        module = self._module(case)
        if not hasattr(module, "work"):
            return None, None
        stated = call_with(self.file, "work", module.work, {**case.params, "dtype": case.dtype})
        if not isinstance(stated, dict) or not set(stated) <= {"flop", "bytes"}:
            raise ProblemError(f"{self.file}: work returned {stated!r}, expected a dict with flop, bytes or both")
        for key, value in stated.items():
            if type(value) is not int or value < 0:
                raise ProblemError(f"{self.file}: work states {key} = {value!r}, expected a whole number from 0")
        return stated.get("flop"), stated.get("bytes")

    def specs(self, case: Case, dtype: str | None = None) -> Specs:
        """What `case` takes and gives, found without making its tensors."""
        return self._asked(case, dtype, specs)

    def least_work(self, case: Case, dtype: str | None = None) -> Work:
        """What `case` has to read, write and multiply at least, without making its tensors."""
        return self.work_with(case, dtype, {})

    def work_with(self, case: Case, dtype: str | None, drawn: dict[str, Tensor]) -> Work:
        """The same with values of inputs, by name, that decide which elements of others are read."""
        return least_work(self._asked(case, dtype, lambda instance: taped(instance, drawn)))

    def whole_numbers(self, case: Case, *, seed: int) -> dict[str, Tensor]:
        """The inputs of `case` that are of whole numbers, by name, on the CPU, without the module being made."""
        module = self._module(case)
        with torch.no_grad(), seeded("inputs", seed, "cpu"):
            positional, named = self._inputs(module, case)
        made: list[Any] = []
        nested(positional, made)
        names = [*self.outline(case).input_names[: len(made)]]
        names += [leaf for name, value in named.items() for leaf in names_of(name, nested(value, made))]
        tensors = {name: value for name, value in zip(names, made, strict=True) if isinstance(value, Tensor)}
        return {name: value for name, value in tensors.items() if not (value.is_floating_point() or value.is_complex())}

    def numbers(self, case: Case) -> dict[str, int]:
        """The whole numbers of the file that a case may replace, with their values in `case`."""
        assigned = {name for statement in self.tree.body for name in assigned_names(statement)}
        return whole_numbers(self.tree, self._module(case), assigned, case.params)

    def traced(self, case: Case) -> Trace:
        """The operators of constructor, get_inputs and forward, without making tensors."""
        with quiet_meta(), FakeTensorMode(allow_non_fake_inputs=True), Recorder() as recorder:
            instance = self.instance(case, seed=0)
            found: Specs = call(self.file, "describing its tensors", specs, instance)
            return trace_of(recorder, instance, found)

    def run(self, case: Case) -> None:
        """Call forward once with real values; raises `ProblemError` where it fails."""
        call(self.file, "forward", outputs, self.instance(case, seed=0))

    def operators(self, case: Case) -> frozenset[str]:
        """The names of the operators in forward, without making tensors."""
        return self._asked(case, None, operators)

    def operator_text(self) -> tuple[str, ...]:
        """The operators of one call on the first timed case, as text."""
        return self._asked(next(case for case in self.cases if case.timed), None, operator_text)

    def outline(self, case: Case, dtype: str | None = None) -> Instance:
        """An instance for its names and shapes: fake tensors, or small real ones where that cannot be."""
        return self._asked(case, dtype, lambda instance: instance)

    def _asked(self, case: Case, dtype: str | None, ask: Callable[[Instance], T]) -> T:
        """`ask` of an instance on fake tensors, or on small real ones where the problem looks at values."""
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):
                return self._answer(ask, self.instance(case, seed=0, dtype=dtype))
        except ProblemError as error:
            on_fake = error
        try:
            with _OnlySmallTensors():
                return self._answer(ask, self.instance(case, seed=0, dtype=dtype))
        except _TooLargeError as error:
            raise ProblemError(
                f"case {case.name!r} cannot be described without its values: {on_fake}",
                f"a tensor of {error} elements is too large for that; avoid .item() and conditions on values",
            ) from on_fake

    def _answer(self, ask: Callable[[Instance], T], instance: Instance) -> T:
        answer: T = call(self.file, "describing its tensors", ask, instance)
        return answer

    def _module(self, case: Case) -> types.ModuleType:
        constants = {name: value for name, value in case.params.items() if name not in self.arguments}
        return execute(self.file, self.tree, constants)

    def _inputs(self, module: types.ModuleType, case: Case) -> tuple[list[Any], dict[str, Any]]:
        """What get_inputs gives: a list of forward's arguments in their order, or a dict of them by name."""
        made = call_with(self.file, "get_inputs", module.get_inputs, case.params)
        if type(made) is dict and all(type(name) is str for name in made):
            return [], made
        if not isinstance(made, list | tuple):
            raise ProblemError(
                f"{self.file}: get_inputs returned a {type(made).__name__}, expected a list",
                "a list of forward's arguments in their order, or a dict of them by name",
            )
        return list(made), {}

    def _sequence(self, what: str, function: Callable[..., object], case: Case) -> list[Any]:
        made = call_with(self.file, what, function, case.params)
        if not isinstance(made, list | tuple):
            raise ProblemError(f"{self.file}: {what} returned a {type(made).__name__}, expected a list")
        return list(made)


def docstring_of(module: types.ModuleType) -> str:
    """The problem's, else its model's; the file may have assigned anything to either."""
    found = next((doc for doc in (module.__doc__, module.Model.__doc__) if doc and isinstance(doc, str)), "")
    return inspect.cleandoc(encodable(found))


def _settle(file: Path, module: nn.Module, device: str, wanted: torch.dtype | None) -> tuple[str, ...]:
    """Eval mode, no gradients, constant parameters drawn again, then device and dtype, one tensor at a time. Returns
    the names of the parameters that are trained."""
    module.eval()
    trained = tuple(name for name, one in module.named_parameters() if one.requires_grad)
    for holder in module.modules():
        for name in [name for name, value in vars(holder).items() if _is_state(value)]:
            value = vars(holder).pop(name)
            holder.register_buffer(name, value.detach(), persistent=False)
    for name, parameter in module.named_parameters():
        if is_lazy(parameter):
            raise ProblemError(f"{file}: {name} has no shape before the first call", "state the sizes of lazy modules")
        parameter.requires_grad_(False)
        has_values = not (parameter.is_meta or isinstance(parameter, FakeTensor)) and parameter.numel() > 0
        if has_values and (parameter.is_floating_point() or parameter.is_complex()):
            value = parameter.flatten()[0]
            if bool((parameter == value).all()) and bool(value.isfinite()):
                parameter.add_(torch.randn_like(parameter), alpha=REDRAWN_SPREAD)
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.data = tensor.data.to(device, wanted if tensor.is_floating_point() else None)
    return trained


def _is_state(value: object) -> bool:
    """Whether an attribute holds real numbers that a candidate has to be given, as it is given buffers."""
    return type(value) is Tensor and value.is_floating_point() and value.numel() > 1


def _input(file: Path, name: str, value: object, device: str, wanted: torch.dtype | None) -> Input:
    if isinstance(value, Tensor):
        if kind := unusual(value):
            raise ProblemError(f"{file}: get_inputs gives {kind} for {name}", "expected a dense tensor")
        return value.detach().to(device, wanted if value.is_floating_point() else None)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ProblemError(
        f"{file}: get_inputs gives a {type(value).__name__} for {name}, expected a tensor, a number or None",
        "tensors and numbers may be nested in lists, tuples and dicts",
    )


def _mutated_leaves(file: Path, listed: tuple[str, ...], inputs: dict[str, Input]) -> tuple[str, ...]:
    """The inputs that MUTATES lists, by themselves or by the argument that they are nested in; refuses names of others,
    and memory that a change would show in twice."""
    for name in listed:
        if not any(is_in(one, name) and isinstance(value, Tensor) for one, value in inputs.items()):
            raise ProblemError(
                f"{file}: MUTATES lists {name!r}, which is no tensor that get_inputs gives",
                f"tensors: {', '.join(one for one, value in inputs.items() if isinstance(value, Tensor))}",
            )
    mutates = tuple(
        one for one, value in inputs.items() if isinstance(value, Tensor) and any(is_in(one, name) for name in listed)
    )
    for name in mutates:
        tensor = inputs[name]
        assert isinstance(tensor, Tensor)
        if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
            raise ProblemError(
                f"{file}: the input {name} is expanded, so that forward cannot change it",
                "give it memory: .contiguous()",
            )
        for other, value in inputs.items():
            if other != name and isinstance(value, Tensor) and share_memory(tensor, value):
                raise ProblemError(
                    f"{file}: the inputs {name} and {other} share memory, and forward changes {name}",
                    "give each memory of its own: .clone()",
                )
    return mutates


def is_in(leaf: str, argument: str) -> bool:
    return leaf == argument or leaf.startswith(f"{argument}.")


def _refuse_unsendable(file: Path, name: str, value: object) -> None:
    """A constructor argument goes to the recorder as JSON, a tensor as its shape and dtype."""
    if isinstance(value, Tensor):
        return
    try:
        codec.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ProblemError(
            f"{file}: get_init_inputs gives a {type(value).__name__} for {name}",
            "expected numbers, text, None, tensors, or lists and dicts of numbers and text",
        ) from error


def _bind(
    file: Path, what: str, function: Callable[..., object], values: Sequence[object], named: Mapping[str, object]
) -> tuple[tuple[str, ...], list[Any], tuple[str, ...]]:
    """The arguments of `function`: their names, those of `*rest` being rest_0, rest_1, …; their values; and the names
    of the last of them, which have to be passed by name."""
    try:
        bound = inspect.signature(function).bind(*values, **named)
    except TypeError as error:
        maker, count = "get_inputs" if what == "forward" else "get_init_inputs", len(values) + len(named)
        raise ProblemError(f"{file}: {what} cannot take the {count} values of {maker}: {error}") from error
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{position}" for position in range(len(value))]
        else:
            names += list(value) if kind is inspect.Parameter.VAR_KEYWORD else [name]
    return tuple(names), [*bound.args, *bound.kwargs.values()], tuple(bound.kwargs)


def _leaves(file: Path, names: tuple[str, ...], arguments: list[Any]) -> tuple[tuple[str, ...], list[Any], str]:
    """The names and values of the leaves of forward's arguments, and how they are nested, "" where they are not."""
    leaves: list[Any] = []
    try:
        structure = {name: nested(value, leaves) for name, value in zip(names, arguments, strict=True)}
    except ValueError as error:
        raise ProblemError(f"{file}: get_inputs gives {error}", "expected tensors and numbers") from error
    found = tuple(leaf for name, one in structure.items() for leaf in names_of(name, one))
    if len(set(found)) != len(found):
        raise ProblemError(f"{file}: two inputs would have one name: {', '.join(found)}", "take the dots out of keys")
    return found, leaves, "" if found == names else repr(structure)


def _refuse_own_seed(file: Path, what: str, given: int) -> None:
    if torch.initial_seed() != given:
        raise ProblemError(
            f"{file}: {what} calls torch.manual_seed, so that every seed gives the same values",
            "remove that call: kernelwright seeds, and needs values that a candidate cannot foresee",
        )


class _TooLargeError(ProblemError):
    """Its text is the number of elements."""


class _OnlySmallTensors(TorchDispatchMode):
    """Refuses tensors above REAL_LIMIT_ELEMENTS, before they take memory where their size is an argument."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for argument in args:
            if isinstance(argument, list | tuple) and all(type(size) is int for size in argument):
                self._check(math.prod(argument))
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self._check(made.numel())
        return made

    def _check(self, elements: int) -> None:
        if elements > REAL_LIMIT_ELEMENTS:
            raise _TooLargeError(str(elements))
