"""Inline assembly in kernels: arithmetic as people write it passes, and nothing else does, however it is written."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.assembly import ARITHMETIC, NotArithmetic, check_assembly
from kernelwright.worker.rules.outside import unfair_calls


def printed(text: str) -> str:
    """A string as MLIR prints it: quotes, backslashes and what no terminal shows as escapes."""
    return "".join(
        c if 32 <= b < 127 and c not in '"\\' else "\\\\" if c == "\\" else f"\\{b:02X}"
        for b in text.encode() for c in [chr(b)]
    )  # fmt: skip


def operation(text: str, constraints: str = "=r,r") -> str:
    """A kernel's IR with this inline assembly in it."""
    return (
        "module {\n  tt.func public @k(%x: !tt.ptr<f32> loc(\"x\"(#loc))) attributes {noinline = false} {\n"
        f'    %b = tt.elementwise_inline_asm "{printed(text)}" {{constraints = "{constraints}", '
        "packed_element = 1 : i32, pure = true} %a : tensor<64xf32> -> tensor<64xf32> loc(#loc15)\n"
        "    tt.return loc(#loc8)\n  }\n}\n"
    )  # fmt: skip


HONEST = {
    "bf16 pairs": ("cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f"),
    "tanh": ("tanh.approx.f32 $0, $1;", "=f,f"),
    "exp2": ("ex2.approx.ftz.f32 $0, $1;", "=f, f"),
    "reciprocal": ("rcp.approx.ftz.f32 $0,$1;", "=f,f"),
    "lop3": ("lop3.b32 $0, $1, 0x000f000f, 0x64006400, 0xea;", "=r,r"),
    "prmt": ("prmt.b32 $0, $1, $2, 0x5410;", "=r,r,r"),
    "fma": ("fma.rn.f32 $0, $1, $2, 0f3F800000;", "=f,f,f"),
    "fp8": ("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f"),
    "half pairs": ("mul.f16x2 $0, $1, $2;", "=r,r,r"),
    "double": ("add.rn.f64 $0, $1, 0d3FF0000000000000;", "=d,d"),
    "decimal and signed numbers": ("mad.lo.s32 $0, $1, -3, 17;", "=r,r"),
    "wide": ("mul.wide.u32 $0, $1, 3U;", "=l,r"),
    "early output": ("add.u32 $0, $1, 0b101; add.u32 $0, $0, $1;", "=&r,r"),
    "unpacked bytes, as Triton's documentation has it": (
        """
        {
            // Unpack `a` into `ab0-3`.
            .reg .b8 tmp<4>;
            mov.b32 {tmp0, tmp1, tmp2, tmp3}, $4;
            cvt.u32.u8 $0, tmp0;
            cvt.u32.u8 $1, tmp1;
            cvt.u32.u8 $2, tmp2;
            cvt.u32.u8 $3, tmp3;
        }
        """, "=r,=r,=r,=r,r"),
    "Triton's own conversion to 8-bit floats": (
        """{
            .reg .pred p<4>;
            .reg .b32 a<2>, b<2>;
            .reg .b16 c<4>;
            .reg .b16 max_val_f16;
            .reg .b32 max_val_f16x2;
            mov.b16 max_val_f16,   0x3F00;
            mov.b32 max_val_f16x2, 0x3F003F00;
            and.b32 a0, $1, 0x7fff7fff;
            setp.lt.f16x2  p0|p1, a0, max_val_f16x2;
            mov.b32 {c0, c1}, a0;
            selp.b16  c0, c0, max_val_f16, p0;
            selp.b16  c1, c1, max_val_f16, !p1;
            mov.b32 a0, {c0, c1};
            mad.lo.u32 a0, a0, 2, 0x00800080;
            lop3.b32 $0, $1, 0x80008000, a0, 0xea; }""", "=r,r"),
    "numbers as operands": ("{.reg .b32 t; lop3.b32 t, $1, $2, $3, 0xea; mov.b32 $0, t;}", "=r,r,n,n"),
    "a predicate over what is written": (
        "{.reg .pred p; setp.eq.u32 p, $1, 0; mov.b32 $0, 1; @p mov.b32 $0, 2;}", "=r,r"),
    "softplus, as flash-linear-attention has it": (
        "{ .reg .pred p; setp.gt.f32  p, $1, 20.; @p  mov.f32  $0, $1; @!p mul.f32 $0, $1, 1.4426950408889634; "
        "@!p ex2.approx.ftz.f32 $0, $0; @!p add.f32 $0, $0, 1.0; @!p lg2.approx.ftz.f32 $0, $0; "
        "@!p mul.f32 $0, $0, 0.6931471805599453; }", "=r,r"),
    "half of a word": ("{ .reg .b16 lo; mov.b32 {lo, _}, $1; cvt.f32.f16 $0, lo; }", "=f,r"),
    "fp4 pairs": (
        "{\n.reg .b8 b<2>;\ncvt.rn.satfinite.e2m1x2.f32 b0, $2, $1;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b1, $1, $2;\nmov.b32 $0, {b0, b1, b1, b0};\n}", "=r,f,f"),
    "comments": ("/* one\n two */ mov.b32 $0, /* three */ $1; // 100 % of $1\n", "=r,r"),
    "several statements on a line": ("{.reg .b32 t; shl.b32 t, $1, 1; xor.b32 $0, t, $1;}", "=r,r"),
    "line ends of another system": ("mov.b32 $0, $1;\r\nnot.b32 $0, $0;\r\n", "=r,r"),
    "two blocks": (
        "{.reg .b32 t; mov.b32 t, $2; mov.b32 $0, t;} {.reg .b32 t; mov.b32 t, $2; mov.b32 $1, t;}", "=r,=r,r"),
    "a predicate from two": (
        "{.reg .pred p, q; setp.eq.u32 p, $1, 0; setp.ne.and.u32 q, $1, 3, p; selp.u32 $0, 1, 0, q;}", "=r,r"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_arithmetic_passes(name: str) -> None:
    text, constraints = HONEST[name]
    check_assembly(text, constraints)
    assert unfair_calls(operation(text, constraints)) == ""


@pytest.mark.parametrize("register", ["%clock", "%clock64", "%globaltimer", "%smid", "%laneid", "%warpid", "%tid.x",
                                      "%ctaid.x", "%gridid", "%nsmid", "%lanemask_lt", "%dynamic_smem_size",
                                      "%envreg0", "%pm0", "%r1", "%%r1", "WARP_SZ", "k_param_0", "global_smem",
                                      "tid.x"])  # fmt: skip
def test_only_its_own_registers_are_read(register: str) -> None:
    assert "inline assembly" in unfair_calls(operation(f"mov.u32 $0, {register};"))
    assert "inline assembly" in unfair_calls(operation(f"add.u32 $0, $1, {register};"))


HOSTILE = {
    "a load": ("ld.global.f32 $0, [$1];", "=f,l", "ld.global.f32"),
    "a load of a parameter": ("ld.param.u64 $0, [k_param_0];", "=l", "ld.param.u64"),
    "a memory operand": ("mov.b32 $0, [$1];", "=r,l", "'['"),
    "a store": ("mov.b32 $0, $1; st.global.b32 [$2], $1;", "=r,r,l", "st.global.b32"),
    "an atomic operation": ("atom.global.add.u32 $0, [$1], 1;", "=r,l", "atom.global.add.u32"),
    "a call": ("call ($0), malloc, ($1);", "=r,r", "'call'"),
    "a call behind a line end": ("mov.b32 $0, $1;\ncall.uni ($0), vprintf, ($1);", "=r,r", "call.uni"),
    "a call behind a comment's end": ("// nothing\ncall ($0), f, ($1);", "=r,r", "'call'"),
    "a branch": ("mov.b32 $0, $1; bra.uni done;", "=r,r", "bra.uni"),
    "a label": ("again: mov.b32 $0, $1;", "=r,r", "'again'"),
    "an output under a predicate": (
        "{.reg .pred p; setp.gt.f32 p, $1, 0f00000000; @p mov.f32 $0, $1;}", "=r,r", "$0, that it does not write"),
    "a predicate that is not declared": ("@!p mov.b32 $0, $1;", "=r,r", "'p'"),
    "a predicate that is not written": (
        "{.reg .pred p; @p mov.b32 $0, 1; @!p mov.b32 $0, 2;}", "=r,r", "'p' read before"),
    "opposites of two predicates": (
        "{.reg .pred p; setp.eq.u32 p, $1, 0; @p mov.b32 $0, 2; setp.eq.u32 p, $1, 1; @!p mov.b32 $0, 3;}", "=r,r",
        "$0, that it does not write"),
    "predicates of one name in two blocks": (
        "{.reg .pred p; setp.eq.u32 p, $1, 0; @p mov.b32 $0, 1;}"
        "{.reg .pred p; setp.ne.u32 p, $1, 0; @!p mov.b32 $0, 1;}", "=r,r", "$0, that it does not write"),
    "what the other side wrote": (
        "{.reg .pred p; .reg .b32 t; setp.eq.u32 p, $1, 0; @p mov.b32 t, $1; @!p mov.b32 $0, t; @p mov.b32 $0, t;}",
        "=r,r", "'t' read before"),
    "the end of the thread": ("mov.b32 $0, $1; exit;", "=r,r", "'exit'"),
    "a return": ("mov.b32 $0, $1; ret;", "=r,r", "'ret'"),
    "a trap": ("mov.b32 $0, $1; trap;", "=r,r", "'trap'"),
    "a wait": ("mov.b32 $0, $1; nanosleep.u32 100;", "=r,r", "nanosleep"),
    "a barrier": ("mov.b32 $0, $1; bar.sync 0;", "=r,r", "bar.sync"),
    "another thread's value": ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r", "shfl.sync"),
    "the active threads": ("activemask.b32 $0;", "=r", "activemask"),
    "an address of a symbol": ("mov.u64 $0, k;", "=l", "'k'"),
    "an address space": ("cvta.to.global.u64 $0, $1;", "=l,l", "cvta.to.global"),
    "a carry from before": ("addc.u32 $0, $1, $1;", "=r,r", "addc.u32"),
    "a carry for later": ("add.cc.u32 $0, $1, $1;", "=r,r", "add.cc.u32"),
    "the launch of dependents": ("griddepcontrol.wait; // dummy $0", "=r", "griddepcontrol.wait"),
    "an output that is not written": ("{.reg .b32 t; mov.b32 t, $1;}", "=r,r", "$0, that it does not write"),
    "one output of two": ("mov.b32 $0, $2;", "=r,=r,r", "$1, that it does not write"),
    "nothing": ("", "=r,r", "$0, that it does not write"),
    "only a comment": ("// mov.b32 $0, $1;", "=r,r", "$0, that it does not write"),
    "a register that was not written": ("{.reg .b32 t; add.u32 $0, t, $1;}", "=r,r", "'t' read before"),
    "an output that was not written": ("add.u32 $0, $0, $1;", "=r,r", "'$0' read before"),
    "a register of another block": ("{.reg .b32 t; mov.b32 t, $1;} mov.b32 $0, t;", "=r,r", "'t', which is none"),
    "a register of the block before": (
        "{.reg .b32 t; mov.b32 t, $1;} {.reg .b32 t; mov.b32 $0, t;}", "=r,r", "'t' read before"),
    "a write to an input": ("mov.b32 $1, 3; mov.b32 $0, $1;", "=r,r", "write to its input $1"),
    "an operand that it has not": ("mov.b32 $0, $2;", "=r,r", "'$2'"),
    "a declaration that the code around sees": (
        ".reg .b32 t; mov.b32 t, $1; mov.b32 $0, t;", "=r,r", "outside of braces"),
    "a declaration of a special name": ("{.reg .b32 %r1; mov.b32 $0, $1;}", "=r,r", "'%r1'"),
    "shared memory": ("{.shared .b32 t; mov.b32 $0, $1;}", "=r,r", ".shared"),
    "local memory": ("{.local .b32 t[4]; mov.b32 $0, $1;}", "=r,r", ".local"),
    "a pragma": ('.pragma "nounroll"; mov.b32 $0, $1;', "=r,r", ".pragma"),
    "a line number": (".loc 1 1 1\nmov.b32 $0, $1;", "=r,r", ".loc"),
    "a file": ('.file 1 "a"\nmov.b32 $0, $1;', "=r,r", ".file"),
    "another file": ('#include "/etc/passwd"\nmov.b32 $0, $1;', "=r,r", "'#'"),
    "another file in a comment": ('/*\n #include "/etc/passwd"\n*/ mov.b32 $0, $1;', "=r,r", "#'"),
    "the end of the function": ("mov.b32 $0, $1; }\n.visible .entry other() { ret;", "=r,r", "'}' where"),
    "a block in a block": ("{ { mov.b32 $0, $1; } }", "=r,r", "'{'"),
    "a block without an end": ("{ mov.b32 $0, $1;", "=r,r", "the end of the text"),
    "no semicolon at the end": ("mov.b32 $0, $1", "=r,r", "the end of the text"),
    "another dialect": ("$(mov.b32 $0, $1;$|exit;$)", "=r,r", "'$'"),
    "a number of the text's copies": ("mov.b32 $0, ${:uid};", "=r,r", "'$'"),
    "an operand in braces": ("mov.b32 ${0}, $1;", "=r,r", "'$'"),
    "a dollar": ("mov.b32 $0, $1; // $$", "=r,r", "'$'"),
    "a joined line": ("mov.b32 $0, $1; // \\\nexit;", "=r,r", "'\\\\\\\\'"),
    "a line end that is none everywhere": ("mov.b32 $0, $1; // a\rexit;", "=r,r", "'\\\\r'"),
    "a form feed": ("mov.b32 $0, $1;\x0cexit;", "=r,r", "x0c"),
    "letters of another alphabet": ("mоv.b32 $0, $1;", "=r,r", "inline assembly"),
    "a comment without an end": ("mov.b32 $0, $1; /* exit;", "=r,r", "'/'"),
    "a comment in a comment": ("mov.b32 $0, $1; /* /* */ exit; */", "=r,r", "'exit'"),
    "a comment that hides less than it seems": ("/*/ mov.b32 $0, $1; /*/ exit; mov.b32 $0, $1;", "=r,r", "'exit'"),
    "an expression": ("mov.b32 $0, (1+2);", "=r,r", "'('"),
    "an unknown mode": ("mov.volatile.b32 $0, $1;", "=r,r", "mov.volatile.b32"),
    "an unknown instruction": ("frobnicate.b32 $0, $1;", "=r,r", "frobnicate"),
    "capitals": ("EXIT; mov.b32 $0, $1;", "=r,r", "'EXIT'"),
    "an address as operand": ("mov.b64 $0, $1;", "=l,m", "'m'"),
    "a number or symbol as operand": ("mov.b32 $0, $1;", "=r,i", "'i'"),
    "a number that is written": ("mov.b32 $0, $1; mov.b32 $1, $0;", "=r,n", "a write to its input"),
    "a number as output": ("mov.b32 $0, $1;", "=n,r", "'=n'"),
    "an indirect output": ("mov.b32 $0, $1;", "=*r,r", "'=*r'"),
    "a clobber of memory": ("mov.b32 $0, $1;", "=r,r,~{memory}", "memory"),
    "an operand tied to an output": ("add.u32 $0, $1, 1;", "=r,0", "'0'"),
    "an output behind an input": ("mov.b32 $1, $0;", "r,=r", "behind an input"),
    "no constraints": ("mov.b32 $0, $1;", "", "''"),
    "registers without number": ("{.reg .b32 t<99999999999>; mov.b32 $0, $1;}", "=r,r", "99999999999 registers"),
    "an operand of many digits": (f"mov.b32 ${'0' * 5000}, $1;", "=r,r", "inline assembly"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_is_refused(name: str) -> None:
    text, constraints, what = HOSTILE[name]
    with pytest.raises(NotArithmetic, match="inline assembly"):
        check_assembly(text, constraints)
    found = unfair_calls(operation(text, constraints))
    assert found.startswith("has inline assembly")
    assert what.replace("\\\\", "\\") in found


def test_no_instruction_of_the_list_touches_more_than_registers() -> None:
    """The names that PTX gives to what has effects, in chapter 9.7 of its ISA, 8.7."""
    effects = """ld ldu st prefetch prefetchu isspacep cvta mapa getctarank cp multimem tensormap discard applypriority
    createpolicy atom red redux vote match activemask elect bar barrier membar fence mbarrier bra brx call ret exit trap
    brkpt pmevent nanosleep griddepcontrol clusterlaunchcontrol setmaxnreg stacksave stackrestore alloca shfl wmma mma
    wgmma tcgen05 ldmatrix stmatrix movmatrix tex tld4 txq istypep suld sust sured suq addc subc madc"""
    assert not ARITHMETIC & set(effects.split())


@pytest.mark.parametrize("newline", ["\\0A", "\\0a", "\\n", "\\0D\\0A"])
def test_escapes_are_decoded_before_the_text_is_read(newline: str) -> None:
    text = (
        f'%b = tt.elementwise_inline_asm "// x{newline}exit; mov.b32 $0, $1;" {{constraints = "=r,r"}} %a : i32 -> i32'
    )
    assert "'exit'" in unfair_calls(text)
    fine = text.replace("exit; ", "")
    assert unfair_calls(fine) == ""


def test_escaped_quotes_and_backslashes_end_no_string() -> None:
    line = '%b = tt.elementwise_inline_asm "{}mov.b32 $0, $1;" {{constraints = "=r,r"}} %a : i32 -> i32'
    assert unfair_calls(line.format("// \\22 {constraints = \\22=r,r\\22}\\0A")) == ""
    assert unfair_calls(line.format('// \\" \\0A')) == ""
    assert "'exit'" in unfair_calls(line.format("// \\22\\0Aexit; "))
    assert "'\\\\'" in unfair_calls(line.format("// \\\\\\0Aexit; "))


@pytest.mark.parametrize(
    "line",
    [
        '%b = "tt.elementwise_inline_asm"(%a) <{asm_string = "exit;", constraints = "=r,r"}> : (i32) -> i32',
        '%b = tt.elementwise_inline_asm "mov.b32 $0, $1;" {pure = true} %a : i32 -> i32',
        '%b = tt.elementwise_inline_asm(%a) "exit;" {constraints = "=r,r"}',
        "%b = tt.elementwise_inline_asm %text {} %a : i32 -> i32",
        '%b = tt.elementwise_inline_asm tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r"} %a',
    ],
)
def test_another_form_of_the_operation_is_refused(line: str) -> None:
    assert "inline assembly in a form" in unfair_calls(line)


def test_what_a_message_says_is_neither_assembly_nor_hides_it() -> None:
    message = '    tt.assert %c, "a \\22 tt.elementwise_inline_asm " : tensor<64xi1> loc(#loc3)\n'
    assert unfair_calls(message) == ""
    assert "'exit'" in unfair_calls(message + operation("exit; mov.b32 $0, $1;"))
    same_line = message.rstrip("\n") + ' %b = tt.elementwise_inline_asm "exit;" {constraints = "=r"} %a : i32 -> i32'
    assert "'exit'" in unfair_calls(same_line)


def test_each_of_several_texts_is_read() -> None:
    assert unfair_calls(operation("mov.b32 $0, $1;") * 2) == ""
    assert "'exit'" in unfair_calls(operation("mov.b32 $0, $1;") + operation("exit;"))


@pytest.mark.parametrize(
    ("attributes", "fair"),
    [
        ('libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"', True),
        ('libname = "libdevice", libpath = "", pure = true, symbol = "__nv_expf"', True),
        ('libname = "", libpath = "/tmp/own.bc", pure = true, symbol = "__nv_tanhf"', False),
        ('libname = "", libpath = "", pure = true, symbol = "malloc"', False),
        ('libname = "", libpath = "", pure = true, symbol = "vprintf"', False),
        ('libname = "", libpath = "", pure = true, symbol = "__nv_tanhf\\0Acall"', False),
        ("pure = true", False),
    ],
)
def test_an_outside_function_is_one_of_libdevice(attributes: str, fair: bool) -> None:
    line = f"%b = tt.extern_elementwise %a {{{attributes}}} : (tensor<64xf32>) -> tensor<64xf32> loc(#loc16)"
    assert (unfair_calls(line) == "") is fair
    assert fair or "outside function" in unfair_calls(line)


def test_a_long_text_is_read_in_one_pass() -> None:
    text = "{.reg .b32 t;" + "mov.b32 t, $1;\n\n  " * 20_000 + "mov.b32 $0, t;}"
    check_assembly(text, "=r,r")
    with pytest.raises(NotArithmetic):
        check_assembly("\n" * 200_000 + "exit;", "=r,r")


def test_a_message_names_what_was_found() -> None:
    found = unfair_calls(operation("mov.u32 $0, %smid;"))
    assert found.startswith("has inline assembly with '%smid', which is none of its operands and registers; only")
