"""Tasks of GPU MODE's leaderboards: a folder with `task.yml`, whose sizes become cases.

`reference.py` defines `generate_input`, with an argument for each size and for a seed, and `ref_kernel(data)`. Both are
copied with the modules that `files` lists, and `problem.py` imports them. The seed is drawn, so that no kernel can know
the values. `benchmarks` are timed, `tests` are held out. Format: https://github.com/gpu-mode/reference-kernels
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from kernelwright.codec import sha
from kernelwright.errors import ProblemError
from kernelwright.model import Case, Scalar, StatedBySet
from kernelwright.problems.sets.definition import timed_among
from kernelwright.problems.sets.written import Translated, write
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import base_name, bindings
from kernelwright.source.edits import Edit, edited
from kernelwright.templates import rendered
from kernelwright.textfile import read_text

NAME = "GPU MODE"
TASK = "task.yml"
REFERENCE = "reference.py"
SEED = "seed"
SUBMISSION = "@SUBMISSION@"
"""Source of the file in `files` that a candidate replaces."""
NEEDED = {"generate_input": "the arguments that tests and benchmarks name", "ref_kernel": "data"}
RESERVED = frozenset({"Model", "get_inputs", "get_init_inputs", *NEEDED, "torch", "random", "sys", "Path", "SOURCES"})
"""Names that problem.py binds."""
DEVICES = frozenset({"cuda", "cuda:0"})

Entry = dict[str, Any]


class Listed(msgspec.Struct):
    """An entry of `files`: the name under which others import it, and its path from the task's folder."""

    name: str
    source: str


class Task(msgspec.Struct):
    tests: list[Entry] = []
    benchmarks: list[Entry] = []
    files: list[Listed] = []
    description: str = ""


def problem_file(path: Path) -> Path | None:
    file = path / TASK if path.is_dir() else path
    return write(translated(file.absolute())) if file.name == TASK and file.is_file() else None


def translated(file: Path) -> Translated:
    """file: `task.yml`. Raises `ProblemError`."""
    task = read_task(file)
    texts = texts_of(file, task)
    reference = texts[REFERENCE]
    functions = {one.name: one for one in syntax.parse(reference).body if isinstance(one, ast.FunctionDef)}
    for name, arguments in NEEDED.items():
        if name not in functions:
            raise ProblemError(
                f"{file.with_name(REFERENCE)} does not define {name}", f"a task has a function {name} of {arguments}"
            )
    entries = {"benchmarks": task.benchmarks, "tests": task.tests}
    sizes = {kind: [sized(file, kind, number, one, functions["generate_input"]) for number, one in enumerate(listed)]
             for kind, listed in entries.items()}  # fmt: skip
    name = file.parent.name
    package = f"task_{sha(repr(texts))[:8]}"
    placed = {name: placed_in(package, text, texts) for name, text in texts.items()}
    elsewhere = any(is_on_device for _, is_on_device in placed.values())
    cases = cases_of(file, sizes)
    first = next(values for listed in sizes.values() for values in listed)
    return Translated(
        name, problem_text(package, first, functions, elsewhere), cases, (),
        StatedBySet(set=NAME, name=name, facts={"description": task.description} if task.description else {}),
        {f"{package}/{name}": text for name, (text, _) in placed.items()},
    )  # fmt: skip


def read_task(file: Path) -> Task:
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=Task)
    except ImportError as error:
        raise ProblemError(f"{file} is YAML, which needs PyYAML", "pip install 'kernelwright[yaml]'") from error
    except (OSError, msgspec.DecodeError) as error:
        raise ProblemError(
            f"{file} is no task of {NAME}: {' '.join(str(error).split())}",
            "expected lists tests and benchmarks of sizes by name, and files, a list of names and sources",
        ) from error


def texts_of(file: Path, task: Task) -> dict[str, str]:
    """The texts of `reference.py` and of the modules that it imports, directly or through others, by their names."""
    sources = {one.name: one.source for one in task.files if one.source != SUBMISSION}
    texts: dict[str, str] = {}
    wanted = [REFERENCE]
    while wanted:
        name = wanted.pop()
        place = file.parent / sources.get(name, name)
        try:
            texts[name] = read_text(place)
            tree = syntax.parse(texts[name])
        except OSError as error:
            raise ProblemError(
                f"{file}: cannot read {place}: {error.strerror}", f"add it, or correct the source of {name} under files"
            ) from error
        except (SyntaxError, ValueError) as error:
            raise ProblemError(f"{place} is not Python: {error}") from error
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
        known = {f"{module}.py" for module in modules if f"{module}.py" in sources or is_beside(file, module)}
        wanted += sorted(known - {*texts, *wanted})
    return texts


def is_beside(file: Path, module: str) -> bool:
    return module.isidentifier() and file.with_name(f"{module}.py").is_file()


def placed_in(package: str, text: str, texts: Mapping[str, str]) -> tuple[str, bool]:
    """A module's text with imports of the others from `package` and without names of devices, and whether other
    functions than `generate_input` named one."""
    tree, others, edits = syntax.parse(text), {PurePosixPath(name).stem for name in texts}, list[Edit]()
    inside = {id(node) for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "generate_input"
              for node in ast.walk(one)}  # fmt: skip
    torch = "torch" if any(one.name == "torch" for one in bindings(tree)) else '__import__("torch")'
    is_on_device = False
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module in others:
                made = ast.ImportFrom(f"{package}.{module}", node.names, 0)
                edits.append(Edit(node, node, ast.unparse(made)))
            case ast.Import(names=names) if any(alias.name in others for alias in names):
                own = [ast.alias(f"{package}.{one.name}", one.asname or one.name) if one.name in others else one
                       for one in names]  # fmt: skip
                edits.append(Edit(node, node, ast.unparse(ast.Import(own))))
            case ast.Constant(value=str(device)) if device in DEVICES:
                edits.append(Edit(node, node, f"{torch}.get_default_device().type"))
                is_on_device = is_on_device or id(node) not in inside
            case _:
                pass
    return edited(text, edits), is_on_device


# --- the cases ----------------------------------------------------------------------------------------------


def sized(file: Path, kind: str, number: int, entry: Entry, generate: ast.FunctionDef) -> dict[str, Scalar | list[int]]:
    """The arguments of `generate_input` in an entry of tests or benchmarks, without the seed."""
    where = f"{file}: {kind}[{number}]"
    arguments = [one.arg for one in [*generate.args.args, *generate.args.kwonlyargs]]
    for name, value in entry.items():
        if name not in arguments:
            raise ProblemError(
                f"{where} names {name}, and generate_input has no such argument", f"it has {', '.join(arguments)}"
            )
        if name in RESERVED or keyword.iskeyword(name):
            raise ProblemError(f"{where} names {name}, which is also a name of the problem", "rename this size")
        is_list = isinstance(value, list) and value and all(type(one) is int for one in value)
        if not is_list and type(value) not in (bool, int, float, str):
            raise ProblemError(
                f"{where}.{name} is {value!r:.60}", "expected a number, a text, true, false or a list of whole numbers"
            )
    without = arguments[: len(arguments) - len(generate.args.defaults)] if not generate.args.kwonlyargs else []
    if missing := [name for name in without if name not in entry and name != SEED]:
        raise ProblemError(f"{where} gives no {missing[0]}, which generate_input takes", "add it to the entry")
    return {name: value for name, value in entry.items() if name != SEED}


def cases_of(file: Path, sizes: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Case, ...]:
    """A case for each entry of other sizes. Entries under `tests` are timed where there are no benchmarks."""
    kinds = [kind for kind, listed in sizes.items() if listed]
    if not kinds:
        raise ProblemError(f"{file} has neither tests nor benchmarks", "add the sizes under benchmarks")
    lengths = {name: len(value) for name, value in sizes[kinds[0]][0].items() if isinstance(value, list)}
    found: dict[str, tuple[str, dict[str, Scalar]]] = {}
    for kind in kinds:
        for number, values in enumerate(sizes[kind]):
            params: dict[str, Scalar] = {}
            for name, value in values.items():
                length = len(value) if isinstance(value, list) else None
                if length != lengths.get(name):
                    raise ProblemError(
                        f"{file}: {kind}[{number}].{name} is {value!r:.60}, and {kinds[0]}[0].{name} has another "
                        "length",
                        "give lists of one length, or remove these entries",
                    )
                params |= (
                    {f"{name}[{at}]": one for at, one in enumerate(value)} if length is not None else {name: value}
                )
            found.setdefault(repr(sorted(params.items())), (kind, params))
    timed_of = [params for kind, params in found.values() if kind == kinds[0]]
    volumes = [math.prod(value for value in params.values() if type(value) is int) for params in timed_of]
    timed = [timed_of[place] for place in timed_among(volumes)]
    names: set[str] = set()
    cases = []
    for kind, params in found.values():
        base = "x".join(str(value) for value in params.values()) or "default"
        base = base if kind == kinds[0] else f"test-{base}"
        name = next(text for n in range(1, 10**6) if (text := base if n == 1 else f"{base}-{n}") not in names)
        names.add(name)
        is_timed = any(params is one for one in timed)
        cases.append(Case(name=name, params=params, held_out=not is_timed))
    return tuple(cases)


# --- the text -----------------------------------------------------------------------------------------------


def problem_text(
    package: str, first: Mapping[str, Any], functions: Mapping[str, ast.FunctionDef], elsewhere: bool
) -> str:
    """The text of problem.py. elsewhere: whether the reference creates tensors on a device that it names."""
    generate = functions["generate_input"].args
    seeded = SEED in {one.arg for one in [*generate.args, *generate.kwonlyargs]}
    changed = changed_parts(functions["ref_kernel"])
    return rendered(
        "kernelwright.problems.sets",
        "gpu_mode.py.j2",
        package=package,
        first={name: repr(value) for name, value in first.items()},
        given=", ".join([f"{name}={name}" for name in first] + [f"{SEED}={SEED}"] * seeded),
        changed=repr(tuple(changed)) if changed else "",
        seeded=seeded,
        elsewhere=elsewhere,
    )


def changed_parts(function: ast.FunctionDef) -> list[str]:
    """The parts of `data` into which `ref_kernel` writes: names that are unpacked from it and bound once, and whose
    elements are assigned, or that a method with an underscore at its end or `out=` changes."""
    first = function.args.args[0].arg if function.args.args else ""
    stores = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    parts: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Name(id=name)) if name == first:
                for place, one in enumerate(elements):
                    if isinstance(one, ast.Name) and stores.count(one.id) == 1:
                        parts[one.id] = f"data.{place}"
            case _:
                pass
    written = set[str]()
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ctx=ast.Store()):
                written.add(base_name(node) or "")
            case ast.Call(func=ast.Attribute(attr=method)) if method.endswith("_") and not method.endswith("__"):
                written.add(base_name(node.func) or "")
            case ast.keyword(arg="out", value=ast.Name(id=name)):
                written.add(name)
            case _:
                pass
    return [part for name, part in parts.items() if name in written]
