"""One candidate, from source to evaluation: cheap checks first, and nothing believed.

static → record → compile → verify → time. Each stage either ends the evaluation with a status or hands on plain
data. Failure is data. On a machine without a GPU the verification runs on the interpreter, for small cases, and the
time is an estimate.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kernelwright import codec, roofline, stats, tunables
from kernelwright.errors import ConfigError
from kernelwright.model import (
    Candidate,
    Case,
    CaseResult,
    Clocks,
    Evaluation,
    KernelResources,
    Status,
    Timing,
)
from kernelwright.worker import extract, static
from kernelwright.worker.children import ChildDied, ChildTimeout
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Plan, faults, launch_identity, views
from kernelwright.worker.site import Site

RECORD_TIMEOUT_S = 30.0
REPLAY_TIMEOUT_S = 20.0
"""A call that takes this long on a GPU is called endless; honest ones take milliseconds."""

INTERPRET_TIMEOUT_S = 120.0
"""The interpreter needs about 1 ms per loop iteration; small cases are made to take seconds."""

INTERPRET_BYTES = 64 << 20
"""A case with larger buffers is not for the interpreter."""

HOPELESS = 1.5
"""A kernel this much slower than the best so far is not measured to precision."""

PRECISE = 0.005
"""Sampling stops when the 95 % interval of the median is narrower than this fraction of it."""

MIN_SAMPLES, MAX_SAMPLES = 10, 120
AUTOTUNE = "autotune:"
"""Prefix of the config keys that choose among the configs of a kernel under `triton.autotune`."""


class Ended(Exception):
    """The evaluation is over, with this status."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Subject:
    """A candidate on its way: what each stage found out. One per evaluation."""

    def __init__(self, site: Site, candidate: Candidate) -> None:
        self.site = site
        self.autotune_choice = {
            k.removeprefix(AUTOTUNE): v for k, v in candidate.config.items() if k.startswith(AUTOTUNE)
        }
        self.source = self._rendered(candidate)
        self.stages_s: dict[str, float] = {}
        self.plans: dict[str, Plan] = {}
        self.unplanned: dict[str, CaseResult] = {}
        self.resources: dict[str, KernelResources] = {}
        self.confinement: dict[str, str] = {}
        self.autotune: dict[str, int] = {}
        self.log = ""
        self.kernels_path = ""
        self.kernels_source = ""
        self.kernels_sha = ""

    def _rendered(self, candidate: Candidate) -> str:
        config = {k: v for k, v in candidate.config.items() if not k.startswith(AUTOTUNE)}
        return tunables.apply_config(candidate.source, config) if config else candidate.source

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.stages_s[name] = round(self.stages_s.get(name, 0.0) + time.monotonic() - start, 4)

    # --- static, record, compile -----------------------------------------------------------------------------

    def prepare(self, cases: list[str]) -> None:
        """Everything up to compiled kernels, without touching a GPU; raises Ended."""
        with self.stage("static"):
            self._check()
        with self.stage("record"):
            self._record(cases)
        with self.stage("compile"):
            self._compile()

    def _check(self) -> None:
        try:
            kernels = extract.extract(self.source)
            findings = [*static.check(self.source), *kernels.findings]
        except SyntaxError as error:
            raise Ended(Status.COMPILE_ERROR, f"line {error.lineno}: {error.msg}") from error
        if findings:
            raise Ended(Status.REJECTED, "; ".join(str(finding) for finding in findings[:8]))
        if not kernels.names:
            raise Ended(Status.REJECTED, "there is no module-level function under @triton.jit")
        sha = hashlib.sha256(kernels.source.encode()).hexdigest()[:16]
        path = self.site.scratch / f"kernels_{sha}.py"
        if not path.exists():
            part = path.with_suffix(f".{time.monotonic_ns()}")
            part.write_text(kernels.source)
            part.replace(path)
        self.kernels_sha, self.kernels_path, self.kernels_source = sha, str(path), kernels.source
        self.kernel_names = kernels.names

    def _record(self, cases: list[str]) -> None:
        scratch = self.site.scratch / f"recorder_{time.monotonic_ns()}"
        recorder = self.site.compilers.spawn("recorder", {"scratch": str(scratch)}, log=True)
        job = {"source": self.source, "autotune": self.autotune_choice, "target": self.site.target.name,
               "cases": [shape for shape in self.site.shapes if shape["name"] in cases]}  # fmt: skip
        try:
            self.confinement = recorder.channel.receive(RECORD_TIMEOUT_S)["confinement"]
            answer = recorder.ask(job, RECORD_TIMEOUT_S)
        except ChildTimeout as error:
            raise Ended(Status.TIMEOUT, f"the host code did not finish in {RECORD_TIMEOUT_S:g} s") from error
        except ChildDied as error:
            raise Ended(Status.CRASHED, f"the host code's process {error.how}") from error
        finally:
            if recorder.alive:
                recorder.kill()
            self.log = recorder.printed()
            shutil.rmtree(scratch, ignore_errors=True)
            if recorder.log is not None:
                recorder.log.unlink(missing_ok=True)
        self.autotune = answer["autotune"]
        for recording in answer["recordings"]:
            self._accept(recording)

    def _accept(self, recording: dict[str, Any]) -> None:
        """Take over one case's plan if it is fit for replay; nothing in it is trusted."""
        case = str(recording["case"])
        if recording["plan"] is None:
            self.unplanned[case] = CaseResult(case=case, status=Status(recording["status"]), reason=recording["reason"])
            return
        plan = codec.record(recording["plan"], Plan)
        found = faults(plan, self.kernel_names)
        if found:
            self.unplanned[case] = CaseResult(case=case, status=Status.REJECTED, reason="; ".join(found[:3]))
        else:
            self.plans[case] = plan

    def _compile(self) -> None:
        pending = {}
        for plan in self.plans.values():
            buffers = {buffer.id: buffer for buffer in plan.buffers}
            for launch in plan.launches:
                key = f"{self.kernels_sha}:{launch_identity(launch, buffers)}"
                if key not in pending:
                    job = {"kernels": self.kernels_path, "launch": codec.plain(launch)}
                    pending[key] = self.site.compile(key, job)
        for key, future in pending.items():
            answer = future.result()
            if "resources" not in answer:
                raise Ended(Status(answer["status"]), answer["reason"])
            self.resources[key] = codec.record(answer["resources"], KernelResources)

    def launches(self, plan: Plan) -> list[tuple[KernelResources, int]]:
        """Resources and number of blocks of each launch of a plan."""
        buffers = {buffer.id: buffer for buffer in plan.buffers}
        found = []
        for launch in plan.launches:
            blocks = 1
            for size in launch.grid:
                blocks *= size
            found.append((self.resources[f"{self.kernels_sha}:{launch_identity(launch, buffers)}"], blocks))
        return found

    # --- verify ----------------------------------------------------------------------------------------------

    def verify(self, case: Case) -> CaseResult:
        """Replay on every draw of a case and let the judge compare."""
        if case.name in self.unplanned:
            return self.unplanned[case.name]
        plan = self.plans[case.name]
        if not self.site.on_gpu:
            why = not_for_interpreter(case, plan, self.kernels_source)
            if why:
                return CaseResult(case=case.name, status=Status.NOT_VERIFIED, reason=f"not verified here: {why}")
        worst: CaseResult | None = None
        with self.stage("verify"), self.site.lease:
            for draw in range(self.site.ask_judge({"verb": "draws", "case": case.name})):
                result = self._replayed(case.name, plan, draw)
                if result.status is not Status.PASSED:
                    return result
                if worst is None or (result.max_rel_error or 0) > (worst.max_rel_error or 0):
                    worst = result
        assert worst is not None
        return worst

    def _replayed(self, case: str, plan: Plan, draw: int) -> CaseResult:
        message = {"case": case, "draw": draw, "plan": codec.plain(plan)}
        try:
            arena = self._bench({"verb": "reserve", "nbytes": Layout(plan.buffers).nbytes}, REPLAY_TIMEOUT_S)
            self.site.ask_judge(message | {"verb": "fill", "arena": arena})
            limit_s = REPLAY_TIMEOUT_S if self.site.on_gpu else INTERPRET_TIMEOUT_S
            self._bench({"verb": "run", "kernels": self.kernels_path, "plan": codec.plain(plan)}, limit_s)
        except Ended as ended:
            return CaseResult(case=case, status=ended.status, reason=ended.reason)
        return codec.record(self.site.ask_judge(message | {"verb": "check", "arena": arena}), CaseResult)

    def _bench(self, message: dict[str, Any], timeout_s: float) -> Any:
        """Ask the bench; what the device code brought about is raised as Ended."""
        bench = self.site.child("bench")
        try:
            answer = bench.ask(message, timeout_s)
        except ChildTimeout as error:
            raise Ended(Status.TIMEOUT, f"the kernels did not finish in {timeout_s:g} s") from error
        except ChildDied as error:
            raise Ended(Status.CRASHED, f"the process that ran the kernels {error.how}") from error
        if answer.get("sticky"):
            self.site.drop("bench")
        if "ok" in answer:
            return answer["ok"]
        if answer.get("unsupported") and not self.site.on_gpu:
            raise Ended(Status.NOT_VERIFIED, f"not verified here: the interpreter cannot run it ({answer['reason']})")
        raise Ended(Status(answer["status"]), answer["reason"])

    # --- time ------------------------------------------------------------------------------------------------

    def time(self, result: CaseResult) -> CaseResult:
        """Measured device time of a verified case; its outputs are checked again after the timed runs."""
        plan = self.plans[result.case]
        message = {"case": result.case, "draw": 0, "plan": codec.plain(plan)}
        with self.stage("time"), self.site.lease:
            try:
                arena = self._bench({"verb": "reserve", "nbytes": Layout(plan.buffers).nbytes}, REPLAY_TIMEOUT_S)
                self.site.ask_judge(message | {"verb": "fill", "arena": arena})
                timing = self._sampled(result.case, plan)
            except Ended as ended:
                return CaseResult(case=result.case, status=ended.status, reason=ended.reason)
            again = codec.record(self.site.ask_judge(message | {"verb": "check", "arena": arena}), CaseResult)
        if again.status is not Status.PASSED:
            return codec.record(codec.plain(again) | {"reason": f"in the timed runs: {again.reason}"}, CaseResult)
        return codec.record(codec.plain(result) | {"timing": codec.plain(timing)}, CaseResult)

    def _sampled(self, case: str, plan: Plan) -> Timing:
        key = "candidate"
        self._bench({"verb": "prepare", "key": key, "kernels": self.kernels_path, "plan": codec.plain(plan)}, 60.0)
        ask: Callable[[int], list[float]] = lambda n: self._bench({"verb": "sample", "key": key, "count": n}, 60.0)  # noqa: E731
        samples = ask(3)
        best = self.site.best_us.get(case)
        stopped = "hopeless"
        if best is None or stats.median(samples) <= HOPELESS * best:
            stopped = "most samples"
            while len(samples) < MAX_SAMPLES:
                samples += ask(MIN_SAMPLES)
                low, high = stats.bootstrap_ci(samples, stats.median)
                if high - low <= PRECISE * stats.median(samples):
                    stopped = "interval narrow enough"
                    break
        clocks = self._bench({"verb": "clocks"}, 10.0)
        call_us, issue_us = self._bench({"verb": "call", "key": key}, 60.0)
        self._bench({"verb": "forget", "key": key}, 60.0)
        middle = stats.median(samples)
        self.site.best_us[case] = min(middle, best or middle)
        return Timing(
            kind="measured", median_us=middle, ci95_us=stats.bootstrap_ci(samples, stats.median),
            samples_us=tuple(samples), call_us=call_us, issue_us=issue_us, stopped=stopped,
            method="CUDA graph over rotating input sets, cold cache",
            clocks=codec.record(clocks, Clocks) if clocks else None,
        )  # fmt: skip

    def estimate(self, case: str) -> Timing:
        """A guess from the compiler's resources; nothing ran."""
        least = next(c.bound for c in self.site.loaded().cases if c.case.name == case)
        bandwidth = least.bytes / least.bound_us * 1e6 if least.bound_by == "bytes" else self._bandwidth()
        us = roofline.estimate_us(least, self.launches(self.plans[case]), self.site.target, bandwidth)
        return Timing(kind="estimate", median_us=us, method="roofline.estimate_us")

    def _bandwidth(self) -> float:
        return self.site.peaks()[0]["copy_bytes_per_s"]

    def evaluation(self, status: Status, reason: str, results: list[CaseResult]) -> Evaluation:
        scored = {info.case.name for info in self.site.loaded().cases if info.case.timed}
        timed = [r.timing for r in results if r.timing is not None and r.case in scored]
        judged = [r for r in results if r.status in (Status.PASSED, Status.WRONG)]
        on = ("device" if self.site.on_gpu else "interpreter") if judged else None
        passed = status is Status.PASSED
        return codec.record(
            {"status": status.value, "reason": reason, "results": codec.plain(tuple(results)), "verified_on": on,
             "score_us": stats.geometric_mean([t.median_us for t in timed]) if passed and timed else None,
             "timing_kind": timed[0].kind if passed and timed else None,
             "kernels": codec.plain(distinct(self.resources)), "compiled": self.identity(),
             "autotune": self.autotune, "stages_s": self.stages_s, "confinement": self.confinement, "log": self.log},
            Evaluation,
        )  # fmt: skip

    def identity(self) -> str | None:
        """Hash over the machine code and the order and grids of launches: two sources with it are one kernel."""
        if not self.resources or not self.plans:
            return None
        described = [[case, [[r.cubin_sha, r.num_warps, blocks] for r, blocks in self.launches(plan)]]
                     for case, plan in sorted(self.plans.items())]  # fmt: skip
        return hashlib.sha256(codec.encode(described)).hexdigest()[:16]


def distinct(resources: dict[str, KernelResources]) -> tuple[KernelResources, ...]:
    """One entry per compiled code, largest footprint first."""
    found = {r.cubin_sha: r for r in resources.values()}
    return tuple(sorted(found.values(), key=lambda r: (r.kernel, -r.registers)))


def not_for_interpreter(case: Case, plan: Plan, kernels: str) -> str:
    """Why Triton's CPU interpreter cannot judge this case, "" where it can."""
    if not case.small:
        return "only small cases run on the CPU interpreter; a GPU is needed for this one"
    if sum(buffer.nbytes for buffer in plan.buffers) > INTERPRET_BYTES:
        return f"its buffers exceed {INTERPRET_BYTES >> 20} MiB"
    dtypes = {view.dtype for view in views(plan)}
    if "bfloat16" in dtypes or "bfloat16" in kernels:
        return "the CPU interpreter computes bf16 wrongly"
    if "float32" in dtypes and tf32_dot(kernels):
        return "tl.dot on float32 without input_precision='ieee' is TF32 on the GPU and exact on the interpreter"
    for word in ("inline_asm_elementwise", "libdevice"):
        if word in kernels:
            return f"the CPU interpreter has no {word}"
    return ""


def tf32_dot(kernels: str) -> bool:
    """Whether any `tl.dot` leaves its precision to the default (TF32 for float32 operands)."""
    for node in ast.walk(ast.parse(kernels)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("tl.dot", "tl.dot_scaled")):
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            if given.get("input_precision") not in ("'ieee'", "'tf32x3'"):
                return True
    return False


def evaluate(site: Site, candidate: Candidate, purpose: str) -> Evaluation:
    """The whole way for one purpose: "search", "verify" or "confirm"."""
    cases = [info.case for info in site.loaded().cases]
    chosen = [c for c in cases if purpose != "search" or not c.held_out]
    ordered = sorted(chosen, key=lambda c: (not c.small, c.held_out))
    try:
        subject = Subject(site, candidate)
    except ConfigError as error:
        return Evaluation(status=Status.REJECTED, reason=str(error))
    except SyntaxError as error:
        return Evaluation(status=Status.COMPILE_ERROR, reason=f"line {error.lineno}: {error.msg}")
    results: list[CaseResult] = []
    try:
        subject.prepare([case.name for case in ordered])
        if purpose == "confirm":
            with site.lease:
                site.drop("bench")
                site.drop("judge")
        for case in ordered:
            result = subject.verify(case)
            if result.status is Status.PASSED and site.on_gpu and purpose != "verify" and not case.small:
                result = subject.time(result)
            elif result.status is Status.NOT_VERIFIED and not site.on_gpu and purpose != "verify" and case.timed:
                timing = subject.estimate(case.name)
                result = codec.record(codec.plain(result) | {"timing": codec.plain(timing)}, CaseResult)
            results.append(result)
            if result.status not in (Status.PASSED, Status.NOT_VERIFIED) and purpose == "search":
                break
    except Ended as ended:
        return subject.evaluation(ended.status, ended.reason, results)
    return concluded(subject, results)


def concluded(subject: Subject, results: list[CaseResult]) -> Evaluation:
    """Passed when every case passed (on the interpreter: every case it can judge, and at least one)."""
    failed = next((r for r in results if r.status not in (Status.PASSED, Status.NOT_VERIFIED)), None)
    if failed is not None:
        return subject.evaluation(failed.status, f"case {failed.case}: {failed.reason}", results)
    unjudged = [r for r in results if r.status is Status.NOT_VERIFIED]
    if len(unjudged) == len(results):
        reason = unjudged[0].reason if unjudged else "the problem has no case for this purpose"
        return subject.evaluation(Status.NOT_VERIFIED, reason, results)
    return subject.evaluation(Status.PASSED, "", results)
