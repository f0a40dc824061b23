"""What a generator would say of a row-wise mean: kernels as Inductor writes them, with symbols in place of sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.model import (
    Allocation,
    Capture,
    Generated,
    Items,
    Launch,
    LibraryCall,
    Sizes,
    Step,
    TensorSpec,
    Tiles,
    TritonKernel,
    View,
)

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

NAME = "triton_red_fused_native_layer_norm_relu_0"
OUT = Allocation(name="buf0", shape=("rows", "1"), stride=None, dtype="torch.float32")
LAUNCH = Launch(kernel=NAME, arguments=("x", "buf0", "dim", "rows", "rows", "dim"))
CONFIG = {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 16, "num_stages": 1}
ROWS, WIDTH = 64, 4096

Change = Callable[[str], str]


def unchanged(text: str) -> str:
    return text


def kernel(change: Change = unchanged, name: str = NAME, source: str = KERNEL, **others: Any) -> TritonKernel:
    """change: of its source, in which sizes are parameters: ks0 (dim) and ks1 (rows)."""
    operations = ("aten.native_layer_norm", "aten.relu")
    given = {"operations": operations, "grid": "Grid1D", "configs": (CONFIG,), **others}
    text = change(source.replace(NAME, name)).format(rows="ks1", width="ks0")
    return TritonKernel(name=name, source=text, **given)


def library(name: str, *arguments: View | Items | str, **others: Any) -> LibraryCall:
    """A call of an operator."""
    return LibraryCall(operator=f"{name}.default", function=f"torch.{name}", arguments=arguments, **others)


X = View(tensor="x")
MM = library("mm", X, X, out=View(tensor="buf0"))


def capture(
    change: Change = unchanged, dtype: str = "float32", at: tuple[int, int] | None = None, sizes: Sizes | None = None,
    **others: Any,
) -> Capture:  # fmt: skip
    """A row-wise mean. change: of the kernel's source. at: rows and dim, in place of symbols. sizes: of the symbols.
    others: fields of the capture."""
    known = sizes or SIZES
    shape = at or (known.values["rows"], known.values["dim"])
    spec = TensorSpec(shape=shape, dtype=dtype, stride=(shape[1], 1))
    given = {"kernels": (kernel(change),), "steps": (OUT, LAUNCH), "outputs": (View(tensor="buf0"),), **others}
    made = Capture(names=("x",), tensors=(spec,), sizes=None if at else known, **given)
    return made if at is None else codec.record(placed(codec.plain(made), at), Capture)


def placed(plain: Any, at: tuple[int, int]) -> Any:
    """Plain data with numbers in place of rows and dim, outside of sources."""
    match plain:
        case str():
            return re.sub(r"\bdim\b", str(at[1]), re.sub(r"\brows\b", str(at[0]), plain))
        case dict():
            return {key: one if key == "source" else placed(one, at) for key, one in plain.items()}
        case list() | tuple():
            return [placed(one, at) for one in plain]
        case _:
            return plain


SIZES = Sizes(values={"rows": ROWS, "dim": WIDTH}, shapes=(("rows", "dim"),), least={"rows": 2, "dim": 2})

OF_CAPTURE = {"kernels", "steps", "outputs"}


def of(change: Change = unchanged, **others: Any) -> Generated:
    """others: fields of the capture, and of the whole."""
    own = {name: others.pop(name) for name in OF_CAPTURE & others.keys()}
    made = capture(change, **own)
    return msgspec.structs.replace(Generated(captures=(made,), inputs=(("x", None),), torch="2.13"), **others)


def exact(source: str) -> str:
    """A candidate with exact products, which the CPU interpreter can judge, in small blocks, which compile fast."""
    source = re.sub("input_precision='tf32(x3)?'", "input_precision='ieee'", source)
    return re.sub(r"(?m)^(BLOCK_[MNK]\w*) = \d+$", r"\1 = 32", source)


def of_rows(*steps: Step, launched: bool = True) -> Generated:
    """steps: of the host code, before the kernel's launch. launched: whether there is one."""
    return of(steps=(OUT, *steps, *[LAUNCH] * launched))


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


OF_TEMPLATE = Launch(kernel="triton_tem_fused_mm_relu_0", arguments=("x", "x", "buf0", "dim", "rows"),
                     grid=("triton.cdiv(rows, BLOCK_M) * triton.cdiv(rows, BLOCK_N)",))  # fmt: skip
SQUARE = Allocation(name="buf0", shape=("rows", "rows"), stride=None, dtype="torch.float32")


def template(change: Change = unchanged, at: tuple[int, int] | None = None, **others: Any) -> Capture:
    """A product of x with itself, transposed, as Inductor writes its template. change: of the template."""
    rows = others["sizes"].values["rows"] if "sizes" in others else (at or (ROWS, WIDTH))[0]
    made = kernel(
        change, OF_TEMPLATE.kernel, TEMPLATE, operations=("aten.mm", "aten.relu"), grid="FixedGrid",
        configs=({"num_warps": 4, "num_stages": 3},), tiles=Tiles(rows=rows, columns=rows, depth=WIDTH),
    )  # fmt: skip
    return capture(at=at, **{"kernels": (made,), "steps": (SQUARE, OF_TEMPLATE), **others})


TRANSPOSED = View(tensor="x", shape=("dim", "rows"), stride=("1", "dim"))


def of_product(rows: int) -> Generated:
    """x @ x.T in float32, by a library call alone, and by a template."""
    sizes = msgspec.structs.replace(SIZES, values={"rows": rows, "dim": WIDTH})
    steps = (SQUARE, library("mm", X, TRANSPOSED, out=View(tensor="buf0")))
    made = capture(sizes=sizes, steps=steps, kernels=())
    return Generated(captures=(made,), templates=(template(sizes=sizes),), inputs=(("x", None),), torch="2.13")
