"""Symbols of a capture become names of the problem: constants in kernels, expressions in the host code."""

from __future__ import annotations

from typing import Any

import msgspec

from generated import LAUNCH, NAME, OUT, SIZES, Change, capture, of, unchanged
from kernelwright.inductor import candidate_text
from kernelwright.inductor.symbolic import host_lines
from kernelwright.model import Generated, Sizes

INDEX = "(r0_index + {width}*xindex)"


def converted(change: Change = unchanged, sizes: Sizes = SIZES, **others: Any) -> str:
    made = capture(change, sizes=sizes, **others)
    return candidate_text(Generated(captures=(made,), inputs=(("x", None),)), "any")


def test_a_variable_of_an_index_is_multiplied_by_one_constant() -> None:
    """Inductor multiplies strides out, and each product would be computed for every element."""
    text = converted(lambda text: text.replace(INDEX, "((-1)*xindex + r0_index + {width}*xindex + 2*{rows}*xindex)"))
    assert "x_ptr + ((-1 + dim + 2 * rows) * xindex + r0_index)" in text


def test_a_rounded_quotient_of_sizes_is_a_constant() -> None:
    text = converted(lambda text: text.replace("{width}*xindex", "triton_helpers.div_floor_integer({width}, 2)*xindex"))
    assert "dim // 2 * xindex" in text
    assert "floor_quotient" not in text


def test_a_local_name_of_a_kernel_is_not_a_size_of_that_name() -> None:
    """A convolution's template has a variable `depth`, and the problem a size."""
    text = converted(
        lambda text: text.replace("unread = xindex", "dim = 3 * xindex").replace("(xindex), tmp1", "(dim), tmp1")
    )
    assert "dim = 3 * xindex" in text
    assert "tl.store(out_ptr + dim, tmp1" in text
    assert "dim_2 * xindex" in text
    assert "dim_2=dim" in text


def test_a_number_that_is_computed_from_sizes_is_computed_by_the_host() -> None:
    sizes = msgspec.structs.replace(SIZES, floats={"0.015625": "float(dim) ** -0.5"})
    text = converted(lambda text: text.replace("total += ", "total += 0.015625 * "), sizes)
    assert "0.015625" not in text
    assert "float(dim) ** (-0.5)" in text.partition("def kernel_function")[2]


def test_a_kernel_that_is_launched_with_other_sizes_is_another_kernel() -> None:
    other = msgspec.structs.replace(LAUNCH, arguments=("x", "buf0", "dim - 1", "rows", "rows", "dim"))
    text = converted(steps=(OUT, LAUNCH, other))
    assert "r0_index + dim * xindex" in text
    assert "r0_index + (dim - 1) * xindex" in text
    assert text.count("def layer_norm_relu_reduce") == 2
    same = converted(steps=(OUT, LAUNCH, LAUNCH))
    assert same.count("def layer_norm_relu_reduce") == 1
    assert NAME not in text


def test_a_tensor_is_allocated_with_its_strides() -> None:
    for stride, made in ((None, "empty((rows, dim), "), (("1", "rows"), "empty_strided((rows, dim), (1, rows), ")):
        text = converted(steps=(msgspec.structs.replace(OUT, shape=("rows", "dim"), stride=stride), LAUNCH))
        assert f"out = torch.{made}dtype=torch.float32, device=x.device)" in text


def test_what_the_kernels_do_not_serve_is_refused() -> None:
    sizes = Sizes(
        values={"hidden": 64, "heads": 8, "side_1": 5}, shapes=(("hidden",), ("hidden // heads", "3")),
        reads=(("heads", "hidden // cos.shape[0]", ("hidden % cos.shape[0] == 0",)), ("side_1", "hidden // 12", ())),
        conditions=("hidden <= 65535",), least={"hidden": 2, "heads": 1},
    )  # fmt: skip
    arguments = {"x": ("hidden",), "cos": ("hidden // heads", "3")}
    lines = host_lines(sizes, arguments, "read(hidden)")
    assert lines[:2] == ["hidden, = x.shape", "heads = hidden // cos.shape[0]"]
    assert [one for one in lines if one.startswith("if")] == [
        "if tuple(cos.shape) != (hidden // heads, 3):", "if not (hidden % cos.shape[0] == 0):", "if hidden < 2:",
        "if not (hidden <= 65535):",
    ]  # fmt: skip
    assert not any("side_1" in one for one in lines), "nothing reads it"
    assert any("side_1 = " in one for one in host_lines(sizes, arguments, "read(side_1)"))


def test_an_argument_whose_shape_tells_a_size_is_an_argument_of_the_kernel() -> None:
    (made,) = of().captures
    assert made.sizes is not None
    sizes = msgspec.structs.replace(
        SIZES, values={**SIZES.values, "heads": 8},
        shapes=(("rows", "dim"), ("dim // heads",)), reads=(("heads", "dim // bias.shape[0]", ()),),
    )  # fmt: skip
    made = msgspec.structs.replace(made, names=("x", "bias"), tensors=made.tensors * 2, sizes=sizes)
    text = candidate_text(Generated(captures=(made,), inputs=(("x", None),)))
    assert "def kernel_function(x, bias):" in text
