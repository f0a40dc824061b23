"""Statements that try out or time a module's functions, and those that only look so."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.normal import normal_form

KERNEL = """\
import torch
import triton
import triton.language as tl

SIZES = [128, 256]

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n) * 2, mask=lanes < n)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), SIZES[0]),)](x, out, x.numel(), BLOCK=SIZES[0])
    return out

{script}

def kernel_function(x):
    return double(x)
"""

BENCHMARK = """
@triton.testing.perf_report(triton.testing.Benchmark(x_names=["n"], x_vals=[1, 2], line_arg="p", line_vals=["a"]))
def benchmark(n, provider):
    stream = getattr(torch, "cuda").Stream()
    torch.cuda.set_stream(stream)
    return triton.testing.do_bench(lambda: double(torch.rand(n)))
"""


@pytest.mark.parametrize("script", [
    "torch.manual_seed(0)\nx = torch.rand(9)\nprint(f'error {torch.max(torch.abs(double(x) - 2 * x)).item()}')",
    "x = torch.rand(9)\nif torch.allclose(double(x), 2 * x):\n    print('right')\nelse:\n    print('wrong')",
    "for n in (1, 2):\n    x = torch.rand(n, device='cuda')\n    torch.testing.assert_close(double(x), 2 * x)",
    "with torch.no_grad():\n    y = double(torch.rand(9))\nassert y.sum().item() > 0",
    "def test(n):\n    x = torch.rand(n)\n    double(x).sum().backward()\n    x.grad = None\n\ntest(3)",
    BENCHMARK + "\nbenchmark.run(print_data=True, save_path='.')",
    "import tabulate\nprint(tabulate.tabulate([['x'] + torch.rand(3).tolist()]))",
    "import time\nstart = time.time()\ndouble(torch.rand(3))\nprint(time.time() - start)",
    "TFLOPS = torch.rand(3)\nTFLOPS += 1\nprint(TFLOPS)",
])  # fmt: skip
def test_what_tries_out_or_times_the_functions_is_left_out(script: str) -> None:
    source = KERNEL.format(script=script)
    found = normal_form(source)
    assert [str(one) for one in triton.check(found).findings] == []
    assert found.count("\n") == source.count("\n")
    assert "double(torch.rand" not in found
    assert "def double(x)" in found


@pytest.mark.parametrize("script", [
    "torch.allclose = print",
    "torch.set_default_dtype(torch.float16)",
    "if torch.cuda.is_available():\n    torch.backends.cuda.matmul.allow_tf32 = True",
    "for torch.allclose in (print,):\n    pass",
    "def patch():\n    torch.allclose = print\n\npatch()",
    "def patch():\n    inner()\n\ndef inner():\n    torch.allclose = print\n\npatch()",
    "def patch():\n    global SIZES\n    SIZES = [64]\n\npatch()",
    "getattr(torch, 'set_' + 'num_threads')(1)",
    "exec('import os')",
    "import os\nos._exit(0)",
    "import os\nfor number in range(3, 9):\n    os.write(number, b'passed')",
    "from os import write\nwrite(1, b'passed')",
    "def leave():\n    import os\n    os._exit(0)\n\nleave()",
    "if True in [False]:\n    import os\n    os.remove('x')",
    "double.__globals__['torch'] = None",
    "torch.nn.modules.module.register_module_forward_hook(lambda m, given, out: out.cpu())",
])  # fmt: skip
def test_what_changes_more_than_its_own_values_stays_and_is_refused(script: str) -> None:
    assert triton.check(normal_form(KERNEL.format(script=script))).findings


@pytest.mark.parametrize("script", ["SIZES.append(64)", "for n in (1, 2):\n    SIZES[0] = n", "print(SIZES.pop())"])
def test_what_changes_a_value_that_a_call_uses_stays(script: str) -> None:
    assert script.splitlines()[-1].strip() in normal_form(KERNEL.format(script=script))


def test_a_docstring_is_no_script() -> None:
    source = '"""Whose kernel this is, and its license."""\n' + KERNEL.format(script="print(double(torch.rand(3)))")
    assert normal_form(source).startswith('"""Whose kernel this is, and its license."""\n')
