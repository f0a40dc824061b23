"""Kernels compiled for a target that is not here: resources, failures in few words, and what needs a real GPU."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from triton.runtime import cache
from triton.runtime.driver import driver

from kernelwright import codec
from kernelwright.devices import find_target
from kernelwright.worker.compile import messages
from kernelwright.worker.compile.compiler import compiled, leave_installation_unread, unfair_in, untrue_on_interpreter
from kernelwright.worker.compile.target import install
from kernelwright.worker.plan.plan import Argument, Descriptor, Launch, Tensor, Value, View

TARGET = find_target("sm_90")

Compile = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def compiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    """Compiles `k(x, y, n, BLOCK)` with the given body; x and y are float32 unless said."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("compiler")
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        before = driver.active if driver._active is not None else None
        install(TARGET)
        yield lambda *body, **more: one(folder, *body, **more)
        if before is not None:
            driver.set_active(before)


def test_a_compiler_names_cache_entries_without_reading_tritons_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_everything() -> str:
        raise AssertionError("all files of Triton were to be read")

    monkeypatch.setattr(cache, "triton_key", read_everything)
    leave_installation_unread()
    source, backend, options = (
        SimpleNamespace(hash=lambda part=part: part) for part in ("source", "backend", "options")
    )
    assert "source-backend-options" in cache.get_cache_key(source, backend, options, {})


def one(
    folder: Path,
    *body: str,
    dtype: str = "float32",
    n: Argument | None = None,
    block: int = 64,
    options: dict[str, Any] | None = None,
    x: Argument | None = None,
    grid: tuple[int, ...] = (1,),
) -> dict[str, Any]:
    text = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n"
    text += "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n" + textwrap.indent("\n".join(body), "    ") + "\n"
    view = View(buffer=0, dtype=dtype, shape=(64, 64), stride=(64, 1))
    arguments: dict[str, Argument] = {
        "x": x or Tensor(view=view), "y": Tensor(view=view), "n": n or Value(kind="int", text="100"),
        "BLOCK": Value(kind="int", text=str(block)),
    }  # fmt: skip
    launch = Launch(kernel="k", grid=grid, arguments=arguments, options=options or {})
    answer = codec.decode(
        codec.encode(compiled(messages.Compile(kernels=text, launch=launch), TARGET, folder)), dict[str, Any]
    )
    return answer


COPY = ("i = tl.arange(0, BLOCK)", "tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)")
SQUARE = ("i = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]", "a = tl.load(x + i)")


def test_a_kernel_has_resources_on_the_target(compiles: Compile) -> None:
    answer = compiles(*COPY, options={"num_warps": 2})
    resources = answer["resources"]
    assert resources["target"] == "sm_90"
    assert resources["num_warps"] == 2
    assert resources["moved_bytes"] > 0
    assert 0 < resources["registers"] <= 255
    assert resources["shared_bytes"] == 0
    assert 0 < resources["occupancy"] <= 1
    assert answer["untrue"] == []


def test_the_same_code_has_the_same_identity_whatever_it_is_called(compiles: Compile) -> None:
    one, other = (compiles("'''" + doc + "'''", *COPY)["resources"]["cubin_sha"] for doc in ("a", "b"))
    different = compiles(*COPY, "tl.store(y, 0.0)")["resources"]["cubin_sha"]
    assert one == other != different


COLUMNS = 65536
LANES = ("row = tl.program_id(0)", "i = tl.arange(0, BLOCK)")
LOOP = "for start in range(0, 65536, BLOCK):\n    "
STORE = "tl.store(y + i, v)"


def of_rows(compiles: Compile, rows: int, *body: str) -> dict[str, Any]:
    """A kernel of one program for each row of a matrix with COLUMNS columns; n is the stride of a row."""
    view = View(buffer=0, dtype="float32", shape=(rows, COLUMNS), stride=(COLUMNS, 1))
    stride = Value(kind="int", text=str(COLUMNS))
    return compiles(*LANES, *body, x=Tensor(view=view), n=stride, grid=(rows,))


OVERFLOWING = [
    ("v = tl.load(x + row * n + i)", STORE),
    ("v = tl.load(x + (row * n).to(tl.int64) + i)", STORE),
    ("v = tl.load(x + (row * n + i).to(tl.int64))", STORE),
    (LOOP + "v = tl.load(x + row * n + start + i)\n    tl.store(y + i, v)",),
    ("first = x + row * 1024 * 64", LOOP + "v = tl.load(first + i)\n    tl.store(y + i, v)\n    first += BLOCK"),
    ("last = tl.num_programs(0) - 1 - row // 2 * 2 + row % 2", "v = tl.load(x + tl.maximum(row, last) * n + i)", STORE),
    ("row = tl.num_programs(0) - 1 - row", "v = tl.load(x + row * n + i)", STORE),
    ("width = n", "if row > 7:\n    width = n + 64", "v = tl.load(x + row * n + i)", STORE, "tl.store(y + width, 1.0)"),
]
"""Bodies whose offsets need more than 32 bits from 32,768 rows on."""


@pytest.mark.parametrize("body", OVERFLOWING, ids=range(len(OVERFLOWING)))
def test_offsets_that_overflow_on_the_recorded_sizes_are_refused_with_their_line(
    compiles: Compile, body: tuple[str, ...]
) -> None:
    answer = of_rows(compiles, 40000, *body)
    assert (answer["status"], answer["reason"].split(":")[0]) == ("rejected", "k"), answer
    assert "an offset needs more than 32 bits, " in answer["reason"]
    assert " * " in answer["reason"] or "first" in answer["reason"], answer["reason"]
    assert of_rows(compiles, 32768, *body)["doubts"] == [], "2^31 elements are not too many"


@pytest.mark.parametrize("body", [
    ("v = tl.load(x + row.to(tl.int64) * n + i)", STORE),
    ("v = tl.load(x + row * tl.cast(n, tl.int64) + i)", STORE),
    ("first = x + row.to(tl.int64) * n", LOOP + "v = tl.load(first + start + i)\n    tl.store(y + i, v)"),
    ("first = x + row.to(tl.int64) * n + i", LOOP + "v = tl.load(first)\n    tl.store(y + i, v)\n    first += BLOCK"),
    ("v = tl.load(x + i)", STORE, "seed = row * 1103515245 * n", "tl.store(y + i, (seed & 1).to(tl.float32))"),
])  # fmt: skip
def test_offsets_of_64_bits_are_not_refused(compiles: Compile, body: tuple[str, ...]) -> None:
    answer = of_rows(compiles, 40000, *body)
    assert "resources" in answer, answer
    assert answer["doubts"] == []


def test_an_offset_whose_value_is_not_known_is_named(compiles: Compile) -> None:
    read = "at = tl.load(y).to(tl.int32)"
    answer = of_rows(compiles, 40000, read, "v = tl.load(x + at * n + i)", STORE)
    assert answer["doubts"] == ["k: an offset may need more than 32 bits: v = tl.load(x + at * n + i)"]
    assert of_rows(compiles, 40000, read, "v = tl.load(x + at.to(tl.int64) * n + i)", STORE)["doubts"] == []


def test_a_wide_tile_takes_shared_memory(compiles: Compile) -> None:
    answer = compiles(*SQUARE, "tl.store(y + i, tl.dot(a.to(tl.float16), a.to(tl.float16)))")
    assert answer["resources"]["shared_bytes"] >= 64 * 64 * 2


def test_too_much_shared_memory_is_a_compile_error_with_both_numbers(compiles: Compile) -> None:
    answer = compiles(
        *SQUARE, "acc = tl.zeros((BLOCK, BLOCK), tl.float32)",
        "for j in range(0, n):\n    acc += tl.dot(tl.load(x + i + j), tl.load(y + i + j), input_precision='ieee')",
        "tl.store(y + i, acc)", block=128, options={"num_stages": 5, "num_warps": 8},
    )  # fmt: skip
    assert answer["status"] == "compile_error"
    assert "shared memory" in answer["reason"]
    assert str(TARGET.shared_bytes_per_block) in answer["reason"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (("tl.store(y, tl.nothing(x))",), "nothing"),
        (("i = tl.arange(0, 100)",), "power of 2"),
        (("a = tl.load(x + tl.arange(0, BLOCK)) + tl.load(y + tl.arange(0, 32))",), "32"),
        (("for q in range(3):\n    a = tl.zeros((q,), tl.float32)",), "zeros"),
        (("tl.static_assert(BLOCK > 1000, 'BLOCK is too small')",), "BLOCK is too small"),
    ],
)
def test_a_compile_error_quotes_the_line_and_the_reason(compiles: Compile, body: tuple[str, ...], words: str) -> None:
    answer = compiles(*body)
    assert answer["status"] == "compile_error"
    assert answer["reason"].startswith("k: ")
    assert words in answer["reason"]
    assert "at 2:" in answer["reason"] or "at 3:" in answer["reason"], answer["reason"]


@pytest.mark.parametrize(
    ("body", "dtype", "untrue"),
    [
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a))"), "float32", "TF32"),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a, allow_tf32=True))"), "float32", "TF32"),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a, input_precision='tf32x3'))"), "float32", "TF32"),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a, input_precision='ieee'))"), "float32", ""),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a, allow_tf32=False))"), "float32", ""),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a))"), "float16", ""),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a, out_dtype=tl.float16))"), "float16", "adding up in fp16"),
        ((*SQUARE, "tl.store(y + i, tl.dot(a, a))"), "bfloat16", "bf16"),
        ((*SQUARE, "tl.store(y + i, a.to(tl.bfloat16).to(tl.float32))"), "float32", "bf16"),
        ((*SQUARE, "tl.store(y + i, a.to(tl.dtype('b' + 'f16')).to(tl.float32))"), "float32", "bf16"),
        ((*SQUARE, "tl.store(y + i, a.to(tl.float8e5).to(tl.float32))"), "float32", "fp8"),
        ((*SQUARE, "bf16 = a * 2", "tl.store(y + i, bf16)"), "float32", ""),
        ((*SQUARE, "tl.store(y + i, a.to(tl.float16).to(tl.float32))"), "float32", ""),
        ((*SQUARE, "tl.store(y + i, libdevice.fast_expf(a))"), "float32", "libdevice"),
        ((*SQUARE, "tl.store(y + i, libdevice.div_rz(libdevice.tanh(a), a))"), "float32", "libdevice"),
        ((*SQUARE, "tl.store(y + i, libdevice.tanh(a))"), "float32", ""),
        ((*SQUARE, "b = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [a], tl.float32, True, 1)",
          "tl.store(y + i, b)"), "float32", "inline assembly"),
        ((*SQUARE, "tl.store(y + i, tl.exp(a) + tl.sum(a) + tl.math.rsqrt(a))"), "float32", ""),
    ],
)  # fmt: skip
def test_what_the_interpreter_would_not_show_is_found_in_the_code(
    compiles: Compile, body: tuple[str, ...], dtype: str, untrue: str
) -> None:
    answer = compiles(*body, dtype=dtype, block=32)
    assert "untrue" in answer, answer
    assert answer["untrue"] == [] if not untrue else any(untrue in what for what in answer["untrue"]), answer["untrue"]


def test_names_in_the_source_are_not_taken_for_types() -> None:
    line = '    %0 = tt.load %x : tensor<4x!tt.ptr<f32>> loc("xbf16 <bf16 tt.dot_scaled libdevice"(#loc3))'
    assert untrue_on_interpreter(line) == []


def test_integers_and_pointers_specialise(compiles: Compile) -> None:
    def codes(*sizes: int) -> set[str]:
        return {compiles(*COPY, n=Value(kind="int", text=str(n)))["resources"]["cubin_sha"] for n in sizes}

    shas, same = codes(96, 99, 1, 2**31), codes(99, 101, 7)
    assert len(shas) >= 3, "1, a 64-bit size and an ordinary one compile apart"
    assert len(same) == 1
    wide = Value(kind="int", text="96")
    shifted = Tensor(view=View(buffer=0, dtype="float32", shape=(64,), stride=(1,), offset=1))
    one, other = (compiles(*COPY, x=x, block=1024, n=wide)["resources"]["cubin_sha"] for x in (shifted, None))
    assert one != other


def test_a_descriptor_made_on_the_host_compiles(compiles: Compile) -> None:
    view = View(buffer=0, dtype="float32", shape=(64, 64), stride=(64, 1))
    answer = compiles("a = x.load([0, 0])", "tl.store(y + tl.arange(0, 32), tl.sum(a, 0))",
                     x=Descriptor(view=view, block_shape=(32, 32)))  # fmt: skip
    assert answer["resources"]["registers"] > 0


@pytest.mark.parametrize(
    ("ttir", "ptx", "what"),
    [
        ("", "mov.u64 \t%rd1, %globaltimer;", "the clock"),
        ("", "mov.u32 %r1, %clock_hi;", "the clock"),
        ("", "mov.u64 %rd4, %gridid;", "the number of the launch"),
        ("%1 = tt.ptr_to_int %0 : !tt.ptr<f32> -> i64", "", "an address"),
        ("%2 = tt.load %1 : tensor<4x!tt.ptr<!tt.ptr<f32>>>", "", "an address"),
        ('%3 = tt.elementwise_inline_asm "ld.param.u64 $0, [k_param_0];" {} %2 : i32 -> i64', "", "inline assembly"),
        ('%3 = tt.elementwise_inline_asm "// loc(\\0A ld.b64 $0, [$1];" {} %2 : i64 -> i64', "", "inline assembly"),
        ('%3 = tt.elementwise_inline_asm "call ($0), malloc, (a);" {} %2 : i32 -> i64', "", "inline assembly"),
        ('%3 = tt.elementwise_inline_asm "mov.b64 $0, $1;" {} %2 : tensor<4x!tt.ptr<f32>> -> i64', "", "an address"),
    ],
)
def test_a_kernel_is_refused_what_tells_one_call_from_another(ttir: str, ptx: str, what: str) -> None:
    assert what in unfair_in(ttir, ptx)


@pytest.mark.parametrize(
    "text",
    ["mov.b32 $0, $1;\\ncall.uni ($0), malloc, ($1);", "mov.u32 $0, %smid;", "mov.b32 $0, $1; // $(a$|b$)", "exit;"],
)
def test_inline_assembly_that_is_not_arithmetic_is_refused(compiles: Compile, text: str) -> None:
    body = (*COPY, f"a = tl.inline_asm_elementwise('{text}', '=r,r', [i], tl.int32, False, 1)", "tl.store(x + i, a)")
    answer = compiles(*body)
    # What ptxas itself does not take is a compile error.
    assert answer["status"] == "compile_error" or "k has inline assembly with" in answer["reason"]
    if "malloc" not in text:
        assert "k has inline assembly with" in answer["reason"]


@pytest.mark.parametrize(
    "line",
    [
        "b = tl.load(x + i).to(tl.float8e4b15).to(tl.float16)",
        "b = libdevice.tanh(tl.load(x + i))",
        "b = tl.inline_asm_elementwise('{ .reg .b32 t; // %\\n shl.b32 t, $1, 1; xor.b32 $0, t, $1; }', '=r,r', [i], "
        "tl.int32, True, 1)",
    ],
)
def test_arithmetic_in_assembly_and_libdevice_pass(compiles: Compile, line: str) -> None:
    answer = compiles("i = tl.arange(0, BLOCK)", line, "tl.store(y + i, b)")
    assert answer["resources"]["registers"] > 0


@pytest.mark.parametrize(("line", "is_fair"), [
    ("if x:\n    tl.store(y + i, b)", True), ("tl.store(y + i, b, mask=not x)", True),
    ("if x and n > 3:\n    tl.store(y + i, b)", True), ("if x + n:\n    tl.store(y + i, b)", False),
    ("tl.store(y + i, x.to(tl.int64) != 4096)", False),
    ("tl.store(y + i, (x.to(tl.int64) != 0) | (x.to(tl.int64) > n))", False),
    ("if x.to(tl.pointer_type(tl.int32), bitcast=True):\n    tl.store(y + i, b)", False),
    ("c0_i64 = n.to(tl.int64)\nif x.to(tl.int64) != c0_i64:\n    tl.store(y + i, b)", False),
    ("for c0_i64 in range(n):\n    if x.to(tl.int64) != c0_i64:\n        tl.store(y + i, b)", False),
])  # fmt: skip
def test_an_argument_may_be_compared_with_zero_and_no_other_number(compiles: Compile, line: str, is_fair: bool) -> None:
    lines = ("i = tl.arange(0, BLOCK)", "b = tl.load(y + i)", *line.split("\n"))
    answer = compiles(*lines, n=Value(kind="int", text="99"))
    assert ("an address" not in answer.get("reason", "")) == is_fair, answer
    assert ("resources" in answer) == is_fair, answer


def test_what_every_kernel_holds_is_not_taken_for_it() -> None:
    ttir = "%1 = tt.addptr %0, %arg3 : !tt.ptr<f32>, i32\n%2 = tt.bitcast %1 : !tt.ptr<f32> -> !tt.ptr<i32>"
    ttir += '\n%4 = tt.elementwise_inline_asm "lop3.b32 $0, $1, 1, 2, 3;" {constraints = "=r,r"} %3 : i32 -> i32'
    assert unfair_in(ttir, "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;") == ""
