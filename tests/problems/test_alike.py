"""Whether two problems call the same operators."""

from __future__ import annotations

import msgspec

from fakes import BOUND, PROBLEM
from kernelwright.model import Case, CaseInfo, TensorSpec
from kernelwright.problems.alike import described, signature

SOFTMAX = ("%1 = _softmax(x, -1, False) -> (4096, 4096) float32", "return %1")


def test_sizes_dtypes_and_names_do_not_matter() -> None:
    other = ("%1 = _softmax(logits, -1, False) -> (7, 33) bfloat16", "return %1")
    assert signature(SOFTMAX) == signature(other) is not None


def test_operators_their_arguments_and_ranks_matter() -> None:
    for line in (
        "%1 = _log_softmax(x, -1, False) -> (4096, 4096) float32",
        "%1 = _softmax(x, 0, False) -> (4096, 4096) float32",
        "%1 = _softmax(x, -1, True) -> (4096, 4096) float32",
        "%1 = _softmax(x, -1, False) -> (4096, 4096, 2) float32",
    ):
        assert signature((line, "return %1")) != signature(SOFTMAX)


def test_which_tensor_goes_where_matters() -> None:
    first = ("%1 = sub.Tensor(a, b) -> (4,) float32", "%2 = mul.Tensor(%1, a) -> (4,) float32", "return %2")
    other = ("%1 = sub.Tensor(a, b) -> (4,) float32", "%2 = mul.Tensor(%1, b) -> (4,) float32", "return %2")
    renamed = ("%1 = sub.Tensor(x, y) -> (9,) float32", "%2 = mul.Tensor(%1, x) -> (9,) float32", "return %2")
    assert signature(first) != signature(other)
    assert signature(first) == signature(renamed)


RMS = ("x: (112, 64, 512, 512) bfloat16", "%1 = mean.dim(x, [1], True) -> (112, 1, 512, 512) bfloat16", "return %1")


def test_which_dimensions_are_reduced_moved_or_padded_matters() -> None:
    assert signature(RMS) != signature([line.replace("[1]", "[-1]") for line in RMS])
    for line, others in {
        "%1 = permute(x, [0, 2, 1]) -> (4, 6, 5) float32": ("[1, 2, 0]", "[0, 1, 2]"),
        "%1 = sum.dim_IntList(x, [0, 2], False) -> (4,) float32": ("[1, 2]", "[0]"),
        "%1 = constant_pad_nd(x, [2, 3]) -> (9,) float32": ("[3, 2]",),
        "%1 = max_pool2d_with_indices(x, [3, 3], [2, 2]) -> (4, 4) float32": ("[5, 5]",),
    }.items():
        part = line[line.index("[") : line.index("]") + 1]
        for other in others:
            assert signature((line,)) != signature((line.replace(part, other),))


def test_a_dimension_of_one_element_is_no_size() -> None:
    product = ("A: (64, 32) float16", "B: (32, 16) float16", "%1 = mm(A, B) -> (64, 16) float16", "return %1")
    larger = ("A: (9, 8) float32", "B: (8, 7) float32", "%1 = mm(A, B) -> (9, 7) float32", "return %1")
    vector = ("A: (64, 32) float16", "B: (32, 1) float16", "%1 = mm(A, B) -> (64, 1) float16", "return %1")
    assert signature(product) == signature(larger) != signature(vector)
    assert signature(("%1 = view(x, [8, 1]) -> (8, 1) float32",)) != signature(
        ("%1 = view(x, [4, 2]) -> (4, 2) float32",)
    )


def test_the_ranks_of_inputs_matter() -> None:
    total = ("x: (8, 4) float32", "%1 = sum(x) -> () float32", "return %1")
    assert signature(total) == signature(("y: (9, 3) float16", *(line.replace("x", "y") for line in total[1:])))
    assert signature(total) != signature(("x: (8, 4, 2) float32", *total[1:]))


def test_a_problem_is_described_by_its_first_timed_case() -> None:
    small, timed = (
        CaseInfo(case=Case(name=str(size), small=size < 9), inputs=(spec(size, 4), 2.0), outputs=(), bytes=1, flop=1,
                 bound=BOUND, input_names=("x", "factor"), parameters={"linear.bias": spec(4)})
        for size in (8, 16)
    )  # fmt: skip
    info = msgspec.structs.replace(PROBLEM, cases=(small, timed), operators=SOFTMAX)
    assert described(info) == ("x: (16, 4) float32", "linear_bias: (4,) float32", *SOFTMAX)
    assert described(msgspec.structs.replace(info, operators=())) == ()


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape=shape, dtype="float32", stride=(1,) * len(shape))


def test_sizes_inside_lists_and_constants_do_not_matter() -> None:
    first = (
        "%1 = view(x, [64, -1]) -> (64, 8) float32",
        "%2 = add.Tensor(%1, a constant (8,) float32) -> (64, 8) float32",
    )
    other = (
        "%1 = view(x, [32, -1]) -> (32, 4) float16",
        "%2 = add.Tensor(%1, a constant (4,) float16) -> (32, 4) float16",
    )
    assert signature(first) == signature(other) is not None


def test_nothing_is_alike_where_operators_are_not_known_or_left_out() -> None:
    assert signature(()) is None
    assert signature((*SOFTMAX[:1], "… and 12 more operators", "return %1")) is None
