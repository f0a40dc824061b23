"""Captures of a problem in several variants: what is kept where one of them fails or takes too long."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from generated import of_rows
from kernelwright.model import Capture, Case, Sizes, TensorSpec, Unknown
from kernelwright.worker.generate import series
from kernelwright.worker.generate.series import ENDING_S, MOST_CAPTURES, Series, _OutOfTime
from kernelwright.worker.reference.load import LoadedProblem, load_problem

PROBLEM = """
import torch

rows = 4096

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.randn(rows, 16)]

def get_init_inputs():
    return []
"""

TIMED = Capture(kernels=(), steps=(), outputs=(), names=(), tensors=())


def made(tmp_path: Path, limit_s: float, stated: str = "") -> Series:
    (tmp_path / "one.py").write_text(PROBLEM + stated)
    problem = load_problem(str(tmp_path / "one.py"))
    return Series(problem, problem.cases[0], limit_s)


SYMBOLS = msgspec.structs.replace(TIMED, sizes=Sizes(values={}, shapes=()))


def test_the_timed_sizes_are_captured_only_where_symbols_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "capture", lambda problem, case, symbols: SYMBOLS if symbols.values else TIMED)
    assert made(tmp_path, 100.0).ordinary() == (SYMBOLS,)


def test_the_timed_sizes_are_captured_where_a_line_with_symbols_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = msgspec.structs.replace(SYMBOLS, steps=(Unknown(text="new_form()"),))
    monkeypatch.setattr(series, "capture", lambda problem, case, symbols: unknown if symbols.values else TIMED)
    found = made(tmp_path, 100.0)
    assert found.ordinary() == (TIMED,)
    assert found.faults == {
        "captures at all sizes": "Inductor raised RuntimeError: the host code has the line new_form()"
    }


def of_case(problem: LoadedProblem, case: Case, symbols: Any) -> Capture:
    """A capture with the number of columns as a constant."""
    numbers = problem.numbers(case)
    columns = numbers["get_inputs[0]"]
    spec = TensorSpec(shape=(numbers["rows"], columns), dtype="float32", stride=(columns, 1))
    sizes = Sizes(values={}, shapes=(("rows", str(columns)),)) if symbols.values else None
    return msgspec.structs.replace(TIMED, names=("x",), tensors=(spec,), sizes=sizes)


def stated(*columns: int) -> str:
    wide = "".join(f', dict(name="of_{one}", **{{"get_inputs[0]": {one}}})' for one in columns)
    return f'CASES = [dict(name="timed"), dict(name="tall", rows=8192){wide}]'


def test_a_stated_case_with_another_constant_has_a_capture_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "capture", of_case)
    found = made(tmp_path, 100.0, stated(32, 64)).ordinary()
    assert [one.sizes and one.sizes.shapes for one in found] == [
        (("rows", "16"),), (("rows", "32"),), (("rows", "64"),),
    ]  # fmt: skip
    several = made(tmp_path, 100.0, stated(32, 64, 128, 256))
    assert len(several.ordinary()) == MOST_CAPTURES
    assert [*several.faults] == ["captures of case of_256"]


def test_a_capture_for_another_dtype_has_the_sizes_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops and tiles follow them: one of few columns would hold long rows in one piece."""
    seen = []

    def capture(problem: LoadedProblem, case: Case, symbols: Any) -> Capture:
        seen.append((case.dtype, problem.numbers(case)["rows"]))
        return of_case(problem, case, symbols)

    monkeypatch.setattr(series, "capture", capture)
    cases = 'CASES = [dict(name="timed", dtype="float32"), dict(name="half", dtype="bfloat16", rows=128)]'
    found = made(tmp_path, 100.0, cases)
    found.ordinary()
    assert seen[-1] == ("bfloat16", 4096)


def test_the_symbols_that_serve_most_cases_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that the file divides by keep a size where they are symbols, too."""

    def capture(problem: LoadedProblem, case: Case, symbols: Any) -> Capture:
        found = of_case(problem, case, symbols)
        wide = Sizes(values={}, shapes=(("rows", "columns"),))
        return found if "divisor" in symbols.numbers else msgspec.structs.replace(found, sizes=wide)

    monkeypatch.setattr(series, "capture", capture)
    tried = [{"rows": 4096, "divisor": 8}, {"rows": 4096}]
    monkeypatch.setattr(series, "numbers_to_try", lambda problem, case: [*tried])
    found = made(tmp_path, 100.0, stated(32))
    assert [one.sizes and one.sizes.shapes for one in found.ordinary()] == [(("rows", "columns"),)]
    assert found.attempts == tried[::-1]


def test_without_symbols_every_stated_case_is_served_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "capture", of_case)
    monkeypatch.setattr(series, "numbers_to_try", lambda problem, case: [])
    assert [one.tensors[0].shape for one in made(tmp_path, 100.0, stated(32)).ordinary()] == [
        (4096, 16), (8192, 16), (4096, 32),
    ]  # fmt: skip
    assert made(tmp_path, 100.0, stated(32, 64, 128)).ordinary() == ()


def test_symbols_take_half_of_the_time_and_are_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch goes on after some errors."""

    def capture(problem: Any, case: Any, symbols: Any) -> Capture:
        signal.alarm(0)  # as after the user's code
        for caught in ((Exception, _OutOfTime), (Exception,)) if symbols.values else ():
            with suppress(*caught):
                while True:
                    pass
        return TIMED

    monkeypatch.setattr(series, "capture", capture)
    found = made(tmp_path, ENDING_S + 2)
    assert found.ordinary() == (TIMED,)
    assert found.faults == {"captures at all sizes": "it took over 1 s of processor time"}
    assert found.templates() == (TIMED,)
    assert "templates at all sizes" not in found.faults


def test_time_in_which_other_programs_have_the_processor_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def capture(problem: Any, case: Any, symbols: Any) -> Capture:
        time.sleep(1.5)
        return SYMBOLS if symbols.values else TIMED

    monkeypatch.setattr(series, "capture", capture)
    assert made(tmp_path, ENDING_S + 2).ordinary() == (SYMBOLS,)


def test_a_fault_at_the_timed_sizes_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(problem: Any, case: Any, symbols: Any) -> Capture:
        raise ValueError("no such operator" if not symbols.values else "a consequence")

    monkeypatch.setattr(series, "capture", capture)
    found = made(tmp_path, 100.0)
    assert found.ordinary() == ()
    assert found.faults == {"captures": "Inductor raised ValueError: no such operator"}


@pytest.mark.parametrize(
    ("stated", "templates", "made_"), [("", 1, False), ("", 0, True), ('LIBRARY = "any"', 1, True)]
)
def test_rows_in_one_piece_are_not_made_beside_library_calls_that_no_candidate_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str, templates: int, made_: bool
) -> None:
    monkeypatch.setattr(series, "capture", lambda *given: TIMED)
    (looped,) = of_rows().captures[:1]
    rows = made(tmp_path, 200.0, stated).rows(looped, (TIMED,) * templates)
    assert bool(rows) == made_
