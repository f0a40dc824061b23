"""What a bench asks the judge and the bench process for, and in which order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from fakes import ENVIRONMENT
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import (
    BenchCase,
    Bound,
    Candidate,
    Case,
    CaseInfo,
    CaseResult,
    Clocks,
    Implementation,
    ProblemInfo,
    QualificationReport,
    Status,
)
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.plan.plan import AGAIN, Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.processes.outcome import Ended, Lost
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session
from kernelwright.worker.stages import compare
from kernelwright.worker.stages.compare import bench, failed_row, measured, measured_case
from kernelwright.worker.stages.samples import COPY
from kernelwright.worker.stages.subject import Subject

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
INFO = CaseInfo(case=Case(name="large"), inputs=(), outputs=(), bytes=4, flop=0,
                bound=Bound(bound_us=1.0, bound_by="bytes", bytes=4, flop=0, peaks=""))  # fmt: skip

CAPTURED = Captured(method="graph", sets=1, restored=False, steady_us=[])


@dataclass
class FakeProcesses:
    """Every value is right and every time is 10 µs, but for sample_us and steady_us by name.

    wrong: draws on which it is not; poor: verbs of the judge that lack memory; failing: names by verb of the bench.
    """

    wrong: tuple[int, ...] = ()
    poor: tuple[str, ...] = ()
    failing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sample_us: dict[str, float] = field(default_factory=dict)
    steady_us: dict[str, float] = field(default_factory=dict)
    throttle: list[str] = field(default_factory=list)
    """What NVML reads in each sampling of the case, three times: a reason, "" for none."""
    keys: list[tuple[str, str]] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    asked: list[str] = field(default_factory=list)
    on_gpu: bool = True
    lease: Any = field(default_factory=contextlib.nullcontext)

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        verb = message.verb
        self.asked.append(f"judge {verb}")
        self.keys.append((verb, getattr(message, "name", getattr(message, "key", ""))))
        if verb in self.poor:
            raise ProblemError("the GPU's memory does not hold it")
        if verb == "check":
            return CaseResult(case="large", status=Status.WRONG if message.draw in self.wrong else Status.PASSED)
        answers = {"draws": [0, 1], "again": [AGAIN], "prepare": CAPTURED, "sample": [10.0],
                   "unjudged": []}  # fmt: skip
        return answers.get(verb, (12.0, 3.0) if verb == "call" else 9.0)

    def ask_bench(self, message: Message, limit_s: float = 0.0, plan: Any = None) -> Any:
        verb = message.verb
        self.asked.append(f"bench {verb}")
        self.keys.append((verb, getattr(message, "key", "")))
        prepared = replace(CAPTURED, steady_us=[self.steady_us.get(getattr(message, "key", ""), 10.0)])
        if getattr(message, "key", None) in self.failing.get(verb, ()):
            raise Ended(Status.RUNTIME_ERROR, "no memory")
        sample_us = self.sample_us.get(getattr(message, "key", ""), 10.0)
        answers: dict[str, Any] = {"prepare": prepared, "sample": [sample_us], "clocks": None, "run": None}
        answers |= {"call": (12.0, 3.0), "forgetting": ([10.0], [10.0])}
        if verb == "clocks" and self.throttle:
            reason = self.throttle[min((self.readings() - 1) // 3, len(self.throttle) - 1)]
            return Clocks(sm_mhz=1500 if reason else 1980, throttle=(reason,) if reason else ())
        return answers.get(verb, 9.0)

    def readings(self) -> int:
        """How often the clocks were read while a candidate ran."""
        return sum(verb == "clocks" for verb, _ in self.keys)

    def drop(self, role: str) -> None:
        self.asked.append(f"drop {role}")

    def loaded(self) -> ProblemInfo:
        return ProblemInfo(name="double", format="native", source="", cases=(INFO,))

    judges_lost = 0
    twice_if_lost = Processes.twice_if_lost


class FakeSubject(Subject):
    """A candidate with one plan, which nobody recorded or compiled."""

    def __init__(self, processes: FakeProcesses) -> None:
        self.processes, self.session = cast(Processes, processes), cast(Session, processes)
        self.plans, self.unplanned, self.noted = {"large": PLAN}, {}, {}
        self.kernels_sha, self.kernels, self.compiled = "", {}, {}
        self.replayed_s = self.measured_s = 0.0
        self.sent = {}

    @contextlib.contextmanager
    def leased(self, stage: str) -> Iterator[None]:
        yield


def case_of(
    processes: FakeProcesses, names: tuple[str, ...] = ("mine", "other"), against: str | None = None
) -> BenchCase:
    subjects = {name: FakeSubject(processes) for name in names}
    return measured_case(cast(Processes, processes), INFO, {**subjects}, ("eager", "compile"), against)


def benched(processes: FakeProcesses, names: tuple[str, ...] = ("mine", "other")) -> dict[str, tuple[Status, str]]:
    return {row.name: (row.status, row.reason) for row in case_of(processes, names).implementations}


def test_everything_is_verified_before_anything_is_prepared_so_that_references_find_room() -> None:
    processes = FakeProcesses()
    assert {status for status, _ in benched(processes).values()} == {Status.PASSED}
    prepared = [at for at, verb in enumerate(processes.asked) if verb.endswith(" prepare")]
    drawn = [at for at, verb in enumerate(processes.asked) if verb == "judge draws"]
    assert len(drawn) == 2, "one for each candidate"
    assert len(prepared) == 5, "one for each row, and one for the copy of a candidate"
    assert max(drawn) < min(prepared)
    checked = [at for at, verb in enumerate(processes.asked) if verb == "judge check"]
    forgotten = processes.asked.index("judge forget")
    assert not [at for at in checked if min(prepared) < at < forgotten], "what was timed is judged when there is room"
    assert max(checked) > forgotten > max(at for at, verb in enumerate(processes.asked) if verb == "judge sample")


def test_a_config_that_its_source_does_not_have_fails_one_row_and_not_the_benchmark() -> None:
    processes = FakeProcesses(on_gpu=False)
    session = SimpleNamespace(
        processes=processes,
        loaded=processes.loaded,
        environment=lambda: ENVIRONMENT,
        report=QualificationReport(problem="", qualifies=None),
        ahead=None,
    )
    report = bench(cast(Session, session), {"mine": Candidate(source="", config={"nothing": 1})}, (), ())
    (row,) = report.cases[0].implementations
    assert (row.name, row.status) == ("mine", Status.REJECTED)
    assert "no tunable 'nothing'" in row.reason


def test_baselines_are_compiled_first_and_without_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lease = Lease(None)
    processes = FakeProcesses(lease=lease)
    lease.acquire = lambda: processes.asked.append("lease")  # type: ignore[method-assign]
    lease.release = lambda: processes.asked.append("free")  # type: ignore[method-assign]
    session = SimpleNamespace(
        processes=processes,
        loaded=processes.loaded,
        environment=lambda: ENVIRONMENT,
        report=QualificationReport(problem="", qualifies=None),
        ahead=None,
    )

    def ahead(_: object, chosen: list[CaseInfo], framework: tuple[str, ...]) -> None:
        processes.asked.append(f"ahead {[info.case.name for info in chosen]} {framework}")

    monkeypatch.setattr(compare, "compile_ahead", ahead)
    report = bench(cast(Session, session), {}, (), ("eager", "compile"))
    assert {row.name for row in report.cases[0].implementations} == {"eager", "compile"}
    assert processes.asked[:2] == ["ahead ['large'] ('eager', 'compile')", "lease"]


def test_a_bench_that_was_killed_once_is_started_again_and_twice_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost_while_sampling(times: int) -> FakeProcesses:
        processes, deaths = FakeProcesses(), iter([True] * times)
        ask = processes.ask_bench

        def dying(message: Message, limit_s: float = 0.0, plan: Any = None) -> Any:
            if message.verb == "sample" and next(deaths, False):
                raise Lost(Status.CRASHED, "the process that ran the kernels was killed by SIGKILL")
            return ask(message, limit_s, plan)

        monkeypatch.setattr(processes, "ask_bench", dying)
        return processes

    def row(processes: FakeProcesses) -> Any:
        return measured(cast(Processes, processes), INFO, {"mine": FakeSubject(processes)}, ("eager",), None)

    assert {one.status for one in row(lost_while_sampling(1)).implementations} == {Status.PASSED}
    with pytest.raises(WorkerError, match="twice"):
        row(lost_while_sampling(2))


def test_a_candidate_that_is_wrong_is_neither_prepared_nor_timed() -> None:
    processes = FakeProcesses(wrong=(1,))
    found = benched(processes)
    assert found["mine"][0] is Status.WRONG
    assert found["eager"][0] is Status.PASSED
    assert "bench prepare" not in processes.asked


def judged_on(
    monkeypatch: pytest.MonkeyPatch, large: CaseResult, small: CaseResult
) -> tuple[Implementation | None, list[str]]:
    """What a bench of the large case says of a candidate, and the cases that were judged for two of it."""
    asked: list[str] = []
    infos = (INFO, msgspec.structs.replace(INFO, case=Case(name="little", small=True)))
    subject = FakeSubject(FakeProcesses())
    subject.seen_small = {}
    subject.session = cast(Session, SimpleNamespace(loaded=lambda: SimpleNamespace(cases=infos)))

    def verified(subject: Subject, case: Case) -> CaseResult:
        asked.append(case.name)
        return small if case.small else large

    monkeypatch.setattr("kernelwright.worker.stages.compare.verify", verified)
    failed_row(INFO, "mine", subject)
    return failed_row(INFO, "mine", subject), asked


def test_a_case_that_did_not_see_every_distribution_is_benched_with_the_small_ones_judged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = CaseResult(case="large", status=Status.PASSED, unseen=("ROWS",))
    right = CaseResult(case="little", status=Status.PASSED)
    wrong = CaseResult(case="little", status=Status.WRONG, reason="on inputs ROWS: off")
    assert judged_on(monkeypatch, large, right) == (None, ["large", "little", "large"])
    found, _ = judged_on(monkeypatch, large, wrong)
    assert found is not None
    assert (found.status, found.reason) == (Status.WRONG, "on case little: on inputs ROWS: off")
    seen = CaseResult(case="large", status=Status.PASSED)
    assert judged_on(monkeypatch, seen, wrong) == (None, ["large", "large"])


def test_where_memory_does_not_hold_the_reference_a_candidate_is_not_verified_and_the_bench_goes_on() -> None:
    found = benched(FakeProcesses(poor=("fill",)))
    assert found["mine"] == (Status.NOT_VERIFIED, "the GPU's memory does not hold it")
    assert found["eager"][0] is Status.PASSED
    assert benched(FakeProcesses(poor=("prepare",)))["eager"][0] is Status.RUNTIME_ERROR


def test_where_memory_runs_out_after_timing_the_candidate_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = FakeProcesses()
    ask = processes.ask_judge

    def poor_when_baselines_are_gone(message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        if message.verb == "forget":
            processes.poor = ("fill",)
        return ask(message, timeout_s, plan)

    monkeypatch.setattr(processes, "ask_judge", poor_when_baselines_are_gone)
    found = benched(processes)
    assert found["mine"] == (Status.NOT_VERIFIED, "the GPU's memory does not hold it")
    assert found["eager"][0] is Status.PASSED


def verdicts(found: BenchCase) -> dict[str, str | None]:
    return {row.name: row.verdict for row in found.implementations}


def test_a_copy_of_the_fastest_candidate_is_sampled_and_not_shown() -> None:
    processes = FakeProcesses(steady_us={"other": 8.0})
    found = case_of(processes)
    assert [row.name for row in found.implementations] == ["eager", "compile", "mine", "other"]
    assert found.noise_floor == 0.005
    assert found.noise_floor_source.startswith("'other' over a copy of it: 1.0000, 1.0000 with places exchanged")
    samples = [key for verb, key in processes.keys if verb == "sample"]
    assert {samples.count(name) for name in ("eager", "compile", "mine", "other", COPY)} == {len(samples) // 5}


def test_what_a_copy_differs_from_its_original_is_no_gain() -> None:
    """The framework's row is 3 % slower, and so is a copy of the candidate: then 3 % says nothing."""
    assert verdicts(case_of(FakeProcesses(sample_us={"mine": 9.7, COPY: 10.1}), ("mine",)))["mine"] == "tie"
    alike = FakeProcesses(sample_us={"mine": 9.7, COPY: 9.7})
    assert verdicts(case_of(alike, ("mine",))) == {"eager": None, "compile": None, "mine": "faster"}
    found = case_of(FakeProcesses(sample_us={"mine": 9.3, COPY: 9.6}), ("mine",))
    assert found.noise_floor == pytest.approx(9.6 / 9.3 - 1)
    assert verdicts(found)["mine"] == "faster", "7 % is more than the 3 % of the copy"


def test_without_a_copy_there_is_a_time_and_no_verdict() -> None:
    for verb in ("prepare", "capture again"):
        found = case_of(FakeProcesses(failing={verb: (COPY,)}, sample_us={"mine": 5.0}), ("mine",))
        assert found.noise_floor is None
        assert found.noise_floor_source == "the copy or its original was not sampled to the end: no memory"
        assert verdicts(found) == {"eager": None, "compile": None, "mine": None}
        assert all(row.speedup for row in found.implementations)


def test_every_row_is_captured_again_halfway_the_last_first() -> None:
    processes = FakeProcesses()
    found = case_of(processes, ("mine",))
    again = [key for verb, key in processes.keys if verb == "capture again"]
    assert again == ["compile", "eager", COPY, "mine"]
    prepared = [key for verb, key in processes.keys if verb == "prepare"]
    assert prepared == again[::-1], "candidates first: the judge writes their inputs before it gives its memory away"
    first, last = (
        at for at, (verb, _) in enumerate(processes.keys) if verb == "capture again" and _ in (COPY, "eager")
    )
    samples = [at for at, (verb, _) in enumerate(processes.keys) if verb == "sample"]
    assert found.exchanged_after is not None
    assert sum(at < first for at in samples) == sum(at > last for at in samples) == 4 * found.exchanged_after
    assert {len(row.samples_us) for row in found.implementations} == {2 * found.exchanged_after}


def test_a_row_that_cannot_be_captured_again_has_failed_and_the_others_go_on() -> None:
    found = case_of(FakeProcesses(failing={"capture again": ("other",)}, steady_us={"mine": 5.0}))
    assert {row.name: row.status for row in found.implementations} == {
        "eager": Status.PASSED, "compile": Status.PASSED, "mine": Status.PASSED, "other": Status.RUNTIME_ERROR,
    }  # fmt: skip
    assert found.noise_floor == 0.005


def test_the_order_is_drawn_for_each_case_and_its_seed_is_recorded() -> None:
    orders, seeds = set(), set()
    for _ in range(4):
        processes = FakeProcesses()
        seeds.add(case_of(processes).order_seed)
        orders.add(tuple(key for verb, key in processes.keys if verb == "sample"))
    assert None not in seeds
    assert len(seeds) == len(orders) == 4


def test_against_a_candidate_the_ratios_and_verdicts_are_to_it() -> None:
    found = case_of(FakeProcesses(sample_us={"other": 9.0}), ("mine", "other"), against="mine")
    assert verdicts(found)["mine"] is None
    assert verdicts(found)["other"] == "faster"


@pytest.mark.parametrize(
    ("throttle", "samplings", "verdict"),
    [
        ([""], 1, "faster"),
        (["hardware_thermal", ""], 2, "faster"),
        (["hardware_thermal"], 2, None),
        (["power_cap"], 2, "faster"),
        (["", "hardware_thermal"], 1, "faster"),
    ],
)
def test_a_gain_while_the_clock_was_slowed_down_is_sampled_once_more_and_judged_once(
    throttle: list[str], samplings: int, verdict: str | None
) -> None:
    site = FakeProcesses(throttle=throttle, sample_us={"mine": 8.0, COPY: 8.0})
    found = measured(cast(Processes, site), INFO, {"mine": FakeSubject(site)}, ("eager",), None)
    assert site.readings() == 3 * samplings
    assert site.asked.count("judge draws") == site.asked.count("judge forget") == 1
    captures = [key for verb, key in site.keys if verb == "capture again"]
    assert captures == ["eager", COPY, "mine", "mine", COPY, "eager"][: 3 * samplings]
    assert found.exchanged_after is not None
    assert {len(row.samples_us) for row in found.implementations} == {2 * found.exchanged_after}
    mine = next(row for row in found.implementations if row.name == "mine")
    assert mine.verdict == verdict
    assert mine.throttled == ("" if verdict else "throttled: not confirmed (hardware_thermal)")
    assert mine.clocks is not None
    assert mine.clocks.sm_mhz == (1500 if mine.clocks.throttle else 1980)


def test_without_a_gain_a_slowdown_is_said_and_nothing_is_sampled_again() -> None:
    site = FakeProcesses(throttle=["power_cap"])
    found = measured(cast(Processes, site), INFO, {"mine": FakeSubject(site)}, ("eager",), None)
    assert site.readings() == 3
    assert {row.clocks.throttle for row in found.implementations if row.clocks} == {("power_cap",)}


def test_clocks_are_read_before_between_and_after_the_halves_while_a_candidate_runs() -> None:
    site = FakeProcesses()
    case_of(site, ("mine",))
    verbs = [verb for verb, key in site.keys if key == "mine" and verb in ("sample", "capture again", "clocks")]
    assert verbs[0] == verbs[-1] == "clocks"
    assert verbs[verbs.index("capture again") - 1] == "clocks"
    assert verbs.count("clocks") == 3


def test_a_slowdown_in_one_reading_is_one_of_the_whole_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    site, readings = FakeProcesses(), iter([Clocks(sm_mhz=1980), Clocks(sm_mhz=1400, throttle=("power_brake",))])
    ask = site.ask_bench

    def answer(message: Any, *given: Any, **sent: Any) -> Any:
        reads_clocks = message.__struct_config__.tag == "clocks"
        return next(readings, Clocks(sm_mhz=1900)) if reads_clocks else ask(message, *given, **sent)

    monkeypatch.setattr(site, "ask_bench", answer)
    row = case_of(site, ("mine",)).implementations[-1]
    assert row.clocks == Clocks(sm_mhz=1400, throttle=("power_brake",))
