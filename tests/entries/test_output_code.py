"""Inductor's `output_code.py` becomes a candidate."""

from __future__ import annotations

from pathlib import Path

import pytest

from entered import case, problem
from kernelwright import codec
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled
from kernelwright.entries.output_code import kernel_of
from kernelwright.inductor import NotConverted
from kernelwright.inductor.arithmetic import parsed, value_of
from kernelwright.model import Generated
from output_code import FILE

SUM = problem(case({"x": (70,), "y": (70,)}, [(70,)]))
RECORDED = sorted((Path(__file__).parents[1] / "inductor" / "recorded").glob("torch-*.json"))


def test_the_kernels_and_the_host_code_become_a_candidate() -> None:
    text = with_entry(FILE, SUM)
    assert "def kernel_function(x, y):" in text
    assert "add_map[(triton.cdiv(70, XBLOCK),)](x, y, out, xnumel=70," in text
    assert "They serve the captured sizes only" in text
    assert "torch._inductor" not in text


def test_arguments_are_matched_by_shape_and_by_name_where_the_file_has_it() -> None:
    other = FILE.replace("arg1_1, (70, ), (1, )", "arg1_1, (70, ), (2, )")
    with pytest.raises(
        NotCalled, match=r"takes arg1_1 of shape \(70,\), and no case has such a tensor .*: state a case"
    ):
        with_entry(other, SUM)
    swapped = FILE.replace("arg0_1", "y").replace("arg1_1", "x")
    assert "](y, x, out, xnumel=70," in with_entry(swapped, SUM)


HOST = """
def call(args):
    arg0_1, arg1_1 = args
    assert_size_stride(arg0_1, (2, 3), (3, 1))
    assert_size_stride(arg1_1, (2, 3), (3, 1))
    buf0 = empty_strided_cuda((2, 2), (2, 1), torch.float32)
    extern_kernels.mm(arg0_1, reinterpret_tensor(arg1_1, (3, 2), (1, 3), 0), out=buf0)
    buf1 = empty_strided_cuda((2, 2), (2, 1), torch.float32)
    triton_poi_fused_add_0.run(buf0, buf0, buf1, 4, stream=stream0)
    return (buf1, )
"""


def test_a_product_of_a_view_is_a_library_step() -> None:
    rows = problem(case({"x": (2, 3), "y": (2, 3)}, [(2, 2)]), library="any")
    made = with_entry(FILE.partition("def call")[0] + HOST, rows)
    (product,) = (line.strip() for line in made.splitlines() if "torch.mm(" in line)
    assert product == "torch.mm(x, y.as_strided((3, 2), (1, 3)), out=buf0)"


@pytest.mark.parametrize(("old", "new", "words"), [
    ("stream0 = get", "buf0.fill_(3)\n        stream0 = get", r"cannot be converted: .*buf0\.fill_\(3\)"),
    ("(70, ), (1, ))", "(s0, ), (1, ))", r"line \d+: \(s0,\) is not in whole numbers: compile with dynamic=False"),
    ("buf0, 70,", "buf0[0], 70,", r"line \d+: buf0\[0\] is no tensor of output_code\.py"),
    ("{'x': 128}", "{'x': [}", "cannot be converted: text of output_code.py in an unknown form"),
    ("{'x': 128}", "{{}: 1}", "cannot be converted: the config of triton_poi_fused_add_0 has no XBLOCK"),
    ("(70, ), (1, ))", "({{}}, ), (1, ))", r"is not in whole numbers"),
    ("triton_poi_fused_add_0.run(", "extern_kernels.mm(buf0, buf0)\n        triton_poi_fused_add_0.run(",
     r"extern_kernels\.mm is no tensor"),
    ("Grid1D", "Grid9D", "cannot be converted: .*Grid9D, in the text of output_code.py"),
])  # fmt: skip
def test_what_cannot_be_converted_is_named(old: str, new: str, words: str) -> None:
    with pytest.raises(NotCalled, match=words):
        with_entry(FILE.replace(old, new, 1), SUM)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_every_block_of_recorded_kernels_gets_a_size(file: Path) -> None:
    for generated in codec.decode(file.read_bytes(), dict[str, Generated]).values():
        for kernel in (one for made in generated.captures for one in made.kernels):
            found = kernel_of(kernel.name, kernel.source)
            assert found.grid == kernel.grid
            assert kernel.configs[0].keys() <= found.configs[0].keys(), kernel.name


@pytest.mark.parametrize(("text", "is_one"), [
    ("2 * x + triton.cdiv(x, 3) // max(y, 1)", True),
    ("float(x) ** (-0.5)", True),
    ("(1.0 / float(width) ** 0.5) ** 0.5", True),
    ("9 ** 9 ** 9", False),
    ("(x + y) ** 9", False),
    ("().__class__", False),
    ("[x for x in y]", False),
    ("'a' * 9", False),
    ("x.shape", False),
])  # fmt: skip
def test_only_arithmetic_of_numbers_is_evaluated(text: str, is_one: bool) -> None:
    try:
        value_of(parsed(text), {"x": 7, "y": 3, "width": 5})
    except NotConverted:
        assert not is_one
    else:
        assert is_one
