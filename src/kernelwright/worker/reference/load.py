"""Loading a problem file: its cases, and the reference with inputs for any case.

This runs in a worker process, because it executes the user's file. An instance depends only on the problem, the case,
the seed and the device. Two seeds give different inputs and different parameters. A parameter that the file
initialises to a constant (a bias of zeros, a norm weight of ones) gets random values around that constant, so that no
kernel can leave it out. Buffers keep the values that the file gives them.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from kernelwright.errors import ProblemError
from kernelwright.model import Case, LibraryMode, StatedBySet
from kernelwright.text.escape import encodable
from kernelwright.worker.bounds.work import Work, least_work, taped
from kernelwright.worker.plan.structure import names_of, nested
from kernelwright.worker.reference import unmade
from kernelwright.worker.reference.drawn import require_same_sizes
from kernelwright.worker.reference.gradients import (
    Differentiated,
    differentiated,
    refuse_undifferentiable,
    with_gradients,
)
from kernelwright.worker.reference.instance import (
    Instance,
    Specs,
    accepted,
    cast,
    compulsory_bytes,
    framework_outputs,
    outputs,
    random_operators,
    specs,
)
from kernelwright.worker.reference.numbers import whole_numbers
from kernelwright.worker.reference.operator_text import operator_text
from kernelwright.worker.reference.prepare import (
    bind_arguments,
    leaves_of,
    mutated_leaves,
    prepared_input,
    refuse_own_seed,
    refuse_unsendable,
    settle,
)
from kernelwright.worker.reference.problem_module import (
    Sidecar,
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
    seed_torch,
    seeded,
    stated_cases,
    stated_choice,
    stated_mutates,
)
from kernelwright.worker.reference.trace import Recorder, Trace, quiet_meta, trace_of
from kernelwright.worker.reference.unmade import OnlySmallTensors, TooLargeError, faked, is_fake

__all__ = ["Instance", "LoadedProblem", "Specs", "cast", "compulsory_bytes", "load_problem", "outputs", "specs"]

T = TypeVar("T")

LIBRARIES: tuple[LibraryMode | None, ...] = (None, *get_args(LibraryMode))
"""None: the problem states none."""


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
    beside = sidecar or Sidecar(cases=())
    cases, tried = stated_cases(file, module, sidecar), beside.tried
    arguments = frozenset({**argument_names(module.get_inputs), **argument_names(module.get_init_inputs)})
    check_cases(file, tree, module, (*cases, *tried), arguments)
    problem = LoadedProblem(
        name=file.parent.name if owns_folder else file.stem,
        format="native" if owns_folder or hasattr(module, "CASES") else "kernelbench", source=source,
        docstring=docstring_of(module), cases=cases, file=file, tree=tree, arguments=arguments,
        modules=own_modules(file) if owns_folder else {},
        layouts=stated_choice(file, module, "LAYOUTS", ("dense", "any"), beside.layouts),
        precision=stated_choice(file, module, "PRECISION", ("ieee", "tf32"), beside.precision),
        mutates=stated_mutates(file, module, beside),
        gradients=stated_choice(file, module, "GRADIENTS", (False, True)), stated=beside.stated,
        library=beside.library or stated_choice(file, module, "LIBRARY", LIBRARIES),
    )  # fmt: skip
    usable = [case for case in tried if accepted(partial(problem.specs, case)) is not None]
    return replace(problem, cases=(*usable, *cases)) if tried else problem


@dataclass(frozen=True)
class LoadedProblem:
    """A problem whose file was imported once and passed all checks.

    Each method executes the file again with the case's constants, so that no value is kept between calls.
    arguments: names of the arguments of get_inputs and get_init_inputs; other case parameters are module constants.
    modules: texts of the files in `sources/`, by their path there. layouts: "any" if kernels have to accept all
    strides. precision: of the framework's float32 products. mutates: the inputs that forward changes in place.
    gradients: whether the backward is part of the problem. stated: facts from the problem set.
    device: where a case runs that cannot be described without its values.
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
    library: LibraryMode | None = None
    device: str = "cpu"
    differentiated: dict[tuple[str, str, str], Differentiated] = field(default_factory=dict)
    """What has a gradient, by case, its parameters and its dtype: forward is run once to find out."""

    def instance(
        self, case: Case, *, seed: int, device: str = "cpu",
        drawn_in: contextlib.AbstractContextManager[Any] | None = None,
    ) -> Instance:  # fmt: skip
        """The reference and the inputs of `case`; the same arguments give the same values. drawn_in: for the inputs.

        All tensors are created on `device` directly. Floating-point inputs, parameters and buffers are cast to the
        case's dtype one by one; other tensors keep theirs. The caller's random state does not change.
        """
        wanted = floating_dtype(self.file, case.dtype)
        module = self._module(case)
        with torch.no_grad():
            with seeded("parameters", seed, device) as given:
                init_inputs = self._sequence("get_init_inputs", module.get_init_inputs, case)
                init_names, _, _ = bind_arguments(self.file, "Model", module.Model, init_inputs, {})
                reference = call(self.file, "Model", module.Model, *init_inputs)
                if torch.initial_seed() != given:
                    seed_torch(given)  # its parameters are the same for every seed, as those that are read from a file
                trained = call(self.file, "preparing its Model", settle, self.file, reference, device, wanted, given)
            with seeded("inputs", seed, device) as given, drawn_in or contextlib.nullcontext():
                positional, named = self._inputs(module, case)
                refuse_own_seed(self.file, given)
            argument_names, arguments, keywords = bind_arguments(
                self.file, "forward", reference.forward, positional, named
            )
            input_names, inputs, nesting = leaves_of(self.file, argument_names, arguments)
            prepare = partial(prepared_input, self.file, device=device, wanted=wanted)
            for position, name in enumerate(input_names):
                inputs[position] = call(self.file, f"preparing the input {name}", prepare, name, inputs[position])
            for name, value in zip(init_names, init_inputs, strict=False):
                refuse_unsendable(self.file, name, value)
        mutates = mutated_leaves(self.file, self.mutates, dict(zip(input_names, inputs, strict=True)))
        made = Instance(
            reference, tuple(inputs), tuple(init_inputs), input_names, init_names, self.file, mutates,
            arguments=nesting, keywords=keywords,
        )  # fmt: skip
        if not self.gradients:
            return made
        refuse_undifferentiable(made)
        key = case.name, repr(case.params), str(wanted)
        if key not in self.differentiated and not is_fake(made):
            with contextlib.suppress(ProblemError), faked():
                self.instance(case, seed=0)  # without values, with which a forward may choose parameters
        if key not in self.differentiated:
            found = differentiated(made, trained)
            self.differentiated[key] = found if is_fake(made) else replace(found, trained=trained)
        with seeded("gradients", seed, device):
            return with_gradients(made, self.differentiated[key])

    def work(self, case: Case) -> tuple[int | None, int | None]:
        """FLOP and bytes that the problem's `work` states for `case`; None for what it does not state."""
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

    def specs(self, case: Case) -> Specs:
        """The shapes, dtypes and strides of `case`, found as `outline` does."""
        return self._asked(case, specs)

    def least_work(self, case: Case, drawn: dict[str, Tensor] | None = None) -> Work:
        """The least bytes and FLOP of `case`, found as `outline` does. drawn: known values of some inputs, by name,
        such as indices into other inputs."""
        taken = self._asked(case, lambda instance: taped(instance, drawn or {}))
        found: Work = call(self.file, "deriving its least work", least_work, taken)  # an index may be out of range
        return found

    def whole_numbers(self, case: Case, *, seed: int) -> dict[str, Tensor]:
        """The integer and boolean inputs of `case`, by name, on the CPU. The Model's parameters are not created."""
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
        with quiet_meta(), faked():
            if self.gradients:
                self.instance(case, seed=0)  # runs forward, once for each size, to see what is differentiated
            with Recorder() as recorder:
                instance = self.instance(case, seed=0, drawn_in=recorder.drawing())
                found: Specs = call(self.file, "describing its tensors", specs, instance)
                return trace_of(recorder, instance, found)

    def described(self, case: Case) -> Trace:
        """What `traced` gives, without operators: of a problem that reads values, which runs on small tensors."""
        with OnlySmallTensors():
            instance = self.instance(case, seed=0)
            found: Specs = call(self.file, "describing its tensors", specs, instance)
        return trace_of(Recorder(), instance, found)

    def run(self, case: Case) -> None:
        """Call forward once with real values; raises `ProblemError` if it fails."""
        call(self.file, "forward", framework_outputs, self.instance(case, seed=0))

    def require_same_sizes(self, case: Case) -> None:
        """Raise `ProblemError` where two draws of `case` have other sizes, as far as real tensors are small enough."""
        with contextlib.suppress(TooLargeError), OnlySmallTensors():
            one, two = (self._answer(specs, self.instance(case, seed=seed)) for seed in (0, 1))
            require_same_sizes(self.file, case.name, one, two.inputs, two.outputs)

    def random_operators(self, case: Case) -> list[str]:
        """See `instance.random_operators`; found as `outline` does."""
        return self._asked(case, random_operators)

    def operator_text(self) -> tuple[str, ...]:
        """The operators of one call on the first timed case, as text."""
        return self._asked(next(case for case in self.cases if case.timed), operator_text)

    def outline(self, case: Case) -> Instance:
        """An instance that is used for names and shapes: on fake tensors or, if that fails, on small real ones."""
        return self._asked(case, lambda instance: instance)

    def _asked(self, case: Case, ask: Callable[[Instance], T]) -> T:
        """`ask(instance)` on fake tensors or, if that fails because the problem reads values, on real ones: small ones
        if possible, else where the case runs anyway, on the GPU or, as far as memory allows, on the CPU."""
        try:
            with faked():
                return self._answer(ask, self.instance(case, seed=0))
        except ProblemError as error:
            on_fake = error
        with contextlib.suppress(TooLargeError), OnlySmallTensors():
            return self._answer(ask, self.instance(case, seed=0))
        if self.device != "cpu":
            try:
                return self._answer(ask, self.instance(case, seed=0, device=self.device))
            finally:
                torch.cuda.empty_cache()  # does nothing without a GPU
        try:
            with OnlySmallTensors(unmade.MOST_ON_CPU):
                return self._answer(ask, self.instance(case, seed=0))
        except TooLargeError as error:
            raise ProblemError(
                f"case {case.name!r} cannot be described without its values: {on_fake}",
                f"a tensor of {error} elements is too large for that without a GPU; avoid .item() and conditions on "
                "values",
            ) from on_fake

    def _answer(self, ask: Callable[[Instance], T], instance: Instance) -> T:
        answer: T = call(self.file, "describing its tensors", ask, instance)
        return answer

    def _module(self, case: Case) -> types.ModuleType:
        constants = {name: value for name, value in case.params.items() if name not in self.arguments}
        return execute(self.file, self.tree, constants)

    def _inputs(self, module: types.ModuleType, case: Case) -> tuple[list[Any], dict[str, Any]]:
        """Forward's arguments from get_inputs: a list of positional ones, or a dict by name; the other one is empty."""
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
    """The docstring of the problem or, if it has none, of its Model. Docstrings that are not text are ignored."""
    found = next((doc for doc in (module.__doc__, module.Model.__doc__) if doc and isinstance(doc, str)), "")
    return inspect.cleandoc(encodable(found))
