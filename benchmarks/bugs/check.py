"""Whether the honest kernel of a bug agrees with the reference in float64, and the wrong one does not.

    python benchmarks/bugs/check.py benchmarks/bugs/seen/NAME

The inputs are those of the folder's `shows.py`. Without a GPU, Triton's interpreter runs the kernels. Exit status: 0 if
both are as they should be, 1 if not.

`shows.py` defines `get_inputs(device)`, and any of these:
    INIT                   the arguments of Model, if not get_init_inputs()
    get_upstream(device)   gradients of the outputs, for a problem that states GRADIENTS
    prepare(kernel)        changes the kernel's module before the call, such as the tuner's configs
    REVERSED               the interpreter runs programs from the last to the first, an order that a GPU may choose
    EMPTY_IS_NAN           memory from torch.empty holds NaN
    REPEATS                calls, of which one wrong result is enough
    TOLERANCE              largest error of an output, as a fraction of its largest magnitude
    GIVEN_DTYPE            the reference runs in the inputs' own dtype, because it only copies
"""

import importlib.util
import inspect
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel's module imports triton
DEFAULT_TOLERANCE = 1e-4
"""Fraction of the output's largest magnitude: a thousand times float32's rounding, far below any bug here."""
LARGEST_COPY = 2**26
"""Elements: larger inputs are not compared before and after the call."""


def load(path: Path) -> ModuleType:
    """The module in a file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flatten(value: Any) -> list[torch.Tensor]:
    """The tensors that a forward or a kernel returned."""
    if value is None:
        return []
    return [value] if isinstance(value, torch.Tensor) else list(value)


def reverse_programs() -> None:
    """Makes the interpreter run the programs of each launch from the last to the first."""
    from triton.runtime.interpreter import interpreter_builder

    choose = interpreter_builder.set_grid_idx

    def choose_mirrored(*program: int) -> None:
        choose(*(size - 1 - place for size, place in zip(interpreter_builder.grid_dim, program, strict=True)))

    interpreter_builder.set_grid_idx = choose_mirrored


def make_model(kind: type[torch.nn.Module], arguments: list[Any]) -> torch.nn.Module:
    """A reference or a kernel's module, with the same parameters: normal noise around one."""
    torch.manual_seed(1)
    model = kind(*arguments).to(DEVICE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0, 0.5)
    return model.eval()


def name_arguments(problem: ModuleType, inputs: list[Any]) -> dict[str, Any]:
    """The inputs by the names of forward's arguments."""
    names = list(inspect.signature(problem.Model.forward).parameters)[1:]
    return dict(zip(names, inputs, strict=True))


def compute_reference(
    problem: ModuleType, model: torch.nn.Module, inputs: list[Any], upstream: list[torch.Tensor], given_dtype: bool
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Forward's outputs, and what else is judged: inputs that it changes, or gradients."""

    def widen(value: Any) -> Any:
        floating = isinstance(value, torch.Tensor) and value.is_floating_point() and not given_dtype
        return value.detach().to(torch.float64, copy=True) if floating else value

    values = [widen(value) for value in inputs]
    model = model if given_dtype else model.double()
    if getattr(problem, "GRADIENTS", False):
        leaves = [v.requires_grad_() for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
        leaves += list(model.parameters())
        outputs = flatten(model(*values))
        return [o.detach() for o in outputs], list(torch.autograd.grad(outputs, leaves, [g.double() for g in upstream]))
    with torch.no_grad():
        outputs = flatten(model(*values))
    arguments = name_arguments(problem, values)
    return outputs, [arguments[name] for name in getattr(problem, "MUTATES", ())]


def run_kernel(
    kernel: ModuleType,
    problem: ModuleType,
    model: torch.nn.Module,
    inputs: list[Any],
    upstream: list[torch.Tensor],
    outputs: int,
) -> list[torch.Tensor]:
    """What the kernel gives in the order of the reference: outputs, then changed inputs or gradients."""
    if hasattr(kernel, "ModelNew"):
        return flatten(model(*inputs))
    arguments = name_arguments(problem, inputs)
    parameters = {name.replace(".", "_"): value.detach() for name, value in model.named_parameters()}
    result = flatten(kernel.kernel_function(**arguments, **parameters))
    if not getattr(problem, "GRADIENTS", False):
        return result + [arguments[name] for name in getattr(problem, "MUTATES", ())]
    known = {**arguments, **parameters, **dict(zip(getattr(kernel, "SAVED", ()), result[outputs:], strict=True))}
    known |= {f"grad_{i}": value for i, value in enumerate(upstream)}
    known |= {f"output_{i}": value for i, value in enumerate(result[:outputs])}
    taken = inspect.signature(kernel.kernel_backward).parameters
    return result[:outputs] + flatten(kernel.kernel_backward(**{name: known[name] for name in taken}))


def measure_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, as a fraction of the largest expected magnitude; infinite where only one is finite."""
    if found.shape != expected.shape:
        return float("inf")
    if not expected.is_floating_point():
        return 0.0 if torch.equal(found, expected) else float("inf")
    found, expected = found.double(), expected.double()
    finite = expected.isfinite()
    if not torch.equal(found[~finite].nan_to_num(nan=1.5), expected[~finite].nan_to_num(nan=1.5)):
        return float("inf")
    if not finite.any():
        return 0.0
    if not found[finite].isfinite().all():
        return float("inf")
    largest = max(float(expected[finite].abs().max()), torch.finfo(torch.float64).tiny)
    return float((found[finite] - expected[finite]).abs().max()) / largest


def judge(folder: Path, name: str) -> tuple[float, str]:
    """The largest error of one kernel over all calls, and where it is."""
    problem, shows, kernel = load(folder / "problem.py"), load(folder / "shows.py"), load(folder / name)
    if hasattr(shows, "prepare"):
        shows.prepare(kernel)
    init = getattr(shows, "INIT", None) or problem.get_init_inputs()
    worst, where = 0.0, "every output"
    for _ in range(getattr(shows, "REPEATS", 1)):
        torch.manual_seed(0)
        inputs = shows.get_inputs(DEVICE)
        upstream = shows.get_upstream(DEVICE) if hasattr(shows, "get_upstream") else []
        given_dtype = getattr(shows, "GIVEN_DTYPE", False)
        outputs, others = compute_reference(problem, make_model(problem.Model, init), inputs, upstream, given_dtype)
        model = make_model(getattr(kernel, "ModelNew", problem.Model), init)
        changed = set(getattr(problem, "MUTATES", ()))
        kept = {
            argument: value.clone()
            for argument, value in name_arguments(problem, inputs).items()
            if isinstance(value, torch.Tensor) and argument not in changed and value.numel() < LARGEST_COPY
        }
        torch.use_deterministic_algorithms(getattr(shows, "EMPTY_IS_NAN", False))
        found = run_kernel(kernel, problem, model, inputs, upstream, len(outputs))
        torch.use_deterministic_algorithms(False)
        if len(found) != len(outputs) + len(others):
            return float("inf"), f"{len(found)} results in place of {len(outputs) + len(others)}"
        for position, (one, expected) in enumerate(zip(found, outputs + others, strict=True)):
            error = measure_error(one, expected)
            if error > worst:
                worst, where = error, f"result {position}"
        arguments = name_arguments(problem, inputs)
        for argument, value in kept.items():
            if not torch.equal(arguments[argument].nan_to_num(nan=1.5), value.nan_to_num(nan=1.5)):
                worst, where = float("inf"), f"input {argument}, which changed"
    return worst, where


def main(folder: Path) -> int:
    """Prints one line for each kernel."""
    shows = load(folder / "shows.py")
    if DEVICE == "cpu" and getattr(shows, "REVERSED", False):
        reverse_programs()
    tolerance = getattr(shows, "TOLERANCE", DEFAULT_TOLERANCE)
    verdicts = []
    for name in ("honest.py", "wrong.py"):
        started = time.perf_counter()
        error, where = judge(folder, name)
        seconds = time.perf_counter() - started
        verdicts.append(error <= tolerance)
        print(f"{folder.name}/{name}: largest error {error:.3g} in {where}, tolerance {tolerance:g} ({seconds:.1f} s)")
    return 0 if verdicts == [True, False] else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
