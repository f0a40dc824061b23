"""Generated texts at several sizes become one candidate, and what cannot be converted is refused with its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from generated import LAUNCH, NAME, SIZES, Change, capture, of_even_rows, of_rows, of_sum, unchanged
from kernelwright import codec
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts
from kernelwright.inductor.candidate import _dense
from kernelwright.inductor.reading import Module, read_module
from kernelwright.model import Capture, Generated, TensorSpec
from kernelwright.source.tunables import default_config

Bound = Callable[[int, int], int | str]


def converted(change: Change = unchanged, sizes: tuple[tuple[int, int], ...] = SIZES, **options: str) -> str:
    captures = tuple(capture(rows, width, change, **options) for rows, width in sizes)
    return candidate_text(Generated(captures=captures, inputs=(("x", None),), torch="2.13"))


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
    two = converted(lambda text: text.replace("return (buf0, )", "return (buf0, buf1, )").replace(
        LAUNCH, "buf1 = empty_strided_cuda(({rows}, ), (1, ), torch.float32)\n        " + LAUNCH))  # fmt: skip
    assert two.endswith("return out_1, out_2\n")


def test_what_no_line_reads_is_not_computed() -> None:
    """The kernel computes shifted sizes itself when it is compiled."""
    text = bounded_by(lambda rows, width: f"{width - 2} + 0 * {2 * rows + 1}")
    assert "r0_index < dim - 2 + 0 * (2 * rows + 1)" in text
    assert "dim_1" not in text


def test_a_text_that_the_conversion_does_not_know_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(text: str) -> None:
        raise KeyError("a new form")

    monkeypatch.setattr("kernelwright.inductor.candidate.read_module", faulty)
    with pytest.raises(
        NotConverted, match=r"torch 2\.13 in an unknown form \(KeyError: 'a new form'; test_candidate\.py:\d+\)"
    ):
        candidate_text(msgspec.structs.replace(of_rows(), reason="another text than those that were converted"))


def test_several_kernels_say_whose_their_tunables_are() -> None:
    text = converted(twice)
    assert "# layer_norm_relu_reduce\nXBLOCK_1 = " in text
    assert "# layer_norm_relu_reduce_2\nXBLOCK_2 = " in text


@pytest.mark.parametrize(("width", "is_small"), [("40", True), ("41", False)])
def test_a_kernel_of_less_than_a_hundredth_of_the_elements_is_not_tuned(width: str, is_small: bool) -> None:
    text = converted(lambda text: twice(text, width))
    blocks = re.findall(r"^(XBLOCK\w*) = ", text, re.MULTILINE)
    assert blocks == (["XBLOCK"] if is_small else ["XBLOCK_1", "XBLOCK_2"])
    second = " ".join(text.partition("layer_norm_relu_reduce_2[")[2].split())
    assert second.startswith("(triton.cdiv(rows, 1),)](" if is_small else "(triton.cdiv(rows, XBLOCK_2),)](")
    assert ("XBLOCK=1, R0_BLOCK=2048, num_warps=16, num_stages=1" in second) == is_small


def twice(text: str, width: str = "{width}") -> str:
    """The same kernel a second time, under another name. width: of the second launch."""
    start, end = text.index("# Topologically"), text.index("def call")
    second = LAUNCH.replace("_relu_0", "_relu_1").replace("{width}", width)
    return text[:end] + text[start:end].replace("_relu_0", "_relu_1") + text[end:].replace(
        LAUNCH, LAUNCH + "\n        " + second)  # fmt: skip


def test_blocks_and_warps_are_tunables_and_sizes_are_none(candidate: str) -> None:
    assert default_config(candidate) == {"XBLOCK": 1, "R0_BLOCK": 2048, "NUM_WARPS": 16, "NUM_STAGES": 1}


def test_shapes_that_the_comparison_never_saw_are_refused_by_the_candidate() -> None:
    text = converted(sizes=((64, 4096), (61, 4096), (58, 4096)))
    assert "if tuple(x.shape) != (rows, 4096):" in text
    assert "raise ValueError" in text


def test_a_buffer_of_half_precision_follows_the_input() -> None:
    text = converted(lambda text: text.replace("torch.float32)", "torch.float16)"), dtype="float16")
    assert "dtype=x.dtype" in text
    assert "torch.float16" not in text


def persistent(text: str) -> str:
    text = text.replace(" = {width}\n", " = {width}\n    R0_BLOCK: tl.constexpr = 4096\n", 1)
    return text.replace(", R0_BLOCK : tl.constexpr", "")


def test_the_width_of_a_persistent_reduction_follows_its_extent_and_is_no_tunable() -> None:
    text = converted(persistent)
    assert "R0_WIDTH=triton.next_power_of_2(dim)" in text
    assert all("R0" not in key for key in default_config(text))
    with pytest.raises(NotConverted, match="power of two"):
        converted(lambda text: persistent(text).replace("= 4096", "= 8192"))


def test_sizes_of_windows_and_of_parts_are_expressions() -> None:
    parts = converted(lambda text: text.replace("tl.range(0, r0_numel", "tl.range(0, ({width} + 35) // 36"))
    assert "4096 + 35" not in parts
    assert "(dim + 35) // 36" in parts
    shifted = tuple((rows, width) for rows, width in SIZES)
    texts = [capture(r, w, lambda t, w=w: t.replace("< r0_numel)", f"< {w - 2})")) for r, w in shifted]  # type: ignore[misc]
    text = candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))
    assert "r0_index < dim - 2)" in text
    assert "dim_1" not in text


def test_a_part_without_a_rest_is_a_quotient() -> None:
    texts = [capture(r, 8 * w, lambda t, n=r * w: t.replace("< r0_numel)", f"< {n})"))  # type: ignore[misc]
             for r, w in ((64, 512), (61, 509), (58, 502))]  # fmt: skip
    assert "part_1 = rows * dim // 8" in candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))


def test_a_reduction_is_split_into_fewer_parts_at_smaller_sizes() -> None:
    """The compared sizes have different numbers of parts, so that all numbers that follow from it are known."""
    text = candidate_text(of_sum(128, 71, 79))
    host = " ".join(text.partition("def kernel_function")[2].split())
    assert "part_1 = max(256, triton.cdiv(rows * dim, 128)) splits_1 = triton.cdiv(rows * dim, part_1)" in host
    assert "out = torch.empty((splits_1,), dtype" in host
    assert "[(triton.cdiv(splits_1, XBLOCK),)](" in host
    assert "xnumel=splits_1, r0_numel=part_1," in host
    assert "if max(splits_1 * part_1, rows * dim) >= 2**31:" in host
    assert "(r0_index + part_1 * xindex < rows * dim)" in text
    assert text.count("128") == 1


def test_another_number_that_equals_the_number_of_parts_stays() -> None:
    other = of_sum(128, 71, 79, change=partial(_replaced, "tmp1 = ", "tmp1 = 128 * "))
    text = candidate_text(other)
    assert "tmp1 = 128 * " in text
    assert "xnumel=splits_1" in text


def test_at_the_first_size_a_reduction_has_the_parts_that_inductor_chose() -> None:
    """There a part has 64 * 4096 / 2048 elements, fewer than the least number at other sizes."""
    text = candidate_text(of_sum(2048, 1151, 1279))
    assert "part_1 = max(115, triton.cdiv(rows * dim, 2048))" in text
    assert -(-64 * 4096 // max(115, 64 * 4096 // 2048)) == 2048


def test_parts_without_a_rest_leave_none_at_smaller_sizes() -> None:
    """There Inductor omits the mask of the last part. 192 divides 768, which divides every length that is served."""
    sizes = ((64, 6144), (48, 6112), (32, 6096))

    def triple(text: str) -> str:
        return re.sub(r"xindex < (\d+)\)", lambda found: f"xindex < {found[1]} + 0 * {3 * int(found[1])})", text)

    text = candidate_text(of_sum(768, 573, 762, sizes=sizes, change=triple))
    host = " ".join(text.partition("def kernel_function")[2].split())
    assert "part_1 = max(192, rows * dim // 768) splits_1 = rows * dim // part_1" in host
    assert "if (rows * dim) % 768 != 0:" in host
    assert "xindex < rows * dim + 0 * (3 * rows * dim))" in text, "and not 3 * part_1 * splits_1"


def test_parts_of_a_length_that_is_always_a_multiple_need_no_check() -> None:
    text = candidate_text(of_sum(128, 96, 80, sizes=((256, 4096), (256, 4083), (256, 4070))))
    assert "part_1 = max(128, 256 * dim // 128)" in text
    assert "splits_1 = 256 * dim // part_1" in text
    assert "% 128" not in text


def test_a_number_of_parts_that_is_the_same_at_all_sizes_is_a_number() -> None:
    text = candidate_text(of_sum(36, 36, 36))
    assert "part_1 = triton.cdiv(rows * dim, 36)" in text
    assert "xnumel=36, r0_numel=part_1," in text


def test_parts_of_the_same_length_at_all_sizes_are_refused() -> None:
    """Then their length is a number of the text, and no part may be longer."""
    with pytest.raises(NotConverted, match="100 elements at every size"):
        candidate_text(of_sum(2622, 2491, 2361))


def test_sizes_that_share_a_divisor_are_refused_where_others_do_not() -> None:
    text = converted(sizes=((64, 4096), (61, 4080), (58, 4070)))
    assert "if dim % 2 != 0:" in text
    assert "rows %" not in text
    assert "is odd" in converted(sizes=((64, 4095), (61, 4083), (58, 4071)))


def test_a_part_that_never_left_a_rest_is_not_rounded_up() -> None:
    """Inductor leaves the mask of the last part out there, so that another size would read beyond the input."""
    texts = [capture(r, w, lambda t, w=w: t.replace("< r0_numel)", f"< {w // 36} + 0 * 36)"))  # type: ignore[misc]
             for r, w in ((64, 36 * 117), (61, 36 * 113), (58, 36 * 106))]  # fmt: skip
    text = candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))
    assert "cdiv(dim" not in text
    assert "dim // 36" in text
    assert "if dim % 36 != 0:" in text


def test_kernels_that_do_not_serve_the_timed_case_are_none() -> None:
    def otherwise(text: str) -> str:
        return text.replace("tmp1 = ", "tmp1 = 1.0 * ")

    texts = [capture(64, 4096, unchanged), *(capture(61, width, otherwise) for width in (4083, 4070, 4057))]
    with pytest.raises(NotConverted, match="do not serve the timed case"):
        candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))
    texts += [capture(58, 4080, unchanged), capture(55, 4033, unchanged)]
    assert "tmp1 = 1.0 *" not in candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))


def test_the_reason_is_that_of_the_timed_cases_kernels() -> None:
    def changed(rows: int, other: str) -> Change:
        return lambda text: text.replace("< r0_numel)", f"< {77 * rows + 7 * rows**2})").replace("tmp1 = ", other)

    texts = [capture(r, w, changed(r, "tmp1 = ")) for r, w in SIZES]
    texts += [capture(61, w, lambda t: t.replace("tmp1 = ", "tmp1 = 1.0 * ")) for w in (4001, 4003, 4007, 4009)]
    with pytest.raises(NotConverted, match="no known size gives the number"):
        candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))


def test_a_number_that_may_be_two_expressions_is_not_guessed() -> None:
    # At both sizes the width is twice the rows, so that 2 * rows and dim cannot be told apart.
    texts = [capture(r, r, lambda t, r=r: t.replace("< r0_numel)", f"< {(r - 1) // 2})"), numbers={"n": r})  # type: ignore[misc]
             for r in (64, 62)]  # fmt: skip
    with pytest.raises(NotConverted, match="may be"):
        candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))


def bounded_by(bound: Bound, sizes: tuple[tuple[int, int], ...] = SIZES, **numbers: int) -> str:
    """A candidate in which the mask's bound is that number of the sizes."""
    made = []
    for rows, width in sizes:
        text = f"< {bound(rows, width)})"
        change = partial(_replaced, "< r0_numel)", text)
        made.append(capture(rows, width, change, numbers={"rows": rows, "dim": width, **numbers}))
    return candidate_text(Generated(captures=tuple(made), inputs=(("x", None),)))


def _replaced(old: str, new: str, text: str) -> str:
    return text.replace(old, new)


ROUND = ((64, 4096), (60, 4064), (56, 4032))
"""At these sizes no remainder shows by what a window is shifted."""


def test_numbers_that_the_file_keeps_say_which_window_it_is() -> None:
    with pytest.raises(NotConverted, match="may be"):
        bounded_by(lambda rows, width: (width - 7) // 4 + 1, ROUND)
    assert "dim_1 = (dim - 3) // 4" in bounded_by(lambda rows, width: (width - 7) // 4 + 1, ROUND, side=11, padding=2)
    assert "dim_1 = dim // 16" in bounded_by(lambda rows, width: (width - 16) // 16 + 1, side=16)


def test_channels_of_groups_are_a_quotient() -> None:
    assert "part_1 = dim // 8" in bounded_by(lambda rows, width: width // 8, ROUND, groups=8)


def test_a_neighbour_in_the_next_row_is_a_shifted_product() -> None:
    assert "rows * (dim + 1)" in bounded_by(lambda rows, width: rows * (width + 1))
    assert "rows * (dim - 2) + 1" in bounded_by(lambda rows, width: rows * (width - 2) + 1)
    assert "rows * (dim - 2)" in bounded_by(lambda rows, width: rows * (width - 2))


def test_a_product_with_a_part_is_the_same_whichever_factor_is_divided() -> None:
    """Both sides of a pool with stride 2: rows * (dim / 2) is dim * (rows / 2) where both are even."""

    def halves(rows: int, width: int) -> str:
        return f"{rows // 2} + 0 * {width // 2} + 0 * {rows * width // 2}"

    text = bounded_by(halves, ROUND)
    assert "< rows_1 + 0 * dim_1 + 0 * (rows * dim_1)" in text
    assert "if rows % 4 != 0:" in text
    assert "if dim % 32 != 0:" in text


def test_a_number_that_follows_from_no_size_ends_the_conversion() -> None:
    texts = [capture(r, w, lambda t, n=n: t.replace("< r0_numel)", f"< {n})"))  # type: ignore[misc]
             for n, (r, w) in zip((77777, 31, 52013), SIZES, strict=True)]  # fmt: skip
    with pytest.raises(NotConverted, match="77777 or 31 or 52013"):
        candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))


def unlike(rows: int) -> Change:
    """Of one structure, with a number that follows from no size."""
    return lambda text: text.replace("< r0_numel)", f"< {77 * rows + 7 * rows**2})")


def structured(rows: int) -> Change:
    """Of another structure at every size."""
    return lambda text: text.replace("tmp1 = ", "tmp1 = " + f"{rows}.0 * " * (rows % 7))


def raised(rows: int) -> Change:
    """At other sizes, of a form that the conversion does not know."""
    return lambda text: text if rows == SIZES[0][0] else text.replace(LAUNCH, "new_form()\n        " + LAUNCH)


@pytest.mark.parametrize("change", [unlike, structured, raised])
def test_where_sizes_do_not_agree_those_of_the_only_case_are_constants(change: Callable[[int], Change]) -> None:
    texts = tuple(capture(rows, width, change(rows)) for rows, width in SIZES)
    generated = Generated(captures=texts, inputs=(("x", None),), torch="2.13")
    with pytest.raises(NotConverted):
        candidate_text(generated)
    text = candidate_text(msgspec.structs.replace(generated, is_only_case=True))
    ast.parse(text)
    assert "captured sizes only" in text
    assert "if tuple(x.shape) != (64, 4096):" in text
    assert "% " not in text.partition("def kernel_function")[2]


def test_a_candidate_for_several_sizes_comes_before_one_for_the_captured_sizes() -> None:
    text = candidate_text(msgspec.structs.replace(of_rows(), is_only_case=True))
    assert text == candidate_text(of_rows())
    assert "captured sizes only" not in text


def test_the_round_sizes_of_the_timed_case_may_be_an_exception() -> None:
    """There Inductor leaves things out; the sizes around it count, where there are enough."""
    texts = [capture(r, w, lambda t, r=r: t.replace("tmp1 = ", "tmp1 = 1.0 * ") if r == 64 else t)  # type: ignore[misc]
             for r, w in (*SIZES, (55, 4057))]  # fmt: skip
    text = candidate_text(Generated(captures=tuple(texts), inputs=(("x", None),)))
    assert "tmp1 = 1.0 *" not in text
    with pytest.raises(NotConverted, match="another structure at every size"):
        candidate_text(Generated(captures=tuple(texts[:2]), inputs=(("x", None),)))


def test_what_serves_the_most_sizes_comes_first_and_the_timed_case_s_own_after_it() -> None:
    general, special = candidate_texts(of_even_rows())
    assert "tmp1 = 1.0 *" not in general
    assert "a multiple of" not in general
    assert "tmp1 = 1.0 *" in special
    assert "the kernels serve sizes where rows is a multiple of 16" in special
    assert candidate_text(of_even_rows()) == general


def test_a_kernel_with_other_tiles_than_at_the_timed_case_keeps_its_own_config() -> None:
    """There the kernel of the same name has one block, so its config has no R0_BLOCK."""
    timed, *others = of_even_rows().captures
    for configs, block in (({"XBLOCK": 64}, 1), ({"XBLOCK": 64, "R0_BLOCK": 32}, 64)):
        changed = msgspec.structs.replace(timed, configs={NAME: ({**configs, "num_warps": 2, "num_stages": 1},)})
        text = candidate_text(Generated(captures=(changed, *others), inputs=(("x", None),)))
        assert default_config(text)["XBLOCK"] == block


def test_the_other_configs_that_inductor_would_time_come_last() -> None:
    """A kernel with fewer configs has its first one beside the others."""
    second = NAME[:-1] + "1"

    def with_configs(one: Capture) -> Capture:
        [own] = one.configs[NAME]
        return msgspec.structs.replace(
            one, configs={NAME: (own, {**own, "XBLOCK": 4, "num_warps": 2}, {**own, "XBLOCK": 8}), second: (own,)}
        )

    captures = tuple(with_configs(capture(rows, width, twice)) for rows, width in SIZES)
    texts = candidate_texts(Generated(captures=captures, inputs=(("x", None),)))
    configs = [default_config(text) for text in texts]
    assert [(one["XBLOCK_1"], one["NUM_WARPS_1"], one["XBLOCK_2"]) for one in configs] == [
        (1, 16, 1), (4, 2, 1), (8, 16, 1),
    ]  # fmt: skip
    first, *others = [re.sub(r"(?m)^[A-Z0-9_]+ = \d+$", "", text) for text in texts]
    assert others == [first, first]


def test_templates_come_after_library_calls_where_both_are_allowed() -> None:
    calls = of_rows("extern_kernels.mm(arg0_1, arg0_1, out=buf0)")
    both = msgspec.structs.replace(calls, templates=of_rows().captures)
    assert ["torch.mm(" in one for one in candidate_texts(both, "any")] == [True, False]
    assert ["torch.mm(" in one for one in candidate_texts(both, "none")] == [False]


def test_where_one_of_the_two_cannot_be_converted_the_other_is_left() -> None:
    calls, other = of_rows("extern_kernels.mm(arg0_1, arg0_1, out=buf0)"), of_rows()
    broken = of_rows("buf1 = torch.ops.aten.nonzero.default(arg0_1)")
    assert candidate_texts(msgspec.structs.replace(broken, templates=other.captures), "none") == candidate_texts(other)
    both = msgspec.structs.replace(calls, templates=broken.captures)
    assert candidate_texts(both, "any") == candidate_texts(calls, "any")
    with pytest.raises(NotConverted, match=r"aten\.nonzero, which is no library step"):
        candidate_texts(both, "none")


def test_a_number_among_the_inputs_is_built_in_and_others_are_refused() -> None:
    made = tuple(capture(rows, width, unchanged) for rows, width in SIZES)
    text = candidate_text(Generated(captures=made, inputs=(("x", None), ("scale", "0.5"), ("mask", "None"))))
    assert "def kernel_function(x, scale, mask):" in text
    assert "if scale != 0.5:" in text
    assert "if mask is not None:" in text


def product(step: str) -> Change:
    return lambda text: text.replace(LAUNCH, step)


def test_a_library_call_becomes_a_library_step_where_the_problem_allows_it() -> None:
    both = product("extern_kernels.mm(arg0_1, arg0_1, out=buf0)\n        " + LAUNCH)
    captures = tuple(capture(rows, width, both) for rows, width in SIZES)
    generated = Generated(captures=captures, inputs=(("x", None),))
    text = candidate_text(generated, "any")
    assert "torch.mm(x, x, out=out)" in text
    assert "Library steps: aten.mm." in text
    with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY"):
        candidate_text(generated, "finish")


def test_one_of_several_results_of_a_library_call_is_a_tensor_like_others() -> None:
    step = (
        "buf1 = torch.ops.aten.topk.default(arg0_1, 8, 1, True, True)\n        buf2 = buf1[0]\n        "
        "assert_size_stride(buf2, ({rows}, 8), (8, 1), 'topk')\n        "
        "extern_kernels.mm(buf2, buf2, out=buf0)\n        "
    )
    captures = tuple(capture(rows, width, product(step + LAUNCH.replace("arg0_1", "buf2"))) for rows, width in SIZES)
    generated = Generated(captures=captures, inputs=(("x", None),))
    text = candidate_text(generated, "any")
    assert "buf1 = torch.topk(x, 8, 1, True, True)" in text
    assert "(buf1[0], out, " in " ".join(text.split()).replace("( ", "(")
    with pytest.raises(NotConverted, match=r"aten\.topk, aten\.mm, which need LIBRARY"):
        candidate_text(generated, "finish")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("maximum", "frexp", "triton_helpers.frexp"),
        ("Grid1D", "MixOrderReductionGrid", "MixOrderReductionGrid"),
        (LAUNCH, "workspace_0.zero_()\n        " + LAUNCH, "workspace_0.zero_()"),
        (
            LAUNCH,
            "buf1 = torch.ops.aten.nonzero.default(arg0_1)\n        " + LAUNCH,
            "aten.nonzero, which is no library step",
        ),
        (", {rows}, {width}, stream", ", {rows}, stream", "other arguments"),
        ("async_compile.triton", "async_compile.cpp", "async_compile.cpp"),
        ("def call(", "def other(", "no function call"),
        (
            LAUNCH,
            "check_anything(arg0_1, ({rows}, {width}))\n        " + LAUNCH,
            "check_anything(arg0_1, (64, 4096)), in the text of torch 2.13",
        ),
    ],
)
def test_what_cannot_be_converted_is_named(old: str, new: str, reason: str) -> None:
    with pytest.raises(NotConverted) as raised:
        converted(lambda text: text.replace(old, new))
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "bound", ["from torch.its.own.files import {}\n", "{} = torch._C._dynamo.guards.{}\n"], ids=["import", "name"]
)
def test_a_check_of_torch_is_left_out_whatever_its_name(bound: str, candidate: str) -> None:
    """torch 2.14 has this one, and one more that it imports, which earlier versions do not have."""
    check = "assert_size_stride_grouped"
    line = f"{check}((arg0_1, buf0), (({{rows}}, {{width}}), ({{rows}}, 1)), (({{width}}, 1), (1, {{rows}})), 'input')"
    changed = converted(
        lambda text: text.replace("def call(", bound.format(check, check) + "\ndef call(").replace(
            LAUNCH, f"{line}\n        {LAUNCH}"
        )
    )
    assert changed == candidate


def strided(*stride: int) -> str:
    """A candidate for an input that has these strides at the first size."""
    spec = TensorSpec(shape=(64, 4096), dtype="float32", stride=stride)
    first, *others = (capture(rows, width, unchanged) for rows, width in SIZES)
    changed = msgspec.structs.replace(first, tensors=(spec,))
    return candidate_text(Generated(captures=(changed, *others), inputs=(("x", None),)))


def test_an_input_of_other_strides_is_named() -> None:
    for stride in ((8192, 1), (0, 1)):
        with pytest.raises(NotConverted, match=rf"x has strides \({stride[0]}, 1\)"):
            strided(*stride)


def test_an_input_is_dense_in_the_order_of_its_strides() -> None:
    assert "    x = x.contiguous()\n" in strided(4096, 1)
    assert "    x = x.permute(1, 0).contiguous().permute(1, 0)\n" in strided(1, 64)
    one_channel = TensorSpec(shape=(3, 2, 1, 1), dtype="float32", stride=(2, 1, 2, 2))
    assert _dense("x", one_channel) == "x = x.contiguous()", "a side of length 1 may have any stride"


def test_nested_arguments_and_outputs_keep_their_nesting() -> None:
    captures = tuple(msgspec.structs.replace(one, names=("state.x",)) for one in of_rows().captures)
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

    def reading(text: str) -> Module:
        read.append(text)
        return read_module(text)

    monkeypatch.setattr("kernelwright.inductor.candidate.read_module", reading)
    generated = msgspec.structs.replace(of_rows(), torch="2.13 of this test")
    first = candidate_texts(generated, "finish")
    once = len(read)
    again = codec.decode(codec.encode(generated), Generated)
    assert candidate_texts(again, "any") == candidate_texts(again, "finish") == first
    assert len(read) == once > 0
