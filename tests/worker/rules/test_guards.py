"""Device guards, handlers and hooks of published host code: what the normal form leaves out, and what stays refused."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

KERNEL = """
import contextlib
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)

@contextlib.contextmanager
def device_context(device):
    device = torch.device(device)
    backend = getattr(torch, device.type, None)
    if backend is not None and hasattr(backend, "device"):
        with backend.device(device):
            yield
    else:
        yield

def kernel_function(x):
    out = torch.empty_like(x)
    with device_context(x.device):
        copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


def test_a_context_manager_that_only_chooses_a_device_is_left_out() -> None:
    assert findings(KERNEL) != []
    made = normal_form(KERNEL)
    assert findings(made) == []
    assert "with (torch.no_grad()):" in made
    assert "device_context" not in made


@pytest.mark.parametrize(("old", "new"), [
    ("            yield\n", "            yield torch.zeros(3)\n"),
    ("    device = torch.device(device)\n", "    copy[(1,)](device, device, 1, BLOCK=16)\n"),
    ("    device = torch.device(device)\n", "    torch.set_default_dtype(torch.float16)\n"),
    ("    device = torch.device(device)\n", "    kernel_function.calls = 1\n"),
    ("            yield\n", "            try:\n                yield\n            finally:\n                pass\n"),
    ("with device_context(x.device):", "with device_context(x.device) as made:"),
    ("@contextlib.contextmanager\n", "@contextlib.contextmanager\n@other\n"),
])  # fmt: skip
def test_a_context_manager_that_does_more_is_refused(old: str, new: str) -> None:
    assert findings(normal_form(KERNEL.replace(old, new, 1))) != []


def test_the_device_guard_of_generated_code_is_the_public_one() -> None:
    source = KERNEL.replace("device_context(x.device)", "torch.cuda._DeviceGuard(0)")
    assert findings(source) != []
    made = normal_form(source)
    assert findings(made) == []
    assert "(torch.cuda.device)(0)" in made


TRIED = "    try:\n        copy[(1,)](x, out, 9, BLOCK=256)\n    except Exception:\n        {instead}\n    return out\n"


@pytest.mark.parametrize(("instead", "fine"), [
    ("raise", True), ("raise ValueError('no') from None", True), ("return x.clone()", False), ("pass", False),
    ("out.zero_()\n        raise", False),
])  # fmt: skip
def test_a_handler_may_only_raise(instead: str, fine: bool) -> None:
    head, _, _ = KERNEL.partition("    with device_context")
    source = head + TRIED.format(instead=instead)
    assert (findings(normal_form(source)) == []) is fine
    for more in ("finally:\n        pass\n    return out\n", "except OSError:\n        pass\n    return out\n"):
        assert any("catches" in one for one in findings(normal_form(source.replace("return out\n", more))))


HOOK = """
def sized(arguments):
    arguments["x"].block_shape = [16]

"""


def test_a_hook_may_size_the_descriptors_of_its_launch_and_set_nothing_else() -> None:
    tuned = "@triton.autotune(configs=[triton.Config({}, pre_hook=sized)], key=[])\n@triton.jit"
    source = HOOK + KERNEL.replace("@triton.jit", tuned, 1)
    assert findings(normal_form(source)) == []
    for wrong in ('arguments["x"].other = [16]', "copy.block_shape = [16]", 'TABLE["x"].block_shape = [16]'):
        assert findings(normal_form(source.replace('arguments["x"].block_shape = [16]', wrong))) != [], wrong
    called = source.replace("    out = torch", "    sized({'x': x})\n    out = torch")
    assert any("block_shape" in text for text in findings(normal_form(called)))
    own = "def Config(numbers, pre_hook):\n    pre_hook({'x': torch})\n" + source.replace("triton.Config", "Config")
    assert any("block_shape" in text for text in findings(normal_form(own)))


@pytest.mark.parametrize(("call", "fine"), [
    ("Doubled.apply(x)", True), ("Doubled.forward(torch.nn.Identity, x)", False), ("(Doubled, 1)[0].apply(x)", False),
    ("getattr(Doubled, 'forward')(torch, x)", False),
])  # fmt: skip
def test_an_autograd_function_is_only_applied(call: str, fine: bool) -> None:
    function = "class Doubled(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    source = KERNEL + "\n" + function + "        ctx.rows = x.shape[0]\n        return x\n"
    source = source.replace("    out = torch", f"    x = {call}\n    out = torch")
    assert (findings(normal_form(source)) == []) is fine
    assert findings(source.replace("torch.autograd.Function", "object")) != [], "its first argument may be anything"


@pytest.mark.parametrize(("call", "fine"), [
    ("super().__init__()", True), ("super(Model, self).__init__()", True), ("torch.nn.Module.__init__(self)", True),
    ("Other.__init__(self)", False), ("super", True),
])  # fmt: skip
def test_a_constructor_is_called_by_super(call: str, fine: bool) -> None:
    source = KERNEL + "\nclass Model(torch.nn.Module):\n    def __init__(self):\n        " + call + "\n"
    source = source.replace("    out = torch", "    Model()\n    out = torch")
    assert (findings(normal_form(source)) == []) is fine
    if call.startswith("super("):
        assert findings(source + "\ndef super(*of):\n    return Model\n") != []


def test_a_table_may_be_one_of_two() -> None:
    configs = "WARPS = [4, 8] if BIG() else [2, 4]\n\n"
    configs += "@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in WARPS], key=[])\n@triton.jit"
    source = "def BIG():\n    return True\n" + KERNEL.replace("@triton.jit", configs, 1)
    made = normal_form(source)
    assert findings(made) == []
    filled = source.replace("    out = torch", "    WARPS.append(16)\n    out = torch")
    assert any("container" in text for text in findings(normal_form(filled)))
