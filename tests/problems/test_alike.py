"""Whether two problems call the same operators."""

from __future__ import annotations

from kernelwright.problems.alike import signature

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
