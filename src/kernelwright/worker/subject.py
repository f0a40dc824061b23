"""A candidate on its way to a GPU: checked, recorded and compiled, without data and without touching a device.

static → record → compile. Each stage either ends the evaluation (`Ended`) or hands on plain data; what the recorder
says is checked before it is used.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernelwright import codec, tunables
from kernelwright.model import Candidate, CaseResult, KernelResources, Status
from kernelwright.worker import extract, static
from kernelwright.worker.children import ChildDied, ChildTimeout
from kernelwright.worker.outcome import Ended
from kernelwright.worker.plan import Plan, faults, launch_identity
from kernelwright.worker.site import Site

AUTOTUNE = "autotune:"
"""Prefix of the config keys that choose among the configs of a kernel under `triton.autotune`."""


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
        self.kernel_names: tuple[str, ...] = ()

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

    @contextmanager
    def leased(self, name: str) -> Iterator[None]:
        """A stage that holds the lease; waiting for it is counted apart."""
        with self.stage("wait"):
            self.site.lease.acquire()
        try:
            with self.stage(name):
                yield
        finally:
            self.site.lease.release()

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
        limit_s = self.site.limits.record_s
        scratch = self.site.scratch / f"recorder_{time.monotonic_ns()}"
        recorder = self.site.compilers.spawn("recorder", {"scratch": str(scratch)}, log=True)
        job = {"source": self.source, "autotune": self.autotune_choice, "target": self.site.target.name,
               "cases": [shape for shape in self.site.shapes if shape["name"] in cases]}  # fmt: skip
        try:
            self.confinement = recorder.channel.receive(limit_s)["confinement"]
            answer = recorder.ask(job, limit_s)
        except ChildTimeout as error:
            raise Ended(Status.TIMEOUT, f"the host code did not finish in {limit_s:g} s") from error
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
            key = f"{self.kernels_sha}:{launch_identity(launch, buffers)}"
            found.append((self.resources[key], math.prod(launch.grid)))
        return found

    def identity(self) -> str | None:
        """Hash over the machine code and the order and grids of launches: two sources with it are one kernel."""
        if not self.resources or not self.plans:
            return None
        described = [
            [case, [[r.cubin_sha, r.num_warps, blocks] for r, blocks in self.launches(plan)]]
            for case, plan in sorted(self.plans.items())
        ]
        return hashlib.sha256(codec.encode(described)).hexdigest()[:16]
