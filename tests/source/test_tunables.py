"""Which integers of a source are tunables, and which are not.

Every source here is text: nothing is imported or run. The rule: a doubtful number is no tunable.
"""

from __future__ import annotations

import textwrap

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


def test_a_literal_at_the_launch_is_a_tunable_named_after_kernel_and_parameter() -> None:
    tunables = by_key(SOFTMAX)
    assert list(tunables) == ["softmax_kernel.BLOCK", "softmax_kernel.num_warps", "softmax_kernel.num_stages"]
    block = tunables["softmax_kernel.BLOCK"]
    assert (block.default, block.choices, block.kind) == (1024, (256, 512, 1024, 2048, 4096), "constexpr")


def test_warps_and_stages_are_tunables_whether_written_or_not() -> None:
    tunables = by_key(SOFTMAX)
    warps, stages = tunables["softmax_kernel.num_warps"], tunables["softmax_kernel.num_stages"]
    assert (warps.default, warps.choices) == (8, (1, 2, 4, 8, 16))
    assert (stages.default, stages.choices) == (3, (1, 2, 3, 4, 5))
    assert by_key(launch("x, 64"))["k.num_warps"].default == 4


def test_module_constants_are_tunables_under_their_own_name() -> None:
    assert constants_of(MATMUL) == {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "matmul_kernel.GROUP_M": 8}


def test_what_says_what_is_computed_is_never_a_tunable() -> None:
    assert not any("ACTIVATION" in key or "STRIDE" in key for key in by_key(MATMUL))


def test_a_block_of_a_matrix_product_stays_at_least_sixteen() -> None:
    assert by_key(MATMUL)["BLOCK_K"].choices == (16, 32, 64, 128)


def test_the_default_config_names_every_tunable_that_the_text_holds() -> None:
    assert default_config(SOFTMAX) == {
        "softmax_kernel.BLOCK": 1024,
        "softmax_kernel.num_warps": 8,
        "softmax_kernel.num_stages": 3,
    }


def test_a_local_constant_assigned_once_is_a_tunable() -> None:
    assert constants_of(launch("x, BLOCK=B", before="B = 64")) == {"B": 64}
    assert constants_of(launch("x, BLOCK=B", before="B: int = 64")) == {"B": 64}
    assert constants_of(launch("x, BLOCK=B", before="(A, B) = (1, 64)")) == {"B": 64}


def test_a_constant_through_another_name_is_known_by_the_last_one() -> None:
    source = "DEFAULT_BLOCK = 64\n" + launch("x, BLOCK=block", before="block = DEFAULT_BLOCK")
    assert constants_of(source) == {"DEFAULT_BLOCK": 64}


def test_a_constant_assigned_twice_is_not_a_tunable() -> None:
    assert constants_of(launch("x, BLOCK=B", before="B = 64\nif x.numel() > 9:\n    B = 128")) == {}
    assert constants_of(launch("x, BLOCK=B", before="B = 64\nB *= 2")) == {}
    assert constants_of(launch("x, BLOCK=B", before="B = 64\nfor B in (1, 2):\n    pass")) == {}


def test_a_module_constant_that_a_function_may_set_is_not_a_tunable() -> None:
    source = "B = 64\n" + launch("x, BLOCK=B") + "def change():\n    global B\n    B = 1\n"
    assert constants_of(source) == {}


def test_a_local_name_hides_the_module_constant_of_the_same_name() -> None:
    assert constants_of("B = 64\n" + launch("x, BLOCK=B", before="B = x.shape[0]")) == {}


def test_a_parameter_of_the_host_function_is_not_a_tunable() -> None:
    source = launch("x, BLOCK=B").replace("def kernel_function(x):", "def kernel_function(x, B=64):")
    assert constants_of(source) == {}


def test_expressions_are_not_tunables() -> None:
    for value in ("2 * 64", "64 if x.numel() > 9 else 32", "triton.next_power_of_2(64)", "-64", "True", "64.0"):
        assert constants_of(launch(f"x, BLOCK={value}")) == {}, value


def test_a_number_that_is_no_power_of_two_is_not_a_tunable() -> None:
    assert constants_of(launch("x, BLOCK=96")) == {}


def test_a_parameter_that_is_not_constexpr_is_not_a_tunable() -> None:
    assert constants_of(launch("x, 64", parameter="BLOCK")) == {}


def test_a_number_that_the_grid_repeats_is_not_a_tunable() -> None:
    source = launch("x, BLOCK=64").replace("k[(4,)]", "k[(triton.cdiv(x.numel(), 64),)]")
    assert constants_of(source) == {}
    named = source.replace("    k[", "    BLOCK = 64\n    k[").replace("numel(), 64", "numel(), BLOCK")
    assert constants_of(named.replace("BLOCK=64", "BLOCK=BLOCK")) == {"BLOCK": 64}
    elsewhere = launch("x, BLOCK=64", before="grid = (x.numel() // 64,)").replace("k[(4,)]", "k[grid]")
    assert constants_of(elsewhere) == {}


def test_a_kwargs_dict_hides_what_is_absent_but_not_what_is_written() -> None:
    tunables = by_key(launch("x, BLOCK=64, **options", before="options = {'num_warps': 8}"))
    assert list(tunables) == ["k.BLOCK"]


def test_values_in_a_dict_are_not_tunables() -> None:
    assert find_tunables(launch("x, **options", before="options = {'BLOCK': 64, 'num_warps': 8}")) == ()


def test_arguments_behind_a_star_are_not_read() -> None:
    assert constants_of(launch("*args, 64", before="args = (x,)")) == {}


def test_a_default_in_the_signature_is_a_tunable_where_no_launch_passes_it() -> None:
    source = launch("x", parameter="BLOCK: tl.constexpr = 64")
    assert constants_of(source) == {"k.BLOCK": 64}


def test_a_default_in_the_signature_that_every_launch_overrides_is_not_a_tunable() -> None:
    assert constants_of(launch("x, BLOCK=32", parameter="BLOCK: tl.constexpr = 64")) == {"k.BLOCK": 32}


def test_a_default_that_another_kernel_or_a_dict_may_rely_on_is_not_a_tunable() -> None:
    assert constants_of(launch("x, **options", parameter="BLOCK: tl.constexpr = 64")) == {}
    source = launch("x", parameter="BLOCK: tl.constexpr = 64")
    assert constants_of(source + "\n@triton.jit\ndef other(x):\n    k(x)\n") == {}


def test_constexpr_constants_that_a_kernel_reads_are_tunables() -> None:
    wrapped = "import triton.language as tl\nCHUNK = tl.constexpr(64)\n" + launch("x, 4", body="CHUNK")
    assert constants_of(wrapped)["CHUNK"] == 64
    annotated = "import triton.language as tl\nCHUNK: tl.constexpr = 64\n" + launch("x, 4", body="CHUNK")
    assert constants_of(annotated)["CHUNK"] == 64
    unread = "import triton.language as tl\nCHUNK = tl.constexpr(64)\n" + launch("x, 4")
    assert "CHUNK" not in constants_of(unread)


def test_a_constexpr_inside_a_kernel_is_a_tunable_of_that_kernel() -> None:
    source = launch("x, N=4", parameter="N: tl.constexpr").replace(
        "    tl.store(x, 0)", "    CHUNK: tl.constexpr = 64\n    tl.store(x, CHUNK)"
    )
    assert constants_of(source) == {"k.CHUNK": 64}


def test_one_literal_that_feeds_two_launches_is_one_tunable() -> None:
    source = launch("x, BLOCK=B", before="B = 64").replace("    return x", "    k[(8,)](x, BLOCK=B)\n    return x")
    tunables = by_key(source)
    assert [key for key, tunable in tunables.items() if tunable.kind == "constexpr"] == ["B"]
    assert {"k.num_warps", "k.num_warps#2"} <= tunables.keys()


def test_two_literals_of_one_name_are_two_tunables_numbered_in_file_order() -> None:
    source = launch("x, BLOCK=64").replace("    return x", "    k[(8,)](x, BLOCK=128)\n    return x")
    assert constants_of(source) == {"k.BLOCK": 64, "k.BLOCK#2": 128}


def test_two_kernels_keep_their_tunables_apart() -> None:
    second = "\n@triton.jit\ndef finish(x, BLOCK: tl.constexpr):\n    tl.store(x, 1)\n"
    source = (launch("x, BLOCK=64") + second).replace("    return x", "    finish[(1,)](x, BLOCK=16)\n    return x")
    assert constants_of(source) == {"k.BLOCK": 64, "finish.BLOCK": 16}


def test_warps_by_a_constant_are_a_tunable_under_its_name() -> None:
    tunables = by_key(launch("x, 64, num_warps=WARPS", before="WARPS = 8"))
    assert tunables["WARPS"].kind == "num_warps"
    assert "k.num_warps" not in tunables


def test_warps_by_an_expression_are_not_a_tunable() -> None:
    assert "k.num_warps" not in by_key(launch("x, 64, num_warps=4 if x.numel() > 9 else 8"))


def test_a_number_used_both_as_warps_and_as_block_is_not_a_tunable() -> None:
    assert "BLOCK" not in by_key(launch("x, BLOCK=BLOCK, num_warps=BLOCK", before="BLOCK = 4"))


def test_a_name_that_reaches_a_forbidden_parameter_is_not_a_tunable() -> None:
    assert constants_of(launch("x, HEAD_DIM=BLOCK", parameter="HEAD_DIM: tl.constexpr", before="BLOCK = 64")) == {}


def test_an_unremarkable_parameter_is_a_tunable_if_the_constant_says_so() -> None:
    assert constants_of(launch("x, N=BLOCK", parameter="N: tl.constexpr", before="BLOCK = 64")) == {"BLOCK": 64}
    assert constants_of(launch("x, N=SIZE", parameter="N: tl.constexpr", before="SIZE = 64")) == {}


def test_stages_of_a_loop_take_small_numbers() -> None:
    tunable = by_key(launch("x, NUM_STAGES=3", parameter="NUM_STAGES: tl.constexpr"))["k.NUM_STAGES"]
    assert tunable.choices == (1, 2, 3, 4, 5)


def test_an_attention_stage_is_not_a_tunable() -> None:
    assert constants_of(launch("x, STAGE=1", parameter="STAGE: tl.constexpr")) == {}


def test_an_autotuned_kernel_offers_the_index_of_its_config_and_nothing_else() -> None:
    configs = "[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128}, num_warps=8)]"
    source = launch("x").replace("@triton.jit", f"@triton.autotune(configs={configs}, key=['n'])\n@triton.jit")
    (tunable,) = find_tunables(source)
    assert (tunable.key, tunable.choices, tunable.kind) == ("autotune:k", (0, 1), "autotune")
    assert default_config(source) == {}
    positional = source.replace("configs=", "").replace("key=", "")
    assert find_tunables(positional) == (tunable,)


def test_configs_that_are_computed_are_not_counted() -> None:
    configs = "[triton.Config({'BLOCK': b}) for b in (64, 128)]"
    source = launch("x").replace("@triton.jit", f"@triton.autotune(configs={configs}, key=[])\n@triton.jit")
    assert find_tunables(source) == ()


def test_configs_by_a_module_constant_are_counted() -> None:
    source = launch("x").replace(
        "@triton.jit",
        "CONFIGS = [triton.Config({'BLOCK': 64})]\n@triton.autotune(configs=CONFIGS, key=[])\n@triton.jit",
    )
    assert [tunable.key for tunable in find_tunables(source)] == ["autotune:k"]


def test_what_heuristics_compute_is_not_a_tunable() -> None:
    heuristics = "@triton.heuristics({'BLOCK': lambda args: 64, 'num_warps': lambda args: 8})\n@triton.jit"
    source = launch("x, BLOCK=64").replace("@triton.jit", heuristics)
    assert list(by_key(source)) == ["k.num_stages"]


def test_a_kernel_under_an_unknown_decorator_is_left_alone() -> None:
    assert find_tunables(launch("x, 64").replace("@triton.jit", "@counted\n@triton.jit")) == ()


def test_a_kernel_defined_twice_is_left_alone() -> None:
    source = launch("x, 64")
    assert find_tunables(source + "\n@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    pass\n") == ()


def test_imports_under_other_names_are_understood() -> None:
    source = (
        "from triton import jit, language\nfrom triton.language import constexpr\n\n"
        "@jit\ndef k(x, BLOCK: constexpr, TILE: 'language.constexpr'):\n    pass\n\n"
        "def kernel_function(x):\n    k[(1,)](x, 64, 32)\n"
    )
    assert constants_of(source) == {"k.BLOCK": 64, "k.TILE": 32}


def test_other_subscripted_calls_are_not_launches() -> None:
    assert find_tunables("table = {}\ntable['x'](BLOCK=64, num_warps=4)\n") == ()


def test_text_that_is_not_python_has_no_tunables() -> None:
    for text in ("", "def broken(:\n", "x = '\0'", "(" * 5000, "\ud800"):
        assert find_tunables(text) == ()
        assert default_config(text) == {}


def test_a_launch_in_a_method_finds_module_constants_past_the_class() -> None:
    source = (
        "import triton\nimport triton.language as tl\nBLOCK = 64\n\n@triton.jit\n"
        "def k(x, BLOCK: tl.constexpr):\n    pass\n\n"
        "class ModelNew:\n    BLOCK = 32\n\n    def forward(self, x):\n        k[(1,)](x, BLOCK)\n"
    )
    assert constants_of(source) == {"BLOCK": 64}


def test_a_largest_block_that_reaches_a_constexpr_through_min_is_a_tunable() -> None:
    source = textwrap.dedent(
        """
        import triton
        import triton.language as tl

        @triton.jit
        def k(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 0.0)

        MAX_BLOCK = 1024

        def kernel_function(x):
            block = min(triton.next_power_of_2(x.shape[0]), MAX_BLOCK)
            k[(1,)](x, x.shape[0], BLOCK=block)
            return x
        """
    )
    found = {tunable.key: tunable.default for tunable in find_tunables(source)}
    assert found["MAX_BLOCK"] == 1024


def test_a_bare_number_inside_min_is_no_tunable() -> None:
    source = textwrap.dedent(
        """
        import triton
        import triton.language as tl

        @triton.jit
        def k(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 0.0)

        def kernel_function(x):
            k[(1,)](x, x.shape[0], BLOCK=min(triton.next_power_of_2(x.shape[0]), 1024))
            return x
        """
    )
    assert all(tunable.kind != "constexpr" for tunable in find_tunables(source))
