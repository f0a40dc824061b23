"""What each prompt says: every section there, every figure with its unit, nothing left unfilled."""

from __future__ import annotations

import re
from importlib import resources

import msgspec
import pytest

from fakes import BOUND, ENVIRONMENT, PROBLEM, SPEC, profile_of
from kernelwright.errors import KernelwrightError
from kernelwright.model import (
    Candidate,
    Case,
    CaseInfo,
    CaseResult,
    Claim,
    Environment,
    Evaluation,
    KernelResources,
    Operator,
    Reflection,
    Request,
    Status,
    TensorSpec,
    Trial,
)
from kernelwright.propose import sections
from kernelwright.propose.conversation import whole
from kernelwright.propose.prompt import (
    Answer,
    NoPrompt,
    Prompt,
    mend_prompt,
    plan_prompt,
    prompt_for,
    reflect_prompt,
    render,
    system,
    template,
    with_plan,
)
from kernelwright.propose.sections import kernel, problem
from kernelwright.propose.shown import shown_source
from kernelwright.source import find_tunables
from kernelwright.worker.plan.operators import OPERATORS
from proposing import KERNEL, OTHER, context, failed, passed, starter, trial

RESOURCES = KernelResources(
    kernel="double_kernel",
    target="sm_90",
    registers=40,
    spill_bytes=0,
    shared_bytes=2048,
    num_warps=4,
    num_stages=3,
    occupancy=0.75,
    limited_by="registers",
    cubin_sha="c0ffee",
)
GOOD = msgspec.structs.replace(passed(100.0), kernels=(RESOURCES,))
WRONG = Evaluation(
    status=Status.WRONG,
    reason="small: element (0, 3) is off",
    results=(
        CaseResult(case="small", status=Status.WRONG, reason="0.5 | 3", max_rel_error=0.5, allowed_rel_error=1e-6),
        CaseResult(case="big", status=Status.PASSED),
    ),
    log="a printed line\n",
)
RUN = (
    starter(GOOD),
    trial(1, OTHER, evaluation=msgspec.structs.replace(GOOD, score_us=80.0), parents=(0,), note="adds instead"),
    trial(2, KERNEL + "# changed\n", {"BLOCK": 512}, WRONG, parents=(1,)),
    trial(3, None, parents=(1,)),
)
TEMPLATES = sorted(
    file.name[:-3] for file in resources.files("kernelwright.prompts").iterdir() if file.name.endswith(".md")
)
PROFILE = profile_of(Candidate(source="BLOCK = 64"), "big", False)
WRITERS = (Operator.SEED, Operator.IMPROVE, Operator.REPAIR, Operator.REWRITE_SIMPLY, Operator.MERGE)
PARENTS = {Operator.SEED: (), Operator.REPAIR: (2, 1), Operator.MERGE: (0, 1)}


def prompt_text(operator: Operator, **more: object) -> str:
    return whole(prompt(operator, **more))


def prompt(operator: Operator, **more: object) -> Prompt:
    request = Request(number=4, operator=operator, parents=PARENTS.get(operator, (1,)))
    return prompt_for(request, context(*RUN, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("operator", WRITERS)
def test_every_prompt_holds_the_problem_the_cases_the_machine_and_the_history(operator: Operator) -> None:
    text = prompt_text(operator)
    assert "`double`" in text
    assert PROBLEM.source.strip() in text
    assert PROBLEM.docstring in text
    assert "| big | yes | (64, 64) float32 | (64, 64) float32 | 50 | bytes |" in text
    assert "| small | no, checked only |" in text
    assert "Fake GPU (sm_90), torch 2.9.0, Triton 3.5.0" in text
    assert "measured Fake GPU 2026-01-01" in text
    assert "| 1 | improve | 0 | test | adds instead | +1 −1 lines | 80 µs, 1.25× as fast as trial 0 | - |" in text
    assert "wrong: small: element (0, 3) is off" in text
    assert "| 3 | improve | 1 | test | - | - | no candidate: the reply has no fenced Python block | - |" in text
    assert "Best so far: trial 1." in text


@pytest.mark.parametrize("operator", WRITERS)
def test_no_prompt_has_an_unfilled_variable_or_an_empty_section(operator: Operator) -> None:
    text = prompt_text(operator)
    assert not re.search(r"\{\{|\}\}", text)
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "code", text, flags=re.M | re.S)
    headings = [(len(found[1]), found.end(), found.start()) for found in re.finditer(r"^(#+) .+$", outside, re.M)]
    assert len(headings) >= 5
    for (level, end, _), (next_level, _, start) in zip(headings, [*headings[1:], (0, 0, len(outside))], strict=True):
        assert next_level > level or re.search(r"\w", outside[end:start]), outside[end - 80 : start]


@pytest.mark.parametrize("operator", WRITERS)
def test_held_out_cases_are_in_no_prompt(operator: Operator) -> None:
    odd = CaseResult(case="odd", status=Status.WRONG, reason="the odd one")
    run = (*RUN[:2], trial(2, KERNEL + "# changed\n", {"BLOCK": 512}, msgspec.structs.replace(WRONG, results=(odd,))))
    request = Request(number=4, operator=operator, parents=PARENTS.get(operator, (1,)))
    assert not re.search(r"\bodd\b", prompt_for(request, context(*run)).text)


def test_a_problem_is_shown_without_its_list_of_cases() -> None:
    source = (
        "import torch\n\nSIZES = (3, 5)\n"
        "CASES = [\n    dict(name='a', n=1),\n    dict(name='secret', held_out=True, n=7777),\n]\n"
        "CASES += [dict(name='b', held_out=True, n=n) for n in SIZES]\n\n\nclass Model:\n    pass  # the end\n"
    )
    text = problem(msgspec.structs.replace(PROBLEM, source=source))
    assert "7777" not in text
    assert "import torch\n\n# CASES: see the table below.\n\n\nclass Model:\n    pass  # the end\n```" in text


def test_what_only_the_list_of_cases_uses_is_not_shown_since_it_may_hold_their_sizes() -> None:
    source = (
        "WIDTH = 64\nSIZES = [(3, WIDTH), (7777, WIDTH)]\n'Which sizes.'\n\n\n"
        "def _case(rows, cols):\n    return dict(rows=rows, cols=cols, held_out=rows in ODD)\n\n\n"
        "ODD = [7777]\nUNUSED = 1\nCASES = [_case(*size) for size in SIZES]\n\n\n"
        "def get_inputs(rows=3, cols=WIDTH):\n    return []\n"
    )
    shown = shown_source(source)
    rest = "WIDTH = 64 UNUSED = 1 # CASES: see the table below. def get_inputs(rows=3, cols=WIDTH): return []"
    assert " ".join(shown.split()) == rest


def test_the_library_mode_of_the_source_is_not_shown_because_a_run_may_override_it() -> None:
    assert shown_source('LIBRARY = "none"  # own kernels\n\nclass Model:\n    pass\n') == "\nclass Model:\n    pass\n"


def test_modules_of_a_problem_are_shown_with_it_and_empty_ones_are_not() -> None:
    info = msgspec.structs.replace(PROBLEM, modules={"mine/__init__.py": "\n", "mine/nets.py": "WIDTH = 64\n"})
    text = problem(info)
    assert "It imports `sources/mine/nets.py`:\n\n```python\nWIDTH = 64\n```" in text
    assert "__init__" not in text


def test_a_source_without_cases_or_that_does_not_parse_is_shown_as_it_is() -> None:
    for source in ("class Model:\n    CASES = 1\n", "def f():\n    return CASES\n", "def broken(:\n", ""):
        assert shown_source(source) == source


def test_requests_that_start_from_the_same_kernel_are_told_apart() -> None:
    texts = [
        prompt_for(Request(number=number, operator=Operator.IMPROVE, parents=(1,)), context(*RUN, siblings=1)).text
        for number in range(4, 8)
    ]
    assert len(set(texts)) == 4
    before = {text.partition("Others are changing this kernel at the same time")[0] for text in texts}
    assert len(before) == 1, "a cache serves all but the last lines of the second one"


def test_a_request_that_is_alone_is_not_told_of_others() -> None:
    assert "Others are" not in prompt(Operator.IMPROVE).text


def test_the_system_prompt_says_what_a_candidate_must_and_must_not_be() -> None:
    system, _ = prompt_for(Request(number=0, operator=Operator.SEED), context()).system
    for word in (
        "ModelNew",
        "kernel_function",
        "@triton.jit",
        ".data_ptr()",
        "NaN",
        "Note:",
        "tl.constexpr",
        "float32",
    ):
        assert word in system, word


@pytest.mark.parametrize("operator", [Operator.IMPROVE, Operator.REWRITE_SIMPLY, Operator.MERGE])
def test_a_timed_parent_comes_with_its_times_and_the_gap(operator: Operator) -> None:
    text = prompt_text(operator)
    assert "| big | 100 µs | 2.00× |" in text
    assert "80 µs (measured)" in text
    assert OTHER.strip() in text


@pytest.mark.parametrize("operator", [Operator.IMPROVE, Operator.MERGE])
def test_a_parent_comes_with_what_the_compiler_says_and_the_moves(operator: Operator) -> None:
    text = prompt_text(operator)
    assert "| `double_kernel` | 40 | 0 | 2048 | 4 | 3 | 75 % (by registers) |" in text
    assert "Not available in Triton: explicit shared memory" in text


def test_an_improvement_is_given_one_bottleneck_and_the_last_change() -> None:
    text = prompt_text(Operator.IMPROVE)
    assert "**unknown** (case big, 50 % of its bound). No figure points to a limit." in text
    assert "32,768 compulsory bytes set" in text
    assert "no counter of a GPU was read" in text
    assert "Trial 0: 100 µs. Trial 1: 80 µs, 1.25× as fast as trial 0." in text
    assert "```diff\n--- trial 0\n+++ trial 1\n" in text
    assert "-        tl.store(y + offsets, 2 * tl.load(x + offsets, mask=mask), mask=mask)" in text


def test_a_profiled_parent_comes_with_its_counters_and_the_moves_against_its_bottleneck() -> None:
    text = prompt_text(Operator.IMPROVE, profiles={1: (profile_of(Candidate(source="BLOCK = 64"), "big", False),)})
    assert "**cache** in `double_kernel` (case big, 50 % of its bound). The L1 cache is the busiest part" in text
    assert "| l1_throughput | 90 % | above 60 % | ncu | the L1 cache is the busiest part |" in text
    assert "| dram_throughput | 20 % | ncu |" in text
    assert "off the clock and the counters of ncu" in text
    assert "say so in the line `Diagnosis:`" in text
    menu = text[text.index("## Moves") :]
    assert "**read once.**" in menu
    assert menu.count("```python") == 3
    assert len(re.findall(r"^- ", menu, re.M)) == 3, "no more moves than these"


def test_a_prompt_has_at_most_three_moves_where_no_figure_favours_one() -> None:
    menu = prompt_text(Operator.IMPROVE).partition("## Moves")[2]
    assert "No figure favours one of these" in menu
    assert len(re.findall(r"^- ", menu, re.M)) == 3


def test_the_cases_name_their_inputs() -> None:
    (first, *_) = PROBLEM.cases
    case = msgspec.structs.replace(first, inputs=(*first.inputs, 3), input_names=("x", "width"))
    assert "| `x` (64, 64) float32; `width` 3 |" in sections.cases(msgspec.structs.replace(PROBLEM, cases=(case,)))
    nested = msgspec.structs.replace(case, input_names=("pair",))
    assert "| (64, 64) float32; 3 |" in sections.cases(msgspec.structs.replace(PROBLEM, cases=(nested,)))


def test_without_a_gpu_a_prompt_says_what_can_be_verified_and_what_estimates_do_not_compare() -> None:
    product = msgspec.structs.replace(PROBLEM, kinds={"mm": "product"})
    here = prompt_for(Request(number=0, operator=Operator.SEED), context(problem=product)).system[1]
    assert "tf32x3" in here
    assert "estimate" not in here
    nowhere = context(problem=product, environment=msgspec.structs.replace(ENVIRONMENT, device=None))
    there = prompt_for(Request(number=0, operator=Operator.SEED), nowhere).system[1]
    assert "pass `input_precision='ieee'` to `tl.dot`: without a GPU no other can be verified" in there
    assert "tf32x3" not in there
    assert "Estimates compare configs of one kernel; they do not compare two structures." in there


def test_a_kernel_is_shown_with_its_config_written_in() -> None:
    text = prompt_text(Operator.REPAIR)
    assert "BLOCK = 512\n" in text
    assert "Its tunables: `BLOCK` = 512, `double_kernel.num_warps` = 4, `double_kernel.num_stages` = 3." in text


def test_an_autotuned_kernel_is_not_said_to_run_with_its_first_config() -> None:
    configs = "triton.Config({'BLOCK': 256}), triton.Config({'BLOCK': 512})"
    tuned = KERNEL.replace("@triton.jit", f"@triton.autotune(configs=[{configs}], key=['n'])\n@triton.jit", 1)
    source = tuned.replace("x.numel(), BLOCK, num_warps=4", "x.numel()")
    assert any(one.kind == "autotune" for one in find_tunables(source))
    assert "autotune:" not in kernel(trial(1, source))
    assert "`autotune:double_kernel` = 1" in kernel(trial(1, source, {"autotune:double_kernel": 1}))


def test_a_repair_is_given_the_reason_case_by_case_and_the_log() -> None:
    text = prompt_text(Operator.REPAIR)
    assert "Status: **wrong**. small: element (0, 3) is off" in text
    assert "| small | wrong | 0.5 (1e-06) | 0.5 \\| 3 |" in text
    assert "Cases that pass: big." in text
    assert "```text\na printed line\n```" in text
    assert "+# changed" in text, "what was changed before it failed"


def test_a_merge_shows_both_kernels() -> None:
    text = prompt_text(Operator.MERGE)
    assert "First kernel (trial 0)" in text
    assert "Second kernel (trial 1)" in text
    assert KERNEL.strip() in text
    assert OTHER.strip() in text


def test_without_a_gpu_every_time_is_called_an_estimate() -> None:
    nowhere = msgspec.structs.replace(ENVIRONMENT, device=None)
    run = (starter(passed(100.0, "estimate")), trial(1, OTHER, evaluation=passed(80.0, "estimate"), parents=(0,)))
    request = Request(number=2, operator=Operator.IMPROVE, parents=(1,))
    text = whole(prompt_for(request, context(*run, environment=nowhere)))
    assert "No GPU here: kernels are compiled for sm_90" in text
    for line in text.splitlines():
        if re.search(r"\b(100|80) µs", line):
            assert "estimate" in line, line


def test_a_long_history_keeps_the_best_and_the_latest() -> None:
    trials = [starter(passed(500.0))] + [
        trial(n, KERNEL + f"# {n}\n", evaluation=passed(10.0 if n == 3 else 100.0 + n), parents=(0,))
        for n in range(1, 90)
    ]
    text = prompt_for(Request(number=90, operator=Operator.IMPROVE, parents=(3,)), context(*trials)).text
    rows = re.findall(r"^\| (\d+) \| (?:improve|seed) \|", text, re.M)
    assert len(rows) == 24
    assert {"3", "89", "72"} <= set(rows)
    assert "Best so far: trial 3. 66 of 90 trials are left out." in text


def test_strides_are_shown_where_they_are_not_dense() -> None:
    spec = TensorSpec(shape=(8, 16), dtype="float16", stride=(1, 8))
    info = CaseInfo(case=Case(name="big"), inputs=(spec, 3, None), outputs=(SPEC,), bytes=1, flop=1, bound=BOUND)
    problem = msgspec.structs.replace(PROBLEM, cases=(info,), parameters={"weight": (4, 4), "scale": ()})
    text = whole(prompt_for(Request(number=0, operator=Operator.SEED), context(problem=problem)))
    assert "| (8, 16) float16, strides (1, 8); 3; None | (64, 64) float32 |" in text
    assert "| `weight` | 4×4 |" in text
    assert "| `scale` | scalar |" in text


def test_peaks_of_the_machine_are_shown_with_where_they_come_from() -> None:
    where = msgspec.structs.replace(ENVIRONMENT, peaks={"copy_bytes_per_s": 4.28e12}, peaks_source="measured today")
    text = whole(prompt_for(Request(number=0, operator=Operator.SEED), context(environment=where)))
    assert "Peaks (measured today): copy bytes/s 4.28e+12." in text


def test_backticks_in_a_source_cannot_end_its_block() -> None:
    source = KERNEL + '"""\n```\nnot the end\n"""\n'
    text = prompt_for(Request(number=1, operator=Operator.IMPROVE, parents=(0,)), context(starter(GOOD, source))).text
    assert f"````python\n{source.rstrip()}\n````" in text


def test_braces_in_a_source_are_left_alone() -> None:
    source = KERNEL + "# {{name}} and {{nothing}}\n"
    text = prompt_for(Request(number=1, operator=Operator.IMPROVE, parents=(0,)), context(starter(GOOD, source))).text
    assert "# {{name}} and {{nothing}}" in text


def test_a_request_without_usable_parents_cannot_be_put_into_words() -> None:
    with pytest.raises(NoPrompt, match="request 4 is to improve trial 3, which has no candidate"):
        prompt_for(Request(number=4, operator=Operator.IMPROVE, parents=(3,)), context(*RUN))
    with pytest.raises(NoPrompt, match="needs two parents with candidates, and request 4 has 1"):
        prompt_for(Request(number=4, operator=Operator.MERGE, parents=(0, 3)), context(*RUN))
    with pytest.raises(NoPrompt, match="request to tune has no prompt"):
        prompt_for(Request(number=4, operator=Operator.TUNE, parents=(0,)), context(*RUN))


def test_an_unevaluated_or_failed_parent_is_described_as_such() -> None:
    run = (starter(failed(Status.COMPILE_ERROR, "no such operation")),)
    text = prompt_for(Request(number=1, operator=Operator.REWRITE_SIMPLY, parents=(0,)), context(*run)).text
    assert "It was not timed (compile error: no such operation)." in text


def test_a_missing_and_an_unused_variable_are_errors() -> None:
    assert render("{{a}} and {{a}}", {"a": "x {{b}}"}) == "x {{b}} and x {{b}}"
    with pytest.raises(KernelwrightError, match=r"t\.md asks for b, c, and nothing gives it a value"):
        render("{{a}} {{b}} {{c}}", {"a": "1"}, "t.md")
    with pytest.raises(KernelwrightError, match="does not use b, which it is given"):
        render("{{a}}", {"a": "1", "b": "2"})


def test_the_templates_name_no_device_and_no_vendor() -> None:
    for name in TEMPLATES:
        assert not re.search(r"H100|H200|A100|NVIDIA|AMD|OpenAI|Anthropic", template(name)), name


def test_an_environment_without_peaks_says_nothing_of_them() -> None:
    where = Environment(device="D", target="sm_90", python="3", torch="2", triton="3")
    assert "Peaks (" not in prompt_for(Request(number=0, operator=Operator.SEED), context(environment=where)).text


def test_a_tuned_parent_is_shown_with_the_change_of_its_code_and_its_numbers() -> None:
    tuned = trial(4, OTHER, {"BLOCK": 1024}, passed(60.0), Operator.TUNE, (1,))
    request = Request(number=5, operator=Operator.IMPROVE, parents=(4,))
    text = prompt_for(request, context(*RUN, tuned)).text
    assert "Trial 0: 100 µs. Trial 4: 60 µs, 1.67× as fast as trial 0." in text
    assert "-BLOCK = 256\n+BLOCK = 1024" in text
    assert "+        tl.store(y + offsets, tl.load" in text


def test_changes_that_were_made_of_the_same_code_are_shown_as_diffs_with_their_worth() -> None:
    tuned = trial(4, OTHER, {"BLOCK": 1024}, passed(60.0), Operator.TUNE, (1,))
    child = trial(5, OTHER.replace("* BLOCK", "* BLOCK * 1"), evaluation=passed(90.0), parents=(4,))
    request = Request(number=6, operator=Operator.IMPROVE, parents=(1,))
    text = prompt_for(request, context(*RUN, tuned, child)).text
    part = text.partition("## What was changed in this code already")[2].partition("## ")[0]
    assert "Trial 2: wrong: small: element (0, 3) is off." in part
    assert "Trial 5: 90 µs, 0.67× as fast as trial 4." in part
    assert "+    for start in range(tl.program_id(0) * BLOCK * 1, n, " in part
    fresh = Request(number=6, operator=Operator.IMPROVE, parents=(5,))
    assert "What was changed in this code" not in prompt_for(fresh, context(*RUN, tuned, child)).text


def test_what_is_asked_beside_a_kernel_leaves_nothing_unfilled_and_wants_words() -> None:
    slower = trial(4, OTHER + "x = 1\n", evaluation=msgspec.structs.replace(GOOD, score_us=300.0), parents=(0,))
    told = context(*RUN, slower)
    task = prompt_for(Request(number=5, operator=Operator.IMPROVE, parents=(1,)), told, "diff")
    plan, why = plan_prompt(task), reflect_prompt(slower, told, "diff")
    again = mend_prompt(task, KERNEL, "-x\n+y\n", "hunk 1 of the diff fits nowhere")
    for prompt in (plan, why, again):
        assert not re.search(r"\{\{|\}\}", whole(prompt))
        assert prompt.system == task.system
    assert task.text in plan.text
    assert "without a code block" in plan.text
    assert "without a code block" in why.text
    assert "Answer with a diff against trial 1." in task.text
    assert "a unified diff against the kernel exactly as shown" in again.system[0]
    assert "| `registers` | 40 | 40 |" in why.text
    assert "```diff\n-x\n+y\n```" in again.text


def test_of_two_lessons_about_one_trial_the_first_that_stands_is_shown() -> None:
    def learned(number: int, lesson: str, holds: bool) -> Trial:
        claims = (Claim(counter="registers", direction="up", holds=holds),)
        told = trial(number, OTHER + f"x = {number}\n", evaluation=GOOD, parents=(1,))
        reflection = Reflection(trial=1, lesson=lesson, claims=claims)
        return msgspec.structs.replace(told, proposal=msgspec.structs.replace(told.proposal, reflection=reflection))

    run = (*RUN, learned(4, "Wrong.", False), learned(5, "Right.", True), learned(6, "Right again.", True))
    text = prompt_for(Request(number=7, operator=Operator.IMPROVE, parents=(1,)), context(*run)).text
    assert "## What surprises have taught\n\n- Right. (trial 1)\n\n" in text


def test_a_prompt_names_every_library_step_that_finishing_allows_and_no_other() -> None:
    said = sections.problem(msgspec.structs.replace(PROBLEM, library="finish"))
    words = set(re.findall(r"`[\w.]*?(\w+)`", said)) | {"sub", "mul", "div", "floor_divide", "remainder", "add"}
    assert {name.partition(".")[0] for name in OPERATORS} <= words
    assert not {"mm", "linear", "sort", "topk", "cumsum"} & words
    assert sections.problem(PROBLEM) == said.partition("\n\nLibrary steps")[0]


def test_library_steps_multiply_as_the_problem_states() -> None:
    steps = msgspec.structs.replace(PROBLEM, library="any")
    assert "They multiply float32 in IEEE precision." in sections.problem(steps)
    assert "They multiply float32 with TF32." in sections.problem(msgspec.structs.replace(steps, precision="tf32"))


def of_a_call(**fields: object) -> str:
    case = msgspec.structs.replace(PROBLEM.cases[0], **fields)
    return sections.cases(msgspec.structs.replace(PROBLEM, cases=(case,)))


def test_a_prompt_says_how_inputs_and_outputs_are_nested() -> None:
    assert "nested" not in sections.cases(PROBLEM)
    text = of_a_call(arguments="{'x': 0, 'cache': {'k': 1}}", returns="{'out': 0}", keywords=("scale",))
    assert "the arguments by name are `{'x': 0, 'cache': {'k': 1}}`" in text
    assert "return `{'out': 0}`" in text
    assert "`forward` gets `scale` by keyword" in text


def test_a_prompt_says_what_is_changed_in_place_and_whether_it_is_returned() -> None:
    text = of_a_call(mutates=("k_cache", "v_cache"), outputs=(SPEC, SPEC))
    assert "`forward` changes `k_cache` and `v_cache` in place" in text
    assert "Return nothing." in text
    text = of_a_call(mutates=("x",), outputs=(SPEC, SPEC, SPEC), lies_in=("", "x"))
    assert "Return nothing." not in text
    assert "Output 1 is `x` itself: return that tensor." in text
    assert "in place" not in sections.cases(PROBLEM)


def test_a_problem_with_gradients_asks_for_a_backward() -> None:
    assert "kernel_backward" not in sections.cases(PROBLEM)
    assert "kernel_backward" in sections.cases(msgspec.structs.replace(PROBLEM, gradients=True))


@pytest.mark.parametrize("answer", ["whole", "diff", "mailbox"])
def test_every_prompt_of_a_run_begins_with_the_same_rules_and_problem(answer: Answer) -> None:
    slower = trial(4, OTHER + "x = 1\n", evaluation=msgspec.structs.replace(GOOD, score_us=300.0), parents=(0,))
    early, late = context(*RUN), context(*RUN, slower, siblings=2, profiles={1: (PROFILE,)})
    prompts = [
        prompt_for(Request(number=number, operator=operator, parents=PARENTS.get(operator, (1,))), now, answer)
        for number, now in ((4, early), (9, late))
        for operator in WRITERS
    ]
    prompts += [plan_prompt(prompts[1]), reflect_prompt(slower, late, answer)]
    prompts += [with_plan(prompts[1], "wider"), mend_prompt(prompts[1], KERNEL, "-x", "it fits nowhere")]
    assert plan_prompt(prompts[1]).text.startswith(prompts[1].text), "the kernel is asked for next, with the same task"
    assert with_plan(prompts[1], "wider").text.startswith(prompts[1].text)
    assert len({one.system for one in prompts}) == 1
    rules, problem = prompts[0].system
    assert all(whole(one).startswith(f"{rules.strip()}\n\n{problem.strip()}\n\n---\n\n") for one in prompts)
    assert not re.search(r"\btrial\b|\d µs", rules + problem)
    others = msgspec.structs.replace(PROBLEM, name="another", library="any", precision="tf32", gradients=True)
    assert system(context(problem=others), answer)[0] == rules, "the rules are the same for every problem, too"


def test_a_prompt_has_no_words_on_what_the_problem_lacks() -> None:
    info = msgspec.structs.replace(PROBLEM, kinds={"_softmax": "other"})
    text = prompt_text(Operator.IMPROVE, problem=info)
    for word in ("library", "gradient", "TF32", "tl.dot", "tensor core", "changes `", "nested"):
        assert not re.search(word, text, re.IGNORECASE), word
    assert "input_precision" in prompt_text(
        Operator.SEED, problem=msgspec.structs.replace(info, kinds={"mm": "product"})
    )


def test_moves_that_the_problem_has_no_place_for_are_not_shown_whatever_the_bottleneck() -> None:
    info = msgspec.structs.replace(PROBLEM, kinds={"mul": "pointwise"})
    profiled = {1: (PROFILE,)}
    menu = prompt_text(Operator.IMPROVE, profiles=profiled, problem=info).partition("## Moves")[2]
    assert "**wider loads.**" in menu
    assert "several outputs a program" not in menu
    assert "several outputs a program" in prompt_text(Operator.IMPROVE, profiles=profiled)


def test_sections_without_content_are_left_out() -> None:
    text = prompt_for(Request(number=1, operator=Operator.IMPROVE, parents=(0,)), context(starter(passed(9.0)))).text
    for heading in ("What the last change did", "What was counted", "What the compiler says", "What surprises"):
        assert heading not in text, heading
    assert prompt_for(Request(number=0, operator=Operator.SEED), context()).text.endswith("then write the module.\n")
