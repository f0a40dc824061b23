"""What the interpreter builds or patches once is what Triton makes each time. In processes of their own, since Triton's
modules are patched."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import math
import warnings
from functools import partial

import numpy as np
from triton.language import core
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.interpreter import TensorHandle

from kernelwright.worker.interpret import types

POINTER, CONST = core.pointer_type(core.float32), core.pointer_type(core.float32, const=True)
ELEMENTS = [core.float32, core.int1, core.bfloat16, core.int64, POINTER, CONST, core.pointer_type(core.int64)]
SHAPES = [[16], [1, 16], [16, 1], [16, 16], [256], [core.constexpr(4), 4], core.tuple([core.constexpr(2)])]
SEMANTIC = triton_interpreter.interpreter_semantic
warnings.simplefilter("ignore")  # NumPy on what divides by 0
BAD = [[], [3], [1 << 30], (16,), [16.0], [True, 16], core.constexpr(16)]


def facts(value):
    return {name: repr(one) for name, one in sorted(vars(value).items())}


def every():
    found = []
    for element in ELEMENTS:
        made = [core.block_type(element, shape) for shape in SHAPES]
        found += [facts(one) for one in made]
        found += [facts(core.tensor(f"handle {number}", one)) for number, one in enumerate([element, *made])]
        for shape in BAD:
            try:
                core.block_type(element, shape)
                found.append("accepted")
            except (TypeError, ValueError, AssertionError) as error:
                found.append(f"{type(error).__name__}: {error}")
    return found


def value(dtype, shape):
    data = np.arange(1, 1 + math.prod(shape), dtype=triton_interpreter._get_np_dtype(dtype)).reshape(shape or 1)
    return core.tensor(TensorHandle(data, dtype), core.block_type(dtype, shape) if shape else dtype)


def values():
    shapes = ([], [4], [1, 4], [4, 1], [2, 4])
    return [value(dtype, shape) for dtype in (core.float32, core.int32, core.uint8, POINTER) for shape in shapes]


def found(ask, *given):
    try:
        made = ask(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    made = made if isinstance(made, tuple) else (made,)
    return [(one.handle.data.dtype, str(one.handle.dtype), one.handle.data.tolist(), facts(one.type)) for one in made]


def broadcasts():
    return [found(SEMANTIC.broadcast_impl_value, one, other) for one in values() for other in values()]


def operations():
    numbers = [0, 0.0, -0.0, 2, 2.0, -1, 300, 1 << 40, True, False]
    asked = [partial(SEMANTIC.add, sanitize_overflow=False), partial(SEMANTIC.mul, sanitize_overflow=False),
             SEMANTIC.truediv, SEMANTIC.mod, SEMANTIC.and_, SEMANTIC.less_than,
             lambda one, other: SEMANTIC.where(value(core.int1, [4, 1]), one, other)]  # fmt: skip
    pairs = [(one, other) for one in values() for other in [*values(), *numbers]]
    pairs += [(other, one) for one, other in pairs if type(other) is not core.tensor]
    return [repr(found(ask, *pair)) for ask in asked for pair in pairs]


before = every(), broadcasts(), operations()
types.install()
assert every() == before[0]
assert every() == before[0]  # from what is kept
for _ in range(2):
    assert broadcasts() == before[1]
    assert operations() == before[2]
float_block = core.block_type(core.float32, [16])
assert float_block.shape is core.block_type(core.float32, [16]).shape
assert float_block != core.block_type(core.int32, [16])
print(len(before[0]), sum("handle" in one for one in before[0]), sum(type(one) is str for one in before[0]))
"""


def test_types_that_are_built_once_are_those_that_triton_builds() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout.split()) == (0, ["154", "56", "49"]), ended.stderr


PATCHES = """
import os

os.environ["TRITON_INTERPRET"] = "1"
import triton.language as tl
from triton.language import core
from triton.runtime import interpreter as triton_interpreter

from kernelwright.worker.interpret import interpreter

PATCHED = (tl, core, tl.math, core.tensor, core.dtype, core.tensor_descriptor_base)


def kernel(modules):
    exec("def run(): pass", modules)
    return modules["run"]


def values():
    return {(one.__name__, name): value for one in PATCHED for name, value in vars(one).items()
            if name != "__annotations__"}


def changed():
    return {name for name, value in values().items() if before.get(name) is not value}


def apart(one):
    scope = triton_interpreter._patch_lang(one)
    found = changed()
    scope.restore()
    return found


def replayed(*kernels):
    for one in kernels:
        triton_interpreter._patch_lang(one)
    found = changed()
    while interpreter._state.patches:
        interpreter._state.patches.popitem()[1].restore()
    return found


before = values()
narrow, wide = kernel({"tl": tl}), kernel({"tl": tl, "core": core})
of_narrow, of_wide = apart(narrow), apart(wide)
assert len(of_wide) > len(of_narrow) > 100
interpreter.install()
before = values()
for _ in range(2):
    assert replayed(narrow, wide) == of_wide
    assert replayed(wide) == of_wide
    assert replayed(narrow) == of_narrow
    assert replayed(wide, narrow) == of_wide
    assert replayed() == set()
"""


def test_a_replay_patches_what_its_kernels_need_in_whatever_order_they_come() -> None:
    ended = subprocess.run([sys.executable, "-c", PATCHES], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
