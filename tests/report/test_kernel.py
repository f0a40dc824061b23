"""A candidate as a file."""

from __future__ import annotations

import ast

import msgspec

from kernelwright.model import Candidate, LibraryShare
from kernelwright.report.kernel import kernel_text
from kernelwright.text.escape import acting
from samples import BLOCK, failed, passed, run_view, short_run, trial


def test_the_comment_says_where_it_comes_from_and_how_it_fared() -> None:
    trials = short_run(measured=True)
    text = kernel_text(trials[4], run_view(trials, confirmed={4: passed(26.0, measured=True)}, device="NVIDIA H200"))
    ast.parse(text)
    assert text.splitlines()[:6] == [
        "# softmax, trial 4, round 2: improve of 1, by builtin",
        "# passed: 25.00 µs in the search",
        "# confirmation passed: 26.00 µs",
        "# on NVIDIA H200; torch 2.13.0, Triton 3.7.1",
        f"# config: {BLOCK}=4096",
        "",
    ]
    assert "BLOCK=4096" in text.partition("\n\n")[2]


def test_the_comment_names_the_library_steps_that_it_might_hold() -> None:
    shares = (LibraryShare(operator="aten.mm", calls=1, share=0.66),)
    searched = passed(25.0, measured=True)
    timed = msgspec.structs.replace(searched.results[1], library=shares)
    confirmed = msgspec.structs.replace(searched, library="any", results=(timed,))
    one = trial(4, searched)
    lines = kernel_text(one, run_view((one,), confirmed={4: confirmed}, device="NVIDIA H200")).splitlines()
    assert "# library: aten.mm, 66 % of the time (case square); LIBRARY = 'any'" in lines


def test_a_loser_carries_its_reason_and_every_line_of_it_stays_a_comment() -> None:
    loser = trial(2, failed(reason="first line\nsecond line"))
    lines = kernel_text(loser, run_view((loser,))).splitlines()
    assert lines[1:3] == ["# wrong: first line", "# second line"]
    ast.parse("\n".join(lines))


def test_what_hides_in_a_note_does_not_make_the_file_one_that_is_rejected() -> None:
    loser = trial(2, failed(reason="off by one"))
    hidden = msgspec.structs.replace(loser.proposal, note="wider\u200b rows \x1b[2J")
    text = kernel_text(msgspec.structs.replace(loser, proposal=hidden), run_view((loser,)))
    assert "# wider\\u200b rows \\x1b[2J" in text.splitlines()
    assert acting(text) is None


AUTOTUNED = """import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    pass
"""


def test_of_an_autotuned_kernel_the_file_has_the_config_that_was_judged() -> None:
    one = trial(4, msgspec.structs.replace(passed(25.0), autotune={"kernel": 2}))
    chosen = Candidate(source=AUTOTUNED, config={"autotune:kernel": 1})
    one = msgspec.structs.replace(one, proposal=msgspec.structs.replace(one.proposal, candidate=chosen))
    text = kernel_text(one, run_view((one,)))
    assert 'configs=([triton.Config({"BLOCK": 128})])' in text
    assert '"BLOCK": 64' not in text
