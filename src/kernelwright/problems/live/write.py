"""Writes a problem folder from live objects: problem.py, the caller's own source files, the live module with its state,
and the example's values; and a live module with its inputs as a script for `kernelwright model`.

The problem is run on the example, and is refused if its result is not the live object's.
"""

from __future__ import annotations

import copy
import functools
import importlib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.live import sizes
from kernelwright.problems.live.compare import answer_of, apart, difference, loaded, said
from kernelwright.problems.live.expressions import Expressions, Leaf
from kernelwright.problems.live.inputs import Call, Inputs, places_of, read_call, read_inputs
from kernelwright.problems.live.sources import own_sources
from kernelwright.problems.live.stored import store
from kernelwright.problems.paths import EXAMPLE_FILE, MODULE_FILE, PROBLEM_FILE, SOURCES_FOLDER, ProblemPath, problem_at
from kernelwright.templates import shipped

MARK = "Written by kernelwright.Problem"
"""Text in each problem.py that this file writes. A folder whose problem.py contains it may be overwritten."""

UNEQUAL = "it may depend on more than its arguments, its attributes and its module"

MADE = """
    def __init__({self}):
        super().__init__()
        self.module: {reference} = stored("module")
"""

MADE_AGAIN = """        # Constructed again for other sizes, and where only shapes are asked for (on fake tensors).
        if type(torch.empty(0)) is not torch.Tensor or {sizes} != {known}:
            self.module = {reference}(**{{**stored("arguments"), **{sizes}}}).to({dtype})
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
    if "torch" not in sys.modules:
        raise ProblemError("this program has not imported torch, so it holds no module and no tensor")
    torch, _ = sys.modules["torch"], importlib.import_module("torch.nn.utils.parametrize")
    live = getattr(live, "_orig_mod", getattr(live, "_torchdynamo_orig_callable", live))  # what torch.compile wraps
    is_module = isinstance(live, torch.nn.Module)
    if arguments is None and (is_module or isinstance(getattr(live, "__self__", None), torch.nn.Module)):
        raise ProblemError("a module is not a function", "use Problem.from_module")
    if arguments is not None and not is_module:
        raise ProblemError(f"{type(live).__name__} is no torch.nn.Module", "for a function, use Problem.from_function")
    title = _name_of(live)
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", title).lower() if is_module else name or title
    home = folder / name
    is_own = (home / PROBLEM_FILE).is_file() and MARK in (home / PROBLEM_FILE).read_text("utf-8", "replace")
    if not is_own and home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise ProblemError(f"{home} exists and was not written from a live object", "give another name or folder")
    # Each problem's module has another name, so that one program can import the packages of two.
    written = Expressions(f"{re.sub(r'[^0-9A-Za-z]+', '_', name).lower()}_code")
    call = read_call(live.forward if is_module else live, example_inputs, named_inputs, written)
    read = functools.partial(_tensors_in, written)
    live = apart(live) if is_module else live
    try:
        first, second = (answer_of(live, call, read, gradients) for _ in range(2))
    except ProblemError:
        raise
    except Exception as error:  # the live object is of the caller's program and may raise anything
        raise ProblemError(f"{title} cannot be called with the example inputs: {said(error)}") from error
    parts: dict[str, Any] = {}
    if is_module:
        again = sizes.constructor_of(
            live, arguments or {}, lambda made: difference(answer_of(made, call, read, gradients), first, second)
        )
        parts = {"module": live, "arguments": again}
    numbers = sizes.numbers_of(parts.get("arguments", {}))
    fields = _fields(live, title, call, first.result, numbers, written)
    fields["stated"] = f"MUTATES = {first.changed!r}\n" * bool(first.changed) + "GRADIENTS = True\n" * gradients
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / PROBLEM_FILE
        imports = store(parts, written, file.with_name(MODULE_FILE)) if parts else set()
        inputs = read_inputs(call.tensors, places_of(call.tensors), is_module)
        if inputs.stored:
            torch.save(inputs.stored, file.with_name(EXAMPLE_FILE))
        write_sources(file.with_name(SOURCES_FOLDER), written, imports)
        file.write_text(_text(fields, inputs, written), encoding="utf-8")
        device = next(iter(call.tensors.values())).device
        with loaded(file, written.home) as found, torch.autocast(device.type, enabled=False):
            model = found["Model"]().to(device)
            if why := difference(answer_of(model, call.flat(), read, gradients), first, second):
                raise ProblemError(f"the written problem gives another result than {title}: {why}", UNEQUAL)
            names = sizes.tied_names(found, call.tensors, numbers)
        file.write_text(_text(fields, read_inputs(call.tensors, names, is_module), written), encoding="utf-8")
        shutil.rmtree(home / SOURCES_FOLDER, ignore_errors=True)  # other files of an earlier problem stay
        for one in (EXAMPLE_FILE, MODULE_FILE):
            (home / one).unlink(missing_ok=True)
        shutil.copytree(temporary, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return problem_at(home / PROBLEM_FILE)


def _tensors_in(written: Expressions, result: Any) -> list[Any]:
    """The tensors in a value, in the order in which Model returns them."""
    leaves: dict[str, Leaf] = {}
    written.text(result, "result", leaves)
    if not leaves:
        raise ProblemError(f"it returns a {type(result).__name__} without a tensor", "return a tensor")
    return [leaf.tensor for leaf in leaves.values()]


def _fields(
    live: Any, title: str, call: Call, result: Any, numbers: Mapping[str, int], written: Expressions
) -> dict[str, Any]:
    """The fields of problem.py.txt, beside those of its inputs. result: what the live object returned."""
    torch, leaves = sys.modules["torch"], dict[str, Leaf]()
    written.text(result, "result", leaves)
    fields = {
        "title": f"The function {title}.", "call_of": "arguments_of", "made": "",
        "names": ", ".join(call.tensors), "positional": ", ".join(call.texts),
        "named": ", ".join(f"{key!r}: {one}" for key, one in call.named_texts.items()),
        "returned": ", ".join(leaf.path for leaf in leaves.values()), "numbers": ", ".join(numbers),
        "defaults": ", ".join(f"{one}={value}" for one, value in numbers.items()),
    }  # fmt: skip
    held = [*getattr(live, "parameters", list)()]
    dtypes = [one.dtype for one in (*held, *call.tensors.values())]
    # The interpreter's arithmetic in bfloat16 is wrong.
    fields["small"] = 'dtype="float32", ' if torch.bfloat16 in dtypes else ""
    if not isinstance(live, torch.nn.Module):
        return fields | {"called": written.text(live, title)}
    reference = written.text(torch.nn.utils.parametrize.type_before_parametrizations(live), title)
    made = MADE.format(self=", ".join(["self", *filter(None, [fields["defaults"]])]), reference=reference)
    if numbers:
        dtype = next((one.dtype for one in held if one.is_floating_point()), torch.float32)
        sizes_ = f"dict({', '.join(f'{one}={one}' for one in numbers)})"
        made += MADE_AGAIN.format(sizes=sizes_, known=dict(numbers), reference=reference, dtype=dtype)
    title = f"A module of {reference}, with the state that it had."
    return fields | {"title": title, "call_of": "call_of", "made": made, "called": "self.module"}


def _text(fields: Mapping[str, Any], inputs: Inputs, written: Expressions) -> str:
    """The text of problem.py."""
    used = " ".join(map(str, fields.values()))
    imports = {one for one in {*written.imports, written.home} if f"{one}." in used}
    return shipped("kernelwright.problems.live", "problem.py.txt").format(
        **fields, home=written.home, imports=_imports(imports),
        cases=f'\n    dict(name="example", {fields["small"]}small=True),' if inputs.stored is not None else "",
        sizes=", ".join(f"{name}={size}" for name, size in inputs.sizes.items()),
        inputs="\n".join(f"        {one}," for one in inputs.texts),
    )  # fmt: skip


def write_sources(folder: Path, written: Expressions, imports: set[str]) -> None:
    """Write the session's module and the caller's own modules. imports: modules, beside those that expressions name."""
    body = "".join(f"\n\n{one}\n" for one in written.session)
    texts = own_sources(imports | written.imports)
    # Not by `format`: the copied text has braces.
    session = shipped("kernelwright.problems.live", "session.py.txt")
    texts[f"{written.home}.py"] = session.replace("{imports}\n", _imports(written.imports)) + body
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _imports(names: set[str]) -> str:
    return "".join(f"import {name}\n" for name in sorted(names - {"torch"}))


def _name_of(live: Any) -> str:
    """The name of a function, or of a module's class."""
    while isinstance(live, functools.partial):
        live = live.func
    kind = sys.modules["torch"].nn.utils.parametrize.type_before_parametrizations(live)
    return re.sub(r"\W+", "", getattr(live, "__name__", kind.__name__)) or "function"


def write_model(module: Any, inputs: Mapping[str, Any], name: str | None, folder: Path, train: bool) -> Path:
    """The path of the script, in `folder`/NAME_module. Raises `ProblemError` for a module that cannot be stored."""
    torch = sys.modules.get("torch")
    module = getattr(module, "_orig_mod", module)
    if torch is None or not isinstance(module, torch.nn.Module):
        raise ProblemError(f"{type(module).__name__} is no torch.nn.Module", "give the module itself")
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(module).__name__).lower()
    device = next((one.device.type for one in module.parameters()), "cpu")
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    empty = {id(one): torch.nn.Parameter(torch.empty_like(one, device="meta"), one.requires_grad)
             for one in module.parameters()}  # fmt: skip
    home, written = folder / f"{name}_module", Expressions(f"{name}_code")
    home.mkdir(parents=True, exist_ok=True)
    imports = store({"module": copy.deepcopy(module, empty), "inputs": dict(inputs)}, written, home / MODULE_FILE)
    write_sources(home / SOURCES_FOLDER, written, imports)
    text = shipped("kernelwright.problems.live", "model.py.txt").format(
        title=type(module).__name__, home=written.home, train=train, autocast=dtype
    )
    (home / f"{name}.py").write_text(text, encoding="utf-8")
    return home / f"{name}.py"
