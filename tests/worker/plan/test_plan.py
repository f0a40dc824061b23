"""The launch plan as data: it survives JSON, and launches have one key exactly where they compile to
the same code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernelwright import codec
from kernelwright.worker.plan.plan import (
    Argument,
    Buffer,
    Copy,
    Descriptor,
    Fill,
    Launch,
    Plan,
    Tensor,
    Tuple,
    Value,
    View,
    end_bytes,
    launch_identity,
    views,
)

VIEW = View(buffer=0, dtype="float32", shape=(4, 8), stride=(8, 1))
CONSTEXPR = {"x": False, "n": False, "BLOCK": True, "act": False}


def launch(options: dict[str, Any] | None = None, **arguments: Argument) -> Launch:
    given = {"x": Tensor(view=VIEW), "n": number(100), "BLOCK": number(64)} | arguments
    return Launch(kernel="k", grid=(3,), arguments=given, options=options or {"num_warps": 4})


def number(value: int) -> Value:
    return Value(kind="int", text=str(value))


def at(offset: int = 0, **changes: Any) -> Tensor:
    return Tensor(view=msgspec.structs.replace(VIEW, offset=offset, **changes))


def same(one: Launch, other: Launch) -> bool:
    return launch_identity(one, CONSTEXPR) == launch_identity(other, CONSTEXPR)


def test_a_plan_survives_json() -> None:
    made = Plan(
        buffers=(Buffer(id=0, nbytes=128, origin="input", name="x"), Buffer(id=1, nbytes=64, origin="scratch")),
        steps=(
            Fill(view=VIEW, value="-inf"),
            Copy(target=VIEW, source=VIEW),
            launch(
                d=Descriptor(view=VIEW, block_shape=(2, 8)),
                t=Tuple(items=(number(1), Tuple(items=(Tensor(view=VIEW),)))),
                act=Value(kind="none"),
                f=Value(kind="float", text="nan"),
            ),
        ),
        outputs=(VIEW,),
        single=True,
    )
    assert codec.decode(codec.encode(made), Plan) == made
    assert codec.record(codec.plain(made), Plan) == made


def test_every_view_of_a_plan_is_seen() -> None:
    inner = [msgspec.structs.replace(VIEW, offset=offset) for offset in range(6)]
    made = Plan(
        buffers=(),
        steps=(
            Fill(view=inner[0], value="0"),
            Copy(target=inner[1], source=inner[2]),
            launch(
                x=Tensor(view=inner[3]),
                t=Tuple(items=(Tuple(items=(Descriptor(view=inner[4], block_shape=(1,)),)),)),
            ),
        ),
        outputs=(inner[5],),
        single=True,
    )  # fmt: skip
    assert {view.offset for view in views(made)} == set(range(6))


def test_the_end_of_a_view_counts_strides_and_offset() -> None:
    assert end_bytes(VIEW) == 128
    assert end_bytes(View(buffer=0, dtype="float16", shape=(3, 2), stride=(10, 4), offset=5)) == 2 * (5 + 20 + 4 + 1)
    assert end_bytes(View(buffer=0, dtype="int64", shape=(3, 0), stride=(1, 1), offset=9)) == 0
    assert end_bytes(View(buffer=0, dtype="int8", shape=(), stride=())) == 1


# --- what compiles the same ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [100, 7, 2**31 - 1, -5, -3])
def test_sizes_that_specialise_alike_compile_once(value: int) -> None:
    assert same(launch(n=number(value)), launch(n=number(99)))


def test_the_grid_and_the_buffers_do_not_matter() -> None:
    one = launch()
    assert same(one, msgspec.structs.replace(one, grid=(7, 2)))
    assert same(one, launch(x=at(buffer=5)))
    assert same(one, launch(x=at(shape=(2,), stride=(3,))))
    assert same(launch(x=at(offset=4)), launch(x=at(offset=8)))


def test_the_values_of_floats_do_not_matter() -> None:
    assert same(launch(n=Value(kind="float", text="0.5")), launch(n=Value(kind="float", text="nan")))


def test_the_order_of_arguments_and_options_does_not_matter() -> None:
    one = launch({"num_warps": 4, "num_stages": 2})
    turned = msgspec.structs.replace(
        one, arguments=dict(reversed(one.arguments.items())), options=dict(reversed(one.options.items()))
    )
    assert same(one, turned)


# --- what compiles differently ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [(99, 1), (99, 16), (99, 0), (99, 2**31 + 1), (2**40, 2**64 - 16), (2**31, -(2**31)), (16, 2**32), (-16, -15)],
)
def test_integers_that_specialise_differently_compile_apart(one: int, other: int) -> None:
    assert not same(launch(n=number(one)), launch(n=number(other)))


@pytest.mark.parametrize(
    "changed",
    [
        {"x": at(offset=1)},
        {"x": at(offset=2)},
        {"x": at(dtype="float16")},
        {"x": Descriptor(view=VIEW, block_shape=(4, 8))},
        {"BLOCK": number(65)},
        {"BLOCK": Value(kind="float", text="64.0")},
        {"n": Value(kind="float", text="100.0")},
        {"n": Value(kind="bool", text="True")},
        {"n": Value(kind="none")},
        {"act": Value(kind="str", text="relu")},
        {"act": Value(kind="kernel", text="relu")},
    ],
)
def test_arguments_that_compile_differently_are_told_apart(changed: dict[str, Argument]) -> None:
    assert not same(launch(), launch(**changed))


def test_constants_are_told_apart_wherever_they_are_passed() -> None:
    for kind, one, other in (("str", "relu", "gelu"), ("dtype", "fp16", "fp32"), ("kernel", "relu", "gelu")):
        a, b = (launch(act=Value(kind=kind, text=text)) for text in (one, other))  # type: ignore[arg-type]
        assert not same(a, b)


def test_options_and_kernels_are_told_apart() -> None:
    assert not same(launch({"num_warps": 4}), launch({"num_warps": 8}))
    assert not same(launch(), msgspec.structs.replace(launch(), kernel="k2"))


def test_descriptors_are_told_apart_by_block_and_padding() -> None:
    one = Descriptor(view=VIEW, block_shape=(4, 8))
    assert not same(launch(x=one), launch(x=msgspec.structs.replace(one, block_shape=(2, 8))))
    assert not same(launch(x=one), launch(x=msgspec.structs.replace(one, padding="nan")))


def test_a_launch_has_the_same_identity_in_every_process() -> None:
    assert launch_identity(launch(), CONSTEXPR) == launch_identity(
        codec.decode(codec.encode(launch()), Launch), CONSTEXPR
    )
