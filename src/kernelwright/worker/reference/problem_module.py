"""The problem file as a Python module: reading it, executing it with a case's constants, calling it, and its cases.

Any failure while the user's file is read, imported or called becomes one `ProblemError` that names the file and, if
known, the line.
"""

from __future__ import annotations

import ast
import builtins
import codecs
import contextlib
import functools
import hashlib
import inspect
import json
import math
import os
import random
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import torch

from kernelwright.errors import ProblemError
from kernelwright.model import Case, LibraryMode, Record, Scalar, StatedBySet
from kernelwright.source import parse as syntax
from kernelwright.text.escape import encodable
from kernelwright.worker.reference import numbers
from kernelwright.worker.reference.cures import cure_for

W = TypeVar("W")

_MODULE_NAME = "kernelwright_problem"
_REPLACED = "__kernelwright_replaced"
"""The name of `numbers.replaced` in the problem's module while it is executed."""

_GIVEN = "__kernelwright_given"
"""The name of the replaced constants in the problem's module; its functions read them, too."""


class Sidecar(Record, frozen=True, kw_only=True):
    """The sidecar `NAME.cases.json` of a problem file. tried: cases that are dropped if the reference cannot run them.
    stated: facts from the problem set. library: used in place of the mode that the file states."""

    cases: tuple[Case, ...]
    tried: tuple[Case, ...] = ()
    stated: StatedBySet | None = None
    layouts: Literal["dense", "any"] | None = None
    precision: Literal["ieee", "tf32"] | None = None
    mutates: tuple[str, ...] = ()
    library: LibraryMode | None = None


# --- reading and running ------------------------------------------------------------------------------------


def read_source(file: Path) -> tuple[str, ast.Module]:
    """Text and syntax tree of the problem file."""
    if file.suffix != ".py":
        raise ProblemError(f"{file} is not a Python file", "a problem is a .py file, or a folder holding problem.py")
    try:
        source = file.read_text(encoding="utf-8-sig")
        return source, syntax.parse(source)
    except OSError as error:
        raise ProblemError(f"cannot read {file}: {error.strerror}") from error
    except SyntaxError as error:
        raise ProblemError(syntax.complaint(error, file)) from error
    except ValueError as error:
        raise ProblemError(f"{file} is not Python source in UTF-8: {error}") from error


def own_modules(file: Path) -> dict[str, str]:
    """The texts of the modules in `sources/` beside the problem file, by their paths in it."""
    folder = file.parent / "sources"
    try:
        return {
            found.relative_to(folder).as_posix(): found.read_text(encoding="utf-8-sig")
            for found in sorted(folder.glob("**/*.py"))
        }
    except (OSError, ValueError) as error:
        raise ProblemError(f"{folder} holds a module that cannot be read: {error}") from error


@functools.lru_cache(maxsize=1024)
def _compiled(file: Path, tree: ast.Module, constants: tuple[str, ...]) -> types.CodeType:
    """See `execute`. constants: names of those that are replaced; the code reads their values from `_GIVEN`."""
    items = {item: name for name in constants if (item := numbers.item_of(name)) is not None}
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            chosen = {item.path[0]: _given(name) for item, name in items.items() if item.owner == statement.name}
            body.append(numbers.with_literals(statement, chosen) if chosen else statement)
            continue
        body.append(statement)
        names = assigned_names(statement)
        overrides = [(name, _given(name)) for name in sorted(names & set(constants))]
        for item, name in items.items():
            if item.owner in names:
                replaced = f"{_REPLACED}({item.owner}, {item.path!r}, {ast.unparse(_given(name))})"
                overrides.append((item.owner, ast.parse(replaced, mode="eval").body))
        for name, expression in overrides:
            override = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=expression)
            body.append(ast.fix_missing_locations(ast.copy_location(override, statement)))
    return compile(ast.Module(body=body, type_ignores=[]), str(file), "exec", dont_inherit=True)


def _given(name: str) -> ast.expr:
    return ast.parse(f"{_GIVEN}[{name!r}]", mode="eval").body


def execute(file: Path, tree: ast.Module, constants: Mapping[str, Scalar]) -> types.ModuleType:
    """The problem's module, freshly executed, with `constants` in place of what the file assigns to them.

    Each is set right after the statement that assigns it, so that what is computed from it follows. Names with
    brackets are items of tuples and lists, or numbers in a function's body (`numbers`).
    """
    code = _compiled(file, tree, tuple(sorted(constants)))
    module = types.ModuleType(_MODULE_NAME)
    module.__file__ = str(file)
    module.__dict__.update({_REPLACED: numbers.replaced, _GIVEN: dict(constants)})
    # dataclasses and pickling look a class's module up by name.
    sys.modules[_MODULE_NAME] = module
    before = dict(vars(builtins))
    with seeded("import", 0, "cpu"):
        try:
            call(file, "importing it", exec, code, module.__dict__)
        finally:
            changed = [name for name in before if vars(builtins).get(name) is not before[name]]
            vars(builtins).update(before)
    if changed:
        raise ProblemError(
            f"{file} changes {', '.join(sorted(changed))} of Python's builtins", "define new names instead"
        )
    module.__dict__.pop(_REPLACED, None)
    return module


def call(file: Path, what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user's; any exception becomes a `ProblemError` that names the line.

    what: the call in words. `running` notes it, in case the user's code ends the process.
    """
    process = os.getpid()
    running(what)
    own, sys.argv = sys.argv, [str(file)]  # a file that parses the command line gets its defaults
    try:
        return function(*args, **kwargs)
    except ProblemError:
        raise
    except BaseException as error:  # a real interrupt ends this process without raising
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        said = words_of(error)
        raise ProblemError(f"{where}: {what} raised {type(error).__name__}: {said}", cure_for(error, said)) from error
    finally:
        sys.argv = own
        if os.getpid() != process:
            os._exit(0)  # the user's code forked: the child must not continue as this process
        signal.alarm(0)  # an alarm that the user's code set would interrupt later code
        running("")


LONGEST_WORDS = 2000
"""Limit on the characters of an exception's text."""


def words_of(error: BaseException) -> str:
    """The text of an exception from the user's code; a note if computing the text fails."""
    try:
        said = str(error)
    except BaseException as fault:  # noqa: BLE001 - it is the user's code again
        return f"(its text cannot be computed: {type(fault).__name__})"
    return encodable(said[:LONGEST_WORDS])


def running(what: str) -> None:
    """Note which part of the user's code runs now, "" for none. The supervisor reads the note if this process ends."""
    if note.file is not None:
        with contextlib.suppress(OSError):  # the user's code may have closed it
            os.pwrite(note.file, what.encode().ljust(NOTE_BYTES, b"\0")[:NOTE_BYTES], 0)


NOTE_BYTES = 200


@dataclass
class _Note:
    """The file descriptor that `running` writes to; None: it writes nothing."""

    file: int | None = None


note = _Note()


def argument_names(function: Callable[..., object]) -> dict[str, bool]:
    """The arguments that `function` takes by name, and whether each has a default; none for most builtins."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p.default is not p.empty for p in numbers.parameters_of(function) if p.kind in named}


def call_with(file: Path, what: str, function: Callable[..., Any], given: Mapping[str, Scalar | None]) -> Any:
    """Call `function` with those values of `given` that it takes by name."""
    names = argument_names(function)
    missing = [name for name, has_default in names.items() if not has_default and name not in given]
    if missing:
        raise ProblemError(f"{file}: {what} needs {', '.join(missing)}", "give it a default, or a value in every case")
    return call(file, what, function, **{name: given[name] for name in names if name in given})


@contextmanager
def seeded(part: str, seed: int, device: str) -> Iterator[int]:
    """Inside, random numbers come from (part, seed) and new tensors are on `device`; afterwards the caller's random
    state is restored.

    Yields the seed that torch was given.
    """
    derived = int.from_bytes(hashlib.sha256(f"{part} {seed}".encode()).digest()[:7], "big")
    python, numpy = random.getstate(), np.random.get_state()
    gpus = [torch.device(device)] if torch.device(device).type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=gpus), torch.device(device):
            seed_torch(derived)
            random.seed(derived)
            np.random.seed(derived % 2**32)
            yield derived
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def seed_torch(seed: int) -> None:
    """`torch.manual_seed` for CPU and CUDA. For every other kind of device that torch knows, it formats the call stack
    and keeps the call: a third of what reading a problem took."""
    torch.default_generator.manual_seed(seed)
    if torch.backends.cuda.is_built():
        torch.cuda.manual_seed_all(seed)


# --- cases --------------------------------------------------------------------------------------------------


def stated_cases(file: Path, module: types.ModuleType, sidecar: Sidecar | None) -> tuple[Case, ...]:
    """The cases in CASES (and derived ones in the sidecar), or those in the sidecar, or one case "default" without
    parameters."""
    if hasattr(module, "CASES"):
        beside = sidecar.cases if sidecar is not None else ()
        if sidecar is not None and not (beside and all(case.derived for case in beside)):
            raise ProblemError(
                f"{file} has CASES, and {sidecar_of(file).name} lies beside it",
                "keep one of the two; beside CASES it may hold derived cases only",
            )
        if not isinstance(module.CASES, list | tuple):
            raise ProblemError(f"{file}: CASES is a {type(module.CASES).__name__}, expected a list of dicts")
        entries = call(file, "reading CASES", list, module.CASES)
        return (*(_stated_case(file, entry) for entry in entries), *beside)
    return (Case(name="default"),) if sidecar is None else sidecar.cases


def stated_choice(
    file: Path, module: types.ModuleType, name: str, choices: tuple[W, ...], beside: W | None = None
) -> W:  # fmt: skip
    """The constant `name` in the file, or else `beside` from the sidecar, or else the first of the choices."""
    stated = getattr(module, name, None)
    stated = beside if stated is None else stated
    for choice in choices:
        if stated is None or (type(stated) is type(choice) and stated == choice):
            return choice
    shown = call(file, f"showing {name}", repr, stated)
    known = " or ".join(json.dumps(one) if isinstance(one, str) else str(one) for one in choices if one is not None)
    raise ProblemError(f"{file}: {name} is {encodable(shown)[:100]}", f"expected {known}")


def stated_mutates(file: Path, module: types.ModuleType, beside: Sidecar) -> tuple[str, ...]:
    """The arguments of forward that MUTATES in the file or "mutates" in the sidecar lists; empty without either."""
    listed = getattr(module, "MUTATES", ())
    if not isinstance(listed, list | tuple) or not all(type(name) is str for name in listed):
        raise ProblemError(f"{file}: MUTATES is {listed!r:.100}, expected names of inputs", 'such as ("k_cache",)')
    if beside.mutates and hasattr(module, "MUTATES"):
        raise ProblemError(f"{file} has MUTATES, and so has {sidecar_of(file).name}", "keep one of the two")
    return tuple(listed) or beside.mutates


def sidecar_of(file: Path) -> Path:
    return file.with_suffix(".cases.json")


def read_sidecar(file: Path) -> Sidecar | None:
    """The sidecar of the problem file; None if there is none."""
    sidecar = sidecar_of(file)
    if not sidecar.is_file():
        return None
    try:
        return msgspec.json.decode(sidecar.read_bytes().removeprefix(codecs.BOM_UTF8), type=Sidecar)
    except msgspec.DecodeError as error:
        raise ProblemError(f"{sidecar}: {error}", 'expected {"cases": [{"name": …, "params": {…}}, …]}') from error


def _stated_case(file: Path, entry: object) -> Case:
    try:
        fields = msgspec.convert(entry, dict[str, Scalar | None])
        own: dict[str, Any] = {key: fields.pop(key) for key in ("name", "dtype", "held_out", "small") if key in fields}
        return msgspec.convert({**own, "params": fields}, Case)
    except msgspec.ValidationError as error:
        shown = call(file, "showing an entry of CASES", repr, entry)
        raise ProblemError(f"{file}: {encodable(shown)} in CASES: {error}", "expected dict(name=…, …)") from error


def check_cases(
    file: Path, tree: ast.Module, module: types.ModuleType, cases: tuple[Case, ...], arguments: frozenset[str]
) -> None:
    """Raise `ProblemError` for case names that are not unique, problems without a timed case, values that JSON cannot
    hold, unknown dtypes, and parameters that nothing takes."""
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1 or not name})
    if twice:
        raise ProblemError(f"{file}: the case name {twice[0]!r} is empty or used twice", "give each its own name")
    if not any(case.timed for case in cases):
        raise ProblemError(f"{file}: no case to time", "at least one is neither small nor held out")
    assigned = {name for statement in tree.body for name in assigned_names(statement)}
    constants = {name for name in assigned if isinstance(getattr(module, name, None), bool | int | float | str)}
    constants |= set(numbers.whole_numbers(tree, module, assigned, {}))
    for case in cases:
        for value in (case.name, case.dtype, *case.params, *case.params.values()):
            if not _can_be_kept(value):
                raise ProblemError(
                    f"{file}: case {encodable(case.name)!r} has {encodable(repr(value))[:100]}, which JSON cannot hold",
                    "expected text in UTF-8, whole numbers of 63 bits, finite numbers",
                )
        floating_dtype(file, case.dtype)
        for name in case.params:
            if name not in arguments | constants:
                raise ProblemError(
                    f"{file}: nothing takes the parameter {name!r} of case {case.name!r}",
                    "expected an argument of get_inputs or get_init_inputs, a constant assigned at module level, or a "
                    "whole number in one of these (shape[0], get_inputs[2])",
                )


def _can_be_kept(value: Scalar | None) -> bool:
    if isinstance(value, str):
        return encodable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) < 1 << 63


def floating_dtype(file: Path, name: str | None) -> torch.dtype | None:
    """The floating-point dtype of that name; None for None. Raises `ProblemError` for other names."""
    dtype = None if name is None else getattr(torch, name, None)
    if name is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ProblemError(f"{file}: {name!r} is no floating-point dtype", 'expected a name such as "bfloat16"')
    return dtype


def assigned_names(statement: ast.stmt) -> set[str]:
    """Module-level names that `statement` assigns."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return set()
    nodes = ast.walk(statement)
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
