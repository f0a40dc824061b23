"""The entries that docs/problems.md shows are entries."""

from __future__ import annotations

from entered import case, problem
from kernelwright.entries import ENTRIES, with_entry
from pages import ROOT, codes

PAGE = ROOT / "docs" / "problems.md"


def shown(name: str) -> str:
    (text,) = (code.text for code in codes(PAGE) if code.language == "python" and name in code.text)
    return text


def test_the_submission_that_the_page_shows_gets_an_entry() -> None:
    data = case({"data.0": (4, 3), "data.1": (3,), "data.2": (4, 3)}, [(4, 3)], arguments="{'data': (0, 1, 2)}")
    assert "def kernel_function(data):" in with_entry(shown("def custom_kernel("), problem(data))


def test_the_function_with_given_outputs_that_the_page_shows_gets_an_entry() -> None:
    both = [case({"x": (rows, 3), "y": (3,)}, [(rows, 3)], {"rows": rows}) for rows in (4, 7)]
    assert "solve(x, y, out, x.shape[0])" in with_entry(shown("def solve("), problem(*both))


def test_the_autograd_function_that_the_page_shows_gets_an_entry() -> None:
    made = problem(case({"x": (4, 3)}, [(4, 3)]), gradients=True)
    assert "kernel_function = Scale" in with_entry(f"import torch\n\n\n{shown('class Scale(')}", made)


def test_the_page_has_a_row_of_every_form_and_an_example_of_those_that_a_user_writes() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("### Other entries")[2].partition("### Published files")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [name for name, row in zip(ENTRIES, rows, strict=True) if name not in row.split("|")[1]] == []
    assert text.count("```python") == sum(not form.is_whole for form in ENTRIES.values())
