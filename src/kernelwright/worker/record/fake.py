"""Fake CUDA tensors: torch's meta tensors, which report a GPU as their device.

Their shapes, strides, views and storages are exact, they take no memory, and they have no values. Two torch modes are
active: SayCuda reports "cuda" wherever Python reads a device, so that a CPU-only torch build is enough. The other
(`trace`) sees every ATen operator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from triton.runtime.driver import driver

from kernelwright.devices import Target
from kernelwright.devices.backend import BACKEND
from kernelwright.model import LibraryMode
from kernelwright.worker.plan.schemas import RECURRENT
from kernelwright.worker.record.messages import Surroundings
from kernelwright.worker.record.trace import Refused, Trace

OF_A_LAUNCH = frozenset({"data_ptr", "element_size", "is_conj", "is_neg", "numel", "storage_offset", "stride",
                         "untyped_storage"})  # fmt: skip
"""What a launch asks of a tensor, beside its dtype and its shape."""


class SayCuda(TorchFunctionMode):
    """Torch function mode that reports every tensor as a tensor on GPU 0, or on the second of several."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace = trace
        self.device = torch.device(BACKEND.name, 1 if trace.surroundings == "inference" else 0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        attribute = getattr(func.__self__, "__name__", "") if name == "__get__" else ""
        if (
            name not in OF_A_LAUNCH
            and attribute not in ("dtype", "shape")
            and self.trace.is_elsewhere(*args, *kwargs.values())
        ):
            raise Refused("a tensor without elements on the CPU may only be the argument of a launch")
        if name == "__get__":
            if attribute == "device":
                return self.device
            if attribute in ANSWERS:
                return ANSWERS[attribute]
        elif name == "get_device":
            return self.device.index
        elif name == "data_ptr":
            return self.trace.place(args[0])
        elif func in DECOMPOSED and self.trace.recording:
            return self.trace.call_library(DECOMPOSED[func], args, kwargs)
        elif name == "type" and len(args) == 1 and not kwargs:
            return func(*args).replace("meta", BACKEND.name)
        elif name in ("cuda", "pin_memory"):
            if name == "cuda":
                self.trace.to_device(args[0])
            return args[0]
        elif name in ("cpu", "numpy", "tolist", "item", "__repr__", "__format__"):
            raise Refused(f"the host code reads values ({name}()); what it does may depend on shapes only")
        elif name == "to":
            args, kwargs = self._without_device(args, kwargs)
            if len(args) == 1 and not kwargs:
                return args[0]
        elif func in _device_constructors():
            made = func(*args, **kwargs | {"device": "meta"})
            if self.trace.recording and torch.device(kwargs.get("device") or "cpu").type == "cpu":
                if made.numel():
                    raise Refused(f"torch.{name} without device=: it would allocate on the CPU")
                self.trace.elsewhere.add(made.untyped_storage()._cdata)
            if kwargs.get("device") is not None and torch.device(kwargs["device"]).type != "cpu":
                self.trace.to_device(made)
            return made
        elif kwargs.get("device") is not None:
            self._on_gpu(kwargs["device"])
            kwargs["device"] = "meta"
        return func(*args, **kwargs)

    def _without_device(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of `Tensor.to` without the device."""
        rest = [args[0]]
        for argument in args[1:]:
            if isinstance(argument, str | torch.device | int) and not isinstance(argument, bool):
                self._on_gpu(argument)
            elif isinstance(argument, torch.Tensor):
                rest.append(argument.dtype)
            elif argument is not None:
                rest.append(argument)
        if kwargs.get("device") is not None:
            self._on_gpu(kwargs["device"])
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "non_blocking") and v is not None}
        flags = [a for a in rest if isinstance(a, bool)]  # non_blocking, copy
        if len(flags) > 1:
            kwargs["copy"] = flags[1]
        if not kwargs.get("copy", True):
            del kwargs["copy"]
        return tuple(a for a in rest if not isinstance(a, bool)), kwargs

    def _on_gpu(self, device: Any) -> None:
        if self.trace.recording and not isinstance(device, int) and torch.device(device).type == "cpu":
            raise Refused("the host code moves a tensor to the CPU")


DECOMPOSED = {**RECURRENT, scaled_dot_product_attention: torch.ops.aten.scaled_dot_product_attention.default}
"""The operators of functions that call others on meta tensors."""

ANSWERS = {"is_cuda": True, "is_cpu": False, "is_meta": False}


class Properties:
    """What PyTorch says of a device, as far as it is the same on every device of the target. Nothing else may be asked
    of it: PyTorch has other attributes, and two of its answers are not equal."""

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        raise Refused(f"the host code asks for {name} of the device; known are: {', '.join(self.__dict__)}")

    def _refuse(self, *_: object) -> Any:
        raise Refused("the host code compares or prints the properties of the device; read one by its name")

    __eq__ = __repr__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class Chosen(contextlib.nullcontext[None]):
    """`torch.cuda.device` and `torch.cuda.device_of`, of which there is one."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.idx, self.prev_idx = torch.cuda.current_device(), -1


def _device() -> torch.device:
    return torch.device(BACKEND.name, torch.cuda.current_device())


@contextlib.contextmanager
def faked(target: Target, library: LibraryMode = "none", surroundings: Surroundings = "usual") -> Iterator[Trace]:
    """Context in which tensors are fake, `torch.cuda` describes `target`, and the trace sees every operator. library:
    which operators the trace records as library steps."""
    properties = Properties(
        name=target.device, major=target.capability // 10, minor=target.capability % 10,
        multi_processor_count=target.multiprocessors, L2_cache_size=target.l2_bytes, warp_size=BACKEND.warp_threads,
        shared_memory_per_block_optin=target.shared_bytes_per_block,
        shared_memory_per_multiprocessor=target.shared_bytes_per_multiprocessor,
        max_threads_per_multi_processor=target.warps_per_multiprocessor * BACKEND.warp_threads,
        regs_per_multiprocessor=target.registers_per_multiprocessor,
    )  # fmt: skip
    answers: dict[str, Any] = {
        "is_available": lambda: True, "current_device": lambda: int(surroundings == "inference"),
        "device_count": lambda: 8 if surroundings == "inference" else 1,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_name": lambda device=None: target.device,
        "device": type("device", (Chosen,), {}), "device_of": type("device_of", (Chosen,), {}),
        "set_device": lambda device: None,
    }  # fmt: skip
    trace = Trace(library, surroundings)
    mode = {"usual": torch.no_grad, "training": torch.enable_grad, "inference": torch.inference_mode}[surroundings]
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            answer.__name__ = name
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        for name, answer in (("get_current_device", torch.cuda.current_device), ("get_active_torch_device", _device)):
            stack.enter_context(mock.patch.object(driver.active, name, answer))
        stack.enter_context(mock.patch.object(torch.version, "cuda", torch.version.cuda or "13.0"))  # of a CPU build
        stack.enter_context(mode())
        stack.enter_context(trace)
        stack.enter_context(SayCuda(trace))
        yield trace
