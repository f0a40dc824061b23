"""`--no-source`: nothing of the problem's text is in any prompt of a run, whatever happens in it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from fakes import ENVIRONMENT, PROBLEM, SPEC, FakeWorker, evaluation_of, run_info
from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate, Case, Evaluation, ProblemInfo, Scalar, Status
from kernelwright.propose import build_proposer
from kernelwright.propose.withheld import NAME, WITHHELD, private_words, without_source
from kernelwright.run import optimize
from kernelwright.search import build_strategy
from llm_server import chat, llm_server
from proposing import KERNEL, context, trial

MARKER = "zanzibar"
SOURCE = f'''
"""A {MARKER} docstring."""
import torch
from {MARKER}_layers import {MARKER}_block  # {MARKER} comment

{MARKER}_size = 3

class Model(torch.nn.Module):
    """Of {MARKER}."""

    def __init__(self, {MARKER}_width=4):
        self.{MARKER}_field = "{MARKER}"

    def forward(self, x):
        {MARKER}_local = x
        return 2 * {MARKER}_local
'''
STARTER = Candidate(source=KERNEL)


def marked() -> ProblemInfo:
    cases = tuple(
        msgspec.structs.replace(
            info, case=msgspec.structs.replace(info.case, name=f"{MARKER}_{info.case.name}",
                                               params={f"{MARKER}_size": 3}),
            inputs=(SPEC, f"{MARKER} text"), input_names=("x", "mode"), init=(MARKER,), init_names=(f"{MARKER}_width",),
            assumed=(f"{MARKER} is assumed",),
        )
        for info in PROBLEM.cases
    )  # fmt: skip
    return msgspec.structs.replace(
        PROBLEM, name=f"{MARKER}_problem", source=SOURCE, docstring=f"A {MARKER} docstring.", cases=cases,
        modules={f"{MARKER}_layers.py": f"def {MARKER}_block(x):\n    return x\n"},
        operators=("%1 = mul.Tensor(x, 2) -> (64, 64) float32", "return %1"),
    )  # fmt: skip


def telling(candidate: Candidate, purpose: str) -> Evaluation:
    """Failures whose words hold what the problem's text and the names of its cases say."""
    found = evaluation_of(candidate, purpose)
    results = tuple(
        msgspec.structs.replace(one, case=f"{MARKER}_{one.case}", below_bound=f"below that of {MARKER}_{one.case}")
        for one in found.results
    )
    if "BLOCK = 128" in candidate.source:
        reason = f"on case {MARKER}_big output 0 is off by 3.0"
        return Evaluation(status=Status.WRONG, reason=reason, results=results[:1], log=f"{MARKER}_size is 3\nfine\n")
    if "BLOCK = 1024" in candidate.source:
        reason = f"/runs/a/problem/{MARKER}.py, line 12: forward raised ValueError: no\n{MARKER} in a second line"
        return Evaluation(status=Status.RUNTIME_ERROR, reason=reason)
    return msgspec.structs.replace(found, results=results, unqualified=f"{MARKER}_field as it is would pass")


def reply(block: int) -> str:
    kernel = KERNEL.replace("BLOCK = 256", f"BLOCK = {block}")
    return f"Note: block {block}.\nExpected: faster by 90 %\n\n```python\n{kernel}```\n"


def prompts_of(run: Path, no_source: bool, strategy: str = "greedy", **options: Scalar) -> list[str]:
    """What a server was sent in a run of ten trials."""
    blocks = [128, 512, 1024, 64, 32, 16, 2048, 4096, 8192]
    worker = FakeWorker(answer=telling, problem=marked())
    info = run_info(strategy=strategy, starter=STARTER, no_source=no_source)
    info = msgspec.structs.replace(info, problem=marked())
    with llm_server(*[chat(reply(block)) for block in blocks for _ in range(4)]) as server:
        proposer = build_proposer("openai", {"model": "m", "base_url": server.url, "attempts": 1, **options}, {})
        with Journal.create(run, info) as journal:
            optimize(journal, build_strategy(strategy, STARTER, 0), proposer, worker, budget=Budget(trials=9))
        proposer.close()
        return [json.dumps(seen.document) for seen in server.seen]


@pytest.mark.parametrize("options", [{}, {"edits": "diff"}, {"plan": True}, {"reflect": False}])
def test_no_prompt_of_a_run_holds_a_word_of_the_problem_s_text(tmp_path: Path, options: dict[str, Scalar]) -> None:
    prompts = prompts_of(tmp_path / "run", True, **options)
    assert len(prompts) >= 6
    assert [prompt for prompt in prompts if MARKER in prompt] == []
    assert "mul.Tensor(x, 2)" in prompts[0]
    assert any("is off by 3.0" in prompt for prompt in prompts), "what is no secret is said"


def test_with_the_source_the_same_run_shows_it(tmp_path: Path) -> None:
    assert sum(MARKER in prompt for prompt in prompts_of(tmp_path / "run", False)) >= 6


def test_a_beam_s_merges_and_rewrites_hold_none_either(tmp_path: Path) -> None:
    prompts = prompts_of(tmp_path / "run", True, strategy="evolve")
    assert [prompt for prompt in prompts if MARKER in prompt] == []


def test_names_of_arguments_and_parameters_stay() -> None:
    info = msgspec.structs.replace(marked(), parameters={"linear.weight": (4, 4)})
    words = private_words(msgspec.structs.replace(info, source=SOURCE + "\nx = linear = weight = 3\n"))
    assert not words & {"x", "linear", "weight", "linear_weight", "mode"}
    assert f"{MARKER}_field" in words


def test_a_word_that_the_candidate_itself_has_is_no_secret() -> None:
    candidate = Candidate(source=KERNEL + f"\n# {MARKER}_size\n")
    failed = trial(
        1, candidate.source, evaluation=Evaluation(status=Status.COMPILE_ERROR, reason=f"{MARKER}_size is not defined")
    )
    (shown,) = without_source(context(failed, problem=marked())).trials
    assert shown.evaluation is not None
    assert shown.evaluation.reason == f"{MARKER}_size is not defined"


def test_a_message_of_the_problem_s_file_goes_whole_and_others_line_by_line() -> None:
    reason = f"first\nthe {MARKER}_local of it\nlast"
    failed = trial(1, KERNEL, evaluation=Evaluation(status=Status.WRONG, reason=reason, log="problem.py, line 3: a\nb"))
    shown = without_source(context(failed, problem=marked())).trials[0].evaluation
    assert shown is not None
    assert shown.reason == f"first\n{WITHHELD}\nlast"
    assert shown.log == WITHHELD


def test_cases_have_numbers_for_names_everywhere() -> None:
    withheld = without_source(context(problem=marked(), environment=ENVIRONMENT))
    assert [info.case for info in withheld.problem.cases] == [
        Case(name="case1", small=True), Case(name="case2"), Case(name="case3", held_out=True)
    ]  # fmt: skip
    assert withheld.problem.name == NAME
