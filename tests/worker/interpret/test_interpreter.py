"""Triton's CPU interpreter reaches only the arena, runs what was compiled, and answers for its own limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from kernelwright.worker.plan.plan import Descriptor, Value
from kernelwright.worker.processes.children import ChildTimeout
from worker.interpreted import BEHIND_X, Interpreted, X, Y, interpreted

OFFSETS = "at = tl.arange(0, BLOCK)"
LANGUAGE = (
    "import triton\nimport triton.language as tl\nfrom triton.language import load, static_range, store, exp as e\n"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreted]:
    with interpreted(tmp_path_factory.mktemp("interpreted")) as made:
        yield made


def test_a_kernel_computes_as_compiled(machine: Interpreted) -> None:
    ran = machine.run(OFFSETS, "tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)")
    assert (ran.status, ran.y) == ("passed", [2.0 * number for number in range(16)])


def test_whole_numbers_wrap_as_compiled(machine: Interpreted) -> None:
    ran = machine.run("big = tl.full((), 2147483647, tl.int32) + n", "tl.store(i, (big < 0).to(tl.int64))")
    assert (ran.status, ran.i[0]) == ("passed", 1)


@pytest.mark.parametrize("mask", ["n > 1", "tl.full((), 1, tl.int1)", "(n > 1) & (n > 2)"])
def test_a_scalar_mask_counts_for_every_access(machine: Interpreted, mask: str) -> None:
    """Triton 3.9's own interpreter refuses some of these."""
    ran = machine.run(
        f"tl.store(y, tl.load(x, mask={mask}, other=0.0) + 1, mask={mask})", f"tl.atomic_add(y, 2.0, mask={mask})"
    )
    assert (ran.status, ran.y[0]) == ("passed", 3.0)


def test_a_multiplication_with_an_addition_is_interpreted(machine: Interpreted) -> None:
    ran = machine.run(OFFSETS, "tl.store(y + at, tl.fma(at.to(tl.float32), 2.0, 1.0))")
    assert (ran.status, ran.y) == ("passed", [2.0 * number + 1 for number in range(16)])


BROADCAST = {
    "a_value": ("tl.atomic_add(y + at, tl.full([1], 2.0, tl.float32))", [2.0] * 16),
    "a_mask": ("tl.atomic_add(y + at, at.to(tl.float32), mask=tl.full([1], 1, tl.int1))", [*map(float, range(16))]),
    "an_address": (
        "tl.atomic_add(tl.broadcast_to(y + tl.zeros([1], tl.int32), [16]), at.to(tl.float32))",
        [120.0] + [0.0] * 15,
    ),
}


@pytest.mark.parametrize(("body", "expected"), BROADCAST.values(), ids=BROADCAST)
def test_an_atomic_of_a_broadcast_array_reads_the_array_only(
    machine: Interpreted, body: str, expected: list[float]
) -> None:
    ran = machine.run(OFFSETS, body)
    assert (ran.status, ran.y) == ("passed", expected)


def test_what_the_compiler_may_put_in_another_order_is_not_interpreted(machine: Interpreted) -> None:
    halves = "half = tl.arange(0, BLOCK // 2)"
    ran = machine.run(OFFSETS, halves, "tl.store(y + at, tl.load(x + tl.cat(half, half, can_reorder=True)))")
    assert ran.status == "not_verified"
    assert "tl.cat with can_reorder" in ran.reason


# --- memory --------------------------------------------------------------------------------------------------

OUTSIDE = {
    "a_load": "tl.store(y, tl.load(x + (1 << 40)))",
    "a_load_before": "tl.store(y, tl.load(x - (1 << 40)))",
    "a_store": "tl.store(y + (1 << 40), 1.0)",
    "an_atomic": "tl.atomic_add(y + (1 << 40), 1.0)",
    "a_compare_and_swap": "tl.atomic_cas(i + (1 << 40), tl.full((), 1, tl.int64), tl.full((), 1, tl.int64))",
    "one_of_a_block": "tl.store(y + tl.arange(0, 16).to(tl.int64) * (1 << 36), 1.0)",
    "a_block_pointer": "p = tl.make_block_ptr(x, (1 << 40,), (1,), (1 << 30,), (16,), (0,))\n"
                       "tl.store(y + tl.arange(0, 16), tl.load(p))",
    "a_descriptor": "d = tl.make_tensor_descriptor(x + (1 << 40), [n], [1], [16])\n"
                    "tl.store(y + tl.arange(0, 16), d.load([0]))",
    "a_descriptor_that_is_stored": "d = tl.make_tensor_descriptor(x + (1 << 40), [n], [1], [16])\n"
                                   "d.store([0], tl.zeros((16,), tl.float32))",
    "a_wider_element": "p = x.to(tl.pointer_type(tl.int64), bitcast=True) + (1 << 39)\n"
                       "tl.store(y, tl.load(p).to(tl.float32))",
}  # fmt: skip


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_device_code_reaches_no_memory_but_the_arena(machine: Interpreted, body: str) -> None:
    ran = machine.run(*body.split("\n"))
    assert (ran.status, ran.reason[:13]) == ("runtime_error", "out of bounds")


def test_an_address_is_checked_only_under_the_mask(machine: Interpreted) -> None:
    ran = machine.run(OFFSETS, "far = at + (at > 7).to(tl.int64) * (1 << 40)",
                      "tl.store(y + far, tl.load(x + far, mask=at < 8, other=0.0) + 1, mask=at < 8)")  # fmt: skip
    assert (ran.status, ran.y) == ("passed", [float(number + 1) for number in range(8)] + [0.0] * 8)


def test_the_last_byte_of_an_element_has_to_lie_in_the_arena(machine: Interpreted) -> None:
    """float64 behind x: as many as fit, and one that begins inside."""
    body = "tl.store(y, tl.load((x.to(tl.pointer_type(tl.int8), bitcast=True) + {}).to(tl.pointer_type(tl.float64), " \
           "bitcast=True)).to(tl.float32))"  # fmt: skip
    assert machine.run(body.format(BEHIND_X - 8)).status == "passed"
    assert "out of bounds: a kernel reads 1 bytes outside" in machine.run(body.format(BEHIND_X - 7)).reason


# What takes an address for a number, and a text of the same parts that the compiler accepts.
CASTS = {
    "tl.store(i, x.to(tl.int64))": "tl.store(i, 1)",
    "tl.store(i, tl.cast(x, tl.int64, bitcast=True))": "tl.store(i, 1)",
    "tl.store(y, tl.load(tl.cast(n, tl.int64).to(tl.pointer_type(tl.float32))))":
        "tl.store(y, tl.sqrt(tl.cast(n, tl.int64).to(tl.pointer_type(tl.float32).element_ty)))",
}  # fmt: skip


@pytest.mark.parametrize("cast", CASTS)
def test_an_address_is_no_number_in_the_interpreter_either(machine: Interpreted, cast: str) -> None:
    """What is compiled with such a cast is refused before; this is for what only the interpreter would reach."""
    ran = machine.run(cast, compiled_as=CASTS[cast])
    assert (ran.status, ran.i) == ("runtime_error", [0] * 16)
    assert "takes an address for a number" in ran.reason


# --- what is interpreted is what was compiled ----------------------------------------------------------------

HELPER = "@triton.jit\ndef helper(a, b):\n    if b > 1:\n        return a * 2\n    return a * 3"

SAME = {
    "the_variable_of_a_loop_is_a_tensor":
        ("for c in range(4):\n    if isinstance(c, tl.tensor):\n        tl.store(y, 1.0)\n    else:\n"
         "        tl.store(y, 2.0)", 1.0),
    "and_it_overflows_like_one":
        ("for c in range(3, 4):\n    tl.store(y, (c * 1000000000).to(tl.float32))", -1294967296.0),
    "of_an_unrolled_one_it_is_a_number":
        ("for c in tl.static_range(3, 4):\n    if c * 1000000000 > 0:\n        tl.store(y, 1.0)", 1.0),
    "and_of_blocks": ("m = (at > 3) and (at < 5)\ntl.store(y, tl.sum(m.to(tl.float32)))", 1.0),
    "or_of_blocks": ("m = (at < 3) or (at > 14)\ntl.store(y, tl.sum(m.to(tl.float32)))", 4.0),
    "or_of_a_constant": ("m = BLOCK == 16 or tl.load(x + (1 << 40)) > 0\ntl.store(y, m.to(tl.float32))", 1.0),
    "not_of_a_block": ("m = not (at > 3)\ntl.store(y, tl.sum(m.to(tl.float32)))", 4.0),
    "the_least_of_blocks": ("m = min(at, 3)\ntl.store(y, tl.sum(m).to(tl.float32))", 6.0 + 12 * 3),
    "the_greatest_of_constants":
        ("m: tl.constexpr = max(BLOCK, 20)\ntl.store(y, tl.zeros((1,), tl.float32).sum() + m)", 20.0),
    "numbers_in_a_tuple_become_tensors": ("a, b = 3, 1000000000\ntl.store(y, (a * b).to(tl.float32))", -1294967296.0),
    "so_does_a_number_that_is_added_to": ("a = 3\na *= 1000000000\ntl.store(y, a.to(tl.float32))", -1294967296.0),
    "an_annotated_value_is_computed_twice": ("a: tl.int64 = tl.atomic_add(i, 1)\ntl.store(y, a.to(tl.float32))", 1.0),
    "an_assertion_does_nothing": ("assert n < 3, 'no'\ntl.store(y, 1.0)", 1.0),
    "a_function_for_a_constant": ("tl.store(y, helper(1.0, 1))", 3.0),
    "a_function_for_another": ("tl.store(y, helper(1.0, 2))", 2.0),
    "one_function_for_a_constant_and_a_tensor": ("tl.store(y, helper(helper(1.0, n), 1))", 6.0),
    "a_tensor_in_a_constants_place": ("a = 1\ntl.store(y, helper(1.0, a) + helper(1.0, 1))", 6.0),
    "items_of_a_comprehension": ("a = [c * 1000000000 for c in (1, 2, 3)]\nif a[2] > 0:\n    tl.store(y, 1.0)\n"
                                 "else:\n    tl.store(y, 2.0)", 1.0),
    "a_branch_at_run_time": ("if n > 3:\n    tl.store(y, 1.0)\nelse:\n    tl.store(y, 2.0)", 1.0),
    "a_condition_with_an_option": ("c = 0\nwhile tl.condition(c < 5):\n    c += 1\ntl.store(y, c.to(tl.float32))", 5.0),
    "a_while_loop": ("c = 0\nwhile c < 5:\n    c += 1\ntl.store(y, c.to(tl.float32))", 5.0),
    "a_loop_backwards": ("for c in range(4, 0, -1):\n    tl.store(y, c.to(tl.float32))", 1.0),
    "a_reduction_of_its_own": ("tl.store(y, tl.reduce(tl.load(x + at), 0, helper))", None),
    "a_number_of_another_width": ("tl.store(y, (n.to(tl.int64) + 5000000000).to(tl.float32))", 5000000016.0),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), SAME.values(), ids=SAME)
def test_the_interpreter_computes_as_compiled(machine: Interpreted, body: str, expected: float | None) -> None:
    ran = machine.run(OFFSETS, *body.split("\n"), more=HELPER)
    assert ran.status == "passed", ran.reason
    assert expected is None or ran.y[0] == pytest.approx(expected)


def test_an_argument_that_is_one_is_a_constant_as_compiled(machine: Interpreted) -> None:
    body = "if n * 3 * 1000000000 > 0:\n    tl.store(y, 1.0)\nelse:\n    tl.store(y, 2.0)"
    assert machine.run(*body.split("\n"), n=Value(kind="int", text="1")).y[0] == 1.0
    assert machine.run(*body.split("\n"), n=Value(kind="int", text="4")).y[0] == 2.0  # in int32, 12e9 is negative


OTHERWISE = {
    "if": ("if BLOCK > 9:\n    tl.store(y, 1.0)", "if BLOCK > 99:", "BLOCK > 9"),
    "else": ("if BLOCK > 9:\n    tl.store(y, 1.0)\nelse:\n    tl.store(y, 2.0)", "if BLOCK < 9:", "BLOCK > 9"),
    "conditional_expression":
        ("tl.store(y, 1.0 if BLOCK > 9 else 2.0)", "tl.store(y, 1.0 if BLOCK < 9 else 2.0)", "BLOCK > 9"),
    "and": ("if BLOCK > 9 and BLOCK < 99:\n    tl.store(y, 1.0)", "if BLOCK > 9 and BLOCK > 99:", "BLOCK < 99"),
    "unrolled":
        ("for c in tl.static_range(3):\n    tl.store(y, 1.0)", "for c in tl.static_range(4):", "static_range(3)"),
    "a_type": ("tl.store(y, tl.load(x).to(tl.float32))", "tl.store(y, tl.load(x).to(tl.float16))", "float32"),
    "a_constant": ("tl.store(y + BLOCK * 0, 1.0)", "tl.store(y + BLOCK * 1, 1.0)", "BLOCK * 0"),
    "what_follows_a_return": ("if BLOCK > 99:\n    return\ntl.store(y, 1.0)", "if BLOCK < 99:", "BLOCK > 99"),
    "a_call": ("tl.store(y, helper(1.0, 1))", "tl.store(y, helper(1.0, 2))", "helper"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "compiled", "named"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_compiler_took_otherwise_is_not_verified(
    machine: Interpreted, body: str, compiled: str, named: str
) -> None:
    """compiled: the first line that the compiler is given in place of the body's, in the same columns."""
    other = "\n".join([compiled, *body.split("\n")[1:]])
    ran = machine.run(*body.split("\n"), more=HELPER, compiled_as=other)
    assert ran.status == "not_verified", ran
    assert "compiled" in ran.reason
    assert named in ran.reason


def test_a_descriptor_of_the_host_reaches_its_tensor(machine: Interpreted) -> None:
    to, source = (Descriptor(view=view, block_shape=(16,), padding="zero") for view in (Y, X))
    ran = machine.run("to.store([0], source.load([0]) + 1)", to=to, source=source)
    assert (ran.status, ran.y) == ("passed", [float(number + 1) for number in range(16)])


def test_a_flag_is_a_bool(machine: Interpreted) -> None:
    body = ("if flag:", "    tl.store(y, 1.0)", "else:", "    tl.store(y, 2.0)")
    for text, expected in (("True", 1.0), ("False", 2.0)):
        ran = machine.run(*body, flag=Value(kind="bool", text=text))
        assert (ran.status, ran.y[0]) == ("passed", expected), ran.reason


def test_what_is_not_compiled_may_hold_what_cannot_be_compared(machine: Interpreted) -> None:
    ran = machine.run("if BLOCK > 99:", "    for c in tl.static_range(2):", "        pass", "    else:",
                      "        tl.store(y, 2.0)", "tl.static_assert(BLOCK < 99, f'{BLOCK}' + missing)",
                      "tl.store(y, 1.0)")  # fmt: skip
    assert (ran.status, ran.y[0]) == ("passed", 1.0), ran.reason


NOT_COMPARED = {
    "a_condition_in_a_comprehension": "a = [c for c in (1, 2, 3) if c > 1]\ntl.store(y, a[0].to(tl.float32))",
    "the_variable_of_a_comprehension": "c = 5\na = [c for c in (1, 2)]\ntl.store(y, c * 1.0)",
    "an_else_after_a_loop": "for c in tl.static_range(2):\n    tl.store(y + c, 1.0)\nelse:\n    tl.store(y, 2.0)",
    "a_variable_that_the_compiler_resets":
        "for c in tl.static_range(2):\n    tl.store(y + c, 1.0)\nif n > 3:\n    for c in tl.static_range(5):\n"
        "        tl.store(y + c, 1.0)\ntl.store(y + c, 2.0)",
}  # fmt: skip


@pytest.mark.parametrize("body", NOT_COMPARED.values(), ids=NOT_COMPARED)
def test_python_that_the_compiler_reads_otherwise_is_not_verified(machine: Interpreted, body: str) -> None:
    ran = machine.run(*body.split("\n"))
    assert ran.status == "not_verified", ran
    assert "compiled" in ran.reason or "comprehension" in ran.reason


# --- limits of the interpreter's own -------------------------------------------------------------------------

MENDED = {
    "a_float_has_methods": ("tl.store(y, s.to(tl.float32) + 1)", 1.5),
    "and_the_precision_of_the_device": ("tl.store(y, ((s * 3 - 1.5).to(tl.float64) * 1e9).to(tl.float32))", 0.0),
    "a_loop_with_stages": ("for c in tl.range(0, n, num_stages=2):\n    tl.store(y, c.to(tl.float32))", 15.0),
    "names_of_the_language": ("store(y, e(load(x)))", 1.0),
    "an_unrolled_loop_by_its_name": ("for c in static_range(3):\n    store(y, c * 1.0)", 2.0),
    "an_assertion_on_the_device": ("tl.device_assert(n < 3, 'no')\ntl.store(y, 1.0)", 1.0),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), MENDED.values(), ids=MENDED)
def test_the_interpreter_runs_what_compiles(machine: Interpreted, body: str, expected: float) -> None:
    ran = machine.run(*body.split("\n"), head=LANGUAGE, s=Value(kind="float", text="0.5"))
    assert ran.status == "passed", ran.reason
    assert ran.y[0] == expected


def test_the_value_of_a_constant_is_the_constant(machine: Interpreted) -> None:
    kind = "@triton.jit\ndef kind(dtype, size):\n    plain = dtype.value\n    if plain.is_floating():\n" \
           "        return size.value * 1.0\n    return -1.0"  # fmt: skip
    ran = machine.run("tl.store(y, kind(x.dtype.element_ty, BLOCK) + kind(i.dtype.element_ty, BLOCK))", more=kind)
    assert (ran.status, ran.y[0]) == ("passed", 15.0)


DEVICE = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n" \
         "from triton.language.extra.cuda.libdevice import round as nearest\n"  # fmt: skip


def test_functions_of_libdevice_are_computed(machine: Interpreted) -> None:
    line = "tl.store(y + at, {})"
    for called, expected in {
        "libdevice.tanh(tl.load(x + at) / 8)": [math.tanh(number / 8) for number in range(16)],
        "libdevice.erfc(tl.load(x + at) / 8)": [math.erfc(number / 8) for number in range(16)],
        "libdevice.pow(tl.load(x + at), 0.5)": [math.sqrt(number) for number in range(16)],
        "libdevice.rsqrt(tl.load(x + at))": [math.inf, *(1 / math.sqrt(number) for number in range(1, 16))],
        "nearest(tl.load(x + at) / 2 - 3)": [math.copysign(math.floor(abs(n / 2 - 3) + 0.5), n - 6) for n in range(16)],
    }.items():
        ran = machine.run(OFFSETS, line.format(called), head=DEVICE)
        assert (ran.status, ran.y) == ("passed", pytest.approx(expected, rel=2e-7)), called


LIMITS = {
    "inline_assembly": "a = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [tl.load(x)], tl.float32, True, 1)\n"
                       "tl.store(y, a)",
    "a_flag_of_another_program": "if tl.program_id(0) == 0:\n    while tl.load(i, volatile=True) == 0:\n        pass\n"
                                 "else:\n    tl.store(i, 1)",
    "a_lock_of_another_program": "one = tl.full((), 1, tl.int64)\nif tl.program_id(0) == 0:\n"
                                 "    while tl.atomic_cas(i, one, one * 2) != one:\n        pass\n"
                                 "else:\n    tl.store(i, 1)",
    "a_counter_of_other_programs": "tl.atomic_add(i, 1)\nwhile tl.atomic_add(i, 0) < 2:\n    pass\ntl.store(y, 1.0)",
}  # fmt: skip


@pytest.mark.parametrize("body", LIMITS.values(), ids=LIMITS)
def test_what_the_interpreter_cannot_run_is_not_the_candidates_fault(machine: Interpreted, body: str) -> None:
    ran = machine.run(*body.split("\n"), grid=2)
    assert ran.status == "not_verified"
    assert "CPU interpreter" in ran.reason


def test_a_false_assumption_is_the_candidates(machine: Interpreted) -> None:
    ran = machine.run("tl.assume(n < 3)", "tl.store(y, 1.0)")
    assert (ran.status, "Assume failed" in ran.reason) == ("runtime_error", True)


def test_a_loop_that_reads_nothing_is_endless_everywhere(machine: Interpreted) -> None:
    with pytest.raises(ChildTimeout):
        machine.run("c = n", "while c > 0:", "    c = c * 1", "tl.store(y, 1.0)", seconds=1)
