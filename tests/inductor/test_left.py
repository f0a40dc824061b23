"""Library calls that are the computation: alone, or with kernels that move elements in a small part of their time."""

from __future__ import annotations

import msgspec
import pytest

from generated import LAUNCH, SIZES, filled, of, of_product, of_rows
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts, library_call
from kernelwright.model import Generated, LibraryMode

CALL = "extern_kernels.mm(arg0_1, arg0_1, out=buf0)"

MASK = """
import triton
import triton.language as tl

@triton_heuristics.pointwise(size_hints={{'x': 64}}, inductor_meta={{'grid_type': 'Grid1D'}})
@triton.jit
def triton_poi_fused_triu_0(in_out_ptr0, ks0, ks1, xnumel, XBLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    xmask = xindex < xnumel
    tmp0 = tl.load(in_out_ptr0 + xindex, xmask)
    tmp1 = (xindex % {rows} - xindex // {rows}).to(tl.int64)
    tmp2 = tl.where(tmp1 >= 0, tmp0, 0.0).to(tl.bfloat16)
    tl.store(in_out_ptr0 + xindex, tmp2, xmask)
"""

TEXT = f"""
# Topologically Sorted Source Nodes: [x], Original ATen: [aten.triu]
triton_poi_fused_triu_0 = async_compile.triton('triton_poi_fused_triu_0', '''{MASK}''')

def call(args):
    {{symbols}}arg0_1, = args
    buf0 = empty_strided_cuda(({{rows}}, {{rows}}), ({{rows}}, 1), torch.float32)
    extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, ({{width}}, {{rows}}), (1, {{width}}), 0), out=buf0)
    buf1 = buf0; del buf0  # reuse
    triton_poi_fused_triu_0.run(buf1, {{width}}, {{rows}}, {{rows}} * {{rows}}, stream=raw_stream0)
    return (buf1, )
"""


def of_mask(rows: int, width: int, old: str = "", new: str = "", **changed: str) -> Generated:
    """triu(x @ x.T), with `new` in place of `old` in the text."""
    template = TEXT.replace(old, new) if old else TEXT
    assert template != TEXT or not old
    made = []
    sizes = msgspec.structs.replace(SIZES, values={"rows": rows, "dim": width})
    for at in (None, (rows, width)):
        one = filled(template, changed.get("dtype", "float32"), at, sizes)
        kernels = [line.partition(" ")[0] for line in one.text.splitlines() if "= async_compile" in line]
        configs = {kernel: ({"XBLOCK": 64, "num_warps": 4, "num_stages": 1},) for kernel in kernels}
        made.append(msgspec.structs.replace(one, configs=configs))
    return Generated(captures=tuple(made), inputs=(("x", None),), precision=changed.get("precision", "ieee"))  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["none", "finish", "any"])
def test_a_library_call_alone_is_the_computation_and_no_candidate(library: LibraryMode) -> None:
    generated = of(lambda text: text.replace(LAUNCH, CALL))
    assert library_call(generated) == "the library call is the computation (aten.mm)"
    with pytest.raises(NotConverted, match=r"\(aten\.mm\), and there is no Triton template in its place"):
        candidate_text(generated, library)


def test_so_is_a_call_that_could_be_no_library_step() -> None:
    call = "buf1 = torch.ops.aten._scaled_dot_product_flash_attention.default(arg0_1)"
    generated = of(lambda text: text.replace(LAUNCH, call))
    assert "(aten._scaled_dot_product_flash_attention)" in str(library_call(generated))


def test_a_product_with_a_mask_behind_it_is_the_computation_where_the_mask_takes_little_time() -> None:
    said = library_call(of_mask(4096, 4096))
    assert said == "the library call is the computation (aten.mm), and the kernels beside it only move elements"


def test_a_mask_behind_a_small_product_counts() -> None:
    """4096 x 4096 elements are moved in 32 µs; a product of depth 512 takes 337 µs, and one of TF32 of 4096 280 µs."""
    assert "triu_map" in candidate_text(of_mask(4096, 512), "any")
    assert "triu_map" in candidate_text(of_mask(4096, 4096, precision="tf32"), "any")
    assert "triu_map" in candidate_text(of_mask(4096, 2048, dtype="float16"), "any")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tmp0, 0.0)", "2.0 * tmp0, 0.0)"),
        ("tl.where(tmp1 >= 0", "tl.where(tmp0 >= 0"),
        ("tl.load(in_out_ptr0 + xindex,", "tl.load(in_out_ptr0 + tl.load(in_out_ptr0 + xindex),"),
        ("    tl.store(", "    for k in range(0, 2):\n        tmp2 += tmp0\n    tl.store("),
    ],
)
def test_a_kernel_that_computes_counts(old: str, new: str) -> None:
    assert library_call(of_mask(4096, 4096, old, new)) is None
    assert "triu_map" in candidate_text(of_mask(4096, 4096, old, new), "any")


def test_one_kernel_that_computes_among_others_is_enough() -> None:
    call, launch = (
        "def call(args):",
        "    triton_poi_fused_triu_0.run(buf1, {width}, {rows}, {rows} * {rows}, stream=raw_stream0)\n",
    )
    first = TEXT[: TEXT.index(call)]
    second = first.replace("triu", "mul").replace("tmp0, 0.0)", "2.0 * tmp0, 0.0)")
    both = first + second + TEXT[len(first) :].replace(launch, launch + launch.replace("triu", "mul"))
    assert "mul_map" in candidate_text(of_mask(4096, 4096, TEXT, both), "any")


def test_a_kernel_whose_tensors_have_no_known_size_counts() -> None:
    """Nothing is known of what the call gives, so nothing is said of the time that moving it takes."""
    assert (
        library_call(of_mask(4096, 4096, "buf1 = buf0; del buf0  # reuse", "buf1 = extern_kernels.sort(arg0_1)"))
        is None
    )


@pytest.mark.parametrize("rows", [4, 1024])
def test_templates_take_the_place_of_a_product_with_split_ones_first_where_they_can_be_judged(rows: int) -> None:
    generated = of_product(rows)
    assert library_call(generated) == "the library call is the computation (aten.mm)"
    texts = candidate_texts(generated, "any", split=True)
    assert [("input_precision" in text, "torch.mm" in text) for text in texts] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    assert candidate_texts(generated, "finish") == texts[2:]


@pytest.mark.parametrize("library", ["none", "any"])
def test_a_product_without_a_template_is_no_candidate(library: LibraryMode) -> None:
    """Where Inductor has none, its templates are library calls too."""
    calls = of_rows("extern_kernels.mm(arg0_1, arg0_1, out=buf0)").captures
    with pytest.raises(NotConverted, match="no Triton template in its place"):
        candidate_texts(msgspec.structs.replace(of_product(1024), templates=calls), library, split=True)


def test_a_template_that_cannot_be_converted_is_named() -> None:
    generated = of_product(1024)
    broken = tuple(
        msgspec.structs.replace(one, text=one.text.replace("K = ", "DEPTH = ")) for one in generated.templates
    )
    with pytest.raises(NotConverted, match="no Triton template in its place: "):
        candidate_texts(msgspec.structs.replace(generated, templates=broken), "finish", split=True)
