"""What a generator would say of a row-wise mean: texts as Inductor writes them, with symbols in place of sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kernelwright.model import Capture, Generated, Sizes, TensorSpec

KERNEL = """
import triton
import triton.language as tl

@triton_heuristics.reduction(size_hints={{'x': 64}}, inductor_meta={{'grid_type': 'Grid1D'}})
@triton.jit
def triton_red_fused_native_layer_norm_relu_0(in_ptr0, out_ptr0, ks0, ks1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    unread = xindex
    total = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        tmp0 = tl.load(in_ptr0 + (r0_index + {width}*xindex), (r0_index < r0_numel) & xmask, other=0.0)
        total += triton_helpers.maximum(tmp0, 0.0)
    tmp1 = tl.sum(total, 1)[:, None] / ({width}).to(tl.float32)
    tl.store(out_ptr0 + (xindex), tmp1, xmask)
"""  # noqa: E501

TEXT = """
# Topologically Sorted Source Nodes: [x], Original ATen: [aten.native_layer_norm, aten.relu]
# Source node to ATen node mapping:
triton_red_fused_native_layer_norm_relu_0 = async_compile.triton('triton_red_fused_native_layer_norm_relu_0', '''{kernel}''')

assert_size_stride = torch._C._dynamo.guards.assert_size_stride

def call(args):
    {symbols}arg0_1, = args
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
LAUNCH = NAME + ".run(arg0_1, buf0, {width}, {rows}, {rows}, {width}, stream=raw_stream0)"
CONFIG = {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 16, "num_stages": 1}
ROWS, WIDTH = 64, 4096

Change = Callable[[str], str]


def capture(
    change: Change, dtype: str = "float32", at: tuple[int, int] | None = None, sizes: Sizes | None = None
) -> Capture:
    """A row-wise mean. change: of the template. at: rows and width, in place of symbols. sizes: of the symbols."""
    return filled(change(TEXT.replace("{kernel}", KERNEL).replace("{step}", LAUNCH)), dtype, at, sizes)


def filled(template: str, dtype: str, at: tuple[int, int] | None, sizes: Sizes | None = None) -> Capture:
    """The template with sizes; kernels have them as parameters ks0 (width) and ks1 (rows)."""
    known = sizes or SIZES
    rows, width = at or ("s0", "s1")
    texts = template.split("'''")
    texts[0::2] = [one.format(rows=rows, width=width, symbols="" if at else "s0_arg, s1_arg, ") for one in texts[0::2]]
    texts[1::2] = [one.format(rows="ks1", width="ks0") for one in texts[1::2]]
    shape = at or (known.values["rows"], known.values["dim"])
    spec = TensorSpec(shape=shape, dtype=dtype, stride=(shape[1], 1))
    return Capture(text="'''".join(texts), names=("x",), tensors=(spec,), sizes=None if at else known,
                   configs={NAME: (CONFIG,), NAME[:-1] + "1": (CONFIG,)})  # fmt: skip


SIZES = Sizes(
    names={"s0": "rows", "s1": "dim"}, values={"rows": ROWS, "dim": WIDTH}, shapes=(("rows", "dim"),),
    least={"rows": 2, "dim": 2},
)  # fmt: skip


def of(change: Change, **others: Any) -> Generated:
    """With symbols, and at the sizes of the timed case."""
    captures = (capture(change), capture(change, at=(ROWS, WIDTH)))
    return msgspec.structs.replace(Generated(captures=captures, inputs=(("x", None),), torch="2.13"), **others)


def unchanged(text: str) -> str:
    return text


def exact(source: str) -> str:
    """A candidate with exact products, which the CPU interpreter can judge, in small blocks, which compile fast."""
    source = re.sub("input_precision='tf32(x3)?'", "input_precision='ieee'", source)
    return re.sub(r"(?m)^(BLOCK_[MNK]\w*) = \d+$", r"\1 = 32", source)


def of_rows(step: str = "", launched: bool = True) -> Generated:
    """step: of the host code, before the kernel's launch. launched: whether there is one."""
    steps = "\n        ".join([step] * bool(step) + [LAUNCH] * launched)
    return of(lambda text: text.replace(LAUNCH, steps))


TEMPLATE = """
import triton
import triton.language as tl

@triton_heuristics.template(num_stages=3, num_warps=4, inductor_meta={{'grid_type': 'FixedGrid'}})
@triton.jit
def triton_tem_fused_mm_relu_0(arg_A, arg_B, out_ptr1, ks0, ks1):
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


def template(change: Change = unchanged, at: tuple[int, int] | None = None) -> Capture:
    """A product of x with itself, transposed, as Inductor writes its template. change: of the template."""
    name = "triton_tem_fused_mm_relu_0"
    tiles = "(({rows} + 63) // 64)"
    launch = f"{name}.run(arg0_1, arg0_1, buf0, {{width}}, {{rows}}, {tiles} * {tiles}, 1, 1, stream=raw_stream0)"
    text = TEXT.replace("{kernel}", TEMPLATE).replace("{step}", launch).replace(NAME, name)
    text = text.replace("aten.native_layer_norm", "aten.mm")
    text = change(text.replace("({rows}, 1), (1, {rows})", "({rows}, {rows}), ({rows}, 1)"))
    made = filled(text, "float32", at)
    return msgspec.structs.replace(made, configs={name: ({"num_warps": 4, "num_stages": 3},)})


SQUARE = "extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, ({width}, {rows}), (1, {width}), 0), out=buf0)"


def of_product(rows: int, call: str = SQUARE) -> Generated:
    """x @ x.T in float32, by a library call alone, and by a template."""
    size = (rows, WIDTH)
    sizes = msgspec.structs.replace(SIZES, values={"rows": rows, "dim": WIDTH})
    made = tuple(capture(lambda text: text.replace(LAUNCH, call), at=at, sizes=sizes) for at in (None, size))
    templates = (msgspec.structs.replace(template(), sizes=sizes), template(at=size))
    return Generated(captures=made, templates=templates, inputs=(("x", None),), torch="2.13")
