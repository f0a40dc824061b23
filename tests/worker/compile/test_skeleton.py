"""What a launch can store and how often its loops run, from kernels that Triton compiles here."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from triton.runtime.driver import driver

from kernelwright.devices import find_target
from kernelwright.worker.compile.compiler import compiled
from kernelwright.worker.compile.messages import Compile, Compiled
from kernelwright.worker.compile.skeleton import Line, Skeleton
from kernelwright.worker.compile.target import install
from kernelwright.worker.plan.plan import Argument, Descriptor, Launch, Tensor, Tuple, Value, View
from kernelwright.worker.plan.work import MOST_STEPS, Work, work_of

TARGET = find_target("sm_90")
VIEW = View(buffer=0, dtype="float32", shape=(64, 64), stride=(64, 1))
AT = "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"

Worked = Callable[..., Work]


def whole(number: int) -> Value:
    return Value(kind="int", text=str(number))


def made(folder: Path, body: tuple[str, ...], arguments: dict[str, Argument]) -> tuple[Skeleton, dict[str, Argument]]:
    """The skeleton of `k(x, y, n, m, BLOCK, …)` with this body, and its arguments: n is 100, m is 20, BLOCK 64."""
    given: dict[str, Argument] = {"x": Tensor(view=VIEW), "y": Tensor(view=VIEW), "n": whole(100), "m": whole(20),
                                  "BLOCK": whole(64), **arguments}  # fmt: skip
    names = ", ".join(f"{name}: tl.constexpr" if name.isupper() else name for name in given)
    text = "import triton\nimport triton.language as tl\n\n\n@triton.jit(noinline=True)\ndef other(y):\n"
    text += "    tl.store(y, 1.0)\n\n\n@triton.jit\ndef k(" + names + "):\n" + textwrap.indent("\n".join(body), "    ")
    job = Compile(kernels=text, launch=Launch(kernel="k", grid=(1,), arguments=given, options={}))
    answer = compiled(job, TARGET, folder)
    assert isinstance(answer, Compiled), answer
    return answer.skeleton, given


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    """The work of one launch of a kernel with this body."""
    folder = tmp_path_factory.mktemp("compiler")

    def of(*body: str, grid: tuple[int, ...] = (1,), **arguments: Argument) -> Work:
        skeleton, given = made(folder, body, arguments)
        return work_of(skeleton, Launch(kernel="k", grid=grid, arguments=given, options={}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        before = driver.active if driver._active is not None else None
        install(TARGET)
        yield of
        if before is not None:
            driver.set_active(before)


STORED = {
    "a block of each program": ((AT, "tl.store(y + at, 1.0, mask=at < n)"), (5,), {"y": 5 * 256}),
    "in every axis of the grid": (("tl.store(y + tl.program_id(2), 1.0)",), (2, 3, 5), {"y": 120}),
    "an atomic": ((AT, "tl.atomic_add(y + at, 1.0)"), (2,), {"y": 512}),
    "in a loop over an argument": (("for i in range(0, n, 8):", "    tl.store(y + i, 1.0)"), (1,), {"y": 52}),
    "in a loop from one program to the next": (
        ("for i in range(tl.program_id(0), n, tl.num_programs(0)):", "    tl.store(y + i, 1.0)"), (8,), {"y": 400},
    ),
    "in a program's part of a loop": (
        ("p = tl.program_id(0) * m", "for i in range(p, tl.minimum(p + m, n)):", "    tl.store(y + i, 1.0)"),
        (5,), {"y": 400},
    ),
    "in one loop inside another": (
        ("for i in range(n):", "    for j in range(i, n):", "        tl.store(y + j, 1.0)"), (1,), {"y": 40_000},
    ),
    "in a loop that does not run": (("for i in range(n, m):", "    tl.store(y + i, 1.0)"), (1,), {"y": 0}),
    "to two tensors": (("tl.store(y, 1.0)", "tl.store(x + 1, 1.0)"), (1,), {"x": 4, "y": 4}),
    "as other numbers": (("tl.store(y.to(tl.pointer_type(tl.int64)), 1)",), (1,), {"y": 8}),
    "through a pointer that moves": (
        ("p = y + 0", "for i in range(n):", "    tl.store(p, 1.0)", "    p += 1"), (1,), {"": 400},
    ),
    "through one of two pointers": (("p = y", "if n > m:", "    p = x", "tl.store(p, 1.0)"), (1,), {"": 4}),
    "in a loop whose end is loaded": (
        ("for i in range(tl.load(x).to(tl.int32)):", "    tl.store(y, 1.0)"), (1,), {"y": math.inf},
    ),
    "in a loop with a condition": (
        ("i = 0", "while i < n:", "    tl.store(y + i, 1.0)", "    i += 1", "tl.store(x, 1.0)"),
        (1,), {"x": 4, "y": math.inf},
    ),
    "through a descriptor of the kernel": (
        ("d = tl.make_tensor_descriptor(y, [n, m], [m, 1], [16, 32])",
         "d.store([0, 0], tl.zeros((16, 32), tl.float32))"), (3,), {"y": 3 * 2048},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "grid", "stored"), STORED.values(), ids=STORED)
def test_what_a_launch_stores_at_most(
    worked: Worked, body: tuple[str, ...], grid: tuple[int, ...], stored: dict[str, float]
) -> None:
    assert worked(*body, grid=grid).stored == stored


def test_items_of_a_tuple_and_descriptors_of_the_host_are_arguments(worked: Worked) -> None:
    block = Descriptor(view=VIEW, block_shape=(16, 16))
    body = ("d.store([0, 0], tl.zeros((16, 16), tl.float32))", "for i in range(t[1]):\n    tl.store(t[0] + i, 1.0)")
    found = worked(*body, d=block, t=Tuple(items=(Tensor(view=VIEW), whole(7))))
    assert found.stored == {"d": 1024, "t.0": 28}


def test_nothing_is_said_of_a_kernel_with_a_function_that_is_not_inlined(tmp_path: Path, worked: Worked) -> None:
    assert made(tmp_path, ("other(y)",), {})[0] == ()
    assert made(tmp_path, ("tl.store(y, 1.0)",), {})[0] != ()


def test_a_launch_of_many_programs_is_evaluated_at_once(worked: Worked) -> None:
    loop = "for i in range(p * 4, p * 4 + 4):\n    tl.store(y + i, 1.0)"
    few, many = (worked("p = tl.program_id(0)", loop, grid=(count,)) for count in (100, MOST_STEPS))
    assert few.stored == {"y": 1600}
    assert many.stored["y"] >= 16 * MOST_STEPS, "an upper bound still"


def test_the_iterations_of_a_loop_are_known_by_its_line_and_its_names_may_be_others(worked: Worked) -> None:
    """The compiler calls an argument by the name of a variable that holds it."""
    body = ("first = n\nn = m\nm = first", "for i in range(0, n):\n    tl.store(y + m, i)")
    assert worked(*body).trips == {"for i in range(0, n):": (20, 20)}
    between = "for i in range(tl.program_id(0), tl.load(x).to(tl.int32)):\n    tl.store(y + i, 1.0)"
    assert worked(between).trips == {between.partition("\n")[0]: (0, math.inf)}


def test_operations_count_as_often_as_their_loop_and_their_programs_run(worked: Worked) -> None:
    step = "tl.store(y + i, i)"
    once, often = (worked(f"for i in range(0, {end}):\n    {step}").operations for end in ("m", "n"))
    inner = (often - once) / 80
    assert inner >= 2, "a conversion, an addition and a store"
    assert once > 20 * inner, "and those before the loop"
    assert worked(f"for i in range(0, m):\n    {step}", grid=(3, 2)).operations == 6 * once
    assert worked(f"for i in range(0, tl.load(x).to(tl.int32)):\n    {step}").operations < once, "not known: once"


def test_a_skeleton_that_refers_to_what_is_not_there_is_evaluated_all_the_same() -> None:
    lines = tuple(Line(kind=kind, operands=(9, -1, 0), inside=7, text="w", number=1 << 62)
                  for kind in ("for", "store", "muli", "argument", "program", "programs", "select", "odd"))  # fmt: skip
    launch = Launch(kernel="k", grid=(4,), arguments={}, options={})
    assert work_of(lines, launch).stored == {"w": 4 * (1 << 62)}
