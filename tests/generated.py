"""What a generator would say of a row-wise mean: texts as Inductor writes them, at sizes that a test chooses."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from kernelwright.model import Capture, Generated, Split, TensorSpec

KERNEL = """
import triton
import triton.language as tl

@triton_heuristics.reduction(size_hints={{'x': 64}}, inductor_meta={{'grid_type': 'Grid1D'}})
@triton.jit
def triton_red_fused_native_layer_norm_relu_0(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = {rows}
    r0_numel = {width}
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    unread = xindex
    total = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        tmp0 = tl.load(in_ptr0 + (r0_index + {width}*xindex), (r0_index < r0_numel) & xmask, {hint}other=0.0)
        total += triton_helpers.maximum(tmp0, 0.0)
    tmp1 = tl.sum(total, 1)[:, None] / tl.full([1, 1], {width}.0, tl.float32)
    tl.store(out_ptr0 + (xindex), tmp1, xmask)
"""  # noqa: E501

TEXT = """
# Topologically Sorted Source Nodes: [x], Original ATen: [aten.native_layer_norm, aten.relu]
# Source node to ATen node mapping:
triton_red_fused_native_layer_norm_relu_0 = async_compile.triton('triton_red_fused_native_layer_norm_relu_0', '''{kernel}''')

assert_size_stride = torch._C._dynamo.guards.assert_size_stride

def call(args):
    arg0_1, = args
    args.clear()
    assert_size_stride(arg0_1, ({rows}, {width}), ({width}, 1), 'input')
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        arg0_1 = copy_if_misaligned(arg0_1)
        buf0 = empty_strided_cuda(({rows}, 1), (1, {rows}), torch.float32)
        raw_stream0 = get_raw_stream(0)
        {step}
        del arg0_1
    return (buf0, )
"""  # noqa: E501

NAME = "triton_red_fused_native_layer_norm_relu_0"
LAUNCH = NAME + ".run(arg0_1, buf0, {rows}, {width}, stream=raw_stream0)"
CONFIG = {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 16, "num_stages": 1}
SIZES = ((64, 4096), (61, 4083), (58, 4070))

Change = Callable[[str], str]


def capture(
    rows: int, width: int, change: Change, dtype: str = "float32", numbers: dict[str, int] | None = None
) -> Capture:
    """Both sizes of a row-wise mean. change: of the template."""
    hint = "eviction_policy='evict_first', " if rows == 64 else ""
    template = change(TEXT.replace("{kernel}", KERNEL).replace("{step}", LAUNCH))
    spec = TensorSpec(shape=(rows, width), dtype=dtype, stride=(width, 1))
    text = template.format(rows=rows, width=width, hint=hint)
    return Capture(text=text, names=("x",), tensors=(spec,), numbers=numbers or {"rows": rows, "dim": width},
                   configs={NAME: (CONFIG,), NAME[:-1] + "1": (CONFIG,)})  # fmt: skip


def unchanged(text: str) -> str:
    return text


def exact(source: str) -> str:
    """A candidate with exact products, which the CPU interpreter can judge, in small blocks, which compile fast."""
    source = re.sub("input_precision='tf32(x3)?'", "input_precision='ieee'", source)
    return re.sub(r"(?m)^(BLOCK_[MNK]\w*) = \d+$", r"\1 = 32", source)


def of_rows(step: str = "", launched: bool = True) -> Generated:
    """Three sizes. step: of the host code, before the kernel's launch. launched: whether there is one."""
    steps = "\n        ".join([step] * bool(step) + [LAUNCH] * launched)
    captures = tuple(capture(rows, width, lambda text: text.replace(LAUNCH, steps)) for rows, width in SIZES)
    return Generated(captures=captures, inputs=(("x", None),), torch="2.13")


def of_even_rows() -> Generated:
    """Six sizes. Where both are multiples of 16, as at the first, the kernel is another one."""
    sizes = (SIZES[0], *SIZES[1:], (55, 4057), (48, 4064), (32, 4032))

    def change(rows: int) -> Change:
        return lambda text: text.replace("tmp1 = ", "tmp1 = 1.0 * ") if rows % 16 == 0 else text

    captures = tuple(capture(rows, width, change(rows)) for rows, width in sizes)
    return Generated(captures=captures, inputs=(("x", None),), torch="2.13")


def of_sum(*splits: int, sizes: tuple[tuple[int, int], ...] = SIZES, change: Change = unchanged) -> Generated:
    """A sum of all elements in parts. splits: the number of parts at each size. change: of the template."""
    captures = []
    for (rows, width), count in zip(sizes, splits, strict=True):
        length = rows * width

        def in_parts(text: str, length: int = length, count: int = count) -> str:
            part = -(-length // count)
            for old, new in (
                ("xnumel = {rows}", f"xnumel = {count}"),
                ("r0_numel = {width}", f"r0_numel = {part}"),
                ("{width}*xindex), ", f"{part}*xindex), (r0_index + {part}*xindex < {length}) & "),
                ("(({rows}, 1), (1, {rows})", f"(({count},), (1,)"),
                (", {rows}, {width}, stream", f", {count}, {part}, stream"),
            ):
                assert old in text, old
                text = text.replace(old, new)
            return change(text)

        made = capture(rows, width, in_parts)
        split = Split(length=length, count=count, chosen=splits[0])
        captures.append(msgspec.structs.replace(made, splits=(split,)))
    return Generated(captures=tuple(captures), inputs=(("x", None),), torch="2.13")


TEMPLATE = """
import triton
import triton.language as tl

@triton_heuristics.template(num_stages=3, num_warps=4, inductor_meta={{'grid_type': 'FixedGrid'}})
@triton.jit
def triton_tem_fused_mm_relu_0(arg_A, arg_B, out_ptr1):
    ACC_TYPE : tl.constexpr = tl.float32
    ALLOW_TF32 : tl.constexpr = False
    BLOCK_M : tl.constexpr = 64
    BLOCK_N : tl.constexpr = 64
    BLOCK_K : tl.constexpr = 32
    GROUP_M : tl.constexpr = 8
    A = arg_A
    B = arg_B
    M = {rows}
    N = {rows}
    K = {width}
    if M * N == 0:
        return
    pid = tl.program_id(0)
    rm = pid % tl.cdiv(M, BLOCK_M) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid // tl.cdiv(M, BLOCK_M) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        a = tl.load(A + rm[:, None] % M * {width} + rk[None, :], mask=rk[None, :] < K, other=0.0)
        b = tl.load(B + rn[None, :] % N * {width} + rk[:, None], mask=rk[:, None] < K, other=0.0)
        acc += tl.dot(a, b, allow_tf32=ALLOW_TF32, out_dtype=ACC_TYPE)
    idx_m = rm[:, None]
    idx_n = rn[None, :]
    tmp0 = triton_helpers.maximum(acc, 0.0)
    tl.store(out_ptr1 + (idx_n + {rows} * idx_m), tmp0, (idx_m < M) & (idx_n < N))
"""


def template(rows: int, width: int, change: Change = unchanged) -> Capture:
    """A product of x with itself, transposed, as Inductor writes its template at one size. change: of the template."""
    name = "triton_tem_fused_mm_relu_0"
    tiles = -(-rows // 64)
    launch = f"{name}.run(arg0_1, arg0_1, buf0, {tiles * tiles}, 1, 1, stream=raw_stream0)"
    text = TEXT.replace("{kernel}", TEMPLATE).replace("{step}", launch).replace(NAME, name)
    text = text.replace("aten.native_layer_norm", "aten.mm")
    text = change(text.replace("({rows}, 1), (1, {rows})", "({rows}, {rows}), ({rows}, 1)"))
    spec = TensorSpec(shape=(rows, width), dtype="float32", stride=(width, 1))
    return Capture(text=text.format(rows=rows, width=width, hint=""), names=("x",), tensors=(spec,),
                   numbers={"rows": rows, "dim": width},
                   configs={name: ({"num_warps": 4, "num_stages": 3},)})  # fmt: skip


SQUARE = "extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, ({width}, {rows}), (1, {width}), 0), out=buf0)"


def of_product(rows: int, call: str = SQUARE) -> Generated:
    """x @ x.T in float32 at three sizes, by a library call alone, and by a template."""
    sizes = ((rows, 4096), (rows - 1, 4083), (rows - 2, 4070))
    with_call = tuple(capture(*size, lambda text: text.replace(LAUNCH, call)) for size in sizes)
    templates = tuple(template(*size) for size in sizes)
    return Generated(captures=with_call, templates=templates, inputs=(("x", None),), torch="2.13")
