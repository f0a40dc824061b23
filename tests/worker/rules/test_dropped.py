"""What a file does where it runs and its normal form does not: what is named, and what is not worth a word."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.dropped import dropped, of_packages
from kernelwright.worker.rules.normal import normal_form

SOURCE = """
import contextlib
import functools
import logging
import os
import time
import torch
import triton
import triton.language as tl
{top}
logger = logging.getLogger(__name__)


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)


def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    {host}
    return out
"""

SWAPS = "def swaps(*given):\n    globals()['one'] = 1\n"

NAMED = {
    "a tensor changed in a message": ("", "logger.debug('%s', out.zero_())", "uses .zero_"),
    "a tensor changed by a function": ("", "logger.debug('%s', list(map(torch.Tensor.zero_, [out])))", "calls map"),
    "an operator that writes": ("", "logger.debug('%s', torch.neg(x, out=out))", "calls torch.neg"),
    "an operator in place": ("", "logger.debug('%s', torch.nn.functional.relu(out, inplace=True))", "relu"),
    "a launch in a message": ("", "logger.debug('%s', copy[(2,)](x, out, 1, BLOCK=1))", "launches copy"),
    "the clock in a message": ("", "logger.debug('%s', time.time())", "uses time"),
    "a file's name": ("ONE = __file__", "pass", "uses __file__"),
    "a variable of the process": ("ONE = os.environ['A']", "pass", "uses os"),
    "a patch in an unused value": (f"{SWAPS}ONE = swaps()", "pass", "calls globals"),
    "a patch in a decorator": (f"{SWAPS}@swaps\ndef unused():\n    pass", "pass", "calls globals"),
    "a patch in a default": (f"{SWAPS}def unused(one=swaps()):\n    pass", "pass", "calls globals"),
    "a patch in an annotation": (f"{SWAPS}def unused(one: (os, swaps())):\n    pass", "pass", "calls globals"),
    "a patch in a class": (f"{SWAPS}class Unused:\n    one = swaps()", "pass", "calls globals"),
    "a patch by a class": ("class Swaps:\n    def __init__(self):\n        globals()['one'] = 1\nONE = Swaps()", "pass",
                           "calls globals"),
    "a special method": ("ONE = copy.__init__(print)", "pass", "calls copy.__init__"),
    "an attribute of a module": ("class Unused:\n    torch.one = 1", "pass", "writes torch.one"),
    "a name that is changed": ("@contextlib.contextmanager\ndef on(out):\n    yield\n    out -= out",
                               "with on(out):\n        pass", "changes out"),
    "an own function in a message": ("def changed(x):\n    x.zero_()\nclass Other:\n    one = changed",
                                     "logger.debug('%s', changed(out))\n    Other()", "uses changed"),
    "an operator by position": ("", "logger.debug('%s', torch.dropout_of(out, True))", "calls torch.dropout_of"),
    "an attribute by its name": ("", "logger.debug('%s', getattr(out, 'zero_')())", "names zero_"),
    "an operator of the framework": ("@torch.library.impl('aten::sum', 'CUDA')\ndef unused(x):\n    return x", "pass",
                                     "calls torch.library.impl"),
    "the text of an object": ("class Other:\n    def __str__(self):\n        out.zero_()\n        return ''",
                              "logger.debug(f'{x}')\n    Other()", "evaluates f'{x}'"),
    "a branch of tracers": ("", "if torch.compiler.is_compiling():\n        return x", "calls torch.compiler.is_comp"),
    "a setter of the framework": ("ONE = torch.set_default_dtype(torch.float16)", "pass", "calls torch.set_default"),
    "memory of a global name": ("BUFFER = None\ndef kept():\n    global BUFFER\n    if BUFFER is None:\n"
                                "        BUFFER = torch.empty(4, device='cuda')\n    return BUFFER",
                                "kept()", "keeps BUFFER"),
    "a patch by another package": ("import vllm\nvllm.patch_torch()", "pass", "calls vllm.patch_torch"),
    "another package in an unused value": ("import vllm\nONE = vllm.patch_torch()", "pass", "calls vllm.patch_torch"),
    "another package in what is only tried": ("def tries():\n    import vllm\n    vllm.patch_torch()\ntries()", "pass",
                                              "calls vllm.patch_torch"),
    "another package in a message": ("import vllm", "logger.debug('%s', vllm.patched(x))", "calls vllm.patched"),
    "another package behind a known name": ("import vllm\nONE = functools.partial(vllm.patch_torch)()", "pass",
                                            "calls functools.partial"),
    "a registration by another package": ("from vllm import registers\ndef one(x):\n    return x\nregisters(op=one)",
                                          "pass", "calls registers"),
    "another package above a kernel": (
        "import vllm\n@vllm.cached\n@triton.jit\ndef other(x_ptr):\n    tl.store(x_ptr, 0)", "other[(1,)](out)",
        "calls vllm.cached"),
    "a local name of a logger": ("", "logger = out\n    logger.zero_()", "uses .zero_"),
    "a logger that is given more": ("from vllm import init_logger\nlog = init_logger(torch)", "log.info('')",
                                    "calls init_logger"),
}  # fmt: skip

IDLE = {
    "messages": ("", "logger.debug('%s %s', x.shape, f'{len(x)}')"),
    "waits": ("", "torch.cuda.synchronize()"),
    "a guard": ("@contextlib.contextmanager\ndef on(device):\n    torch.cuda.set_device(device)\n    yield",
                "with on(x.device):\n        pass"),
    "a function that nothing calls": (f"{SWAPS}def unused(x):\n    x.zero_()\n    swaps()", "pass"),
    "a counter that is not read": ("def many():\n    one = 1\n    one += 1\n    return one\nMANY = many()", "pass"),
    "registrations": ("@torch.library.custom_op('a::b', mutates_args=())\ndef one(x):\n    return x", "one(x)"),
    "an answer of the device": ("@functools.lru_cache\ndef count():\n"
                                "    return torch.cuda.get_device_properties(0).multi_processor_count", "count()"),
    "a handler that raises": ("", "try:\n        pass\n    except ValueError:\n        raise"),
    "a test script": (f"{SWAPS}if __name__ == '__main__':\n    swaps()", "pass"),
    "an annotation": ("def unused(one: os.PathLike) -> time.struct_time:\n    pass", "pass"),
    "a logger of another package": ("from vllm import init_logger\nlog = init_logger(__name__)", "log.info('one')"),
    "a logger beside a special method": ("class Other:\n    def __call__(self, x):\n        x.zero_()", "Other()"),
    "another package": ("import fast_kernels\n@fast_kernels.traced(one=1)\ndef unused():\n    pass", "pass"),
    "what makes a kernel of a function behind it": (
        "def other(x_ptr, BLOCK: tl.constexpr):\n    x_ptr += BLOCK\n    tl.store(x_ptr, 0)\nother = triton.jit(other)",
        "other[(1,)](out, BLOCK=1)",
    ),
    "a launch for tracers": ("", "torch.library.wrap_triton(copy)[(1,)](x, out, 1, BLOCK=1)"),
    "questions": ("ONE = os.environ.get('A', '1') == '1'", "pass"),
}  # fmt: skip


def found(top: str, host: str) -> list[str]:
    source = SOURCE.format(top=top, host=host)
    made = normal_form(source)
    assert made != source
    assert dropped(made, made) == []
    return [str(one) for one in dropped(source, made)]


@pytest.mark.parametrize("what", NAMED)
def test_what_acts_and_is_dropped_is_named(what: str) -> None:
    top, host, words = NAMED[what]
    assert words in "; ".join(found(top, host))


@pytest.mark.parametrize("what", IDLE)
def test_what_does_nothing_for_a_call_is_not_named(what: str) -> None:
    assert found(*IDLE[what]) == []


def test_what_an_import_calls_of_absent_packages_is_named() -> None:
    tried = "try:\n    import vllm\n    vllm.patch()\nexcept ImportError:\n    vllm = None"
    later = "if vllm:\n    vllm.more(1)\ndef unused():\n    vllm.inside()\nif __name__ == '__main__':\n    vllm.tried()"
    made = [str(one) for one in of_packages(f"{tried}\n{later}")]
    assert made == [f"line {line}: calls vllm.{name}, which the judged text does not"
                    for line, name in ((3, "patch"), (7, "more"))]  # fmt: skip
