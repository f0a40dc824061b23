"""How busy a search keeps its GPUs: of one the share of the time, of several each one's."""

from __future__ import annotations

from kernelwright.model import Evaluation, Status
from kernelwright.report.progress import busy_text, seconds_by_gpu


def on(gpu: str, seconds: float) -> tuple[Evaluation, tuple[()]]:
    return Evaluation(status=Status.WRONG, gpu=gpu, stages_s={"verify": seconds, "compile": 9.0}), ()


def test_of_one_gpu_the_share_is_said() -> None:
    assert busy_text(seconds_by_gpu([on("GPU-1", 2.0), on("GPU-1", 3.0)]), 20.0) == "25 %"
    assert busy_text(seconds_by_gpu([on("", 5.0), (None, ())]), 20.0) == "25 %", "a machine without a UUID"
    assert busy_text(seconds_by_gpu([]), 20.0) == "0.0 %"


def test_of_several_the_mean_and_each() -> None:
    spent_s = seconds_by_gpu([on("GPU-1", 2.0), on("GPU-2", 6.0), on("GPU-1", 2.0), on("", 0.0)])
    assert spent_s == {"GPU-1": 4.0, "GPU-2": 6.0, "": 0.0}
    assert busy_text(spent_s, 10.0) == "50 % of 2 GPUs (GPU-1 40 %, GPU-2 60 %)"
