"""What Inductor generated becomes one candidate, and what cannot be converted is refused with its name."""

from __future__ import annotations

import ast
import re
from typing import Any

import msgspec
import pytest

from generated import (
    LAUNCH,
    MM,
    NAME,
    OUT,
    ROWS,
    SIZES,
    WIDTH,
    Change,
    X,
    capture,
    kernel,
    library,
    of,
    of_rows,
    unchanged,
)  # fmt: skip
from kernelwright import codec
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts
from kernelwright.inductor.candidate import _dense
from kernelwright.inductor.reading import Kernel, read_kernel
from kernelwright.model import Alias, Allocation, Generated, Items, Step, TensorSpec, TritonKernel, Unknown, View, Zeros
from kernelwright.source.tunables import default_config, find_tunables


def converted(change: Change = unchanged, **others: Any) -> str:
    return candidate_text(of(change, **others))


@pytest.fixture(scope="module")
def candidate() -> str:
    return converted()


def test_numbers_that_follow_from_shapes_are_computed(candidate: str) -> None:
    ast.parse(candidate)
    host = candidate.partition("def kernel_function")[2]
    assert "rows, dim = x.shape" in host
    assert "layer_norm_relu_reduce[(triton.cdiv(rows, XBLOCK),)](" in host
    assert "torch.empty((rows, 1), dtype=torch.float32, device=x.device)" in host
    assert "xnumel=rows, r0_numel=dim, dim=dim" in " ".join(host.split())
    assert not re.search(r"40[789]\d|61|58", candidate)


def test_a_kernel_has_a_readable_name_its_operations_and_own_functions(candidate: str) -> None:
    assert "# Fuses: native_layer_norm, relu.\n@triton.jit\ndef layer_norm_relu_reduce(" in candidate
    assert "x_ptr + (r0_index + dim * xindex)" in candidate
    assert "larger(tmp0, 0.0)" in candidate
    assert "def larger(a, b)" in candidate
    assert "def smaller" not in candidate
    for generated in ("unread", "triton_h", "stream", "async_compile", "hole_"):
        assert generated not in candidate


def test_a_function_that_only_libdevice_has_stays_and_is_imported(candidate: str) -> None:
    text = converted(
        lambda text: text.replace("triton_helpers.maximum(tmp0, 0.0)", "libdevice.expm1(libdevice.exp(tmp0))")
    )
    assert "total += libdevice.expm1(tl.exp(tmp0))" in text
    assert "from triton.language.extra import libdevice" in text
    assert "libdevice" not in candidate


def test_the_output_is_named_out_and_several_are_numbered(candidate: str) -> None:
    assert "out = torch.empty((rows, 1)" in candidate
    assert candidate.endswith("return out\n")
    more = Allocation(name="buf1", shape=("rows",), stride=None, dtype="torch.float32")
    two = converted(steps=(OUT, more, LAUNCH), outputs=(View(tensor="buf0"), View(tensor="buf1")))
    assert two.endswith("return out_1, out_2\n")


def test_what_no_line_reads_is_not_computed() -> None:
    """The kernel computes shifted sizes itself when it is compiled."""
    text = converted(lambda text: text.replace("< r0_numel)", "< {width} - 2 + 0 * (2 * {rows} + 1))"))
    assert "r0_index < dim - 2 + 0 * (2 * rows + 1)" in text
    assert "dim_1" not in text


def test_a_text_that_the_conversion_does_not_know_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(generated: TritonKernel) -> None:
        raise KeyError("a new form")

    monkeypatch.setattr("kernelwright.inductor.symbolic.read_kernel", faulty)
    with pytest.raises(
        NotConverted, match=r"torch 2\.13 in an unknown form \(KeyError: 'a new form'; test_candidate\.py:\d+\)"
    ):
        candidate_text(msgspec.structs.replace(of_rows(), reason="another text than those that were converted"))


def test_several_kernels_say_whose_their_tunables_are() -> None:
    text = converted(**twice())
    assert "# layer_norm_relu_reduce\nXBLOCK_1 = " in text
    assert "# layer_norm_relu_reduce_2\nXBLOCK_2 = " in text


@pytest.mark.parametrize(("width", "is_small"), [("40", True), ("41", False)])
def test_a_kernel_of_less_than_a_hundredth_of_the_elements_is_not_tuned(width: str, is_small: bool) -> None:
    text = converted(**twice(width))
    blocks = re.findall(r"^(XBLOCK\w*) = ", text, re.MULTILINE)
    assert blocks == (["XBLOCK"] if is_small else ["XBLOCK_1", "XBLOCK_2"])
    second = " ".join(text.partition("layer_norm_relu_reduce_2[")[2].split())
    assert second.startswith("(triton.cdiv(rows, 1),)](" if is_small else "(triton.cdiv(rows, XBLOCK_2),)](")
    assert ("XBLOCK=1, R0_BLOCK=2048, num_warps=16, num_stages=1" in second) == is_small


def twice(width: str = "dim") -> dict[str, Any]:
    """The same kernel a second time, under another name. width: of the second launch."""
    other = NAME[:-1] + "1"
    second = msgspec.structs.replace(LAUNCH, kernel=other, arguments=("x", "buf0", width, "rows", "rows", width))
    return {"kernels": (kernel(), kernel(name=other)), "steps": (OUT, LAUNCH, second)}


def test_a_loop_that_loads_fetches_as_many_iterations_ahead_as_its_tunable_says(candidate: str) -> None:
    assert "for r0_offset in tl.range(0, r0_numel, R0_BLOCK, num_stages=num_stages):" in candidate
    assert "num_stages: tl.constexpr" in candidate.partition("def layer_norm_relu_reduce(")[2].partition("):")[0]
    (stages,) = [one for one in find_tunables(candidate) if one.key == "NUM_STAGES"]
    assert stages.choices == (1, 2, 3, 4, 5)
    assert not stages.idle


def test_a_kernel_without_a_loop_that_loads_takes_no_number_of_iterations() -> None:
    loop = "    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):\n"
    text = converted(lambda text: text.replace(loop, "    r0_offset = 0\n    if xnumel > 0:\n"))
    assert "tl.load(" in text
    assert "num_stages: tl.constexpr" not in text


def test_blocks_and_warps_are_tunables_and_sizes_are_none(candidate: str) -> None:
    assert default_config(candidate) == {"XBLOCK": 1, "R0_BLOCK": 2048, "NUM_WARPS": 16, "NUM_STAGES": 1}


def test_a_buffer_of_half_precision_follows_the_input() -> None:
    made = capture(dtype="float16", steps=(msgspec.structs.replace(OUT, dtype="torch.float16"), LAUNCH))
    text = candidate_text(Generated(captures=(made,), inputs=(("x", None),)))
    assert "dtype=x.dtype" in text
    assert "torch.float16" not in text


def persistent(text: str) -> str:
    head = "R0_BLOCK : tl.constexpr):\n"
    text = text.replace(head, f"{head}    R0_BLOCK: tl.constexpr = 4096\n", 1)
    return text.replace(", R0_BLOCK : tl.constexpr", "")


def test_the_width_of_a_persistent_reduction_follows_its_extent_and_is_no_tunable() -> None:
    text = converted(persistent)
    assert "R0_WIDTH=triton.next_power_of_2(dim)" in text
    assert all("R0" not in key for key in default_config(text))
    fixed = converted(lambda text: persistent(text).replace("R0_BLOCK: tl", "r0_numel = 100\n    R0_BLOCK: tl"))
    assert "R0_WIDTH: tl.constexpr = 4096" in fixed, "the extent is a number in the text"


def test_sizes_that_are_constants_are_the_captured_ones_only() -> None:
    text = candidate_text(Generated(captures=(capture(at=(ROWS, WIDTH)),), inputs=(("x", None),)))
    ast.parse(text)
    assert "captured sizes only" in text
    assert "if tuple(x.shape) != (64, 4096):" in text
    assert "% " not in text.partition("def kernel_function")[2]


def test_the_other_configs_that_inductor_would_time_come_last() -> None:
    """A kernel with fewer configs has its first one beside the others."""
    both = twice()
    [own] = kernel().configs
    more = (own, {**own, "XBLOCK": 4, "num_warps": 2}, {**own, "XBLOCK": 8})
    both["kernels"] = (kernel(configs=more), both["kernels"][1])
    texts = candidate_texts(of(**both))
    configs = [default_config(text) for text in texts]
    assert [(one["XBLOCK_1"], one["NUM_WARPS_1"], one["XBLOCK_2"]) for one in configs] == [
        (1, 16, 1), (4, 2, 1), (8, 16, 1),
    ]  # fmt: skip
    first, *others = [re.sub(r"(?m)^[A-Z0-9_]+ = \d+$", "", text) for text in texts]
    assert others == [first, first]


def test_templates_come_after_library_calls_where_both_are_allowed() -> None:
    calls = of_rows(MM)
    both = msgspec.structs.replace(calls, templates=of_rows().captures)
    assert ["torch.mm(" in one for one in candidate_texts(both, "any")] == [True, False]
    assert ["torch.mm(" in one for one in candidate_texts(both, "none")] == [False]


def test_where_one_of_the_two_cannot_be_converted_the_other_is_left() -> None:
    calls, other = of_rows(MM), of_rows()
    broken = of_rows(NONZERO)
    assert candidate_texts(msgspec.structs.replace(broken, templates=other.captures), "none") == candidate_texts(other)
    both = msgspec.structs.replace(calls, templates=broken.captures)
    assert candidate_texts(both, "any") == candidate_texts(calls, "any")
    with pytest.raises(NotConverted, match=r"aten\.nonzero, which is no library step"):
        candidate_texts(both, "none")


def test_a_number_among_the_inputs_is_built_in_and_others_are_refused() -> None:
    text = candidate_text(of(inputs=(("x", None), ("scale", "0.5"), ("mask", "None"))))
    assert "def kernel_function(x, scale, mask):" in text
    assert "if scale != 0.5:" in text
    assert "if mask is not None:" in text


NONZERO = library("nonzero", X, result="buf1", fault="is no library step")


def test_a_library_call_becomes_a_library_step_where_the_problem_allows_it() -> None:
    generated = of_rows(MM)
    text = candidate_text(generated, "any")
    assert "torch.mm(x, x, out=out)" in text
    assert "Library steps: aten.mm." in text
    with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY"):
        candidate_text(generated, "finish")


def test_one_of_several_results_of_a_library_call_is_a_tensor_like_others() -> None:
    values = View(tensor="buf2")
    generated = of(steps=(
        OUT, library("topk", X, "8", "1", "True", "True", result="buf1"),
        Alias(name="buf2", view=View(tensor="buf1", item=(0,)), shape=("rows", "8")),
        library("mm", values, values, out=View(tensor="buf0")),
        msgspec.structs.replace(LAUNCH, arguments=("buf2", *LAUNCH.arguments[1:])),
    ))  # fmt: skip
    text = candidate_text(generated, "any")
    assert "buf1 = torch.topk(x, 8, 1, True, True)" in text
    assert "(buf1[0], out, " in " ".join(text.split()).replace("( ", "(")
    with pytest.raises(NotConverted, match=r"aten\.topk, aten\.mm, which need LIBRARY"):
        candidate_text(generated, "finish")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [("maximum", "frexp", "triton_helpers.frexp"), ("def triton_red", "def other_red", "has no function of that name")],
)
def test_a_kernel_that_cannot_be_converted_is_named(old: str, new: str, reason: str) -> None:
    with pytest.raises(NotConverted) as raised:
        converted(lambda text: text.replace(old, new))
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_kernel_with_a_grid_that_is_not_known_is_named() -> None:
    with pytest.raises(NotConverted, match="MixOrderReductionGrid"):
        converted(kernels=(kernel(grid="MixOrderReductionGrid"),))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((NONZERO, LAUNCH), "aten.nonzero, which is no library step"),
        ((msgspec.structs.replace(LAUNCH, arguments=LAUNCH.arguments[:-1]),), "other arguments"),
        ((Unknown(text="check_anything(arg0_1)"), LAUNCH), "check_anything(arg0_1), in the text of torch 2.13"),
        ((msgspec.structs.replace(LAUNCH, arguments=("x", "_tensor_constant0", *LAUNCH.arguments[2:])),), "constant0"),
    ],
)
def test_a_step_that_cannot_be_converted_is_named(steps: tuple[Step, ...], reason: str) -> None:
    with pytest.raises(NotConverted) as raised:
        converted(steps=(OUT, *steps))
    assert reason in str(raised.value)


def test_a_tensor_that_is_filled_with_zeros_is() -> None:
    assert "    out.zero_()\n    layer_norm" in converted(steps=(OUT, Zeros(tensor="buf0"), LAUNCH))


def test_a_view_of_a_view_begins_where_both_say() -> None:
    half = View(tensor="x", shape=("rows", "dim"), stride=("dim", "1"), offset="dim")
    more = View(tensor="buf1", shape=("rows",), stride=("dim",), offset="3")
    whole = View(tensor="buf1", dtype="torch.int32")
    text = converted(steps=(OUT, Alias(name="buf1", view=half), LAUNCH), outputs=(more, whole, View(tensor="buf1")))
    assert "return x.as_strided((rows,), (dim,), x.storage_offset() + dim + 3), " in text
    assert "x.as_strided((rows, dim), (dim, 1), x.storage_offset() + dim).view(torch.int32), " in text


def test_what_a_library_call_writes_to_its_argument_is_copied_there() -> None:
    """Library steps write to new tensors."""
    call = library("index_put", View(tensor="buf0"), Items(items=(X, "None")), X, copied=View(tensor="buf0"))
    text = candidate_text(of_rows(call), "any")
    assert "    out.copy_(torch.index_put(out, [x, None], x))\n" in text


def strided(*stride: int) -> str:
    """A candidate for an input that has these strides at the first size."""
    spec = TensorSpec(shape=(64, 4096), dtype="float32", stride=stride)
    (first,) = of().captures
    return candidate_text(of(captures=(msgspec.structs.replace(first, tensors=(spec,)),)))


def test_an_input_of_other_strides_is_named() -> None:
    for stride in ((8192, 1), (0, 1)):
        with pytest.raises(NotConverted, match=rf"x has strides \({stride[0]}, 1\)"):
            strided(*stride)


def test_an_input_is_dense_in_the_order_of_its_strides() -> None:
    assert "    x = x.contiguous()\n" in strided(4096, 1)
    assert "    x = x.permute(1, 0).contiguous().permute(1, 0)\n" in strided(1, 64)
    one_channel = TensorSpec(shape=(3, 2, 1, 1), dtype="float32", stride=(2, 1, 2, 2))
    assert _dense("x", one_channel, False) == ["x = x.contiguous()"], "a side of length 1 may have any stride"


def test_nested_arguments_and_outputs_keep_their_nesting() -> None:
    launch = msgspec.structs.replace(LAUNCH, arguments=("state_x", *LAUNCH.arguments[1:]))
    captures = tuple(msgspec.structs.replace(one, names=("state.x",)) for one in of(steps=(OUT, launch)).captures)
    generated = Generated(
        captures=captures, inputs=(("state.x", None), ("state.more.0", "2")),
        arguments="{'state': {'x': 0, 'more': (1,)}}", returns="{'mean': 0, 'more': (None, (0,))}",
    )  # fmt: skip
    text = candidate_text(generated)
    assert "def kernel_function(state):\n    state_x = state['x']\n    state_more_0 = state['more'][0]\n" in text
    assert "if state_more_0 != 2:" in text
    assert "return {'mean': out, 'more': (None, (out,),)}" in text


def test_where_nothing_was_generated_the_reason_is_given() -> None:
    with pytest.raises(NotConverted, match="nested"):
        candidate_text(Generated(reason="inputs are nested"))


def test_what_was_converted_is_not_converted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(generated: TritonKernel) -> Kernel:
        read.append(generated.name)
        return read_kernel(generated)

    monkeypatch.setattr("kernelwright.inductor.symbolic.read_kernel", reading)
    generated = msgspec.structs.replace(of_rows(), torch="2.13 of this test")
    first = candidate_texts(generated, "finish")
    once = len(read)
    again = codec.decode(codec.encode(generated), Generated)
    assert candidate_texts(again, "any") == candidate_texts(again, "finish") == first
    assert len(read) == once > 0


def test_several_captures_are_one_candidate_that_chooses_by_what_is_constant_in_each() -> None:
    """Kernels and tunables have names of their own; the last capture refuses what it does not serve."""
    sized = msgspec.structs.replace(SIZES, values={"rows": ROWS}, shapes=(("rows", "4096"),), least={"rows": 2})
    wide, small = (capture(at=(ROWS, WIDTH)), capture(at=(3, 5)))
    wide = msgspec.structs.replace(wide, sizes=sized)
    half = msgspec.structs.replace(small, tensors=(msgspec.structs.replace(small.tensors[0], dtype="float16"),))
    text = candidate_text(Generated(captures=(wide, small, half), inputs=(("x", None),)))
    ast.parse(text)
    assert "def layer_norm_relu_reduce_3(" in text
    assert {"XBLOCK", "XBLOCK_SIZES_2", "XBLOCK_SIZES_3"} <= default_config(text).keys()
    assert text.endswith(
        'def kernel_function(x):\n    if x.dim() != 2:\n        raise ValueError("x needs 2 dimensions")\n'
        "    if x.shape[1] == 4096 and x.dtype == torch.float32:\n        return kernel_function_1(x)\n"
        "    if x.shape[1] == 5 and x.dtype == torch.float32:\n        return kernel_function_2(x)\n"
        "    return kernel_function_3(x)\n"
    )
