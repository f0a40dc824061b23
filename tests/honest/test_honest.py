"""Honest kernels in many styles, each right and each called so by one real worker: no false alarm.

`kernels/PROBLEM/STYLE.py` solves `problems/PROBLEM.py`: sizes are odd so that masks matter, and the timed case mostly
compiles to what the small one does, to save time. With a GPU all cases are verified on it, otherwise the small ones
in Triton's CPU interpreter. A style that is refused is a fault of the worker, never of the kernel. To add one, add its
file; nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import Evaluations, StartedWorker, Submission
from kernelwright.model import Evaluation, Status
from kernelwright.worker.rules import extract, static

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

HERE = Path(__file__).parent
KERNELS = sorted(HERE.glob("kernels/*/*.py"))
NAMES = [f"{kernel.parent.name}/{kernel.stem}" for kernel in KERNELS]
ON_INTERPRETER = {"affine_relu/rounded_down": "not true to a GPU here: libdevice"}
"""Kernels that only a GPU can judge: the reason that is given for it elsewhere. None is refused anywhere."""


AS_PUBLISHED = {"softmax/with_everything_around", "softmax/guarded_launch", "row_sums/other_spellings",
                "sorted_rows/copied_from_triton", "softmax/absent_package_flags",
                "softmax/fallback_and_profile", "softmax/imported_by_fallback"}  # fmt: skip
"""Kernels that break rules as they are written. What is judged of them does not."""


def submission(kernel: Path) -> Submission:
    return Submission(HERE / "problems" / f"{kernel.parent.name}.py", kernel.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def evaluations(request: pytest.FixtureRequest, shared_worker: StartedWorker) -> Evaluations:
    """Of the kernels that pytest was asked for, not of all."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    kernels = dict.fromkeys(params["kernel"] for params in chosen if params.get("kernel") in KERNELS)
    return Evaluations(shared_worker(), [submission(kernel) for kernel in kernels])


def told(evaluation: Evaluation) -> str:
    """What to read when a kernel was not accepted."""
    lines = [f"{evaluation.status.value}: {evaluation.reason}"]
    lines += [f"  {r.case}: {r.status.value} {r.reason}" for r in evaluation.results]
    return "\n".join([*lines, evaluation.log])


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_an_honest_kernel_passes(evaluations: Evaluations, kernel: Path) -> None:
    evaluation, name = evaluations.of(submission(kernel)), f"{kernel.parent.name}/{kernel.stem}"
    if name in ON_INTERPRETER and not evaluations.on_gpu:
        assert evaluation.status is Status.NOT_VERIFIED, told(evaluation)
        assert ON_INTERPRETER[name] in told(evaluation)
    else:
        assert evaluation.status is Status.PASSED, told(evaluation)
        small = [result for result in evaluation.results if result.case in ("ragged", "half")]
        assert {result.status for result in small} == {Status.PASSED}, told(evaluation)


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_an_honest_kernel_breaks_no_rule(kernel: Path) -> None:
    source = kernel.read_text(encoding="utf-8")
    if f"{kernel.parent.name}/{kernel.stem}" in AS_PUBLISHED:
        assert static.check(source)
        return
    assert [str(finding) for finding in (*static.check(source), *extract.extract(source).findings)] == []


@pytest.mark.parametrize("kernel", [HERE / "kernels" / f"{name}.py" for name in sorted(AS_PUBLISHED)])
def test_what_was_judged_of_a_published_kernel_is_kept_and_breaks_no_rule(
    evaluations: Evaluations, kernel: Path
) -> None:
    evaluation = evaluations.of(submission(kernel))
    text = evaluation.judged_source or ""
    assert [str(finding) for finding in (*static.check(text), *extract.extract(text).findings)] == []
    for left_out in ("logging", "flash_attn", "torch.distributed.nn", "lru_cache", "manual_seed", "static_print"):
        assert left_out not in text
    if "with_everything_around" in kernel.name:
        assert "raise NotImplementedError('not judged: line" in text
        assert any("not x.is_cuda" in condition for condition in evaluation.unjudged)


@pytest.mark.parametrize("kernel", [HERE / "kernels" / "softmax" / "dense_rows.py"])
def test_a_kernel_that_takes_rows_to_be_dense_says_what_it_serves(evaluations: Evaluations, kernel: Path) -> None:
    evaluation = evaluations.of(submission(kernel))
    assert [(one.name, one.shown_by) for one in evaluation.serves] == [("dense", "wrong")]


@pytest.mark.parametrize("kernel", [HERE / "kernels" / "matmul" / "largest_config_first.py"])
def test_a_config_that_does_not_fit_the_device_is_passed_over(evaluations: Evaluations, kernel: Path) -> None:
    evaluation = evaluations.of(submission(kernel))
    assert evaluation.autotune == {"matmul_tuned": 2}
    assert evaluation.autotune_moved == {"matmul_tuned": 1}


def test_there_are_many_honest_kernels_and_each_has_a_problem() -> None:
    assert len(KERNELS) >= 25
    assert {kernel.parent.name for kernel in KERNELS} == {p.stem for p in HERE.glob("problems/*.py")}
