"""What the body and the signature of a kernel may contain. Pure syntax.

An allow-list of names (arguments, locals, Triton, other kernels, constants) and a short list of Python that no
kernel needs. The one rule: on the trusted side Triton's compiler calls, and its interpreter executes, whatever
Python a body reaches, so nothing may be reachable but the language.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from kernelwright.worker.scope import ALLOWED_IMPORTS, FORBIDDEN_ATTRIBUTES, Finding, Scope, bindings, may_follow

ALLOWED_BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "int", "float", "bool", "isinstance", "tuple", "True", "False", "None"}
)

FORBIDDEN_LOCALS = frozenset({"getattr", "hasattr", "setattr", "delattr", "eval", "exec", "compile", "open", "globals",
                              "locals", "vars", "dir", "breakpoint"})  # fmt: skip
"""Triton looks a name up in its own order, so binding one of these somewhere in a body does not hide the builtin."""

FORBIDDEN_NODES = {
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.ClassDef: "class", ast.Lambda: "lambda", ast.Try: "try", ast.Raise: "raise", ast.Yield: "yield",
    ast.YieldFrom: "yield", ast.Await: "await", ast.AsyncFor: "async for", ast.AsyncWith: "async with",
    ast.AsyncFunctionDef: "async def", ast.FunctionDef: "nested function", ast.Delete: "del",
    ast.Match: "match", ast.With: "with",
    ast.DictComp: "dict comprehension", ast.SetComp: "set comprehension", ast.GeneratorExp: "generator",
}  # fmt: skip
"""Python that no Triton kernel needs; the CPU interpreter would execute it as ordinary Python."""

LEAF_ATTRIBUTES = frozenset({"primitive_bitwidth", "itemsize", "int_bitwidth", "int_signedness", "fp_mantissa_width",
                             "name", "scalar", "value", "is_floating", "is_int", "is_int_signed", "is_int_unsigned",
                             "is_fp8", "is_fp16", "is_bf16", "is_fp32", "is_fp64", "is_bool", "is_ptr", "ALL",
                             "NONE"})  # fmt: skip
"""What may be asked of something that Triton names: about a dtype, the value of a constant, an enum."""

_OF_VALUES = """
T abs advance argmax argmin associative_scan broadcast_to cast cdiv ceil clamp cos cumprod cumsum erf exp exp2
expand_dims flip floor gather histogram item log log2 logical_and logical_or max min permute ravel reduce reduce_or
reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn squeeze sum to trans unsqueeze view xor_sum load store
scatter atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor shape strides
block_shape block_type dtype type element_ty numel nbytes address_space kind is_block is_const is_void
is_standard_floating get_block_shapes is_int1 is_int8 is_int16 is_int32 is_int64 is_uint8 is_uint16 is_uint32
is_uint64 is_fp8e4nv is_fp8e4b8 is_fp8e4b15 is_fp8e5 is_fp8e5b16 exponent_bias startswith endswith get_int_max_value
get_int_min_value
"""

VALUE_ATTRIBUTES = LEAF_ATTRIBUTES | frozenset(_OF_VALUES.split())
"""What may be asked of a value: the methods of tensors, descriptors, dtypes and texts. An argument may also be another
kernel, and behind that stands the compiler: what is not named here is not asked."""


def check_body(function: ast.FunctionDef, scope: Scope, kernels: set[str], constants: set[str]) -> list[Finding]:
    """What a kernel's body and signature do that no kernel may."""
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    bound = {b.name for statement in function.body for b in bindings(statement)}
    local = bound | _comprehended(function)
    findings = [
        Finding(function.lineno, f"the kernel {function.name!r} rebinds the module name {name!r}")
        for name in sorted((local | arguments) & scope.all)
    ]
    findings += [Finding(function.lineno, f"a kernel body may not use the name {name!r}") for name in _unsafe(function)]
    findings += [
        Finding(default.lineno, "the default of a kernel's argument has to be a number, a string or a constant")
        for default in [*function.args.defaults, *(d for d in function.args.kw_defaults if d)]
        if not is_constant(default, scope, constants)
    ]
    known = scope.modules.keys() | scope.leaves.keys() | kernels | constants | ALLOWED_BUILTINS | arguments | local
    for node in (n for statement in function.body for n in ast.walk(statement)):
        line = getattr(node, "lineno", function.lineno)
        if type(node) in FORBIDDEN_NODES or type(node).__name__ == "TryStar":
            findings.append(Finding(line, f"a kernel body may not contain {FORBIDDEN_NODES.get(type(node), 'try')}"))
        elif isinstance(node, ast.Attribute) and not _attribute_allowed(node, scope, kernels | constants):
            findings.append(Finding(line, f"a kernel body may not use the attribute {node.attr!r} here"))
        elif isinstance(node, ast.Name) and (node.id not in known or node.id.startswith("__")):
            findings.append(
                Finding(line, f"a kernel body may not use the name {node.id!r}: only its arguments, Triton, other "
                              "@triton.jit functions of this file and tl.constexpr constants")
            )  # fmt: skip
    return findings


def is_constant(value: ast.expr, scope: Scope, known: set[str]) -> bool:
    """A number or string, arithmetic on such, a tuple of such, `tl.constexpr` of one, something that Triton names
    (a dtype), or the name of another constant."""
    match value:
        case ast.Constant():
            return True
        case ast.Name():
            return value.id in known or value.id in scope.leaves
        case ast.UnaryOp():
            return is_constant(value.operand, scope, known)
        case ast.BinOp():
            return is_constant(value.left, scope, known) and is_constant(value.right, scope, known)
        case ast.Tuple():
            return all(is_constant(item, scope, known) for item in value.elts)
        case ast.Call(args=[argument], keywords=[]):
            return scope.dotted(value.func) == "triton.language.constexpr" and is_constant(argument, scope, known)
        case ast.Attribute():
            module = scope.dotted(value.value)
            return (
                module in ALLOWED_IMPORTS
                and f"{module}.{value.attr}" not in ALLOWED_IMPORTS
                and may_follow(module, value.attr)
            )
    return False


def _attribute_allowed(node: ast.Attribute, scope: Scope, objects: set[str]) -> bool:
    """objects: kernels and constants, of which nothing may be taken but LEAF_ATTRIBUTES. Of values (arguments, what was
    computed) it is VALUE_ATTRIBUTES."""
    if node.attr.startswith("_") or node.attr in FORBIDDEN_ATTRIBUTES:
        return False
    path = scope.dotted(node.value)
    if path in ALLOWED_IMPORTS:
        return may_follow(path, node.attr)
    if path is not None or (isinstance(node.value, ast.Name) and node.value.id in objects):
        return node.attr in LEAF_ATTRIBUTES
    return node.attr in VALUE_ATTRIBUTES


def _comprehended(function: ast.FunctionDef) -> set[str]:
    return {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }


def _unsafe(function: ast.FunctionDef) -> Iterator[str]:
    """Names bound in a body that still mean a builtin to Triton, or outside of the comprehension that binds them."""
    bound = {b.name for statement in function.body for b in bindings(statement)}
    yield from sorted(bound & FORBIDDEN_LOCALS)
    yield from sorted(name for name in _comprehended(function) if hasattr(builtins, name))
