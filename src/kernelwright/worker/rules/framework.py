"""Allow-list of the names that host code may use from imported modules. Pure syntax.

Other parts of torch and Triton could distinguish one process or call from another, or store something for the next call
(a generator, a flag, the number of a hook). Modules of the standard library lead to further modules. Operators need no
list: the recorder sees every operator that is called.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import itertools
import math
import typing
from types import ModuleType

from kernelwright.worker.rules import language


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEVICE = _words("""device device_of current_device set_device get_device_properties get_device_capability
get_device_name is_available device_count is_bf16_supported amp OutOfMemoryError""")

FORWARDS = frozenset({"custom_fwd", "custom_bwd", "autocast"})

EVALUATES = frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref", "get_overloads", "clear_overloads",
                       "no_type_check_decorator", "runtime_checkable"})  # fmt: skip
"""Names of `typing` that evaluate strings as Python, change state in `typing`, or ask any object for attributes."""


def _stated(module: ModuleType) -> frozenset[str]:
    """The public names of a module of the standard library, without EVALUATES."""
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
    "torch.return_types": None,  # named tuples of tensors
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
    **{module: names.allowed | names.types for module, names in language.MODULES.items()
       if module.startswith("triton.")},
}  # fmt: skip
"""Names that host code may use from each module. None: every name that `_is_refused` does not refuse. Attributes behind
such a name belong to a value and are not checked here."""

CLASSES = frozenset({"Tensor", "Size", "Generator", "SymInt", "SymFloat", "SymBool"})

ASKS = ("is_", "are_", "get_", "set_", "has_", "autocast_", "clear_", "default_", "initial_", "init_", "thread_",
        "hash_", "import_", "parse_", "sym_")  # fmt: skip
"""Prefixes of torch functions that read or change something other than a tensor."""

ABOUT_TENSORS = _words("""is_tensor is_floating_point is_complex is_signed is_same_size is_nonzero is_conj is_neg
is_grad_enabled is_autocast_enabled is_inference_mode_enabled get_autocast_dtype get_autocast_gpu_dtype
get_default_dtype get_device set_grad_enabled""")

PARTS = _words("""accelerator ao backends builtins classes compiler cpp cpu ctypes distributed distributions export
foreach func functional functools futures fx glob hub importlib inspect jit library masked math monitor mps mtia
multiprocessing nested onnx ops optim os overrides package platform profiler quantization quasirandom random
return_types serialization signal sparse storage sys testing textwrap threading torch torch_version types
typing_extensions utils warnings windows typename asarray frombuffer fork vmap cond while_loop classproperty dataclasses
grad np operator typing wrappers""")
"""Modules in the namespaces of torch, and its functions and classes that are not operators."""

NO_TUPLES = _words("all_return_types register_pytree_node pytree_register_structseq inspect torch SequenceKey name")
"""Names of `torch.return_types` that are no named tuple of tensors."""

RULE = "host code may use tensors, modules, dtypes, operators, its device, and public names of a few standard modules"


def why_refused(path: str) -> str:
    """Why host code may not use `path`, a full name in an imported module; "" if it may."""
    if path.endswith(".__name__"):
        return "a function may have another name where it is recorded; write the name as a text"
    if path in MODULES:
        return f"a module may not be passed on or stored: write the name that is used of it, as in {path}.NAME"
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module, name = ".".join(parts[:count]), parts[count]
        if module in MODULES:
            allowed = MODULES[module]
            refused = _is_refused(module, name) if allowed is None else name not in allowed
            return RULE if refused else ""
    return RULE


def may_be_imported(path: str) -> str:
    """The same for a path that is imported or read by `getattr`. Here a module by itself is allowed."""
    return "" if path in MODULES or path.partition(".")[0] not in ROOTS else why_refused(path)


def _is_refused(module: str, name: str) -> bool:
    if name == "*":
        return True
    if module == "torch.nn":
        return not name[:1].isupper()
    if module == "torch.return_types" and name in NO_TUPLES:
        return True
    if name in PARTS or (name.startswith("_") and name != "__version__"):
        return True
    if module != "torch":
        return False
    if name[:1].isupper():
        return name not in CLASSES and not name.endswith("Tensor")
    return name.startswith(ASKS) and name not in ABOUT_TENSORS
