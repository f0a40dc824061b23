"""`doctor`."""

from __future__ import annotations

import json
from contextlib import closing

import msgspec
from click.testing import CliRunner

from canary_worker import WITHOUT_GPU, Clock, known
from command_line import run
from fakes import MACHINE, FakeWorker
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.evaluator.places import Lane
from kernelwright.jobs.worker import Places
from kernelwright.model import Attempt, Candidate, Evaluation, Status


def test_canaries_that_get_theirknown_verdicts_end_well_on_a_gpu() -> None:
    result = run("doctor", "--json", worker=Clock(answer=known))
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    got = {canary["what"]: canary["got"] for canary in document["canaries"]}
    assert got["a right kernel"] == "passed"
    assert got["a kernel against itself"] == "tie"
    assert got["a kernel with 1 % less work"] == "faster"
    assert got["a kernel with 10 % more work"] == "slower"
    assert all(canary["good"] for canary in document["canaries"])
    assert len(document["canaries"]) == 7


def test_a_clock_too_coarse_for_one_percent_makes_the_answer_a_no() -> None:
    result = run("doctor", worker=Clock(answer=known, resolution=0.05))
    assert result.exit_code == 1
    assert "tie, MUST BE faster (1.0101 times as fast" in result.stdout
    assert "1 of the canaries failed: do not trust results from this machine." in result.stdout


def test_a_judge_that_lets_a_wrong_kernel_pass_makes_the_answer_a_no() -> None:
    def lenient(candidate: Candidate, purpose: str) -> Evaluation:
        del candidate, purpose
        return Evaluation(status=Status.PASSED)

    result = run("doctor", worker=FakeWorker(answer=lenient, where=WITHOUT_GPU))
    assert result.exit_code == 1
    assert result.stdout.count("passed, MUST BE wrong") == 2
    assert result.stdout.count("passed, MUST BE rejected") == 1


def test_a_missing_gpu_is_said_and_is_no_failure() -> None:
    result = run("doctor", "--json", worker=FakeWorker(answer=known, where=WITHOUT_GPU))
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["canaries"]) == 4
    assert "Nothing was timed: no GPU." in result.stderr


def test_what_confinement_lets_through_is_named() -> None:
    hole = Attempt(what="open a port", refused=False, how="nothing stopped it")
    found = msgspec.structs.replace(MACHINE, attempts=(*MACHINE.attempts, hole))
    result = run("doctor", worker=FakeWorker(answer=known, where=WITHOUT_GPU, found=found))
    assert result.exit_code == 0
    assert "refused: PermissionError" in result.stdout
    assert "POSSIBLE: nothing stopped it" in result.stdout
    assert "landlock  not available: a fake kernel" in result.stdout
    assert "Code of candidates could here: open a port (recorder)." in result.stdout


def test_keys_are_said_to_be_set_or_not_and_never_shown() -> None:
    worker = FakeWorker(answer=known, where=WITHOUT_GPU)
    result = run("doctor", "--json", worker=worker, OPENAI_API_KEY="secret", ANTHROPIC_API_KEY="")
    document = json.loads(result.stdout)
    assert document["providers"]["OPENAI_API_KEY"] is True
    assert document["providers"]["ANTHROPIC_API_KEY"] is False
    assert document["machine"]["measures"]["limits"] == "in force"
    assert "secret" not in result.output


def test_each_worker_that_is_named_is_examined_by_itself() -> None:
    sound, coarse = Clock(answer=known), Clock(answer=known, resolution=0.05)
    workers = {"ssh:sound": sound, "ssh:coarse": coarse}
    parts = Parts(
        places=Places(
            lanes_on=lambda gpus, named: [Lane(name) for name in named],
            workers_on=lambda lanes: lambda target: closing(workers[lanes[0].name]),
        )
    )
    words = ["doctor", *(word for name in workers for word in ("--workers", name))]
    result = CliRunner().invoke(cli, words, obj=parts)
    assert result.exit_code == 1
    assert result.stdout.index("worker ssh:sound") < result.stdout.index("Every canary got its known verdict.")
    assert result.stdout.index("worker ssh:coarse") < result.stdout.index("1 of the canaries failed")
    document = json.loads(CliRunner().invoke(cli, [*words, "--json"], obj=parts).stdout)
    good = {name: all(canary["good"] for canary in one["canaries"]) for name, one in document["workers"].items()}
    assert good == {"ssh:sound": True, "ssh:coarse": False}
