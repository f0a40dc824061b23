"""robust-kbench: a folder with `func_forward.py` and `config_forward.json`, or the same names with `backward`.

The file has Model and get_inputs with arguments, and the config has their values. These become constants of the
problem file, so that each configuration is a case. A task for the backward pass becomes a problem with
`GRADIENTS = True`. A folder with both is the forward task; `func_backward.py` is then given as the file.
https://github.com/SakanaAI/robust-kbench
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import Case, Scalar, StatedBySet
from kernelwright.problems.sets.written import Translated, write
from kernelwright.source import parse as syntax
from kernelwright.textfile import parse_json, read_text

NAME = "robust-kbench"
FORWARD, BACKWARD = "func_forward.py", "func_backward.py"
CONFIGS = {FORWARD: "config_forward.json", BACKWARD: "config_backward.json"}
"""The file with the arguments' values, by the file with the computation."""
FILTERS = "filter_results.json"
TOLERANCE = 1e-5
"""Default atol and rtol of the set's evaluation."""

Values = dict[str, Scalar | None]


class Config(msgspec.Struct):
    """Values for get_inputs, for Model, and for both. single: the configuration to time; multi: others to verify."""

    single_input_configs: list[Values]
    single_init_configs: list[Values]
    single_shared_configs: list[Values]
    multi_input_configs: list[Values] = []
    multi_init_configs: list[Values] = []
    multi_shared_configs: list[Values] = []


def problem_file(path: Path) -> Path | None:
    if path.is_dir():
        files = [path / name for name in CONFIGS if (path / name).is_file()]
    else:
        files = [path] if path.name in CONFIGS else []
    return write(translated(files[0])) if files else None


def translated(file: Path) -> Translated:
    """file: `func_forward.py` or `func_backward.py`. Raises `ProblemError`."""
    file = file.absolute()
    folder, is_backward = file.parent, file.name == BACKWARD
    settings = folder / CONFIGS[file.name]
    try:
        text = read_text(file)
        tree = syntax.parse(text)
        config = msgspec.convert(parse_json(read_text(settings)), Config)
    except (OSError, ValueError, SyntaxError, msgspec.ValidationError) as error:
        raise ProblemError(f"{folder} is no task of {NAME}: {error}") from error
    init, inputs = _arguments(file, tree, "Model"), _arguments(file, tree, "get_inputs")
    every = _configurations(settings, config)
    first = every[0]
    defaults = {**{name: node for name, node in [*init.items(), *inputs.items()] if node is not None}}
    numbers = {name: repr(first[name]) if name in first else ast.unparse(defaults[name])
               for name in dict.fromkeys([*init, *inputs]) if name in first or name in defaults}  # fmt: skip
    if missing := [name for name in [*init, *inputs] if name not in numbers]:
        raise ProblemError(f"{settings} gives no value for {missing[0]}")
    name = f"{folder.parent.name}_{folder.name}" if folder.name.startswith("task_") else folder.name
    name += "_backward" if is_backward else ""
    cases = tuple(
        Case(
            name="default" if position == 0 else f"config{position}",
            params={key: value for key, value in values.items() if key in numbers and value is not None},
            held_out=position > 0,
        )
        for position, values in enumerate(every)
    )
    facts = {"tolerance": f"atol = rtol = {TOLERANCE:g}", **_filters(folder)}
    stated = StatedBySet(set=NAME, name=name, facts=facts)
    written = _problem_text(text, numbers, list(init), list(inputs)) + ("\n\nGRADIENTS = True\n" if is_backward else "")
    return Translated(name, written, cases, (), stated)


def _arguments(file: Path, tree: ast.Module, name: str) -> dict[str, ast.expr | None]:
    """The arguments of a function, or of a class's constructor, with their defaults; None for no default."""
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name),
                 None)  # fmt: skip
    if found is None:
        raise ProblemError(f"{file} defines no {name}")
    if isinstance(found, ast.ClassDef):
        inits = [node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        if not inits:
            return {}
        given, args = inits[0].args.args[1:], inits[0].args
    else:
        given, args = found.args.args, found.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
        raise ProblemError(f"{file}: {name} has *, **, keyword-only or positional-only arguments", "use plain ones")
    padding: list[ast.expr | None] = [None] * len(given)
    defaults = [*padding, *args.defaults][-len(given) :] if given else []
    return dict(zip((argument.arg for argument in given), defaults, strict=True))


def _configurations(settings: Path, config: Config) -> list[Values]:
    """The argument values of each configuration, the one to time first. A name must have the same value for Model and
    get_inputs, else raises `ProblemError`."""
    found: list[Values] = []
    for kind in ("single", "multi"):
        lists = [getattr(config, f"{kind}_{part}_configs") for part in ("init", "input", "shared")]
        for init, inputs, shared in itertools.product(*lists):
            both = {name for name in init.keys() & inputs.keys() - shared.keys() if init[name] != inputs[name]}
            if both:
                raise ProblemError(f"{settings} gives {min(both)} two values at once")
            values = {**init, **inputs, **shared}
            if values not in found and (values or kind == "single"):
                found.append(values)
    if not found:
        raise ProblemError(f"{settings} has no configuration")
    return found


def _problem_text(text: str, numbers: Mapping[str, str], init: list[str], inputs: list[str]) -> str:
    lines = [text.rstrip(), "", "", "make_inputs = get_inputs"]
    lines += [f"{name} = {value}" for name, value in numbers.items()]
    given = ", ".join(f"{name}={name}" for name in inputs)
    lines += ["", "", "def get_inputs():", f"    return make_inputs({given})"]
    return "\n".join([*lines, "", "", "def get_init_inputs():", f"    return [{', '.join(init)}]", ""])


def _filters(folder: Path) -> dict[str, str]:
    """Findings of the set's filters: weak outputs, inputs without effect, redundant work."""
    try:
        found: Any = parse_json(read_text(folder / FILTERS))
    except (OSError, ValueError):
        return {}
    named = [key.removeprefix("filter_") for key, value in found.items() if value is True] if found else []
    return {"filters": ", ".join(named) or "none applies"}
