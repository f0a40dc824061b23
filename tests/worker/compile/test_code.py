"""Machine code is read for what it says: how wide its loads are, whether it uses the tensor cores, where it spills."""

from __future__ import annotations

from kernelwright.model import Counter
from kernelwright.worker.compile.code import KINDS, counted, moved_bytes, ptx_instructions, sass

SASS = """
\t.section\t.text.k,"ax",@progbits
k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   LDG.E.U16 R2, desc[UR4][R2.64] ;
        /*0020*/              @!P0 LDG.E.128 R4, desc[UR4][R8.64+0x10] ;
        /*0030*/                   LDG.E.LTC128B.CONSTANT R9, desc[UR4][R8.64] ;
        /*0040*/              @!PT LDGSTS.E.BYPASS.128 [R7], desc[UR4][R8.64], P1 ;
        /*0050*/                   STL.64 [R1], R4 ;
        /*0060*/                   HFMA2.MMA R2, -RZ, RZ, 0, 0 ;
        /*0070*/                   HGMMA.64x128x16.F32 R24, gdesc[UR8], R24 ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   STG.E.64 desc[UR4][R8.64], R4 ;
        /*00a0*/                   MUFU.EX2 R3, R3 ;
"""

PTX = """
\tld.param.b64 \t%rd1, [k_param_0];
\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
\tld.global.b16 { %rs1 }, [ %rd2 + 0 ];
\tcp.async.cg.shared.global [ %r24 + 0 ], [ %rd6 + 0 ], 0x10, %r25;
\tcp.async.commit_group;
\tst.local.v2.b32 [%SP+0], {%r1, %r2};
\twgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;
\tbar.sync \t0;
\t@%p2 st.global.v2.b32 [ %rd3 + 0 ], { %r1, %r2 };
\tex2.approx.f32 \t%f2, %f1;
"""


def by_name(counters: tuple[Counter, ...]) -> dict[str, float]:
    return {counter.name: counter.value for counter in counters}


def test_sass_is_counted_by_kind_and_width() -> None:
    found = by_name(counted(list(sass(SASS)), "nvdisasm"))
    assert found["code_global_loads"] == 4
    assert found["code_global_load_width"] == (2 + 16 + 4 + 16) / 4
    assert found["code_global_store_width"] == 8
    assert found["code_async_copies"] == 1
    assert found["code_local_accesses"] == 1
    assert found["code_barriers"] == 1
    assert found["code_special_functions"] == 1


def test_a_half_precision_add_on_the_tensor_pipes_name_is_no_tensor_instruction() -> None:
    assert by_name(counted(list(sass(SASS)), "nvdisasm"))["code_tensor_instructions"] == 1


def test_ptx_says_the_same_in_its_own_words() -> None:
    found = by_name(counted(list(ptx_instructions(PTX)), "ptx"))
    assert found["code_global_loads"] == 3
    assert found["code_global_load_width"] == (16 + 2 + 16) / 3
    assert found["code_global_store_width"] == 8
    assert found["code_tensor_instructions"] == 1
    assert found["code_local_accesses"] == 1
    assert found["code_barriers"] == 1
    assert found["code_special_functions"] == 1


def test_code_without_loads_has_no_width_of_loads_but_a_count_of_none() -> None:
    found = by_name(counted([], "ptx"))
    assert found["code_global_loads"] == 0
    assert "code_global_load_width" not in found
    assert set(KINDS) <= found.keys()


LOOP = """
\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
$L__BB0_1:
\tld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];
\tcp.async.cg.shared.global [ %r24 + 0 ], [ %rd6 + 0 ], 0x10, %r25;
\tst.shared.v4.b32 [ %r9 + 0 ], { %r1, %r2, %r3, %r4 };
\t@%p2 bra \t$L__BB0_1;
\t@%p2 st.global.b16 [ %rd3 + 0 ], { %rs1 };
"""


def test_what_a_turn_of_a_loop_moves_is_known() -> None:
    assert moved_bytes(LOOP) == 8 + 16
    assert moved_bytes(LOOP.replace("$L__BB0_1:", "")) == 16 + 8 + 16
    assert moved_bytes("\tst.shared.v4.b32 [ %r9 + 0 ], { %r1, %r2, %r3, %r4 };\n") is None
