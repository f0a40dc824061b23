"""Which integers of a source are tunables, and which are not.

Every source here is text: nothing is imported or run. The rule: a doubtful number is no tunable.
"""

from __future__ import annotations

import pytest

from kernelwright.source import Tunable, default_config, find_tunables

SOFTMAX = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + row * stride + offsets, tl.load(x_ptr + offsets), mask=offsets < n_cols)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=1024, num_warps=8)
        return y
"""

MATMUL = """\
import torch, triton
import triton.language as tl

BLOCK_M, BLOCK_N = 128, 64
BLOCK_K: int = 32


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  GROUP_M: tl.constexpr, ACTIVATION: tl.constexpr, STRIDE: tl.constexpr):
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    acc = tl.dot(tl.load(a), tl.load(b), acc)
    tl.store(c, acc)


def kernel_function(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    matmul_kernel[grid](a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M=8, ACTIVATION=1, STRIDE=2)
    return c
"""


def by_key(source: str) -> dict[str, Tunable]:
    tunables = find_tunables(source)
    assert len({tunable.key for tunable in tunables}) == len(tunables)
    return {tunable.key: tunable for tunable in tunables}


def launch(arguments: str, parameter: str = "BLOCK: tl.constexpr", before: str = "", body: str = "") -> str:
    """A module with one kernel `k(x, parameter)` and one launch `k[(4,)](arguments)` behind the lines `before`."""
    lines = "".join(f"    {line}\n" for line in before.splitlines())
    return (
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        f"def k(x, {parameter}):\n    tl.store(x, {body or '0'})\n\n"
        f"def kernel_function(x):\n{lines}    k[(4,)]({arguments})\n    return x\n"
    )


def constants_of(source: str) -> dict[str, int]:
    return {tunable.key: tunable.default for tunable in find_tunables(source) if tunable.kind == "constexpr"}


def again(arguments: str) -> tuple[str, str]:
    """Puts another launch behind the one of `launch`."""
    return "    return x", f"    {arguments}\n    return x"


ONE = launch("x, BLOCK=64")
NAMED = {"parameter": "N: tl.constexpr"}
DEFAULT = {"parameter": "BLOCK: tl.constexpr = 64"}
CHUNK = "import triton.language as tl\nCHUNK{} = {}\n"
REPEATED = ONE.replace("k[(4,)]", "k[(triton.cdiv(x.numel(), 64),)]")

CONSTANTS: dict[str, tuple[str, dict[str, int]]] = {
    "module constants, under their own name": (
        MATMUL, {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "matmul_kernel.GROUP_M": 8}),
    "a local constant": (launch("x, BLOCK=B", before="B = 64"), {"B": 64}),
    "a local constant with an annotation": (launch("x, BLOCK=B", before="B: int = 64"), {"B": 64}),
    "a local constant in a tuple": (launch("x, BLOCK=B", before="(A, B) = (1, 64)"), {"B": 64}),
    "a constant through another name, by the last one": (
        "DEFAULT_BLOCK = 64\n" + launch("x, BLOCK=block", before="block = DEFAULT_BLOCK"), {"DEFAULT_BLOCK": 64}),
    "not one assigned again in a branch": (
        launch("x, BLOCK=B", before="B = 64\nif x.numel() > 9:\n    B = 128"), {}),
    "not one that is changed": (launch("x, BLOCK=B", before="B = 64\nB *= 2"), {}),
    "not one that a loop assigns": (launch("x, BLOCK=B", before="B = 64\nfor B in (1, 2):\n    pass"), {}),
    "not one that a function may set": (
        "B = 64\n" + launch("x, BLOCK=B") + "def change():\n    global B\n    B = 1\n", {}),
    "not one that a local name hides": ("B = 64\n" + launch("x, BLOCK=B", before="B = x.shape[0]"), {}),
    "not a parameter of the host function": (
        launch("x, BLOCK=B").replace("def kernel_function(x):", "def kernel_function(x, B=64):"), {}),
    **{f"not {value}": (launch(f"x, BLOCK={value}"), {})
       for value in (
           "2 * 64", "64 if x.numel() > 9 else 32", "triton.next_power_of_2(64)", "-64", "True", "64.0", "96")},
    "not a parameter that is not constexpr": (launch("x, 64", parameter="BLOCK"), {}),
    "not a number that the grid repeats": (REPEATED, {}),
    "a constant in the grid too": (
        REPEATED.replace("    k[", "    BLOCK = 64\n    k[").replace("(), 64", "(), BLOCK").replace("=64)", "=BLOCK)"),
        {"BLOCK": 64}),
    "not a number that a grid before it repeats": (
        launch("x, BLOCK=64", before="grid = (x.numel() // 64,)").replace("k[(4,)]", "k[grid]"), {}),
    "not behind a star": (launch("*args, 64", before="args = (x,)"), {}),
    "a default that no launch passes": (launch("x", **DEFAULT), {"k.BLOCK": 64}),
    "not a default that every launch overrides": (launch("x, BLOCK=32", **DEFAULT), {"k.BLOCK": 32}),
    "not a default that a dict may rely on": (launch("x, **options", **DEFAULT), {}),
    "not a default that another kernel may rely on": (
        launch("x", **DEFAULT) + "\n@triton.jit\ndef other(x):\n    k(x)\n", {}),
    "a constexpr constant that a kernel reads": (
        CHUNK.format("", "tl.constexpr(64)") + launch("x, 4", body="CHUNK"), {"CHUNK": 64}),
    "one that is annotated": (
        CHUNK.format(": tl.constexpr", "64") + launch("x, 4", body="CHUNK"), {"CHUNK": 64}),
    "not one that no kernel reads": (CHUNK.format("", "tl.constexpr(64)") + launch("x, 4"), {}),
    "a constexpr inside a kernel": (
        launch("x, N=4", **NAMED).replace(
            "    tl.store(x, 0)", "    CHUNK: tl.constexpr = 64\n    tl.store(x, CHUNK)"),
        {"k.CHUNK": 64}),
    "two literals of one name, in the order of the file": (
        ONE.replace(*again("k[(8,)](x, BLOCK=128)")), {"k.BLOCK": 64, "k.BLOCK#2": 128}),
    "those of two kernels apart": (
        (ONE + "\n@triton.jit\ndef finish(x, BLOCK: tl.constexpr):\n    tl.store(x, 1)\n").replace(
            *again("finish[(1,)](x, BLOCK=16)")),
        {"k.BLOCK": 64, "finish.BLOCK": 16}),
    "not what reaches a parameter of another meaning": (
        launch("x, HEAD_DIM=BLOCK", parameter="HEAD_DIM: tl.constexpr", before="BLOCK = 64"), {}),
    "an unremarkable parameter where the constant says so": (
        launch("x, N=BLOCK", **NAMED, before="BLOCK = 64"), {"BLOCK": 64}),
    "not an unremarkable parameter": (launch("x, N=SIZE", **NAMED, before="SIZE = 64"), {}),
    "not a stage of an attention": (launch("x, STAGE=1", parameter="STAGE: tl.constexpr"), {}),
    "imports under other names": (
        "from triton import jit, language\nfrom triton.language import constexpr\n\n"
        "@jit\ndef k(x, BLOCK: constexpr, TILE: 'language.constexpr'):\n    pass\n\n"
        "def kernel_function(x):\n    k[(1,)](x, 64, 32)\n",
        {"k.BLOCK": 64, "k.TILE": 32}),
    "in a method, module constants past the class": (
        "import triton\nimport triton.language as tl\nBLOCK = 64\n\n@triton.jit\n"
        "def k(x, BLOCK: tl.constexpr):\n    pass\n\n"
        "class ModelNew:\n    BLOCK = 32\n\n    def forward(self, x):\n        k[(1,)](x, BLOCK)\n",
        {"BLOCK": 64}),
    "the largest block, through min": (
        "MAX_BLOCK = 1024\n" + launch(
            "x, BLOCK=block", before="block = min(triton.next_power_of_2(x.shape[0]), MAX_BLOCK)"),
        {"MAX_BLOCK": 1024}),
    "not a bare number inside min": (launch("x, BLOCK=min(triton.next_power_of_2(x.shape[0]), 1024)"), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_these_numbers_are_tunables_and_no_others(name: str) -> None:
    source, expected = CONSTANTS[name]
    assert constants_of(source) == expected


def test_a_literal_at_the_launch_is_a_tunable_named_after_kernel_and_parameter() -> None:
    tunables = by_key(SOFTMAX)
    block, warps, stages = tunables.values()
    assert list(tunables) == ["softmax_kernel.BLOCK", "softmax_kernel.num_warps", "softmax_kernel.num_stages"]
    assert (block.default, block.choices, block.kind) == (1024, (256, 512, 1024, 2048, 4096), "constexpr")
    assert (warps.default, warps.choices) == (8, (1, 2, 4, 8, 16))
    assert (stages.default, stages.choices) == (3, (1, 2, 3, 4, 5))
    assert default_config(SOFTMAX) == {name: tunable.default for name, tunable in tunables.items()}
    assert by_key(launch("x, 64"))["k.num_warps"].default == 4, "whether written or not"


def test_a_block_of_a_matrix_product_stays_at_least_sixteen() -> None:
    assert by_key(MATMUL)["BLOCK_K"].choices == (16, 32, 64, 128)


def test_one_literal_that_feeds_two_launches_is_one_tunable() -> None:
    source = launch("x, BLOCK=B", before="B = 64").replace(*again("k[(8,)](x, BLOCK=B)"))
    tunables = by_key(source)
    assert [key for key, tunable in tunables.items() if tunable.kind == "constexpr"] == ["B"]
    assert {"k.num_warps", "k.num_warps#2"} <= tunables.keys()


def test_warps_by_a_constant_are_a_tunable_under_its_name_and_by_an_expression_none() -> None:
    tunables = by_key(launch("x, 64, num_warps=WARPS", before="WARPS = 8"))
    assert tunables["WARPS"].kind == "num_warps"
    assert "k.num_warps" not in tunables
    assert "k.num_warps" not in by_key(launch("x, 64, num_warps=4 if x.numel() > 9 else 8"))
    assert "BLOCK" not in by_key(launch("x, BLOCK=BLOCK, num_warps=BLOCK", before="BLOCK = 4")), "of two meanings"


def test_stages_of_a_loop_take_small_numbers() -> None:
    tunable = by_key(launch("x, NUM_STAGES=3", parameter="NUM_STAGES: tl.constexpr"))["k.NUM_STAGES"]
    assert tunable.choices == (1, 2, 3, 4, 5)


def autotuned(configs: str, before: str = "") -> str:
    return launch("x").replace("@triton.jit", f"{before}@triton.autotune(configs={configs}, key=['n'])\n@triton.jit")


def test_an_autotuned_kernel_offers_the_index_of_its_config_and_nothing_else() -> None:
    source = autotuned("[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128}, num_warps=8)]")
    (tunable,) = find_tunables(source)
    assert (tunable.key, tunable.choices, tunable.kind) == ("autotune:k", (0, 1), "autotune")
    assert default_config(source) == {}
    assert find_tunables(source.replace("configs=", "").replace("key=", "")) == (tunable,)
    assert find_tunables(autotuned("[triton.Config({'BLOCK': b}) for b in (64, 128)]")) == (), "they are computed"
    named = autotuned("CONFIGS", "CONFIGS = [triton.Config({'BLOCK': 64})]\n")
    assert [tunable.key for tunable in find_tunables(named)] == ["autotune:k"]


def test_what_heuristics_compute_and_what_a_dict_may_hold_is_not_a_tunable() -> None:
    heuristics = "@triton.heuristics({'BLOCK': lambda args: 64, 'num_warps': lambda args: 8})\n@triton.jit"
    assert list(by_key(ONE.replace("@triton.jit", heuristics))) == ["k.num_stages"]
    assert list(by_key(launch("x, BLOCK=64, **options", before="options = {'num_warps': 8}"))) == ["k.BLOCK"]


NONE = {
    "values in a dict": launch("x, **options", before="options = {'BLOCK': 64, 'num_warps': 8}"),
    "a kernel under an unknown decorator": launch("x, 64").replace("@triton.jit", "@counted\n@triton.jit"),
    "a kernel defined twice": launch("x, 64") + "\n@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    pass\n",
    "other subscripted calls": "table = {}\ntable['x'](BLOCK=64, num_warps=4)\n",
    **dict(enumerate(("", "def broken(:\n", "x = '\0'", "(" * 5000, "\ud800"))),
}


@pytest.mark.parametrize("source", NONE.values(), ids=map(str, NONE))
def test_there_is_no_tunable(source: str) -> None:
    assert find_tunables(source) == ()
    assert default_config(source) == {}
