"""Reading replies: which code counts, which note, which author, and what is refused in which words."""

from __future__ import annotations

import pytest

from kernelwright.model import Candidate
from kernelwright.propose.reflection import reflection_in
from kernelwright.propose.reply import (
    Unusable,
    author_in,
    blocks,
    candidate_in,
    checked,
    code_in,
    diagnosis_in,
    docstring_line,
    expected_in,
    has_whole_block,
    new_candidate,
    note_in,
)
from proposing import KERNEL, OTHER, REPLY, starter, trial


def test_the_python_block_of_a_reply_is_its_code() -> None:
    assert code_in("Text.\n```python\nx = 1\n```\nMore.") == "x = 1\n"
    assert candidate_in(REPLY, ()).source == KERNEL.replace("BLOCK = 256", "BLOCK = 1024")


@pytest.mark.parametrize("opening", ["```python", "``` py", "```Python3", "~~~python", "````python title=k.py", "```"])
def test_fences_of_all_kinds_are_understood(opening: str) -> None:
    fence = opening[: len(opening) - len(opening.lstrip("`~"))]
    assert code_in(f"{opening}\nx = 1\n{fence}\n") == "x = 1\n"


def test_the_last_of_several_blocks_counts_and_marked_ones_before_unmarked() -> None:
    assert code_in("```python\nx = 1\n```\n```python\nx = 2\n```\n") == "x = 2\n"
    assert code_in("```python\nx = 1\n```\n```\noutput\n```\n```bash\nls\n```\n") == "x = 1\n"
    assert code_in("```\nx = 1\n```\n```text\nno\n```\n") == "x = 1\n"


def test_a_block_that_does_not_end_is_not_taken_for_whole() -> None:
    assert code_in("```python\nx = 1\n```\n```python\nx = 2\n") == "x = 1\n"
    with pytest.raises(Unusable, match="ends inside its code block: it was cut off"):
        code_in("```python\nx = 1\n")
    assert not has_whole_block("```python\nx = 1\n")
    assert not has_whole_block("```bash\nls\n```\n")
    assert has_whole_block(REPLY)


def test_a_longer_fence_holds_shorter_ones() -> None:
    assert code_in('````python\ndoc = """\n```\n"""\n````\n') == 'doc = """\n```\n"""\n'


@pytest.mark.parametrize("text", ["", "I cannot do that.", "```bash\nls\n```\n", "`x = 1`", "import triton"])
def test_a_reply_without_code_says_so(text: str) -> None:
    with pytest.raises(Unusable, match="no fenced Python block"):
        code_in(text)


def test_code_that_does_not_parse_is_refused_with_its_line() -> None:
    with pytest.raises(Unusable, match="does not parse as Python at line 2"):
        checked("x = 1\ndef broken(:\n")
    with pytest.raises(Unusable, match="does not parse"):
        checked("x = '\0'")


def test_code_without_an_entry_point_is_refused_with_what_it_has() -> None:
    with pytest.raises(Unusable, match=r"neither ModelNew nor kernel_function \(it defines Model, helper\)"):
        checked("class Model: pass\ndef helper(): pass\n")
    with pytest.raises(Unusable, match="it defines nothing"):
        checked("x = 1\n")


def test_code_that_the_run_had_before_is_refused_whatever_its_line_ends() -> None:
    reply = f"```python\n{KERNEL}```\n"
    with pytest.raises(Unusable, match="the same as that of trial 3"):
        candidate_in(reply, (trial(3, KERNEL.replace("\n", "  \r\n")),))
    with pytest.raises(Unusable, match="being evaluated"):
        candidate_in(reply, (), (Candidate(source=KERNEL),))
    assert candidate_in(reply, (trial(1, OTHER), trial(2, None))).source == KERNEL
    assert candidate_in(reply, (trial(1, config={"BLOCK": 512}),)).source == KERNEL


def test_the_note_is_the_marked_line_else_the_first_one() -> None:
    assert note_in(REPLY) == "a wider block."
    assert note_in("Some words.\n**Note:** wider loads\n```python\n```") == "wider loads"
    assert note_in("# Plan\nSplit it.\n```python\nNot this\n```") == "Plan"
    assert note_in("```python\nx = 1\n```\nNote: behind the code") == ""
    assert note_in("author: Ada\n\nIt is wider now.\n```python\n```") == "It is wider now."
    assert note_in("") == ""
    assert len(note_in("Note: " + "x" * 1000)) == 300


def test_an_author_is_signed_on_the_first_line_only() -> None:
    assert author_in("author: Ada Lovelace\n...") == "Ada Lovelace"
    assert author_in("# Author:  Ada  \nx = 1") == "Ada"
    assert author_in("\ufeffauthor: Ada") == "Ada"
    for text in ("", "author:\n", "Hello\nauthor: Ada", "authority: Ada", "```python\n# author: x\n```"):
        assert author_in(text) is None, text


def test_the_first_line_of_a_docstring_is_a_modules_note() -> None:
    assert docstring_line('# author: Ada\n"""Wider loads.\n\nMore."""\nx = 1\n') == "Wider loads."
    assert docstring_line("x = 1\n") == ""
    assert docstring_line("def broken(:") == ""


def test_code_that_differs_in_comments_docstrings_and_layout_only_is_a_repeat() -> None:
    told = (starter(),)
    same_code = '"""Another docstring."""\n# a comment\n' + KERNEL.replace("BLOCK = 256", "BLOCK   =   256  # wide")
    with pytest.raises(Unusable, match="the code is the same as that of trial 0"):
        new_candidate(same_code, told)
    assert new_candidate(KERNEL.replace("BLOCK = 256", "BLOCK = 257"), told)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Expect: 1.3x", 1.3),
        ("**Expect:** 2×", 2.0),
        ("- expect: 1.05 times", 1.05),
        ("Expect: much", None),
        ("", None),
    ],
)
def test_what_a_reply_promises_is_read(text: str, expected: float | None) -> None:
    assert expected_in(f"Note: x\n{text}\n") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Note: x\nDiagnosis: overruled, the loads are wide\n```python\n```", "overruled, the loads are wide"),
        ("**Diagnosis:** confirmed", "confirmed"),
        ("The diagnosis: is nothing at the start of a line", ""),
        ("Note: x", ""),
    ],
)
def test_what_is_said_of_the_diagnosis_is_kept(text: str, said: str) -> None:
    assert diagnosis_in(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 300_000, "*" * 300_000, "> " * 150_000, "```" + "a" * 300_000 + "`", "```" + " \t" * 150_000 + "`",
        "`" * 300_000 + "x", "Expect:" + " " * 300_000, "#" * 300_000 + "Expect 2", "claim: " + "a." * 150_000,
        "- claim: x up\n" * 20_000, "lesson:" + "\n" * 300_000, "~~~\n" * 70_000,
    ],
)  # fmt: skip
def test_a_long_reply_of_any_shape_is_read_at_once(text: str) -> None:
    """Quadratic reading of any of these takes hours, which no test could overlook."""
    for read in (note_in, expected_in, diagnosis_in, blocks):
        read(text)
    reflection = reflection_in("Lesson: x\n" + text, 1, {}, {})
    assert reflection is not None
    assert len(reflection.claims) <= 20
    with pytest.raises(Unusable):
        candidate_in(text, ())


@pytest.mark.parametrize("promise", ["1" * 400, "1e400", "999999999", "1.2.3"])
def test_a_promise_that_is_no_sane_number_is_none(promise: str) -> None:
    assert expected_in(f"Expect: {promise}x") is None


def test_a_module_that_is_too_long_or_too_deep_is_refused_in_words() -> None:
    with pytest.raises(Unusable, match="at most"):
        checked("class ModelNew: pass\n" + "x = 1\n" * 30_000)
    for deep in ("+".join("1" * 2000), "-" * 3000 + "1", "[" * 199 + "]" * 199, "(" * 5000 + ")" * 5000, "f(" * 999):
        with pytest.raises(Unusable, match="does not parse"):
            checked(f"class ModelNew: pass\nx = {deep}\n")
    assert checked("class ModelNew: pass\nx = " + "+".join("1" * 150) + "\n")
