"""Parses `--gpus` and `--workers` into the lanes of a fleet, and starts the fleet."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from kernelwright.errors import MachineError, RequestError
from kernelwright.evaluator.client import HELLO_S, LAUNCHERS, start_worker
from kernelwright.evaluator.fleet import Fleet, log
from kernelwright.evaluator.lane import LaneWorker
from kernelwright.evaluator.relay import WAIT_S
from kernelwright.python import named_variables, python

EXAMPLES = "give all, a number, or UUIDs such as GPU-5f0e…,GPU-91c2… (nvidia-smi -L names them)"

MOST_LANES = 1024
"""Largest number of lanes of one fleet, more than it was tried with: each is a process and a thread here."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Cores that this process may run on, and so the largest number of interpreter lanes: one keeps a core busy."""

LOOK_S = 60.0
"""Time limit for listing the GPUs. The first call to an idle driver may take some ten seconds."""


class Gpu(NamedTuple):
    """A GPU of this machine, by the UUID that CUDA_VISIBLE_DEVICES takes."""

    uuid: str
    name: str


class Lane(NamedTuple):
    """A lane to start. gpu: the GPU's UUID; None for a worker elsewhere, and on a machine without GPUs, where the
    interpreter runs candidates. argv: the command that starts the worker; () for a worker on this machine."""

    name: str
    gpu: str | None = None
    argv: tuple[str, ...] = ()


def find_gpus() -> list[Gpu]:
    """The GPUs that CUDA shows to this process, in its order. Raises `MachineError` if the driver does not answer."""
    try:
        said = subprocess.run(
            python("-m", "kernelwright.worker.gpus"), capture_output=True, text=True, timeout=LOOK_S,
            env=named_variables(),
        )  # fmt: skip
        return [Gpu(**one) for one in json.loads(said.stdout)]
    except (subprocess.TimeoutExpired, ValueError, TypeError) as error:
        raise MachineError(
            f"the GPUs of this machine cannot be listed: {error}", "does nvidia-smi -L answer?"
        ) from error


def choose(text: str, gpus: Sequence[Gpu], cores: int = CORES) -> list[Lane]:
    """The lanes that `--gpus TEXT` names. On a machine without a GPU, a number is the number of interpreter lanes, at
    most `cores`. Raises `RequestError` for a GPU that does not exist or is named twice."""
    words = [word.strip() for word in text.split(",")]
    if text == "all" or text.isdecimal():
        count = max(1, len(gpus)) if text == "all" else int(text[:9])
        if count == 0 or (gpus and count > len(gpus)):
            raise RequestError(f"--gpus {text}: this machine shows {len(gpus)}", EXAMPLES)
        if not gpus and count > cores:
            raise RequestError(
                f"--gpus {text[:9]}: without a GPU a worker needs a core, of which {cores} are here", EXAMPLES
            )
        if not gpus:
            return [Lane(f"CPU {number}", None) for number in range(1, count + 1)]
        return [Lane(gpu.uuid, gpu.uuid) for gpu in gpus[:count]]
    found = [named(word, gpus) for word in words]
    if len(set(found)) < len(found):
        raise RequestError(f"--gpus {text} names a GPU twice", "name each once")
    return found


def named(word: str, gpus: Sequence[Gpu]) -> Lane:
    matching = [gpu for gpu in gpus if word and gpu.uuid.removeprefix("GPU-").startswith(word.removeprefix("GPU-"))]
    if len(matching) != 1:
        there = ", ".join(gpu.uuid for gpu in gpus) or "none"
        what = "several GPUs" if matching else "no GPU"
        raise RequestError(f"--gpus: {word!r} is {what} of this machine, which shows {there}", EXAMPLES)
    return Lane(matching[0].uuid, matching[0].uuid)


SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3")
"""ssh without a terminal and without prompts; it ends within half a minute if the host is gone."""

RAY = "RAY_AUTH_MODE=token"
"""Environment variable for a gateway to a Ray cluster: no process joins without a token. Ray reads it on import."""

PLACE = re.compile(
    r"(?:(?P<kind>ssh|argv):(?P<where>.*?)|(?P<ray>ray))(?:\?python=(?P<python>[^*]*))?(?:\*(?P<count>[0-9]+))?",
    re.DOTALL,
)
PLACES = (
    "give ssh:HOST, ssh:HOST?python=/path/to/python*4 (four GPUs), 'argv:COMMAND*4' (started four times), ray*4 (four "
    "GPUs of the Ray cluster of this machine) or ssh:HEAD:ray*4 (of that whose head is HEAD)"
)


def lanes_at(text: str) -> list[Lane]:
    """The lanes that `--workers TEXT` names. Raises `RequestError` for a text of another form than `PLACES` lists."""
    if text.strip().startswith("ray:"):
        raise RequestError(
            f"--workers {text!r}: Ray's own client needs the same Ray on both sides, and its makers advise against it",
            "give ssh:HEAD:ray*4 for four GPUs of the cluster whose head is the host HEAD",
        )
    found = PLACE.fullmatch(text.strip())
    count = int((found["count"] or "1")[:9]) if found is not None else 0
    if found is None or count < 1 or not (found["where"] or found["ray"] or "").strip():
        raise RequestError(f"--workers {text!r} is no place", PLACES)
    refuse_more(count)
    where = found["where"] or "ray"
    names = [where] if count == 1 else [f"{where} {number}" for number in range(1, count + 1)]
    if found["ray"]:
        return [Lane(name, argv=gateway(found["python"])) for name in names]
    if found["kind"] == "argv":
        try:
            words = shlex.split(where + (f"?python={found['python']}" if found["python"] else ""))
        except ValueError as error:
            raise RequestError(f"--workers {text!r} cannot be split into words: {error}", PLACES) from error
        return [Lane(name, argv=tuple(words)) for name in names]
    host = where.removesuffix(":ray")
    if host.startswith("-") or not host or any(char.isspace() for char in host):
        raise RequestError(f"--workers {text!r}: {host!r} is no host", PLACES)
    program, with_ray = found["python"] or "python3", where != host
    return [
        Lane(name, argv=(*SSH, "--", host, shlex.join(words)))
        for name, words in zip(names, commands(program, count, with_ray), strict=True)
    ]


def refuse_more(count: int) -> None:
    if count > MOST_LANES:
        raise RequestError(f"--gpus and --workers name {count} places, at most {MOST_LANES} are used", "name fewer")


def gateway(program: str | None) -> tuple[str, ...]:
    return ("env", RAY, *python("-m", "kernelwright.evaluator.ray_place", program=program))


def commands(program: str, count: int, with_ray: bool) -> list[tuple[str, ...]]:
    """The command of each lane of a host. A Ray cluster assigns GPUs and cores itself, so its lanes need no numbers."""
    if with_ray:
        return [gateway(program)] * count
    worker = tuple(python("-m", "kernelwright.worker", program=program))
    if count == 1:
        return [worker]
    return [(*worker, "--gpu", str(number), "--share", str(count)) for number in range(count)]


def start_lanes(lanes: Sequence[Lane], target: str | None = None) -> Fleet:
    """Start a fleet of these lanes; the local ones share the cores of this machine. Raises the errors of `start_worker`
    if no lane starts."""
    if target is not None and not re.fullmatch(r"\w+", target):  # a shell may read it
        raise RequestError(f"--target {target!r} is no target", "give one such as sm_90")
    local = (*LAUNCHERS["local"](), "--share", str(len(lanes)))

    def start(lane: Lane) -> Callable[[], LaneWorker]:
        notify = partial(log.warning, "lane %s: %s", lane.name)
        if lane.argv:
            return partial(start_worker, lane.argv, target, is_remote=True, hello_s=WAIT_S + HELLO_S, notify=notify)
        environment: dict[str, Any] = {} if lane.gpu is None else {"CUDA_VISIBLE_DEVICES": lane.gpu}
        return partial(start_worker, local, target, environment=environment, notify=notify)

    names = [lane.name for lane in lanes]
    if len(set(names)) < len(names):
        raise RequestError(f"{next(name for name in names if names.count(name) > 1)!r} is named twice", PLACES)
    return Fleet({lane.name: start(lane) for lane in lanes})
