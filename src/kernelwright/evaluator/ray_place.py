"""Gateway to a worker on a GPU of a Ray cluster: `python -m kernelwright.evaluator.ray_place [OPTIONS]`.

The program joins the Ray cluster of its machine, creates one actor with one GPU that owns the worker, and passes lines
between its standard streams and the worker. The client starts it like any other worker command, on this machine or by
ssh on the cluster's head, so the client's machine needs no Ray. Only this file imports ray.
"""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NoReturn

from kernelwright.evaluator.relay import SILENT_S, WAIT_S, Gone, Line, Supervised, is_from_outside, run, tell
from kernelwright.python import python

try:
    import ray
except ImportError:
    ray = None

SAY_S = 10.0
"""After this wait for a free GPU, a message tells the user."""

JOIN_S = 30.0
"""Longest attempt to join the cluster. Ray itself retries for minutes, even with a wrong token; on two loaded cores
joining took 3 s."""

PROBE = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
print("joined", flush=True)
"""
"""Program that tries to join. If refused, Ray writes a text of `REFUSED` to standard error each second and retries."""

REFUSED = ("Unauthenticated", "AuthenticationError")

TOKEN = "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token"

START = "start it with: RAY_AUTH_MODE=token ray start --head (ray get-auth-token --generate makes a token)"


class WorkerActor:
    """Class of the Ray actor: a `Supervised` worker on the node of the actor."""

    def __init__(self) -> None:
        self.worker: Supervised | None = None

    def start(self, words: Sequence[str]) -> None:
        """Start the worker. words: its command-line options. Raises OSError."""
        node = ray.get_runtime_context().get_node_id()
        gpus = next(one["Resources"].get("GPU", 1) for one in ray.nodes() if one["NodeID"] == node)
        argv = python("-m", "kernelwright.worker", *words, "--share", str(max(1, int(gpus))))
        self.worker = Supervised(argv)

    def node(self) -> str:
        return str(ray.get_runtime_context().get_node_id())

    def send(self, line: str) -> None:
        assert self.worker is not None
        self.worker.send(line)

    def end(self) -> None:
        assert self.worker is not None
        self.worker.end()

    def receive(self) -> list[Line]:
        assert self.worker is not None
        return self.worker.receive()


class Actor:
    """Client of a `WorkerActor` on another node. `receive` raises `Gone` for an error of Ray."""

    def __init__(self, words: Sequence[str]) -> None:
        # One thread for each direction, because calls in one thread keep their order. Ray restarts nothing, because
        # a restarted worker would have no problem loaded; the fleet restarts the lane instead.
        options: dict[str, Any] = {
            "num_gpus": 1, "num_cpus": 0, "max_restarts": 0, "max_task_retries": 0,
            "concurrency_groups": {"requests": 1, "answers": 1},
        }  # fmt: skip
        self._actor = ray.remote(**options)(WorkerActor).remote()
        self._node = self._placed()
        ray.get(self._actor.start.options(concurrency_group="requests").remote([*words]))

    def send(self, line: str) -> None:
        self._actor.send.options(concurrency_group="requests").remote(line)

    def end(self) -> None:
        self._actor.end.options(concurrency_group="requests").remote()

    def receive(self) -> list[Line]:
        try:
            found: list[Line] = ray.get(
                self._actor.receive.options(concurrency_group="answers").remote(), timeout=SILENT_S
            )
        except ray.exceptions.RayError as error:
            raise Gone(first_line(error), is_from_outside(error, self._is_up)) from error
        return found

    def _placed(self) -> str:
        """Wait until Ray has placed the actor; return the id of its node. Raises `Gone` after `WAIT_S`."""
        asked = self._actor.node.remote()
        said, _ = ray.wait([asked], timeout=SAY_S)
        if not said:
            has, free = ray.cluster_resources().get("GPU", 0), ray.available_resources().get("GPU", 0)
            tell(f"waiting for the Ray cluster: of its {has:g} GPUs {free:g} are free")
        try:
            return str(ray.get(asked, timeout=WAIT_S))
        except ray.exceptions.GetTimeoutError as error:
            raise Gone(f"the Ray cluster gave no GPU within {WAIT_S:g} s", from_outside=True) from error

    def _is_up(self) -> bool:
        return any(one["NodeID"] == self._node and one["Alive"] for one in ray.nodes())


def first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def address() -> str:
    """The address of this machine's cluster. Raises `Gone` for an address of Ray's client (ray://)."""
    found = os.environ.get("RAY_ADDRESS", "auto")
    if found.startswith("ray://"):
        raise Gone(f"RAY_ADDRESS is {found}, and Ray's client is not used: unset it on the cluster's head", False)
    return found


def connect(words: Sequence[str]) -> Actor:
    """Join the cluster and start an actor with a worker. Raises `Gone` with a one-line message for the user."""
    if ray is None:
        raise Gone(f"Ray is missing in {python()[0]}: pip install 'kernelwright[ray]'", from_outside=False)
    if os.environ.get("RAY_AUTH_MODE") != "token":  # Ray reads it when it is imported
        raise Gone("a Ray cluster is joined only with RAY_AUTH_MODE=token in the environment", from_outside=False)
    where = address()
    refuse_what_is_open(where)
    try:
        ray.init(address=where, log_to_driver=False, logging_level="CRITICAL")
    except (ConnectionError, ray.exceptions.RayError, RuntimeError, ValueError) as error:
        raise Gone(f"the Ray cluster cannot be joined: {first_line(error)}", from_outside=False) from error
    try:
        return Actor(words)
    except ray.exceptions.RayError as error:
        raise Gone(f"the Ray cluster started no worker: {first_line(error)}", from_outside=False) from error


def refuse_what_is_open(where: str) -> None:
    """Raise `Gone` for a cluster that refuses this process, and for one that accepts processes without a token."""
    own = dict(os.environ)
    without = {name: value for name, value in own.items() if not name.startswith("RAY_")} | {
        "RAY_AUTH_MODE": "disabled"
    }
    with ThreadPoolExecutor(2) as threads:
        by_token, by_none = threads.map(partial(outcome, where), (own, without))
    if by_token is Outcome.REFUSED:
        raise Gone(f"the Ray cluster refuses the token in {TOKEN}, or there is none", from_outside=False)
    if by_token is not Outcome.JOINED or by_none is Outcome.UNKNOWN:
        raise Gone(f"no Ray cluster that requires a token answers here ({where}): {START}", from_outside=False)
    if by_none is Outcome.JOINED:
        raise Gone(f"the Ray cluster accepts processes without a token: {START}", from_outside=False)


class Outcome(enum.Enum):
    """Result of an attempt to join a cluster."""

    JOINED = "joined"
    REFUSED = "refused"
    UNKNOWN = "unknown"


def outcome(where: str, environment: Mapping[str, str]) -> Outcome:
    """Try to join the cluster with these environment variables. A child process tries it, because Ray retries for
    minutes and cannot be interrupted."""
    with subprocess.Popen(
        python("-c", PROBE, where), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=environment,
    ) as process:  # fmt: skip
        late = threading.Timer(JOIN_S, process.kill)
        late.start()
        assert process.stdout is not None
        try:
            return next((found for line in process.stdout if (found := outcome_of(line))), Outcome.UNKNOWN)
        finally:
            late.cancel()
            process.kill()


def outcome_of(line: str) -> Outcome | None:
    """The outcome that an output line of `PROBE` shows; None if it shows none."""
    if line.startswith(Outcome.JOINED.value):
        return Outcome.JOINED
    return Outcome.REFUSED if any(word in line for word in REFUSED) else None


def main() -> NoReturn:
    """Run the gateway. It exits by `os._exit`, because a thread may still block on reading requests."""
    os.chdir("/")  # Ray puts the folder of the process that joins on the module path of its actors
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints events of its nodes to standard output, even with log_to_driver=False
    os._exit(run(connect, sys.argv[1:], answers))


if __name__ == "__main__":
    main()
