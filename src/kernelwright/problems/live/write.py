"""Writes a problem folder from live objects: problem.py, the caller's own source files, the live module with its state,
and the example's values.

The problem is run on the example, and is refused if its result is not the live object's.
"""

from __future__ import annotations

import functools
import importlib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.gallery import PROBLEM_FILE
from kernelwright.problems.live import sizes
from kernelwright.problems.live.compare import Answer, answer_of, difference, loaded, said
from kernelwright.problems.live.expressions import Expressions, Leaf
from kernelwright.problems.live.inputs import Call, Inputs, read_call, read_inputs
from kernelwright.problems.live.sources import own_sources
from kernelwright.problems.live.stored import is_large, store
from kernelwright.problems.paths import EXAMPLE_FILE, MODULE_FILE, SOURCES_FOLDER, ProblemPath, problem_at

MARK = "Written by kernelwright.Problem"
"""Text in each problem.py that this file writes. A folder whose problem.py contains it may be overwritten."""

UNEQUAL = "it may depend on more than its arguments, its attributes and its module"

MODULE = '''
def call_of({names}):
    """The arguments of the module's forward, positional ones and those by name, from those of Model's."""
    return [{positional}], {{{named}}}


class Model(torch.nn.Module):
    def __init__(self{init}):
        super().__init__()
        self.module: {reference} = stored("module")
{constructed}
    def forward(self, {names}):
        positional, named = call_of({names})
        result = self.module(*positional, **named)
        return {returned}
'''

CONSTRUCTED = """        # Constructed again for other sizes, and where only shapes are asked for (on fake tensors).
        if type(torch.empty(0)) is not torch.Tensor or {sizes} != {known}:
            self.module = {reference}(**{{**stored("arguments"), **{sizes}}}).to({dtype})
"""

FUNCTION = """
class Model(torch.nn.Module):
    def forward(self, {names}):
        result = {reference}({given})
        return {returned}
"""


def write_live(
    live: Any,
    example_inputs: object,
    named_inputs: Mapping[str, Any],
    arguments: Mapping[str, Any] | None,
    name: str | None,
    folder: Path,
    gradients: bool = False,
) -> ProblemPath:
    """Write the problem of a module or a function to `folder`/`name`.

    named_inputs: arguments by name, beside `example_inputs`. arguments: of a module's constructor that are no
    attributes of it; None for a function. gradients: whether the backward is part of the problem. Raises `ProblemError`
    if something cannot be stored, or if the written problem gives another result.
    """
    torch = _torch()
    live = getattr(live, "_orig_mod", getattr(live, "_torchdynamo_orig_callable", live))  # what torch.compile wraps
    is_module = isinstance(live, torch.nn.Module)
    if arguments is None and (is_module or isinstance(getattr(live, "__self__", None), torch.nn.Module)):
        raise ProblemError("a module is not a function", "use Problem.from_module")
    if arguments is not None and not is_module:
        raise ProblemError(f"{type(live).__name__} is no torch.nn.Module", "for a function, use Problem.from_function")
    kind = torch.nn.utils.parametrize.type_before_parametrizations(live)
    title = kind.__name__ if is_module else _function_name(live)
    name = name or re.sub(r"\W+", "", _snake(title) if is_module else title) or "function"
    _require_own(folder / name)
    # Each problem's module has another name, so that one program can import the packages of two.
    written = Expressions(f"{re.sub(r'[^0-9A-Za-z]+', '_', name).lower()}_code")
    call = read_call(live.forward if is_module else live, example_inputs, named_inputs, written)
    read = functools.partial(_tensors_in, written)
    try:
        first, second = (answer_of(live, call, read, gradients) for _ in range(2))
    except ProblemError:
        raise
    except Exception as error:  # the live object is of the caller's program and may raise anything
        raise ProblemError(f"{title} cannot be called with the example inputs: {said(error)}") from error
    again: dict[str, Any] = {}
    if is_module:
        again = sizes.constructor_of(live, arguments or {}, lambda made: difference(
            answer_of(made, call, read, gradients), first, second))  # fmt: skip
    numbers, reference = sizes.numbers_of(again), written.text(kind if is_module else live, title)
    text = functools.partial(
        _problem_text, written=written, numbers=numbers, is_bfloat16=_is_bfloat16(live, call),
        title=f"A module of {reference}, with the state that it had." if is_module else f"The function {title}.",
        model=_stated(first, gradients) + _model_text(live, is_module, call, first, reference, numbers, written),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        imports = store({"module": live, "arguments": again}, written, home / MODULE_FILE) if is_module else set()
        inputs = read_inputs(call.tensors, sizes.own_names(call.tensors), is_module)
        if inputs.stored:
            torch.save(inputs.stored, home / EXAMPLE_FILE)
        for path, source in {**own_sources(imports | written.imports), **_session(written)}.items():
            (home / SOURCES_FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            (home / SOURCES_FOLDER / path).write_text(source, encoding="utf-8")
        file = home / PROBLEM_FILE
        file.write_text(text(inputs), encoding="utf-8")
        device = next(iter(call.tensors.values())).device
        with loaded(file, written.home) as found, torch.autocast(device.type, enabled=False):
            model = found["Model"]().to(device)
            held = zip(model.parameters(), live.parameters(), strict=True) if is_module and is_large(live) else ()
            for mine, own in held:
                mine.data.copy_(own)
            if why := difference(answer_of(model, call.flat(), read, gradients), first, second):
                raise ProblemError(f"the written problem gives another result than {title}: {why}", UNEQUAL)
            names = sizes.tied_names(found, call.tensors, numbers)
        file.write_text(text(read_inputs(call.tensors, names, is_module)), encoding="utf-8")
        _move(home, folder / name)
    return problem_at(folder / name / PROBLEM_FILE)


def _tensors_in(written: Expressions, result: Any) -> list[Any]:
    """The tensors in a value, in the order of `_model_text`."""
    leaves: dict[str, Leaf] = {}
    written.text(result, "result", leaves)
    if not leaves:
        raise ProblemError(f"it returns a {type(result).__name__} without a tensor", "return a tensor")
    return [leaf.tensor for leaf in leaves.values()]


def _model_text(
    live: Any,
    is_module: bool,
    call: Call,
    answer: Answer,
    reference: str,
    numbers: Mapping[str, int],
    written: Expressions,
) -> str:
    """The text of class Model and of the functions it uses. reference: the live function, or the module's class."""
    leaves: dict[str, Leaf] = {}
    written.text(answer.result, "result", leaves)
    listed = ", ".join(f"{one}={one}" for one in numbers)
    dtypes = [one.dtype for one in live.parameters() if one.is_floating_point()] if is_module else []
    constructed = CONSTRUCTED.format(
        sizes=f"dict({listed})", known=dict(numbers), reference=reference, dtype=(dtypes or ["torch.float32"])[0]
    )
    return (MODULE if is_module else FUNCTION).format(
        names=", ".join(call.tensors), positional=", ".join(call.texts),
        named=", ".join(f"{key!r}: {one}" for key, one in call.named_texts.items()),
        given=", ".join([*call.texts, *(f"{key}={one}" for key, one in call.named_texts.items())]),
        returned=", ".join(leaf.path for leaf in leaves.values()),
        init="".join(f", {one}={value}" for one, value in numbers.items()), reference=reference,
        constructed=constructed if numbers else "",
    )  # fmt: skip


def _stated(answer: Answer, gradients: bool) -> str:
    mutates = f"MUTATES = {answer.changed!r}\n" if answer.changed else ""
    return f"{mutates}{'GRADIENTS = True' if gradients else ''}\n"


def _problem_text(
    inputs: Inputs, *, title: str, written: Expressions, model: str, numbers: Mapping[str, int], is_bfloat16: bool
) -> str:
    small = 'dtype="float32", ' if is_bfloat16 else ""  # the interpreter's arithmetic in bfloat16 is wrong
    return _template("problem").format(
        title=title, home=written.home, model=model,
        imports=_imports({one for one in {*written.imports, written.home} if f"{one}." in model}),
        cases=f'\n    dict(name="example", {small}small=True),' if inputs.stored is not None else "",
        sizes=", ".join(f"{name}={size}" for name, size in inputs.sizes.items()),
        inputs="\n".join(f"        {one}," for one in inputs.texts),
        init=", ".join(f"{name}={value}" for name, value in numbers.items()), numbers=", ".join(numbers),
    )  # fmt: skip


def _session(written: Expressions) -> dict[str, str]:
    """The session's module, by its path."""
    body = "".join(f"\n\n{one}\n" for one in written.session)
    # not `format`: the copied text has braces
    return {f"{written.home}.py": _template("session").replace("{imports}\n", _imports(written.imports)) + body}


def _imports(names: set[str]) -> str:
    return "".join(f"import {name}\n" for name in sorted(names - {"torch"}))


def _template(name: str) -> str:
    return (resources.files("kernelwright.problems.live") / f"{name}.py.txt").read_text(encoding="utf-8")


def _is_bfloat16(live: Any, call: Call) -> bool:
    tensors = [*call.tensors.values(), *getattr(live, "parameters", list)()]
    return any(one.dtype is _torch().bfloat16 for one in tensors)


def _require_own(home: Path) -> None:
    """Raise `ProblemError` for a folder with other content than a problem that this file wrote."""
    file = home / PROBLEM_FILE
    is_own = file.is_file() and MARK in file.read_text(encoding="utf-8", errors="replace")
    if not is_own and home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise ProblemError(f"{home} exists and was not written from a live object", "give another name or folder")


def _move(made: Path, home: Path) -> None:
    """Move a written problem to its folder, over one that was written before; other files there stay."""
    shutil.rmtree(home / SOURCES_FOLDER, ignore_errors=True)
    for name in (EXAMPLE_FILE, MODULE_FILE):
        (home / name).unlink(missing_ok=True)
    shutil.copytree(made, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def _function_name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _torch() -> Any:
    """The caller's torch. Raises `ProblemError` if the program has not imported it."""
    if "torch" not in sys.modules:
        raise ProblemError("this program has not imported torch, so it holds no module and no tensor")
    importlib.import_module("torch.nn.utils.parametrize")
    return sys.modules["torch"]
