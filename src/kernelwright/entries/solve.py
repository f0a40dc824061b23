"""`solve(input, output, N)`: an entry that writes into given outputs and returns nothing.

Its arguments are the problem's by name; the others in order are its inputs, then its outputs, which are allocated. An
argument that is annotated with `int`, or has the name of a size of the problem, is that size. Shapes of outputs and
sizes are written as expressions of the shapes of inputs that are true for every case.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from kernelwright.entries.called import NotCalled, arguments_of, function_named, parameters_of
from kernelwright.model import CaseInfo, ProblemInfo, TensorSpec
from kernelwright.source.bindings import defaults_of, imported_name, imported_paths

NAME = "solve"
INSTEAD = "write kernel_function, which allocates and returns its outputs"


def entry(tree: ast.Module, problem: ProblemInfo) -> str | None:
    function = function_named(tree, NAME)
    if function is None:
        return None
    cases, where = problem.cases, f"line {function.lineno}: {NAME}"
    if problem.gradients or cases[0].arguments or cases[0].returns:
        what = "states GRADIENTS" if problem.gradients else "has nested inputs or outputs"
        raise NotCalled(f"{where} cannot be called, because the problem {what}: {INSTEAD}")
    sizes = Sizes(cases)
    values = bound(function, problem, sizes)
    allocated = [sizes.allocation(place) for place in values.outputs]
    torch = imported_name("torch", imported_paths(tree))
    lines = [] if torch is not None else ["import torch", "", ""]
    lines.append(f"def kernel_function({', '.join([*arguments_of(problem), *values.parameters])}):")
    lines += [f"    {name} = {text.format(torch=torch or 'torch')}"
              for name, text in zip(values.outputs.values(), allocated, strict=True)]  # fmt: skip
    lines.append(f"    {NAME}({', '.join(values.call)})")
    if values.returned:
        lines.append(f"    return {', '.join(values.returned)}")
    return "\n".join(lines)


class Values:
    """call: an expression for each argument. parameters: those of the problem's that the function takes. outputs: by
    the place of an output, its name. returned: names of all outputs of forward."""

    def __init__(self) -> None:
        self.call: list[str] = []
        self.parameters: list[str] = []
        self.outputs: dict[int, str] = {}
        self.returned: list[str] = []


def bound(function: ast.FunctionDef, problem: ProblemInfo, sizes: Sizes) -> Values:
    """What each argument gets. Raises `NotCalled`."""
    case, found = problem.cases[0], Values()
    given, parameters = arguments_of(problem), parameters_of(problem)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    defaults, keywords = defaults_of(function.args), {one.arg for one in function.args.kwonlyargs}
    names = [one.arg for one in arguments]
    loose = [name for name in given if name not in names]
    count = len(case.outputs) - len(case.mutates)
    shared = [*case.lies_in, *[""] * (count - len(case.lies_in))]
    places = [place for place in range(count) if not shared[place]]
    for argument in arguments:
        name, is_size = argument.arg, argument.annotation is not None and ast.unparse(argument.annotation) == "int"
        if name in given or name in parameters:
            text = name
            found.parameters += [name] if name not in given else []
        elif is_size or sizes.has(problem, name):
            text = sizes.named(problem, name, function.lineno)
        elif loose:
            text = loose.pop(0)
        elif places:
            text = name if name not in given else f"{name}_"
            found.outputs[places.pop(0)] = text
        elif name in defaults:
            continue
        else:
            raise NotCalled(
                f"line {function.lineno}: {NAME} has an argument {name} beside the inputs and outputs of the problem "
                f"({', '.join(given)}; {count} outputs): rename it to the input or size that it is"
            )
        found.call.append(f"{name}={text}" if name in keywords else text)
    if places:
        raise NotCalled(f"line {function.lineno}: {NAME} has no argument for output {places[0]} of forward: {INSTEAD}")
    found.returned = [shared[place] or found.outputs[place] for place in range(count)]
    return found


class Sizes:
    """Expressions of the sizes of tensor inputs that have given values in every case."""

    def __init__(self, cases: Sequence[CaseInfo]) -> None:
        self.cases = cases
        self.tensors = {name: place for place, name in enumerate(cases[0].input_names)
                        if isinstance(cases[0].inputs[place], TensorSpec)}  # fmt: skip
        if not self.tensors:
            raise NotCalled(f"{NAME} cannot be called, because the problem has no tensor inputs: {INSTEAD}")

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        """By case."""
        return [one.shape for case in self.cases if isinstance(one := case.inputs[self.tensors[name]], TensorSpec)]

    def atoms(self) -> Iterator[tuple[str, list[int]]]:
        for name in self.tensors:
            shapes = self.shapes(name)
            yield from ((f"{name}.shape[{dim}]", list(sizes)) for dim, sizes in enumerate(zip(*shapes, strict=True)))

    def expression(self, wanted: list[int]) -> str | None:
        """A size, a number, or a sum, difference or product of two sizes that has these values, by case."""
        atoms = list(self.atoms())
        pairs = itertools.product(atoms, atoms)
        known = [*atoms, (str(wanted[0]), wanted[:1] * len(wanted)), *(one for (a, x), (b, y) in pairs for one in (
            (f"{a} * {b}", [p * q for p, q in zip(x, y, strict=True)]),
            (f"{a} + {b}", [p + q for p, q in zip(x, y, strict=True)]),
            (f"{a} - {b} + 1", [p - q + 1 for p, q in zip(x, y, strict=True)]),
            (f"{a} // {b}", [p // max(q, 1) for p, q in zip(x, y, strict=True)]),
        ))]  # fmt: skip
        return next((text for text, values in known if values == wanted), None)

    def allocation(self, place: int) -> str:
        """A call that allocates an output of forward. Raises `NotCalled`."""
        outputs = [case.outputs[place] for case in self.cases]
        texts = []
        for dim in range(len(outputs[0].shape)):
            wanted = [one.shape[dim] for one in outputs]
            if (text := self.expression(wanted)) is None:
                raise NotCalled(f"{NAME}: no expression of the inputs' sizes is dimension {dim} of output {place} "
                                f"({', '.join(map(str, wanted))}): {INSTEAD}")  # fmt: skip
            texts.append(text)
        dtypes = [one.dtype for one in outputs]
        of_inputs = {name: [one.dtype for case in self.cases if isinstance(one := case.inputs[at], TensorSpec)]
                     for name, at in self.tensors.items()}  # fmt: skip
        same = next((f"{name}.dtype" for name, found in of_inputs.items() if found == dtypes), None)
        if same is None and len(set(dtypes)) > 1:
            raise NotCalled(f"{NAME}: no input has the dtype of output {place} in every case: {INSTEAD}")
        first = next(iter(self.tensors))
        shape = f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        return f"{{torch}}.empty({shape}, dtype={same or '{torch}.' + dtypes[0]}, device={first}.device)"

    def has(self, problem: ProblemInfo, name: str) -> bool:
        return self._known(problem, name) is not None

    def _known(self, problem: ProblemInfo, name: str) -> str | None:
        """The name of the problem's size that this argument has, perhaps in the other case."""
        names = dict.fromkeys([*problem.numbers, *(one for case in self.cases for one in case.case.params)])
        return name if name in names else next((one for one in names if one.lower() == name.lower()), None)

    def named(self, problem: ProblemInfo, name: str, line: int) -> str:
        """An expression for a size of the problem, or for the only size that its inputs have. Raises `NotCalled`."""
        known = self._known(problem, name)
        if known is not None:
            values = [case.case.params.get(known, problem.numbers.get(known)) for case in self.cases]
            whole = [int(value) for value in values if type(value) is int]
            text = self.expression(whole) if len(whole) == len(values) else None
            text = repr(values[0]) if text is None and len({*values}) == 1 else text
        else:
            sizes = {tuple(values): text for text, values in reversed(list(self.atoms()))}
            text = next(iter(sizes.values())) if len(sizes) == 1 else None
        if text is None:
            known_sizes = ", ".join(dict.fromkeys([*problem.numbers, *problem.cases[0].case.params])) or "none"
            raise NotCalled(
                f"line {line}: {NAME} takes a number {name}, and the shapes of the inputs do not tell which: rename it "
                f"to a size of the problem ({known_sizes}), or {INSTEAD}"
            )
        return text
