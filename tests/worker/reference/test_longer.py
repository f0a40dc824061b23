"""Longer cases: which sizes of a large case they have, and what they leave as it is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kernelwright.model import Case, Scalar
from kernelwright.worker.reference.load import LoadedProblem, load_problem
from kernelwright.worker.reference.longer import MOST_ELEMENTS, longer

TEXT = """
import torch

CASES = [dict(name="small", n=5, m=70, small=True), dict(name="timed", n=500, m=7000)]


class Model(torch.nn.Module):
    def forward(self, x):
        return FORWARD


def get_inputs(n, m):
    CHECK
    return [torch.rand(n, m)]


def get_init_inputs():
    return []
"""


def loaded(folder: Path, forward: str = "torch.relu(x)", check: str = "pass", **instead: str) -> LoadedProblem:
    text = TEXT.replace("FORWARD", forward).replace("CHECK", check)
    for before, after in instead.items():
        text = text.replace({"timed": "n=500, m=7000)", "small": "n=5, m=70,"}[before], after)
    (folder / "some.py").write_text(text)
    return load_problem(str(folder / "some.py"))


def params(problem: LoadedProblem, parts: dict[str, int] | None = None) -> list[dict[str, Scalar]]:
    small, large = problem.cases
    return [case.params for case, _ in longer(problem, [small], large, parts)]


def test_each_size_is_longer_alone_or_as_much_of_it_as_fits(tmp_path: Path) -> None:
    problem = loaded(tmp_path, timed="n=500, m=1000000)")
    small, large = problem.cases
    made = [*longer(problem, [small], large)]
    assert [(case.name, case.params, names) for case, names in made] == [
        ("derived_n_500", {"n": 500, "m": 70}, ("n",)),
        ("derived_m_31250", {"n": 5, "m": 31250}, ("m",)),
    ]
    assert all(case.small and case.derived and not case.held_out for case, _ in made)
    assert all(problem.traced(case).elements <= MOST_ELEMENTS for case, _ in made)


def test_a_size_is_divided_where_a_part_of_it_is_asked_for(tmp_path: Path) -> None:
    problem = loaded(tmp_path)
    assert params(problem, {"m": 4, "n": 1}) == [{"n": 5, "m": 1750}, {"n": 500, "m": 70}]
    assert params(problem, {"m": 1000}) == [], "no longer than the small case"
    assert params(loaded(tmp_path, timed="n=500, m=4096)"), {"m": 3}) == [{"n": 5, "m": 1360}], "as 4096, of 16"


def test_a_size_is_longer_than_each_judged_one_of_its_kind_and_dtype(tmp_path: Path) -> None:
    """500 and 7000 are no multiples of 16."""
    problem = loaded(tmp_path)
    small, large = problem.cases
    judged = Case(name="judged", params={"n": 9, "m": 7001}, small=True)

    def found(**changes: object) -> list[tuple[str, ...]]:
        return [names for _, names in longer(problem, [small, msgspec.structs.replace(judged, **changes)], large)]

    assert found() == [("n",)]
    assert found(params={"n": 9, "m": 8000}) == [("n",), ("m",)], "a multiple of 16 says nothing of others"
    assert found(dtype="float16") == [("n",), ("m",)]


def test_no_size_changes_that_makes_another_problem_or_has_to_follow_another(tmp_path: Path) -> None:
    problem = loaded(tmp_path, "torch.relu(x) if x.shape[0] > 100 else torch.exp(x)")
    assert params(problem) == [{"n": 500, "m": 70}]
    small, large = problem.cases
    half = msgspec.structs.replace(large, dtype="bfloat16")
    assert [case.dtype for case, _ in longer(problem, [small], half)] == ["float32"], "as small cases have it"
    assert params(loaded(tmp_path, check="assert n * 14 == m")) == []


def test_the_sizes_are_those_of_the_smallest_judged_case_that_is_the_same_problem(tmp_path: Path) -> None:
    problem = loaded(tmp_path, "x.sum(0) if x.shape[1] > 1 else x[0] + 1", small="n=5, m=70,")
    small, large = problem.cases
    one = msgspec.structs.replace(small, name="one", params={"n": 2, "m": 1})
    assert next(case.params for case, _ in longer(problem, [one, small], large)) == {"n": 500, "m": 70}


def test_flags_and_numbers_that_are_no_sizes_are_those_of_the_large_case(tmp_path: Path) -> None:
    text = TEXT.replace("FORWARD", "x.roll(k, 0) if up else x").replace("(self, x)", "(self, x, k, up)")
    text = text.replace("CHECK", "pass")
    text = text.replace("n=500, m=7000)", "n=500, m=70, k=19, up=True)").replace("m=70,", "m=70, k=1, up=False,", 1)
    text = text.replace("get_inputs(n, m)", "get_inputs(n, m, k, up)").replace("(n, m)]", "(n, m), k, up]")
    (tmp_path / "some.py").write_text(text)
    problem = load_problem(str(tmp_path / "some.py"))
    assert params(problem) == [{"n": 500, "m": 70, "k": 19, "up": True}]


def test_sizes_that_are_equal_in_the_large_case_alone_are_equal_in_one_case(tmp_path: Path) -> None:
    problem = loaded(tmp_path, timed="n=7000, m=7000)")
    assert params(problem)[-1] == {"n": 70, "m": 70}
    assert params(loaded(tmp_path, timed="n=500, m=500)", small="n=5, m=5,"))[-1] != {"n": 5, "m": 5}, "is judged"
