"""`optimize` and `resume` as Python functions: a record comes back, and nothing is printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import replace

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from fakes import PROBLEM as INFO
from generated import MM, of_rows
from kernelwright.errors import ConfigError, ProblemError, ProviderError, RequestError, WorkerLost
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.in_mode_any import advice, said_of
from kernelwright.jobs.optimize import optimize, resume
from kernelwright.jobs.runs import QUALIFYING, READING, STARTING
from kernelwright.jobs.settings import read_settings
from kernelwright.jobs.worker import Desk, StartWorker
from kernelwright.journal import Event, EventKind, Journal, RunState
from kernelwright.model import (
    AS_KEPT,
    Budget,
    Evaluation,
    Generated,
    LibraryMode,
    Loading,
    ProblemInfo,
    QualificationReport,
    RunInfo,
    Status,
)
from kernelwright.report.framework import Against
from kernelwright.report.state import State, state_of
from kernelwright.run import StopReason
from llm_server import LlmServer, Scripted, llm_server
from samples import SOURCE
from started import starting


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A problem with a starter whose block of 64 the fake device finds slow; 512 is its fastest."""
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return tmp_path


def silent(line: str) -> None:
    """Nobody reads the messages."""


def test_a_search_gives_its_folder_its_verdict_and_the_confirmed_best(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    found = optimize("double", trials=16, seed=3, in_flight=1, desk=Desk(lines.append, starting()))
    assert found.folder.parent == Path("runs")
    assert found.outcome.reason is StopReason.TRIALS
    assert found.budget == Budget(trials=16)
    assert found.best is not None
    assert found.best.number == found.outcome.best
    assert re.search(r"as fast as eager PyTorch \(95 %: .*\), .* as fast as the starter's 400.0 µs", found.verdict)
    assert (found.folder / "best_kernel.py").is_file()
    assert lines[:3] == [f"double: {STARTING}", READING, QUALIFYING]
    assert lines[3] == f"run folder: {found.folder}"
    assert lines[4] == "search starts; budget left: 16 of 16 trials"
    assert lines[-2:] == ["search stops: trials", "double: measuring the best beside PyTorch"]
    assert capfd.readouterr() == ("", "")


def test_a_run_is_not_resumed_where_nothing_of_its_problem_can_be_verified() -> None:
    timed = tuple(one for one in INFO.cases if one.case.timed)
    problem = msgspec.structs.replace(INFO, cases=timed)
    optimize("double", out="run", trials=2, desk=Desk(silent, starting(FakeWorker(problem=problem))))
    worker = FakeWorker(problem=problem, where=msgspec.structs.replace(ENVIRONMENT, device=None))
    with pytest.raises(ProblemError, match=r"nothing of double can be verified here.*a machine with a GPU"):
        resume("run", Budget(trials=4), desk=Desk(silent, starting(worker)))
    assert (worker.calls, worker.closed) == ([], True)


def test_the_texts_of_a_run_are_read_after_its_session_too() -> None:
    words = {"proposer": "mailbox", "option": {"tuning": 0}, "trials": 2}
    found = optimize("double", out="run", desk=Desk(silent, starting()), **words)
    assert found.outcome.reason is StopReason.WAITING
    (found.folder / "mailbox/001.reply.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=256"))
    again = resume("run", desk=Desk(silent, starting()))
    reply = again.view.by_number[1].proposal.reply
    assert reply is not None
    assert "BLOCK=256" in again.view.blob(reply)


def test_a_display_that_the_caller_brings_replaces_the_lines() -> None:
    kinds: list[EventKind] = []

    @contextmanager
    def display(info: RunInfo, state: RunState) -> Iterator[Callable[[Event], None]]:
        assert info.problem.name == "double"
        assert state.requests == {}
        yield lambda event: kinds.append(event.kind)

    lines: list[str] = []
    optimize("double", trials=2, desk=Desk(lines.append, starting(), display=display))
    assert kinds[0] is EventKind.STARTED
    assert kinds[-1] is EventKind.STOPPED
    assert [line.partition(":")[0] for line in lines] == ["double", READING, QUALIFYING, "run folder", "double"]


def test_without_a_settings_file_that_is_given_none_is_read() -> None:
    Path("kernelwright.toml").write_text("trials = 2\nseed = 7\n")
    assert optimize("double", trials=3, desk=Desk(silent, starting())).view.info.settings.seed == 0
    file = read_settings(None, silent)
    found = optimize("double", settings=file, trials=3, desk=Desk(silent, starting()))
    assert (found.view.info.settings.seed, found.budget) == (7, Budget(trials=3))


def test_what_only_a_settings_file_names_is_refused_where_nobody_can_be_asked(folder: Path) -> None:
    Path("kernelwright.toml").write_text(f'lessons = "{folder.parent / "cards"}"\n')
    file = read_settings(None, silent)
    with pytest.raises(RequestError, match="which was not typed"):
        optimize("double", settings=file, trials=2, desk=Desk(silent, starting()))
    asked: list[str] = []

    def agree(question: str) -> bool:
        asked.append(question)
        return True

    optimize("double", settings=file, trials=2, desk=Desk(silent, starting(), ask=agree))
    optimize("double", settings=file, trials=2, desk=Desk(silent, starting()))
    assert len(asked) == 1, "consent is remembered"
    assert asked[0].endswith("Allow it?")


def test_an_option_that_does_not_exist_or_fit_is_refused_before_a_worker_starts() -> None:
    def start(target: str | None) -> None:
        raise AssertionError("a worker was started")

    for options, words in (({"trails": 3}, "trails"), ({"trials": 0}, "trials"), ({"trials": "many"}, "trials")):
        with pytest.raises(RequestError, match=words):
            optimize("double", desk=Desk(silent, start), **options)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="no problem is named"):
        optimize(desk=Desk(silent, start))  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="no problem at 'triple'"):
        optimize("triple", desk=Desk(silent, start))  # type: ignore[arg-type]


def test_what_needs_no_gpu_ends_a_run_before_the_problem_is_qualified() -> None:
    class Unasked(FakeWorker):
        def qualify(self, every: bool = False) -> QualificationReport:
            raise AssertionError("qualifying holds the GPU")

    Path("double/starter.py").unlink()
    worker = Unasked(generated=Generated(reason="an operator that is not converted"))
    with pytest.raises(RequestError, match="cannot become a candidate: an operator that is not converted"):
        optimize("double", trials=2, desk=Desk(silent, starting(worker)))


def test_a_torch_that_is_newer_than_those_tried_is_named_at_the_start_and_in_the_error() -> None:
    new, lines = msgspec.structs.replace(ENVIRONMENT, torch="99.0.1"), list[str]()
    optimize("double", trials=1, out="run", desk=Desk(lines.append, starting(FakeWorker(where=new))))
    assert lines[2].startswith("torch 99.0.1 is newer than")
    lines.clear()
    resume("run", Budget(trials=2), desk=Desk(lines.append, starting(FakeWorker(where=new))))
    assert lines[1].startswith("torch 99.0.1 is newer than")
    Path("double/starter.py").unlink()
    worker = FakeWorker(where=new, generated=Generated(reason="a new form"))
    with pytest.raises(RequestError, match=r"a new form; torch 99\.0\.1 is newer than"):
        optimize("double", trials=2, desk=Desk(silent, starting(worker)))


def test_the_control_arm_follows_without_a_word_of_its_own_on_the_streams(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    optimize("double", trials=4, control="random", out="run", desk=Desk(lines.append, starting()))
    with Journal.open(Path("run/control_arm")) as journal:
        assert journal.info.settings.strategy == "random"
    assert any(line.startswith("control arm: ") for line in lines)
    assert capfd.readouterr() == ("", "")


def beside(generated: Generated, library: LibraryMode | None = None) -> tuple[FakeWorker, list[str]]:
    Path("plain.py").write_text(PROBLEM)
    worker, lines = FakeWorker(generated=generated), list[str]()
    optimize("plain.py", out="run", trials=1, library=library, desk=Desk(lines.append, starting(worker)))
    return worker, [line for line in lines if line.startswith("for reference")]


def test_a_kernel_of_templates_has_the_library_calls_it_replaces_judged_beside_it() -> None:
    both = msgspec.structs.replace(of_rows(MM), templates=of_rows().captures)
    worker, lines = beside(both)
    assert lines == ["for reference, in mode any: passed, 300.0 µs; run/in_mode_any.py"]
    assert worker.libraries[-1] == "any"
    assert worker.calls[-1][1] == "search", "it is judged like a trial"
    text = Path("run/in_mode_any.py").read_text()
    assert "torch.mm(" in text
    assert "# kernelwright bench plain.py run/in_mode_any.py --library any\n" in text
    assert "torch.mm(" not in Path("run/best_kernel.py").read_text()
    resume("run", Budget(trials=2), desk=Desk(silent, starting(again := FakeWorker(generated=both))))
    assert again.libraries == ["none"]


CALLED = of_rows(MM)
"""A product by the library, then a kernel; there is no template."""


def test_where_only_library_calls_give_a_first_kernel_the_search_allows_them_and_says_why() -> None:
    Path("plain.py").write_text(PROBLEM)
    worker, lines = FakeWorker(generated=CALLED, problem=replace(INFO, library="finish")), list[str]()
    found = optimize("plain.py", out="run", trials=1, desk=Desk(lines.append, starting(worker)))
    assert worker.libraries == [None, "any"]
    needs = "it calls aten.mm, which needs LIBRARY = 'any' (--library any)"
    assert f"there is no first kernel without library calls: {needs}; the search allows them (mode any)" in lines
    info = found.view.info
    assert (info.problem.library, info.settings.library, state_of(found.view)) == ("any", "any", State.ANY)
    assert "LIBRARY = 'any'" in Path("run/best_kernel.py").read_text()
    resume("run", Budget(trials=2), desk=Desk(silent, starting(again := FakeWorker(generated=CALLED))))
    assert again.libraries == ["any"]


def test_a_mode_that_was_stated_is_not_widened() -> None:
    Path("plain.py").write_text(PROBLEM)
    for problem in (replace(INFO, library="finish", is_library_stated=True), replace(INFO, library="none")):
        worker, given = FakeWorker(generated=CALLED, problem=problem), None if problem.is_library_stated else "none"
        with pytest.raises(RequestError, match=r"it calls aten\.mm, which needs LIBRARY = 'any'"):
            optimize("plain.py", trials=1, library=given, desk=Desk(silent, starting(worker)))
        assert "any" not in worker.libraries


def test_a_reference_that_cannot_be_judged_leaves_the_search_finished() -> None:
    @dataclass
    class Lost(FakeWorker):
        def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
            if loading.library == "any":
                raise WorkerLost("the worker ended without an answer")
            return super().load(path, loading)

    Path("plain.py").write_text(PROBLEM)
    both = msgspec.structs.replace(of_rows(MM), templates=of_rows().captures)
    lines: list[str] = []
    worker = Lost(generated=both)
    result = optimize("plain.py", out="run", trials=1, desk=Desk(lines.append, starting(worker)))
    assert result.best is not None
    assert "for reference, in mode any: not judged: the worker ended without an answer" in lines
    assert not Path("run/in_mode_any.py").exists()


def test_what_is_estimated_leaves_library_calls_out_and_is_no_reference() -> None:
    found = Evaluation(status=Status.PASSED, score_us=4.3, timing_kind="estimate")
    assert said_of(found) == "passed; library calls have a time on a GPU only"


@pytest.mark.parametrize(("framework_us", "ratio", "kind", "said"), [
    (185.0, 0.9, "measured", "; torch.compile took 185.0 µs, so try --library any"), (174.0, 0.9, "measured", ""),
    (185.0, 1.1, "measured", ""), (185.0, 0.9, "estimate", "")])  # fmt: skip
def test_library_calls_that_are_faster_than_pytorch_and_the_kernel_are_recommended(
    framework_us: float, ratio: float, kind: Literal["measured", "estimate"], said: str
) -> None:
    found = Evaluation(status=Status.PASSED, score_us=174.1, timing_kind=kind)
    against = Against("compile", framework_us, ratio, (ratio - 0.01, ratio + 0.01), is_faster=ratio > 1)
    assert advice(found, against) == said
    assert advice(found, None) == ""


def test_there_is_nothing_beside_a_kernel_without_templates() -> None:
    assert beside(of_rows())[1] == []


# --- a model that cannot be asked ---------------------------------------------------------------------------


def with_model(start_worker: StartWorker, server: LlmServer, **options: Any) -> None:
    optimize("double", proposer="openai", model="m", base_url=server.url, desk=Desk(silent, start_worker), **options)


def never(target: str | None) -> AbstractContextManager[Worker]:
    raise AssertionError("a worker was started")


def test_a_search_whose_model_cannot_be_asked_is_refused_before_a_worker_is_started() -> None:
    with llm_server() as server:
        server.described = Scripted(404, {"error": {"message": "model 'm' not found"}})
        with pytest.raises(ProviderError, match=r"m cannot be asked: .* answered with status 404"):
            with_model(never, server)
        assert not Path("runs").exists()
        server.described = Scripted(501, b"")
        with pytest.raises(ConfigError, match="the price of m is not known, so --usd cannot be enforced"):
            with_model(never, server, usd=5.0)


def test_a_limit_in_usd_is_refused_also_where_a_run_without_a_price_is_resumed() -> None:
    with llm_server(*[Scripted(400, {})] * 16) as server:
        with pytest.raises(ProviderError, match="status 400"):
            with_model(starting(FakeWorker()), server, out="run", option={"tuning": 0})
        with pytest.raises(ConfigError, match="the price of m is not known"):
            resume("run", Budget(usd=1.0), desk=Desk(silent, never, ask=lambda question: True))
