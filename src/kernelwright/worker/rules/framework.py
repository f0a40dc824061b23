"""What host code may name of the modules that it imports: an allow-list, because every other part of torch and Triton
may tell one process or call from another, or keep something for the next call (a generator, a flag, the number of a
hook), and modules of the standard library lead to others.

Operators need no list: the recorder sees each of them where it arrives. Pure syntax.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import itertools
import math
import typing
from types import ModuleType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEVICE = _words("""device device_of current_device set_device get_device_properties get_device_capability
get_device_name is_available device_count is_bf16_supported amp OutOfMemoryError""")

FORWARDS = frozenset({"custom_fwd", "custom_bwd", "autocast"})

EVALUATES = frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref", "get_overloads", "clear_overloads",
                       "no_type_check_decorator"})  # fmt: skip
"""What `typing` runs as Python, or keeps in itself."""


def _stated(module: ModuleType) -> frozenset[str]:
    """What a module of the standard library calls its own."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return frozenset(names) - EVALUATES


LIBRARY = {module.__name__: _stated(module)
           for module in (math, typing, functools, itertools, dataclasses, collections.abc)}  # fmt: skip

ROOTS = frozenset({"torch", "triton", *LIBRARY}) - {"collections.abc"} | {"collections"}

MODULES: dict[str, frozenset[str] | None] = {
    **LIBRARY, "collections": frozenset({"OrderedDict", "namedtuple", "abc"}),
    "torch": None, "torch.nn": None, "torch.nn.functional": None, "torch.nn.init": None,
    "torch.nn.parameter": frozenset({"Parameter", "Buffer"}),
    "torch.linalg": None, "torch.special": None, "torch.fft": None,
    "torch.cuda": DEVICE, "torch.xpu": DEVICE, "torch.npu": DEVICE, "torch.amp": FORWARDS, "torch.cuda.amp": FORWARDS,
    "torch.autograd": frozenset({"Function", "function", "grad"}),
    "torch.autograd.function": frozenset({"Function", "FunctionCtx", "once_differentiable"}),
    "torch.version": frozenset({"hip", "cuda", "xpu"}),
    "torch._prims_common": None,
    "triton": _words("""jit autotune heuristics Config cdiv next_power_of_2 set_allocator __version__ JITFunction
        OutOfResources reinterpret TensorWrapper language tools runtime testing"""),
    "triton.tools": frozenset({"tensor_descriptor"}),
    "triton.tools.tensor_descriptor": frozenset({"TensorDescriptor"}),
    "triton.testing": frozenset({"assert_close", "Benchmark", "perf_report"}),
    "triton.runtime": frozenset({"driver", "jit", "autotuner", "errors", "JITFunction", "Autotuner", "Config",
                                 "OutOfResources", "TensorWrapper", "reinterpret"}),
    "triton.runtime.jit": frozenset({"JITFunction", "TensorWrapper", "reinterpret", "KernelInterface"}),
    "triton.runtime.autotuner": frozenset({"Autotuner", "Heuristics", "Config", "OutOfResources"}),
    "triton.runtime.errors": frozenset({"OutOfResources", "PTXASError"}),
    "triton.runtime.driver": frozenset({"active"}),
    "triton.runtime.driver.active": frozenset({"get_current_target", "get_current_device", "get_active_torch_device",
                                               "utils"}),
    "triton.runtime.driver.active.utils": frozenset({"get_device_properties"}),
}  # fmt: skip
"""What of each module host code may name; None: all but what `_is_refused` says. What is deeper is of a value."""

CLASSES = frozenset({"Tensor", "Size", "Generator", "SymInt", "SymFloat", "SymBool"})

ASKS = ("is_", "are_", "get_", "set_", "has_", "autocast_", "clear_", "default_", "initial_", "init_", "thread_",
        "hash_", "import_", "parse_", "sym_")  # fmt: skip
"""How names of torch begin that ask for, or set, what is not of a tensor."""

ABOUT_TENSORS = _words("""is_tensor is_floating_point is_complex is_signed is_same_size is_nonzero is_conj is_neg
is_grad_enabled is_autocast_enabled is_inference_mode_enabled get_autocast_dtype get_autocast_gpu_dtype
get_default_dtype get_device set_grad_enabled""")

PARTS = _words("""accelerator ao backends builtins classes compiler cpp cpu ctypes distributed distributions export
func functional functools futures fx glob hub importlib inspect jit library masked math monitor mps mtia
multiprocessing nested onnx ops optim os overrides package platform profiler quantization quasirandom random
return_types serialization signal sparse storage sys testing textwrap threading torch torch_version types utils warnings
windows typename asarray frombuffer fork vmap cond while_loop classproperty""")
"""Modules that torch's own namespace holds, and functions that are no operators."""

RULE = "host code may name tensors, modules, dtypes and operators, the device it is on, and what the standard library \
states as its own"


def why_refused(path: str) -> str:
    """Why host code may not name `path`, a full name in an imported module, "" where it may."""
    if path in MODULES:
        return f"{path} may stand in front of a dot only: name what is used of it"
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module, name = ".".join(parts[:count]), parts[count]
        if module in MODULES:
            allowed = MODULES[module]
            refused = _is_refused(module, name) if allowed is None else name not in allowed
            return RULE if refused else ""
    return RULE


def may_be_imported(path: str) -> str:
    """The same of what an import binds, or `getattr` asks for: modules stand in front of dots again."""
    return "" if path in MODULES or path.partition(".")[0] not in ROOTS else why_refused(path)


def _is_refused(module: str, name: str) -> bool:
    if module == "torch.nn":
        return not name[:1].isupper()
    if name in PARTS or (name.startswith("_") and name != "__version__"):
        return True
    if module != "torch":
        return False
    if name[:1].isupper():
        return name not in CLASSES and not name.endswith("Tensor")
    return name.startswith(ASKS) and name not in ABOUT_TENSORS
