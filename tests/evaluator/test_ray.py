"""Workers on a Ray cluster of three raylets of this machine, each with one made-up GPU."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluator.fleet import Fleet
from kernelwright.evaluator.places import lanes_at, start_lanes
from kernelwright.model import Candidate, Status
from on_device import KERNEL, doubling

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'kernelwright[ray]'"
    ),
]
pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster
small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args={**small, "num_gpus": 0})
nodes = [cluster.add_node(**small, num_gpus=1) for _ in range(int(sys.argv[1]))]
raylets = [node.all_processes["raylet"][0].process.pid for node in nodes]
print("UP", json.dumps({"address": cluster.address, "raylets": raylets}), flush=True)
sys.stdin.read()
cluster.shutdown()
"""
"""A head without a GPU, and as many nodes with one as are asked for, until its input ends."""

LOST_S = 500.0
"""Ray takes a node that does not answer for lost after about a minute."""

SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Workers of Ray have a niceness of 15 by default: on a loaded machine importing torch took over 180 s."""


def cluster_of(nodes: int, environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**os.environ, **environment, **SETTINGS},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            said = next(line for line in process.stdout if line.startswith("UP "))
            yield json.loads(said[3:])
        finally:
            process.stdin.close()
            process.wait(600)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """One with a token, which this process has too. `raylets`: the processes of the three nodes with a GPU."""
    environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for found in cluster_of(3, environment):
        monkeypatch.setenv("RAY_AUTH_TOKEN", environment["RAY_AUTH_TOKEN"])
        monkeypatch.setenv("RAY_ADDRESS", found["address"])
        yield found


def processes() -> dict[int, tuple[int, str]]:
    """Of this machine: the parent and the words of each."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            found[int(pid)] = (int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), words)
        except OSError:
            continue
    return found


def chains(raylets: list[int]) -> list[dict[str, int]]:
    """The processes of each lane: its supervisor, the actor that owns it, and the raylet of that one."""
    all_of_them = processes()
    found = []
    for pid, (actor, words) in all_of_them.items():
        raylet = all_of_them.get(actor, (0, ""))[0]
        if "-m kernelwright.worker " in words and "forkserver" not in words and raylet in raylets:
            found.append({"supervisor": pid, "actor": actor, "raylet": raylet})
    return found


def evaluate_and_kill(fleet: Fleet, raylets: list[int], victim: str, candidate: Candidate) -> Status:
    """The verdict on a candidate whose lane loses a process meanwhile. victim: as in `chains`, or the gateway."""
    found: list[Status] = []
    thread = threading.Thread(target=lambda: found.append(fleet.evaluate(candidate, "search").status))
    thread.start()
    busy = None
    while busy is None:
        with fleet._changed:
            busy = next((name for name, lane in fleet._dispatch.lanes.items() if lane.jobs), None)
            gateway = fleet._workers[busy].process.pid if busy is not None else 0  # type: ignore[attr-defined]
    if victim == "gateway":
        os.kill(gateway, signal.SIGKILL)
    else:
        os.kill(chains(raylets)[0][victim], signal.SIGKILL)  # of either lane: which one has which GPU is Ray's to know
    thread.join()
    return found[0]


def test_a_candidate_is_judged_once_more_when_any_process_of_its_lane_is_killed(
    cluster: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that stays here")
    (tmp_path / "double").mkdir()
    (tmp_path / "double/problem.py").write_text(doubling(1 << 16))
    with start_lanes(lanes_at("ray*2")) as fleet:
        fleet.load(str(tmp_path / "double"))
        lanes = chains(cluster["raylets"])
        assert len(lanes) >= 1
        for lane in lanes:
            environment = Path(f"/proc/{lane['supervisor']}/environ").read_text()
            assert "a key that stays here" not in environment
            assert os.environ["RAY_AUTH_TOKEN"] not in environment
        assert fleet.evaluate(Candidate(source=KERNEL.replace("x * 2", "x * 3")), "search").status is Status.WRONG
        for number, victim in enumerate(("supervisor", "gateway", "actor", "raylet")):
            candidate = Candidate(source=KERNEL + f"# {number}\n")
            assert evaluate_and_kill(fleet, cluster["raylets"], victim, candidate) is Status.PASSED, victim


def test_a_raylet_that_is_stopped_costs_no_verdict_and_its_lane_moves_to_another_node(
    cluster: dict[str, Any], tmp_path: Path
) -> None:
    """As a host that hangs. Messages to the actor do not pass through its raylet, so the lane goes on until Ray takes
    the node for lost."""
    (tmp_path / "double").mkdir()
    (tmp_path / "double/problem.py").write_text(doubling(1 << 16))
    with start_lanes(lanes_at("ray*2")) as fleet:
        fleet.load(str(tmp_path / "double"))
        stopped = chains(cluster["raylets"])[0]["raylet"]
        os.kill(stopped, signal.SIGSTOP)
        try:
            end_s = time.monotonic() + LOST_S
            number, elsewhere = 0, 0
            while elsewhere < 2:
                assert time.monotonic() < end_s, "the lane did not move"
                pair = [Candidate(source=KERNEL + f"# {number} {side}\n") for side in range(2)]
                with ThreadPoolExecutor(2) as threads:  # both lanes are busy
                    found = list(threads.map(lambda one: fleet.evaluate(one, "search"), pair))
                assert [one.status for one in found] == [Status.PASSED] * 2, [one.reason for one in found]
                number += 1
                elsewhere = sum(lane["raylet"] != stopped for lane in chains(cluster["raylets"]))
        finally:
            os.kill(stopped, signal.SIGCONT)


def test_a_cluster_without_a_token_or_with_another_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    for found in cluster_of(0, {"RAY_AUTH_MODE": "disabled"}):
        monkeypatch.setenv("RAY_ADDRESS", found["address"])
        with pytest.raises(MachineError):
            start_lanes(lanes_at("ray"))
        (line,) = capfd.readouterr().err.splitlines()
        assert "accepts processes without a token" in line
    for found in cluster_of(0, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "theirs"}):
        monkeypatch.setenv("RAY_ADDRESS", found["address"])
        with pytest.raises(MachineError):
            start_lanes(lanes_at("ray"))
        (line,) = capfd.readouterr().err.splitlines()
        assert "refuses the token" in line
