"""A worker on a GPU of a Ray cluster, behind standard streams: `python -m kernelwright.evaluator.ray_place [OPTIONS]`.

The program joins the cluster of its machine, where one actor with one GPU owns the worker, and passes lines on. Who
asks for a lane starts it as any argv, here or by ssh on the cluster's head, so it is the gateway of a machine without
Ray. The only file that imports ray.
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

from kernelwright.evaluator.relay import SILENT_S, Gone, Line, Supervised, is_from_outside, run, tell

try:
    import ray
except ImportError:
    ray = None

WAIT_S = 600.0
"""Until a cluster without a free GPU is given up; one that grows by itself may take some minutes."""

SAY_S = 10.0
"""Until a user is told that a free GPU is waited for."""

JOIN_S = 30.0
"""Until a cluster that does not let this process in is given up. Ray itself asks again for minutes, with a wrong token
as well; a cluster on two loaded cores let one in after 3 s."""

PROBE = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
print("joined", flush=True)
"""
"""An attempt to join. Where it is refused, Ray writes one of REFUSED on standard error each second, and goes on."""

REFUSED = ("Unauthenticated", "AuthenticationError")

TOKEN = "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token"

START = "start it with: RAY_AUTH_MODE=token ray start --head (ray get-auth-token --generate makes a token)"


class Held:
    """What an actor is: `Supervised`, started where the actor was placed."""

    def __init__(self) -> None:
        self.worker: Supervised | None = None

    def start(self, words: Sequence[str]) -> None:
        """words: the worker's options. Raises OSError."""
        node = ray.get_runtime_context().get_node_id()
        gpus = next(one["Resources"].get("GPU", 1) for one in ray.nodes() if one["NodeID"] == node)
        argv = [sys.executable, "-m", "kernelwright.worker", *words, "--share", str(max(1, int(gpus)))]
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
    """The calls of a `Held` elsewhere. Raises `Gone` for what Ray says of it."""

    def __init__(self, words: Sequence[str]) -> None:
        # A thread for each direction: calls of one thread keep their order. A second start would have no problem
        # loaded, so Ray starts nothing again; who asked for the lane does.
        options: dict[str, Any] = {
            "num_gpus": 1, "num_cpus": 0, "max_restarts": 0, "max_task_retries": 0,
            "concurrency_groups": {"requests": 1, "answers": 1},
        }  # fmt: skip
        self._actor = ray.remote(**options)(Held).remote()
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
        """The node on which it runs."""
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
    """That of the cluster of this machine. Raises `Gone` for one that cannot be joined from here."""
    found = os.environ.get("RAY_ADDRESS", "auto")
    if found.startswith("ray://"):
        raise Gone(f"RAY_ADDRESS is {found}, and Ray's client is not used: unset it on the cluster's head", False)
    return found


def connect(words: Sequence[str]) -> Actor:
    """An actor with a worker. Raises `Gone`, with one line for the user."""
    if ray is None:
        raise Gone(f"Ray is missing in {sys.executable}: pip install 'kernelwright[ray]'", from_outside=False)
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
    """Raises `Gone` for a cluster that refuses this process, or refuses none."""
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
        raise Gone(f"the Ray cluster takes work from anybody who reaches its ports: {START}", from_outside=False)


class Outcome(enum.Enum):
    """Of an attempt to join a cluster."""

    JOINED = "joined"
    REFUSED = "refused"
    UNKNOWN = "unknown"


def outcome(where: str, environment: Mapping[str, str]) -> Outcome:
    """Of a process with these variables. A child, because Ray tries for minutes and cannot be interrupted."""
    with subprocess.Popen(
        [sys.executable, "-c", PROBE, where], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
    """What a line of the attempt says; None where it says nothing."""
    if line.startswith(Outcome.JOINED.value):
        return Outcome.JOINED
    return Outcome.REFUSED if any(word in line for word in REFUSED) else None


def main() -> NoReturn:
    """Ends at once: a thread may still read the requests, and Ray's own threads need no farewell."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints what befalls its nodes, even to a driver that asked for no logs
    os._exit(run(connect, sys.argv[1:], answers))


if __name__ == "__main__":
    main()
