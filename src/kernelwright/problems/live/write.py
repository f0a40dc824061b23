"""Writes a problem folder from live objects: problem.py, the caller's own source files, and the example's values."""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError
from kernelwright.problems.gallery import PROBLEM_FILE
from kernelwright.problems.live.constructor import PLAIN, construction_of
from kernelwright.problems.live.expressions import SESSION, Expressions
from kernelwright.problems.live.inputs import STORED_BYTES, Inputs, bound_inputs, read_inputs
from kernelwright.problems.live.sources import own_sources
from kernelwright.problems.paths import EXAMPLE_FILE, SOURCES_FOLDER, ProblemPath, problem_at

MARK = "Written by kernelwright.Problem."
"""Text in each problem.py that this file writes. A folder whose problem.py contains it may be overwritten."""

LINE = 110
"""Longest line of a call; in a longer call each argument gets its own line."""

HEAD = '''"""{title}

{mark}{maker}: change it as you like. docs/problems.md has the format.
"""

{imports}

HERE = Path(__file__).parent
{path}
# One dict per size; other keys are parameters of get_inputs and get_init_inputs. Add larger sizes, and sizes and dtypes
# that only confirm a new best kernel (held_out=True).
CASES = [
{cases}
]
'''

PATH = f'''if str(HERE / "{SOURCES_FOLDER}") not in sys.path:
    sys.path.insert(0, str(HERE / "{SOURCES_FOLDER}"))
'''

EXAMPLE = f'''
def example(part):
    """Values that the example had: its inputs, or buffers of the module."""
    return torch.load(HERE / "{EXAMPLE_FILE}", weights_only=True)[part]
'''

DRAWN = '''
def drawn(name, *shape):
    """The values of the example's input in another order for every seed. For another shape, values are left out or
    repeated evenly."""
    values, count = example("inputs")[name].flatten(), math.prod(shape)
    order = torch.div(torch.randperm(count) * values.numel(), max(count, 1), rounding_mode="floor")
    return values.to(order.device)[order].reshape(shape)
'''

KEPT = '''
def kept(name, *shape):
    """The example's input as it is (indices, masks, positions); of another shape, its values at even distances."""
    values = example("inputs")[name]
    for dim, size in enumerate(shape):
        places = torch.div(torch.arange(size) * values.shape[dim], max(size, 1), rounding_mode="floor")
        values = values.to(places.device).index_select(dim, places)
    return values
'''

RESTORE = """        for name, values in example("buffers").items():
            if self.get_buffer(name).shape == values.shape:
                self.get_buffer(name).copy_(values)
"""


class _Parts(NamedTuple):
    """The parts of a problem.py. init: arguments of get_init_inputs with their defaults as text."""

    title: str
    maker: str
    model: str
    init: dict[str, str]
    inputs: Inputs
    buffers: dict[str, Any]
    dtypes: frozenset[str]


def write_module(
    module: Any, example_inputs: object, arguments: Mapping[str, object], name: str | None, folder: Path
) -> ProblemPath:
    """Write the problem of `module`, a torch.nn.Module, to `folder`/`name`. arguments: constructor arguments by name
    that the module does not store as attributes. Raises `ProblemError` if something cannot be stored."""
    torch = _torch()
    module = getattr(module, "_orig_mod", module)  # the module in a wrapper of torch.compile
    if not isinstance(module, torch.nn.Module):
        raise ProblemError(
            f"{type(module).__name__} is no torch.nn.Module", "for a function, use Problem.from_function"
        )
    made = construction_of(module, arguments)
    inputs, call = bound_inputs(module.forward, example_inputs)
    plain = {key: value for key, value in made.named.items() if type(value) in PLAIN and value is not None}
    sizes = {key: value for key, value in plain.items() if type(value) is int and key not in inputs}
    kept_bytes = sum(buffer.numel() * buffer.element_size() for buffer in made.buffers.values())
    if kept_bytes > STORED_BYTES:
        raise ProblemError(
            f"buffers of {kept_bytes >> 20} MiB differ from those that the constructor makes; at most "
            f"{STORED_BYTES >> 20} MiB can be stored",
            "compute them in the constructor, or make them inputs",
        )
    read = read_inputs(inputs, call, sizes, kept_bytes, drawn=any(True for _ in module.parameters()))
    written = Expressions()
    kind = type(module).__name__
    reference = written.text(type(module), f"class {kind}")
    given = [written.text(value, f"argument {position} of {kind}") for position, value in enumerate(made.positional)]
    given += [
        f"{key}={key if key in plain else written.text(value, f'argument {key!r} of {kind}')}"
        for key, value in made.named.items()
    ]
    body = f"    def __init__({', '.join(['self', *plain])}):\n        {_wrapped('super().__init__', given)}\n"
    if made.cast:
        body += f"        self.to(torch.{made.cast})\n"
    if made.buffers:
        body += RESTORE
    if call != ", ".join(read.names) or "*" in str(inspect.signature(module.forward)):
        body += f"\n    def forward({', '.join(['self', *read.names])}):\n        return super().forward({call})\n"
    parts = _Parts(
        title=f"{kind}, as {reference} was constructed.", maker="from_module",
        model=f"class Model({reference}):\n{body}",
        init={key: written.text(value, key) for key, value in plain.items()}, inputs=read, buffers=made.buffers,
        dtypes=read.dtypes | {made.cast or "float32"},
    )  # fmt: skip
    return _write(parts, written, folder / (name or _snake(kind)))


def write_function(function: Callable[..., Any], example_inputs: object, name: str | None, folder: Path) -> ProblemPath:
    """Write the problem of a function of tensors to `folder`/`name`. Raises `ProblemError` if something cannot be
    stored."""
    torch = _torch()
    function = getattr(function, "_torchdynamo_orig_callable", function)
    if isinstance(function, torch.nn.Module) or isinstance(getattr(function, "__self__", None), torch.nn.Module):
        raise ProblemError("a module is not a function", "use Problem.from_module")
    inputs, call = bound_inputs(function, example_inputs)
    read = read_inputs(inputs, call, {}, 0, drawn=False)
    written = Expressions()
    bare: Any = function
    while isinstance(bare, functools.partial):
        bare = bare.func
    kind = getattr(bare, "__name__", type(bare).__name__)
    reference = written.text(function, f"function {kind}")
    model = (
        f"class Model(torch.nn.Module):\n    def forward({', '.join(['self', *read.names])}):\n"
        f"        return {reference}({call})\n"
    )
    parts = _Parts(
        title=f"The function {kind}.", maker="from_function", model=model, init={}, inputs=read, buffers={},
        dtypes=read.dtypes,
    )  # fmt: skip
    return _write(parts, written, folder / (name or re.sub(r"\W+", "", kind) or "function"))


def _write(parts: _Parts, written: Expressions, home: Path) -> ProblemPath:
    sources = own_sources(written.imports)
    if written.session:
        imports = "".join(f"import {module}\n" for module in sorted(written.imports))
        body = "\n\n\n".join(written.session)
        sources[f"{SESSION}.py"] = (
            f'"""Copied from where it was defined."""\n\nfrom __future__ import annotations\n\n{imports}\n\n{body}\n'
        )
    data = {"inputs": parts.inputs.stored, "buffers": parts.buffers}
    _clear(home)
    for path, text in sources.items():
        file = home / SOURCES_FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if any(data.values()):
        _torch().save(data, home / EXAMPLE_FILE)
    modules = {"torch", *written.imports} | ({SESSION} if written.session else set())
    file = home / PROBLEM_FILE
    file.write_text(_text(parts, modules, own=bool(sources)), encoding="utf-8")
    return problem_at(file)


def _clear(home: Path) -> None:
    """Prepare the folder: create it, or remove the sources and values of an earlier problem that this file wrote; other
    files stay. Raises `ProblemError` for a folder with other content."""
    file = home / PROBLEM_FILE
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        if not file.is_file() or MARK not in file.read_text(encoding="utf-8", errors="replace"):
            raise ProblemError(f"{home} exists and was not written from a live object", "give another name or folder")
        shutil.rmtree(home / SOURCES_FOLDER, ignore_errors=True)
        (home / EXAMPLE_FILE).unlink(missing_ok=True)
    home.mkdir(parents=True, exist_ok=True)


def _text(parts: _Parts, modules: set[str], own: bool) -> str:
    inputs = parts.inputs
    calls = {text.partition("(")[0] for text in inputs.texts}
    standard = {"math"} if "drawn" in calls else set()
    standard |= {"sys"} if own else set()
    library = [f"import {name}" for name in sorted(standard | (modules & set(sys.stdlib_module_names)))]
    others = [f"import {name}" for name in sorted(modules - set(sys.stdlib_module_names))]
    small = 'dtype="float32", ' if "bfloat16" in parts.dtypes else ""
    cases = [f'    dict(name="example", {small}small=True),'] if inputs.stored else []
    path = PATH if own else ""
    first = [*library, "from pathlib import Path", "", *(["import torch"] if own else others)]
    # The problem's own modules are imported after their folder was added to the path.
    late = "\n".join(other for other in others if other != "import torch") + "\n" if own else ""
    text = HEAD.format(
        title=parts.title, mark=MARK, maker=parts.maker, imports="\n".join(first),
        path=f"{path}\n{late}" if own else "", cases="\n".join([*cases, '    dict(name="full"),']),
    )  # fmt: skip
    if inputs.stored or parts.buffers:
        text += "\n" + EXAMPLE
    text += "\n" + DRAWN if "drawn" in calls else ""
    text += "\n" + KEPT if "kept" in calls else ""
    sizes = ", ".join(f"{name}={size}" for name, size in inputs.sizes.items())
    made = "\n".join(f"        {name}," for name in inputs.texts)
    first_arguments = ", ".join(f"{name}={value}" for name, value in parts.init.items())
    return text + (
        f"\n\n{parts.model}\n\n"
        f"def get_inputs({sizes}):\n    return [\n{made}\n    ]\n\n\n"
        f"def get_init_inputs({first_arguments}):\n    return [{', '.join(parts.init)}]\n"
    )


def _wrapped(function: str, arguments: list[str]) -> str:
    """A call in the body of a method; one argument per line if they do not fit in one line."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{function}(", *(f"            {argument}," for argument in arguments), "        )"])


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _torch() -> Any:
    """The caller's torch. Raises `ProblemError` if the program has not imported it."""
    if "torch" not in sys.modules:
        raise ProblemError("this program has not imported torch, so it holds no module and no tensor")
    return sys.modules["torch"]
