"""A payload in every position of a kernel's module: only confined processes execute it, never bench or supervisor.

The static rules refuse all of these; they are switched off here, so that the next hole in them is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.model import Candidate
from kernelwright.worker.confine import IN_FORCE
from kernelwright.worker.processes.children import Child
from kernelwright.worker.rules import extract, static
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, opened, watch

KERNELS = """
import pathlib
import triton
import triton.language as tl


def payload(*anything, **more):
    print("the payload ran", flush=True)
    try:
        pathlib.Path(@FILE@).write_text("written")
    except OSError:
        pass
    return tl.constexpr(64)


payload.__triton_builtin__ = True  # so that the compiler calls it
payload.__module__ = "triton.language"


@HEAD@
@triton.jit
def helper(v, W: tl.constexpr):
    @HELPER@
    return v * 2


@DECORATOR@
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr = @DEFAULT@) @RETURNS@:
    @FIRST@
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loaded = tl.load(x_ptr + at, mask=at < n)
    @MIDDLE@
    tl.store(out_ptr + at, helper(loaded, BLOCK), mask=at < n)
    @LAST@


@TAIL@
"""

NOTHING = {"HEAD": "", "HELPER": "", "DECORATOR": "", "DEFAULT": "64", "RETURNS": "", "FIRST": "", "MIDDLE": "",
           "LAST": "", "TAIL": ""}  # fmt: skip

POSITIONS = {
    "head of the module": {"HEAD": "payload()\n"},
    "tail of the module": {"TAIL": "payload()"},
    "decorator": {"DECORATOR": "@payload and (lambda f: (payload(), f)[1])"},
    "default": {"DEFAULT": "payload().value"},
    "annotation": {"RETURNS": "-> payload()"},
    "first statement": {"FIRST": "payload()"},
    "middle statement": {"MIDDLE": "payload()"},
    "last statement": {"LAST": "payload()"},
    "assignment": {"MIDDLE": "size: tl.constexpr = payload()"},
    "condition": {"MIDDLE": "if payload() == 64:\n        loaded = loaded + 0"},
    "loop": {"MIDDLE": "for _ in tl.static_range(payload() // 32):\n        loaded = loaded + 0"},
    "argument": {"MIDDLE": "loaded = tl.reshape(loaded, (payload(),))"},
    "comprehension": {"MIDDLE": "sizes = [payload() for _ in (1, 2)]"},
    "formatted text": {"MIDDLE": "text: tl.constexpr = f'{payload()}'"},
    "helper": {"HELPER": "payload()"},
    "type": {"MIDDLE": "kind = tl.str_to_ty(\"tensordesc<fp32[__import__('pathlib').Path(@FILE@).write_text('x')]>\","
                       " None)"},
}  # fmt: skip
"""Position to what stands there."""

NOT_LIVE = ("type", "annotation")
"""The first prints nothing; annotations are text, which nobody evaluates."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.mark.parametrize("position", POSITIONS)
def test_only_confined_processes_execute_a_payload(
    session: Session, position: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "written"
    text = KERNELS
    for name, value in (NOTHING | POSITIONS[position]).items():
        text = text.replace(f"@{name}@", value)
    text = text.replace("@FILE@", repr(str(file)))
    honest = extract.extract(CANDIDATE)
    monkeypatch.setattr(static, "check", lambda source: [])
    monkeypatch.setattr(extract, "extract", lambda source: extract.Kernels(text, honest.parameters, ()))
    compiled = _compiler_log(session, monkeypatch)
    found = evaluate(session, Candidate(source=CANDIDATE), "verify")
    if not any(found.confinement[name] == IN_FORCE for name in ("own_root", "landlock")):
        pytest.skip(f"files are not confined here: {found.confinement}")
    assert not file.exists(), f"{found.status}: {found.reason}"
    live = any("the payload ran" in log for log in compiled)
    assert position in NOT_LIVE or live, f"{found.status}: {found.reason} {compiled}"
    bench = session.processes.children.get("bench")
    assert bench is None or not session.processes.on_gpu or "the payload ran" not in bench.printed()


def _compiler_log(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What compilers print, as they are killed."""
    logs: list[str] = []

    def kept(child: Child) -> None:
        kill = child.kill

        def killed(grace: bool = False) -> int:
            status = kill(grace)
            logs.append(child.printed())
            return status

        if child.role == "compiler":
            monkeypatch.setattr(child, "kill", killed)

    watch(session, monkeypatch, kept)
    return logs


def test_the_kernel_under_the_payloads_is_right(session: Session) -> None:
    """Else nothing would reach a bench."""
    found = evaluate(session, Candidate(source=CANDIDATE), "verify")
    assert found.status.value == "passed", found.reason
