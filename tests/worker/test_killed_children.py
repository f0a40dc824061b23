"""A child that is killed from outside is replaced; one that dies twice under a candidate is the candidate's own,
except a compiler."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.worker.compile.compiler import failure
from kernelwright.worker.judge.messages import Again, Fill, ToJudge
from kernelwright.worker.processes.children import Child, ForkServer
from kernelwright.worker.processes.processes import KILLED
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from kernelwright.worker.stages.precompile import COMPILED, precompile
from on_site import CANDIDATE, opened, watch


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("site")) as made:
        yield made


def runs_kernels(session: Session) -> str:
    return "bench" if session.processes.on_gpu else "interpreter"


def evaluated(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
    deaths: int,
    name: str,
    how: Callable[[Session, Candidate, str], Evaluation] = evaluate,
) -> tuple[Evaluation, int]:
    """An evaluation during which the first `deaths` children in a role are killed; and how many of it were started.

    name: of the kernel, so that it is compiled anew.
    """
    started: list[Child] = []

    def kill(child: Child) -> None:
        if child.role == role:
            started.append(child)
            if len(started) <= deaths:
                os.kill(child.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        watch(session, patch, kill)
        session.processes.drop("bench")
        session.processes.drop("judge")
        found = how(session, Candidate(source=CANDIDATE.replace("double_kernel", name)), "verify")
    return found, len(started)


@pytest.fixture(scope="module")
def calm(session: Session) -> tuple[Evaluation, Counter[str]]:
    """An evaluation in which nobody is killed, and how many children were started for it in each role."""
    started: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        watch(session, patch, lambda child: started.update([child.role]))
        session.processes.drop("bench")
        session.processes.drop("judge")
        found = evaluate(session, Candidate(source=CANDIDATE.replace("double_kernel", "calm")), "verify")
    return found, started


@pytest.mark.parametrize("role", ["recorder", "compiler", "runs kernels", "judge"])
def test_one_death_changes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, calm: tuple[Evaluation, Counter[str]], role: str
) -> None:
    role = runs_kernels(session) if role == "runs kernels" else role
    undisturbed, usual = calm
    found, started = evaluated(session, monkeypatch, role, 1, f"killed_{role}")
    assert (found.status.value, found.reason) == ("passed", "")
    assert [(r.case, r.status) for r in found.results] == [(r.case, r.status) for r in undisturbed.results]
    assert started > usual[role]


@pytest.mark.parametrize("role", ["recorder", "runs kernels"])
def test_two_deaths_are_the_candidates_own(session: Session, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    role = runs_kernels(session) if role == "runs kernels" else role
    found, started = evaluated(session, monkeypatch, role, 1000, f"always_killed_{role}")
    assert (found.status.value, found.killed) == ("crashed", False)
    assert role != "recorder" or started == 2
    assert "SIGKILL" in found.reason or "did not start" in found.reason


@pytest.mark.parametrize("how", [evaluate, precompile])
def test_a_compiler_that_is_killed_twice_says_nothing_of_the_candidate(
    session: Session, monkeypatch: pytest.MonkeyPatch, how: Callable[..., Evaluation]
) -> None:
    name = f"short_of_memory_{how.__name__}"
    found, _ = evaluated(session, monkeypatch, "compiler", 1000, name, how)
    assert (found.status, found.killed) == (Status.NOT_VERIFIED, True)
    assert found.reason == f"{name}: the compiler was killed, perhaps for want of memory"
    again, _ = evaluated(session, monkeypatch, "compiler", 0, name, how)
    assert not again.killed, "it is compiled again when it comes again"


def test_a_compiler_that_crashes_twice_is_the_candidates_own(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        watch(session, patch, lambda child: child.role == "compiler" and os.kill(child.pid, signal.SIGSEGV))
        found = precompile(session, Candidate(source=CANDIDATE.replace("double_kernel", "crashing")), "verify")
    assert (found.status, found.killed) == (Status.COMPILE_ERROR, False)
    assert "SIGSEGV" in found.reason


def test_a_compiler_whose_ptxas_was_killed_ends_as_if_it_had_been_killed_itself() -> None:
    try:
        try:
            raise subprocess.CalledProcessError(-signal.SIGKILL, ["ptxas"])
        except subprocess.CalledProcessError:
            raise RuntimeError("`ptxas` failed with error code -9")  # noqa: B904 - as Triton does
    except RuntimeError as error:
        pid = os.fork()
        if pid == 0:
            failure("kernel", error)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in KILLED


def test_a_judge_that_dies_twice_is_not_the_candidates_fault(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((ProblemError, WorkerError), match="SIGKILL"):
        evaluated(session, monkeypatch, "judge", 1000, "judge_always_killed")
    assert evaluated(session, monkeypatch, "judge", 0, "judge_left_alone")[0].status.value == "passed"


@pytest.mark.parametrize("role", ["recorder", "compiler"])
def test_one_death_changes_nothing_where_a_candidate_is_only_compiled(
    session: Session, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    found, started = evaluated(session, monkeypatch, role, 1, f"killed_alone_{role}", precompile)
    assert (found.reason, len(found.kernels)) == (COMPILED, 1)
    assert started > 1


def test_children_that_ended_leave_no_logs(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        evaluated(session, monkeypatch, runs_kernels(session), 1, f"logged_{number}")
    logs = {path.name.partition("-")[0] for path in session.processes.scratch.rglob("*-*.log")}
    assert len(list(session.processes.scratch.rglob("*-*.log"))) <= len(logs) <= 2, "the living judge's and bench's"


def server_of(session: Session, interprets: bool) -> ForkServer:
    interpreters = session.processes.interpreters
    return interpreters if interprets and interpreters is not None else session.processes.compilers


@pytest.mark.parametrize("interprets", [False, True])
def test_a_killed_fork_server_is_started_again_and_its_death_changes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, interprets: bool
) -> None:
    """Between two evaluations and, by the first child of another, in the middle of one."""

    def server() -> ForkServer:
        return server_of(session, interprets)

    first = server()
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    found = evaluate(session, Candidate(source=CANDIDATE), "verify")
    assert (found.status.value, found.reason) == ("passed", "")
    second = server()
    assert second is not first

    started: list[Child] = []

    def kill(child: Child) -> None:
        started.append(child)
        if child.role == (runs_kernels(session) if interprets else "recorder") and server() is second:
            os.kill(second.process.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        watch(session, patch, kill)
        session.processes.drop("bench")
        found = evaluate(session, Candidate(source=CANDIDATE), "verify")
    assert (found.status.value, found.reason) == ("passed", "")
    assert server() is not second
    logs = [child.log for child in started if child.log is not None]
    assert len(set(logs)) == len(logs), "no child writes into the log of another"


@pytest.mark.parametrize("after", [Fill, Again])
@pytest.mark.parametrize("interprets", [False, True])
def test_a_fork_server_killed_between_two_questions_makes_no_candidate_wrong(
    session: Session, monkeypatch: pytest.MonkeyPatch, interprets: bool, after: type[ToJudge]
) -> None:
    """Its judge or bench ends unseen, and with it what was filled in: a new one must not go on in its place."""
    ask, killed = session.processes.ask_judge, []

    def asked(message: ToJudge, *more: object, **named: object) -> object:
        answer = ask(message, *more, **named)  # type: ignore[arg-type]
        if isinstance(message, after) and not killed:
            killed.append(server_of(session, interprets))
            os.kill(killed[0].process.pid, signal.SIGKILL)
            killed[0].process.wait()
        return answer

    monkeypatch.setattr(session.processes, "ask_judge", asked)
    found = evaluate(session, Candidate(source=CANDIDATE), "verify")
    assert killed
    assert (found.status.value, found.reason) == ("passed", "")
