"""Canaries: what they are as text, and what a real worker on this machine says of them and of its confinement."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Machine
from kernelwright.problems import read_problem_text
from kernelwright.problems.canaries import (
    TIMED_CASE,
    Judged,
    canary_problem,
    judged_canaries,
    reference_canary,
    timed_canaries,
)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, shared_worker: StartedWorker) -> Worker:
    worker = shared_worker()
    worker.load(str(canary_problem(tmp_path_factory.mktemp("canary")).file))
    return worker


@pytest.mark.parametrize("canary", judged_canaries(), ids=lambda canary: canary.what)
def test_this_machine_gives_every_judged_canary_its_known_verdict(worker: Worker, canary: Judged) -> None:
    evaluation = worker.evaluate(canary.candidate, "verify")
    assert evaluation.status is canary.expected, evaluation.reason


def test_an_intruder_is_stopped_by_every_measure_that_is_in_force(worker: Worker) -> None:
    machine: Machine = worker.machine()
    covered = {
        "environment": {"find an inherited variable of a service"},
        "limits": {"take 64 GiB of memory", "write 128 MiB into its folder"},
        "network_namespace": {"connect to a port of this machine"},
        "own_root": {
            "read a file outside of its folders",
            "write outside of its folders",
            "change an installed module",
            "read another process's environment",
        },
        "landlock": {
            "read a file outside of its folders",
            "write outside of its folders",
            "change an installed module",
            "read another process's environment",
        },
        "process_namespace": {"signal another process", "trace another process"},
        "system_calls": {
            "connect to a port of this machine",
            "signal another process",
            "trace another process",
            "run a program",
        },
    }
    assert covered.keys() <= machine.measures.keys()
    in_force = [measure for measure in covered if machine.measures[measure] == "in force"]
    for role in ("recorder", "compiler", "interpreter"):
        refused = {attempt.what for attempt in machine.attempts if attempt.refused and attempt.role == role}
        for measure in in_force:
            assert covered[measure] <= refused, (role, measure)
        if "system_calls" in in_force and role != "compiler":  # compilers start ptxas, and threads
            assert {"start processes without limit", "start threads without limit"} <= refused, role
    assert machine.gpu
    assert machine.profiler


def test_the_timed_canaries_differ_in_their_laps_alone() -> None:
    reference = reference_canary().source
    assert re.findall(r"laps = (\d+)", reference) == ["200"]
    laps = {}
    for canary in timed_canaries():
        changed = [
            line[2:]
            for line in difflib.ndiff(reference.splitlines(), canary.candidate.source.splitlines())
            if line.startswith("+ ") and line[2:].strip() and "#" not in line
        ]
        laps[canary.expected] = [line.strip() for line in changed]
    assert laps == {"tie": [], "faster": ["laps = 198"], "slower": ["laps = 220"]}


def test_the_problem_of_the_canaries_is_a_problem_with_a_timed_case(tmp_path: Path) -> None:
    place = canary_problem(tmp_path)
    assert f'name="{TIMED_CASE}"' in read_problem_text(place.file)
