"""The rules that a repair prompt states, against what the worker's rules and recorder say of small texts."""

from __future__ import annotations

import textwrap

import pytest
import torch

from fakes import PROBLEM
from kernelwright.model import Evaluation, Status
from kernelwright.propose.sections import Rejection, cure, failure, rejections
from kernelwright.worker.record.stand_in import StandIn
from kernelwright.worker.record.trace import Refused
from kernelwright.worker.rules.extract import extract
from kernelwright.worker.rules.static import check
from proposing import trial
from recorded import HEAD, refusal

CALL = "copy[(1,)](x, y, 1, BLOCK=1)\n    return y\n"
MODULE = "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
FORWARD = "\n    def forward(self, x):\n        y = torch.empty_like(x)\n        "


def function(*lines: str) -> str:
    return HEAD + "def kernel_function(x):\n    y = torch.empty_like(x)\n    " + "\n    ".join([*lines, CALL])


BROKEN = {
    function("y = x + 1"): "The framework computes nothing",
    function("n = x.max()"): "The framework computes nothing",
    function("n = x.item()"): "Host code runs on tensors without values",
    function("n = int(x[0, 0])"): "Host code runs on tensors without values",
    function("try:\n        pass\n    except ValueError:\n        pass"): "No fallback",
    function("torch.compiler.is_compiling()"): "A call does the same",
    function("global KEPT", "KEPT = y"): "Nothing is kept",
    HEAD + "KEPT = {}\n" + function("KEPT[0] = y")[len(HEAD) :]: "Nothing is kept",
    HEAD + MODULE + "pass" + FORWARD + "self.y = y": "Nothing is kept",
    HEAD + MODULE + "self.w = torch.ones(4, device='cuda')" + FORWARD + "copy[(1,)](self.w, y, 1, BLOCK=1)": "Tensors",
    HEAD + MODULE + "self.w = torch.empty(24, device='cuda')" + FORWARD + "return self.w.view(4, 6)": "Tensors",
    "import os\n" + function(): "A module imports",
    function().replace("    pass\n", "    other(n)\n", 1): "A kernel uses",
    function("triton.jit(kernel_function)[(1,)](x)"): "Kernels are functions under",
}  # fmt: skip


def reason_of(source: str) -> str:
    """What the worker says of a text: the broken rules, or the reason of the recorder."""
    findings = [*check(source), *extract(source).findings]
    return "; ".join(map(str, findings)) or refusal(source, {"x": torch.ones(4, 6)})[1]


@pytest.mark.parametrize("source", BROKEN, ids=BROKEN.values())
def test_a_rejection_is_shown_with_its_rule(source: str) -> None:
    reason = reason_of(source)
    assert f"The rule: {BROKEN[source]}" in cure(reason), reason


@pytest.mark.parametrize("one", rejections(), ids=lambda one: one.words[0])
def test_an_example_has_three_lines_that_break_no_rule(one: Rejection) -> None:
    lines = one.example.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 120
    text = "\n".join(one.partition("#")[0] for one in lines)
    imports = text.startswith("import")
    source = (
        text
        if imports
        else f"class ModelNew:\n    def __init__(self, x):\n{textwrap.indent(text, ' ' * 8)}\n        pass"
    )
    assert check(source) == []


def test_what_depends_on_an_absent_package_gets_its_own_rule() -> None:
    with pytest.raises(Refused) as refused:
        bool(StandIn("vllm.is_rocm", "line 5 imports vllm"))
    assert "The rule: No other package is here" in cure(str(refused.value))


def test_only_what_is_rejected_gets_a_rule() -> None:
    reason = "line 3: catches exceptions: a failure has to be seen"
    rejected, wrong = (
        trial(1, "x", evaluation=Evaluation(status=one, reason=reason)) for one in (Status.REJECTED, Status.WRONG)
    )
    assert "The rule: No fallback" in failure(rejected, PROBLEM)
    assert "```python\ncolumns = x.shape[-1]" in failure(rejected, PROBLEM)
    assert "The rule" not in failure(wrong, PROBLEM)
    assert cure("line 3: something else") == ""
