"""Names of the framework and of the standard library: those that host code needs, and no others."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
import torch

from kernelwright.worker.rules import static
from kernelwright.worker.rules.framework import MODULES, may_be_imported, why_refused

NEEDED = """torch.empty torch.float32 torch.float8_e4m3fn torch.Tensor torch.Tensor.shape torch.nn.Module
torch.nn.Parameter torch.nn.functional.pad torch.nn.init.uniform_ torch.cuda.get_device_properties
torch.cuda.amp.custom_fwd torch.finfo torch.return_types.cummax
torch.no_grad torch.is_tensor torch.is_autocast_enabled torch.autograd.Function torch.version.hip torch.__version__
torch.LongTensor torch.contiguous_format torch.mm torch.linalg.norm triton.cdiv triton.jit triton.Config
triton.tools.tensor_descriptor.TensorDescriptor.from_tensor triton.runtime.driver.active.get_current_target
triton.runtime.driver.active.utils.get_device_properties triton.language.float32 math.ceil typing.Optional
functools.partial itertools.product dataclasses.dataclass collections.abc.Callable collections.OrderedDict"""

REFUSED = """torch torch.nn torch.cuda torch.random torch.random.initial_seed torch.default_generator torch.initial_seed
torch.get_num_threads torch.set_num_threads torch.are_deterministic_algorithms_enabled torch.cuda.memory_allocated
torch.cuda.is_initialized torch.utils.hooks.RemovableHandle torch.nn.modules.module torch.nn.functional.torch
torch.nn.init.torch.get_num_threads torch.futures.Future torch._C torch.typename triton triton.knobs
triton.runtime.driver.active triton.runtime.cache typing.get_type_hints typing.operator.attrgetter typing.sys
torch.nn.functional.np torch.nn.functional.dataclasses torch.cuda.is_available.__name__ triton.language
triton.language.core triton.language.extra.module_finder typing.runtime_checkable dataclasses.inspect
functools._lru_cache_wrapper dataclasses._create_fn math.no_such_name collections.deque"""


@pytest.mark.parametrize("path", NEEDED.split())
def test_what_host_code_needs_may_be_named(path: str) -> None:
    assert why_refused(path) == ""


@pytest.mark.parametrize("path", REFUSED.split())
def test_any_other_name_is_refused(path: str) -> None:
    assert why_refused(path) != ""


@pytest.mark.parametrize("module", [module for module in MODULES if MODULES[module] is None])
def test_no_name_in_a_module_is_another_module(module: str) -> None:
    """Lists cannot show what another version of torch imports; this shows what the installed one does."""
    names = vars(importlib.import_module(module))
    others = {f"{module}.{name}" for name in names if isinstance(names[name], ModuleType)} - MODULES.keys()
    assert {path for path in others if not why_refused(path)} == set()


def test_every_operator_of_torch_that_asks_for_no_setting_may_be_named() -> None:
    operators = {name for name in torch.return_types.__all__ if hasattr(torch.ops.aten, name)}
    operators |= {"cat", "softmax", "layer_norm", "bmm", "topk", "where", "from_numpy", "as_strided"}
    assert not {name for name in operators if why_refused(f"torch.{name}")}


def test_modules_may_be_imported_and_only_stand_in_front_of_a_dot() -> None:
    for module in MODULES:
        assert may_be_imported(module) == ""
        assert "may not be passed on or stored" in why_refused(module)
    assert may_be_imported("pathlib.Path") == ""  # other rules say what may be imported at all


@pytest.mark.parametrize(
    "line",
    ["t = torch", "t = (torch, 0)[0]", "t = call(nn)", "t = [nn.functional]", "t = getattr(torch, 'random')",
     "t = torch.random", "t = hash(x)", "t = dir(x)", "t = __name__", "t = x._cdata", "t = TEXT.format(x)",
     "t = '{0.shape}'.format(x)", "t = x.register_hook(print)", "t = map(TEXT.format, [x])", "t = torch.nn.modules"],
)  # fmt: skip
def test_what_leads_to_another_part_is_refused_in_host_code(line: str) -> None:
    head = "import torch\nimport torch.nn as nn\n\n\n"
    assert len(static.check(head + f"def kernel_function(x):\n    {line}\n    return x\n")) == 1


@pytest.mark.parametrize(
    "line",
    ["t = getattr(torch, 'float8_e4m3fn')", "t = hasattr(torch, 'float8_e4m3fn')", "t = isinstance(x, torch.Tensor)",
     "t = '{:.3f} {} {name}'.format(1.0, x.shape, name=2)", "t = torch.float32.itemsize", "t = nn.functional.pad"],
)  # fmt: skip
def test_what_only_names_a_value_is_not(line: str) -> None:
    head = "import torch\nimport torch.nn as nn\n\n\n"
    assert static.check(head + f"def kernel_function(x):\n    {line}\n    return x\n") == []


def test_a_module_of_the_framework_that_the_module_gives_another_name_is_read_as_an_import() -> None:
    source = "import torch\n\nF = torch.nn.functional\ncuda = torch.cuda\n\n\ndef kernel_function(x):\n    return {}\n"
    assert static.check(source.format("F.pad(x, cuda.current_device())")) == []
    for line in ("F.torch.get_num_threads()", "cuda.memory_allocated()", "call(cuda)", "(F, 0)[0].torch"):
        assert len(static.check(source.format(line))) == 1


def test_the_named_tuples_of_operators_may_be_made_and_nothing_else_there_may_be_used() -> None:
    public = [name for name in dir(torch.return_types) if not name.startswith("_")]
    tuples = {name for name in public if isinstance(found := getattr(torch.return_types, name), type)
              and issubclass(found, tuple)}  # fmt: skip
    assert {name for name in public if not why_refused(f"torch.return_types.{name}")} == tuples
