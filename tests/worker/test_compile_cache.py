"""One candidate's machine code never becomes another's, whatever the texts share and whatever a compiler writes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.model import Candidate
from kernelwright.worker.rules import extract, static
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, PROBLEM, opened

KERNEL = """
import torch
import triton
import triton.language as tl
@IMPORT@

@CONSTANT@

@triton.jit
def helper(v):
    return @HELPER@


@triton.jit
def map_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, helper(@CALL@(x)) * SCALE, mask=at < n)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    map_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""

RIGHT = {
    "IMPORT": "from triton.language import exp as f",
    "CALL": "tl.exp",
    "CONSTANT": "SCALE = tl.constexpr(2.0)",
    "HELPER": "v + 1.0",
}
WRONG = {
    "another constant": {"CONSTANT": "SCALE = tl.constexpr(2.001)"},
    "another helper": {"HELPER": "v + 1.001"},
}


def source(**parts: str) -> str:
    text = KERNEL
    for name, value in (RIGHT | parts).items():
        text = text.replace(f"@{name}@", value)
    return text


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    problem = PROBLEM.replace("return x * 2", "return (torch.exp(x) + 1) * 2")
    with opened(tmp_path_factory.mktemp("site"), problem) as made:
        yield made


@pytest.mark.parametrize("what", WRONG)
def test_the_same_kernel_text_beside_other_names_is_another_kernel(session: Session, what: str) -> None:
    right = evaluate(session, Candidate(source=source()), "verify")
    wrong = evaluate(session, Candidate(source=source(**WRONG[what])), "verify")
    again = evaluate(session, Candidate(source=source()), "verify")
    assert [right.status.value, wrong.status.value, again.status.value] == ["passed", "wrong", "passed"]
    assert right.compiled == again.compiled != wrong.compiled


def test_the_same_kernel_text_under_another_import_is_another_kernel(session: Session) -> None:
    right = evaluate(session, Candidate(source=source(CALL="f")), "verify")
    wrong = evaluate(
        session, Candidate(source=source(CALL="f", IMPORT="from triton.language import exp2 as f")), "verify"
    )
    assert (right.status.value, wrong.status.value) == ("passed", "wrong")
    assert right.compiled != wrong.compiled


def test_an_equal_module_is_compiled_once(session: Session) -> None:
    evaluate(session, Candidate(source=source()), "verify")
    known = len(session.processes.compiled)
    evaluate(session, Candidate(source=f"# another comment\n{source()}"), "verify")
    assert len(session.processes.compiled) == known


PLANTING = """
import pathlib
import triton
import triton.language as tl


def plant():
    for folder in @FOLDERS@:
        for path in [*pathlib.Path(folder).rglob("*"), pathlib.Path(folder) / "planted"]:
            try:
                path.write_bytes(b"planted")
            except OSError:
                pass


plant()


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
"""


def test_a_compiler_that_runs_a_candidates_code_cannot_plant_anothers_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The static rules are switched off, so that the text runs as Python in the compiler."""

    def files() -> dict[str, str]:
        kept = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}

    with opened(tmp_path) as session:
        folders = [session.processes.code, session.processes.scratch / "triton", session.processes.scratch]
        honest = evaluate(session, Candidate(source=CANDIDATE), "verify")
        before = files()
        parameters = extract.extract(CANDIDATE).parameters
        text = PLANTING.replace("@FOLDERS@", repr([str(folder) for folder in folders]))
        with monkeypatch.context() as patch:
            patch.setattr(static, "check", lambda source: [])
            patch.setattr(extract, "extract", lambda source: extract.Kernels(text, parameters, ()))
            evaluate(session, Candidate(source=CANDIDATE), "verify")
        after = files()
        changed = [path for path in before if after.get(path) != before[path] and not path.endswith(".log")]
        assert changed == []
        assert not any(path.endswith("planted") for path in after)
        again = evaluate(session, Candidate(source=CANDIDATE), "verify")
    assert (honest.status.value, again.status.value, honest.compiled == again.compiled) == ("passed", "passed", True)
