"""The page docs/problems.md: what it shows is a problem."""

from __future__ import annotations

import re
from pathlib import Path

from kernelwright.worker.reference import load

PAGE = (Path(__file__).parents[2] / "docs" / "problems.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_files_that_the_page_shows_load_with_their_cases_and_their_work(tmp_path: Path) -> None:
    problem_text, cases_text = blocks("python")[:2]
    (work_text,) = (text for text in blocks("python") if text.startswith("def work("))
    native = tmp_path / "native.py"
    native.write_text(problem_text + cases_text + work_text)
    problem = load.load_problem(str(native))
    assert [case.name for case in problem.cases] == ["large", "odd", "small"]
    for case in problem.cases:
        specs = problem.specs(case)
        assert specs.outputs[0].shape == (case.params["batch_size"], case.params.get("features", 1024))
        assert problem.work(case) == (sum(problem.least_work(case).flop.values()), load.compulsory_bytes(specs))


def test_the_sidecar_that_the_page_shows_fits_the_file_that_it_shows(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(blocks("python")[0])
    (tmp_path / "bench.cases.json").write_text(blocks("json")[0])
    problem = load.load_problem(str(tmp_path / "bench.py"))
    assert [problem.specs(case).outputs[0].shape for case in problem.cases] == [(4096, 1024), (1003, 777), (3, 33)]
