"""Keyword arguments that functions of the Python API share, as `TypedDict`s."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypedDict, TypeVar

from kernelwright.jobs.worker import Desk, Notify, StartWorker, local_worker
from kernelwright.model import LibraryMode, Loading, WhichCases

P = ParamSpec("P")
R = TypeVar("R")

log: Notify = logging.getLogger("kernelwright").warning


class AtDesk(TypedDict, total=False):
    target: str | None
    start_worker: StartWorker
    notify: Notify


class Exporting(AtDesk, total=False):
    library: LibraryMode | None
    unqualified: bool


class Judging(Exporting, total=False):
    dtype: str | None
    which: WhichCases


class Tuning(Judging, total=False):
    sampler: str
    trials: int | None
    minutes: float | None
    seed: int
    gpus: str | int | None
    workers: Sequence[str] | None
    in_flight: int | None


DEFAULTS = {"which": "derived", "unqualified": False, "start_worker": local_worker, "notify": log,
            "sampler": "model", "seed": 0}  # fmt: skip
"""Where a keyword argument of these has another default than None."""


def desk_of(options: Mapping[str, Any]) -> Desk:
    return Desk(options["notify"], options["start_worker"], target=options.get("target"))


def loading_of(options: Mapping[str, Any], cases: Sequence[str] = ()) -> Loading:
    stated = {name: value for name, value in options.items() if name in Loading.__struct_fields__}
    return Loading(**{"which": "derived", **stated}, cases=tuple(cases))


def takes(options: type, defaults: Mapping[str, Any] = DEFAULTS) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes the keys of a TypedDict as keyword arguments, beside its own. Its signature names them all,
    and it gets paths as text. defaults: None for the keys that they lack, which the function does not get."""
    stated = {name: defaults[name] for name in options.__annotations__ if name in defaults}

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = [one for one in signature(function).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        keywords = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=stated.get(name), annotation=kind.__forward_arg__)
            for name, kind in options.__annotations__.items()
        ]
        known = signature(function).replace(parameters=[*own, *keywords])

        @functools.wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            known.bind(*args, **given)
            texts = {name: os.fspath(one) if isinstance(one, os.PathLike) else one for name, one in given.items()}
            return function(*args, **(stated | texts))

        call.__signature__ = known  # type: ignore[attr-defined]
        del call.__wrapped__  # Sphinx reads the defaults of that
        return call

    return decorate
