"""A toy language beside Triton: its entry reads and judges its sources, and its launches have their own tag."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from kernelwright import codec
from kernelwright import source as sources
from kernelwright.model import Candidate, Status
from kernelwright.source.languages import LANGUAGES, TRITON, Language, language_of
from kernelwright.source.names import Tunable
from kernelwright.worker.plan.plan import Launch, Step, TritonLaunch
from kernelwright.worker.rules.extract import Kernels
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.languages import rules_for

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")

from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, opened

SOURCE = "import toy\n\nTILE = 8\n\ndef kernel_function(x):\n    return toy.double(x, TILE)\n"


class ToyLaunch(Step, frozen=True, kw_only=True, tag="toy"):
    program: str


def toy_tunables(source: str) -> tuple[Tunable, ...]:
    found = re.search(r"^TILE = (\d+)$", source, re.M)
    return (Tunable(key="TILE", default=int(found[1]), choices=(4, 8), kind="constexpr"),) if found else ()


def toy_apply(source: str, config: Mapping[str, int]) -> str:
    return re.sub(r"^TILE = \d+$", f"TILE = {config['TILE']}", source, flags=re.M)


TOY = Language(
    module="toy",
    rules="toy_rules",
    find_tunables=toy_tunables,
    default_config=lambda source: {one.key: one.default for one in toy_tunables(source)},
    apply_config=toy_apply,
    kernel_configs=lambda source, autotune: {},
)


class ToyRules(ModuleType):
    """What would be the file worker/rules/toy.py."""

    @staticmethod
    def check(source: str) -> Kernels:
        findings = (Finding(1, "a toy may not pickle"),) if "pickle" in source else ()
        return Kernels(source=source, parameters={"double": {}}, findings=findings)

    @staticmethod
    def why_not_judged(on_gpu: bool) -> str:
        return "" if on_gpu else "the toy language has no interpreter"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, "toy", TOY)
    monkeypatch.setitem(sys.modules, TOY.rules, ToyRules(TOY.rules))


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("source", "language"),
    [
        (SOURCE, TOY),
        ("import torch\nfrom toy.parts import double", TOY),
        ("import toyota", TRITON),
        (CANDIDATE, TRITON),
        ("import torch", TRITON),
        ("def (", TRITON),
        ("\0", TRITON),
    ],
)
def test_a_source_is_in_the_language_that_it_imports(source: str, language: Language) -> None:
    assert language_of(source) is language


@pytest.mark.usefixtures("toy")
def test_tunables_are_read_and_written_by_the_language() -> None:
    assert sources.default_config(SOURCE) == {"TILE": 8}
    assert "TILE = 4" in sources.apply_config(SOURCE, {"TILE": 4})
    assert sources.kernel_configs(SOURCE) == {}
    assert "double_kernel.num_warps" in sources.default_config(CANDIDATE)


@pytest.mark.usefixtures("toy")
def test_a_machine_that_cannot_judge_a_language_says_not_verified(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        if session.processes.on_gpu:
            pytest.skip("the toy language is refused where there is no GPU")
        found = evaluate(session, Candidate(source=SOURCE, config={"TILE": 4}), "search")
        broken = evaluate(session, Candidate(source=SOURCE + "import pickle\n"), "search")
    assert (found.status, found.results, found.score_us) == (Status.NOT_VERIFIED, (), None)
    assert found.reason == "not verified here: the toy language has no interpreter"
    assert (broken.status, broken.reason) == (Status.REJECTED, "line 1: a toy may not pickle")


def test_without_its_entry_a_toy_source_has_no_kernel() -> None:
    assert language_of(SOURCE) is TRITON
    assert not rules_for(SOURCE).check(SOURCE).names


def test_a_launch_is_recognised_by_its_tag() -> None:
    toy = codec.plain(ToyLaunch(program="double"))
    triton = codec.plain(TritonLaunch(kernel="k", grid=(1,), arguments={}))
    both = msgspec.convert([toy, triton], list[ToyLaunch | TritonLaunch])
    assert [type(launch) for launch in both] == [ToyLaunch, TritonLaunch]
    with pytest.raises(msgspec.ValidationError, match="toy"):
        codec.record(toy, Launch)
