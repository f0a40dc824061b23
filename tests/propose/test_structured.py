"""Structures that match the reference are in prompts: the trial that has one, else its kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernelwright.errors import ProblemError
from kernelwright.model import Capture, Generated, Operator, Request, Structure, StructureCall, Trial
from kernelwright.propose.prompt import prompt_for
from kernelwright.propose.protocol import Context
from proposing import context, trial

TEXT = "@triton.jit\ndef linear_kernel(x_ptr):\n    pass\n\n\ndef linear(x):\n    return x"

LINEAR = Structure(
    function="linear",
    source=TEXT,
    config={"BLOCK_N": 64},
    shape=(),
    like=0,
    idea="It reads weights as they are stored.",
)

HEADING = "## Structures that match"


def generated(*structures: Structure) -> Generated:
    calls = tuple(StructureCall(structure=one, tensors=(), numbers=(), result="out") for one in structures)
    return Generated(structures=(Capture(kernels=(), steps=calls, outputs=(), names=(), tensors=()),))


def asking(generate: Callable[[], Generated], *trials: Trial) -> Context:
    return replace(context(*trials), generate=generate)


def prompt(operator: Operator, around: Context) -> str:
    parents = tuple(one.number for one in around.trials)
    return prompt_for(Request(number=9, operator=operator, parents=parents, round=1), around).text


@pytest.mark.parametrize("operator", [Operator.SEED, Operator.IMPROVE])
def test_a_structure_that_no_trial_has_is_shown_with_its_kernels_and_config(operator: Operator) -> None:
    text = prompt(operator, asking(lambda: generated(LINEAR, LINEAR), trial(0)))
    assert text.count(LINEAR.idea) == 1
    assert f"{TEXT}\n\n\nLINEAR_BLOCK_N = 64\n" in text


def test_a_structure_that_a_trial_has_is_named_by_the_trial() -> None:
    text = prompt(
        Operator.IMPROVE, asking(lambda: generated(LINEAR), trial(0), trial(1, source=f"import triton\n\n{TEXT}\n"))
    )
    section = text.partition(HEADING)[2].partition("\n## ")[0]
    assert "Trial 1 has it." in section
    assert "def linear(" not in section


def test_without_a_structure_or_where_nothing_can_be_generated_there_is_no_section() -> None:
    def fails() -> Generated:
        raise ProblemError("forward is for GPUs only")

    for generate in (lambda: Generated(reason="no"), lambda: generated(), fails):
        assert HEADING not in prompt(Operator.SEED, asking(generate))
