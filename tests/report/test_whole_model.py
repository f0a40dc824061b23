"""The arithmetic and the text of a whole model's survey."""

from __future__ import annotations

import msgspec
import pytest

from fakes import ENVIRONMENT
from kernelwright.model import Baseline, LeastWork, ModelSurvey, Part, PartCase, PartKind
from kernelwright.report.whole_model import REACHED_BY_REGIONS, outcome_text, table_of, times_of_model_text
from kernelwright.roofline import LAUNCH_US

PEAKS = {"copy_bytes_per_s": 1e12, "read_bytes_per_s": 1e12, "write_bytes_per_s": 1e12, "float32_flop_per_s": 1e13}
WHERE = msgspec.structs.replace(ENVIRONMENT, peaks=PEAKS, peaks_source="fake")


def part(name: str, kind: PartKind, megabytes: int, places: float = 1.0, time_us: float | None = None,
         **more: str | None) -> Part:  # fmt: skip
    """A part whose bound is a microsecond for each megabyte."""
    work = LeastWork(bytes=megabytes * 10**6, written_bytes=0, remark=str(more.pop("remark", "")))
    case = PartCase(key=name, shapes="", places=places, work=work, time_us=time_us)
    fields = {"text": "text" if kind == "region" else None, **more}
    return Part(kind=kind, name=name, family=name, operators=(name,), module="layers.* (Layer)", is_backward=False,
                cases=(case,), **fields)  # type: ignore[arg-type]  # fmt: skip


def survey(*parts: Part, baselines: tuple[Baseline, ...] = ()) -> ModelSurvey:
    return ModelSurvey(
        name="net", is_trained=False, sets={"a": 0.25, "b": 0.75}, graphs=1, parts=parts, baselines=baselines
    )


def timed(name: str, called_us: float, graph_us: float | None) -> tuple[Baseline, ...]:
    return tuple(Baseline(name=name, inputs=one, called_us=called_us, graph_us=graph_us) for one in ("a", "b"))


MEASURED = survey(
    part("norm", "region", 100, places=2, time_us=200), part("mm", "gemm", 300, time_us=500),
    baselines=timed("eager", 3000, 1200) + timed("compile", 2000, 1000),
)  # fmt: skip


def test_without_a_gpu_a_time_is_the_bound_over_the_usual_share_and_a_launch() -> None:
    found = table_of(survey(part("norm", "region", 64, places=2)), WHERE)
    (row,) = found.rows
    assert found.kind == "estimate"
    assert (row.bound_us, row.least_us) == pytest.approx((128, 128 + 2 * LAUNCH_US))
    assert row.time_us == found.total_us == pytest.approx(2 * (64 / REACHED_BY_REGIONS + LAUNCH_US))


def test_the_gain_of_a_part_is_that_of_the_whole_model() -> None:
    found = table_of(MEASURED, WHERE)
    norm = next(row for row in found.rows if row.part.name == "norm")
    assert (found.total_us, found.called_us, found.baseline) == (1000, 2000, "compile")
    assert found.gain([norm]) == pytest.approx(1000 / (1000 - (400 - 200 - 2 * LAUNCH_US)))
    assert found.gain([norm], 0.9) == pytest.approx(1000 / (1000 - (400 - 2 * LAUNCH_US - 200 / 0.9)))


def test_a_part_that_is_faster_than_its_bound_gains_nothing() -> None:
    found = table_of(survey(part("norm", "region", 100, time_us=50), baselines=timed("eager", 100, 90)), WHERE)
    assert found.gain(found.rows) == found.gain(found.rows, 0.9) == 1.0


def test_weights_are_shares_of_the_time_and_leave_out_what_is_too_small() -> None:
    found = table_of(survey(part("big", "region", 1000), part("tiny", "region", 1), part("mm", "gemm", 1000)), WHERE)
    assert [*found.weights()] == ["big"]
    assert found.weights()["big"] == pytest.approx(found.rows[1].time_us / found.total_us, rel=1e-4)


def text(one: ModelSurvey, checks: dict[str, str]) -> str:
    found = table_of(one, WHERE)
    return f"{times_of_model_text(one, found, 'a fake GPU')}\n\n{outcome_text(found, checks, 'models/net')}"


def test_the_last_line_ranks_and_names_the_command() -> None:
    last = text(MEASURED, {"norm": ""}).splitlines()[-1]
    assert last == ("what could be won: at most 1.24 times compile, 1.21 with its 1 problem at 90 % of their bounds: "
                    "kernelwright optimize models/net")  # fmt: skip


def test_the_last_line_says_that_there_is_nothing_to_search_for() -> None:
    one = survey(part("norm", "region", 10), part("mm", "gemm", 10_000))
    assert text(one, {"norm": ""}).splitlines()[-1].endswith("; nothing to search for")
    bad = text(MEASURED, {"norm": "zeros would pass"})
    assert bad.splitlines()[-1].endswith("but no problem qualifies, so nothing can be searched")
    assert "  norm: zeros would pass" in bad


def test_idle_time_is_a_row_with_its_advice() -> None:
    row, advice = (line for line in text(MEASURED, {}).splitlines() if line.startswith("idle"))
    assert row.split() == ["idle", "all", "1.000", "-", "50", "%"]
    assert advice == 'idle: torch.compile(mode="reduce-overhead") replays CUDA graphs, for up to 2.00x the speed'


def test_slow_library_calls_remarks_and_reasons_are_named() -> None:
    one = survey(
        part("sdpa", "attention", 100, time_us=500, remark="the mask is causal"),
        part("copy", "region", 100, time_us=200, text=None, refused="it only moves or casts elements"),
        baselines=timed("eager", 1000, 900),
    )  # fmt: skip
    found = text(one, {})
    assert "attention: sdpa: the mask is causal" in found
    assert "attention: sdpa: PyTorch's call reaches 20 % of its bound" in found
    assert "  copy is no problem: it only moves or casts elements" in found
