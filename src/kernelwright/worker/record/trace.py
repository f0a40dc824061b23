"""Recording of ATen operators: each operator that host code calls becomes steps of the launch plan.

Trace sees operators on meta tensors. It does not see the Python functions that call them (`fake` does). An operator is
refused if it is neither in the short lists below nor a library step that the problem allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.model import LibraryMode
from kernelwright.worker.plan.operators import OPERATORS
from kernelwright.worker.plan.plan import (
    KEPT,
    MAX_STEPS,
    Argument,
    Buffer,
    Copy,
    Fill,
    Forward,
    LibraryCall,
    PlanStep,
    Tensor,
    Tuple,
    Value,
    View,
)
from kernelwright.worker.plan.schemas import fault_of, functional_of, is_writing
from kernelwright.worker.record.messages import Surroundings

aten = torch.ops.aten

ALLOCATE = {
    aten.empty,
    aten.empty_strided,
    aten.empty_like,
    aten.new_empty,
    aten.new_empty_strided,
    aten.empty_permuted,
}
"""Operators that only allocate memory."""

ALLOCATE_AND_FILL: dict[Any, Callable[[tuple[Any, ...]], Any]] = {
    aten.zeros: lambda args: 0, aten.zeros_like: lambda args: 0, aten.new_zeros: lambda args: 0,
    aten.ones: lambda args: 1, aten.ones_like: lambda args: 1, aten.new_ones: lambda args: 1,
    aten.full: lambda args: args[1], aten.full_like: lambda args: args[1], aten.new_full: lambda args: args[2],
}  # fmt: skip
"""Operators that allocate memory and fill it with a constant: the constant, from the operator's arguments. Split-K and
atomics need zeros."""

FILL = {aten.zero_: lambda args: 0, aten.fill_: lambda args: args[1]}
"""Operators that fill existing memory with a constant: the constant, from the operator's arguments."""

COPY = {aten.clone, aten._to_copy, aten.contiguous}
"""Operators that copy values to new memory, possibly in another dtype or layout."""

VIEW_WITHOUT_ALIAS = {aten._unsafe_view, aten._reshape_alias}
"""Operators that return views without a mark in their schema. For the others `is_view` is True."""


class Refused(Exception):
    """Host code did something that a launch plan cannot represent or that is not allowed."""


def _cure(operator: Any, mode: LibraryMode) -> str:
    """Advice for a refused operator."""
    if mode != "any" and not fault_of(operator):
        least = "finish" if mode == "none" and str(operator).removeprefix("aten.") in OPERATORS else "any"
        return f'; or allow it: LIBRARY = "{least}" in the problem'
    if mode != "none" and not fault_of(functional_of(operator)):
        return "; a library step writes to a new tensor or to out="
    return f"; no library step {fault_of(operator)} (docs/problems.md)"


class Trace(TorchDispatchMode):
    """Dispatch mode that writes the plan. While `recording` is False (construction of a module) it records nothing."""

    def __init__(self, library: LibraryMode = "none", surroundings: Surroundings = "usual") -> None:
        super().__init__()
        self.library, self.surroundings = library, surroundings
        self.alive: list[torch.Tensor] = []
        self.spare: dict[int, bool] = {}
        """By storage that construction allocated and did not write, whether it is on the device."""
        self.start()

    def start(self) -> None:
        """Begin a new plan. It refuses tensors of earlier plans."""
        self.recording = False
        self.elsewhere: set[int] = set()  # storages without elements that are not on the device
        self.buffers: dict[int, Buffer] = {}
        self.by_storage: dict[int, int] = {}
        self.before: dict[int, int] = {}  # by buffer, bytes of its storage in front of it
        self.constants: dict[int, Any] = {}
        self.steps: list[PlanStep] = []
        self.forward: Forward | None = None

    def bind(self, tensor: torch.Tensor, origin: Any, name: str, before: int = 0) -> None:
        """Declare a tensor's storage as an input or parameter. before: elements in front of it that are not its."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.by_storage:
            number, left_out = self._new_buffer(tensor, origin, name), before * tensor.element_size()
            self.before[number] = left_out
            self.buffers[number] = Buffer(id=number, nbytes=storage.nbytes() - left_out, origin=origin, name=name)

    def view(self, tensor: torch.Tensor, what: str) -> View:
        """The plan's view of a tensor; refuses a tensor whose storage is not a buffer of the plan."""
        buffer = self.by_storage.get(tensor.untyped_storage()._cdata)
        if tensor.is_conj() or tensor.is_neg():
            raise Refused(f"{what} is a view that negates what it reads, as .conj().imag does; negate in a kernel")
        if buffer is None and not isinstance(tensor, torch.nn.Parameter):
            buffer = self._spare(tensor, what)
        if buffer is None:
            known = ", ".join(one.name for one in self.buffers.values() if one.origin == "parameter")
            raise Refused(
                f"{what} is a tensor made outside the call that is neither an input nor a parameter or buffer of the "
                f"reference{known and f' ({known})'}; what is computed from weights at construction cannot be "
                "replayed, nor numbers that torch.tensor copies (torch.full fills memory with one)"
            )
        offset = int(tensor.storage_offset()) - self.before.get(buffer, 0) // tensor.element_size()
        return View(buffer=buffer, dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape),
                    stride=tuple(tensor.stride()), offset=offset)  # fmt: skip

    def _spare(self, tensor: torch.Tensor, what: str) -> int | None:
        """The buffer of memory that construction only allocated: scratch of each call, whose values it never keeps."""
        is_on_device = self.spare.get(tensor.untyped_storage()._cdata)
        if is_on_device is False:
            raise Refused(f'{what} is memory that construction allocates on the CPU; write device="cuda" there')
        return None if is_on_device is None else self._new_buffer(tensor, "scratch", KEPT)

    def to_device(self, tensor: torch.Tensor) -> None:
        """Note that construction puts a tensor on the device."""
        if (storage := tensor.untyped_storage()._cdata) in self.spare:
            self.spare[storage] = True

    def _construct(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator of construction. Memory that it only allocates, or sets to zero, is `spare`."""
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        if packet in ALLOCATE or packet in (aten.zeros, aten.zeros_like, aten.new_zeros):
            self.alive.append(result)
            self.spare.setdefault(result.untyped_storage()._cdata, False)
        elif func._schema.is_mutable and packet is not aten.zero_:
            for one in (*args, *kwargs.values()):
                if isinstance(one, torch.Tensor):
                    self.spare.pop(one.untyped_storage()._cdata, None)
        return result

    def is_elsewhere(self, *given: object) -> bool:
        """Whether one of these is, or holds, a tensor that is not on the device."""
        several = [part for one in given for part in (one if isinstance(one, list | tuple) else (one,))]
        return bool(self.elsewhere) and any(
            isinstance(one, torch.Tensor) and one.untyped_storage()._cdata in self.elsewhere for one in several
        )

    def place(self, tensor: torch.Tensor) -> int:
        """A made-up address of a tensor: 0 without elements, as on a device, else in a storage that begins at a
        multiple of 2^40, another for each buffer; one element further in "inference"."""
        if tensor.numel() == 0:
            return 0
        number = self.by_storage.get(tensor.untyped_storage()._cdata, -1)
        offset = int(tensor.storage_offset()) + (self.surroundings == "inference")
        return ((number + 2) << 40) + offset * tensor.element_size()

    def append(self, step: PlanStep) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise Refused(f"one call takes more than {MAX_STEPS} launches, fills and copies")
        self.steps.append(step)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.recording:
            return self._construct(func, args, kwargs)
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:  # torch.inference_mode does not decompose composite operators
                return func.decompose(*args, **kwargs)
        packet = func.overloadpacket
        if func.is_view or packet in VIEW_WITHOUT_ALIAS or packet in (aten.detach, aten.alias, aten.lift_fresh):
            return self._same_storage(func, args, kwargs)
        if packet in FILL:
            self._fill(args[0], FILL[packet](args))
            return args[0]
        if packet is aten.copy_:
            self._copy(args[0], args[1])
            return args[0]
        if packet is aten.scalar_tensor:  # the right side of `y[:, 0] = 0`, on its way to copy_
            result = func(*args, **kwargs)
            self.alive.append(result)
            self.constants[result.untyped_storage()._cdata] = args[0]
            return result
        if packet is aten._local_scalar_dense:
            raise Refused("the host code reads a value of a tensor; what it does may depend on shapes only")
        if packet in ALLOCATE or packet in ALLOCATE_AND_FILL or packet in COPY:
            result = func(*args, **kwargs)
            self._new_buffer(result, "scratch", "")
            if packet in ALLOCATE_AND_FILL:
                self._fill(result, ALLOCATE_AND_FILL[packet](args))
            elif packet in COPY:
                self._copy(result, args[0])
            return result
        if packet is aten.constant_pad_nd:
            return self._pad(func, args, kwargs)
        if packet in (aten.cat, aten.stack):
            return self._join(func, args, kwargs)
        return self.call_library(func, args, kwargs)

    def call_library(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Record a library step; refuses an operator that the problem does not allow."""
        called = str(func).removeprefix("aten.")
        operator = functional_of(func) if is_writing(func) else func
        name = str(operator).removeprefix("aten.")
        is_allowed = not fault_of(operator) if self.library == "any" else name in OPERATORS
        if self.library == "none" or not is_allowed:
            raise Refused(
                f"the host code calls {func}; it may only allocate, fill with a constant, view, copy and cast, and "
                f"launch its own kernels{_cure(operator, self.library)}"
            )
        given = {**dict(zip((a.name for a in func._schema.arguments), args, strict=False)), **kwargs}
        own = {a.name: given.pop(a.name, a.default_value) for a in operator._schema.arguments}
        if name != called:
            self._require_shapes(func, operator, own, kwargs)
        self.recording = False  # the operators inside this one are not steps
        result = func(*args, **kwargs)
        self.recording = True
        outputs = [result] if isinstance(result, torch.Tensor) else list(result)
        if name == called:
            for output in outputs:
                self._new_buffer(output, "scratch", "")
        self.append(LibraryCall(
            operator=name,
            arguments={key: self._argument(value, f"aten.{name}'s argument {key}") for key, value in own.items()},
            targets=tuple(self.view(output, f"what aten.{name} writes") for output in outputs),
        ))  # fmt: skip
        return result

    def _require_shapes(self, func: Any, operator: Any, own: dict[str, Any], kwargs: dict[str, Any]) -> None:
        """Refuse an `out=` whose shape or dtype differs from the result's: torch would resize it."""
        named = {a.name: a.kwarg_only for a in operator._schema.arguments}
        made = operator(*(own[name] for name, alone in named.items() if not alone),
                        **{name: own[name] for name, alone in named.items() if alone})  # fmt: skip
        outputs = [kwargs[a.name] for a in func._schema.arguments if a.is_out]
        for output, wanted in zip(outputs, [made] if isinstance(made, torch.Tensor) else made, strict=True):
            if (output.shape, output.dtype) != (wanted.shape, wanted.dtype):
                raise Refused(
                    f"the host code calls {func} with out= of {output.dtype}{list(output.shape)}, and the result is "
                    f"{wanted.dtype}{list(wanted.shape)}"
                )

    def _argument(self, value: Any, what: str) -> Argument:
        if isinstance(value, torch.Tensor):
            return Tensor(view=self.view(value, what))
        if isinstance(value, torch.dtype):
            return Value(kind="dtype", text=str(value).removeprefix("torch."))
        if isinstance(value, list | tuple):
            return Tuple(items=tuple(self._argument(item, what) for item in value))
        if value is None or type(value) in (bool, int, float, str):
            kind: Any = "none" if value is None else type(value).__name__
            return Value(kind=kind, text="" if value is None else repr(value))
        raise Refused(f"{what} is a {type(value).__name__}; tensors, numbers, words and dtypes were expected")

    def _same_storage(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.untyped_storage()._cdata not in self.by_storage:
            source = args[0]
            known = isinstance(source, torch.Tensor) and source.untyped_storage()._cdata in self.by_storage
            if known:
                raise Refused(f"{func} copied where a view was expected")
        return result

    def _new_buffer(self, tensor: torch.Tensor, origin: Any, name: str) -> int:
        storage = tensor.untyped_storage()
        number = len(self.buffers)
        self.alive.append(tensor)  # otherwise a new storage could get the address of a freed one
        self.by_storage[storage._cdata] = number
        self.buffers[number] = Buffer(id=number, nbytes=storage.nbytes(), origin=origin, name=name)
        return number

    def _fill(self, target: torch.Tensor, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            raise Refused("a fill value is a tensor; it has to be a plain number")
        self.append(Fill(view=self.view(target, "what is filled"), value=repr(value)))

    def _copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        constant = self.constants.get(source.untyped_storage()._cdata)
        if constant is not None:
            self._fill(target, constant)
            return
        if source.shape != target.shape:
            source = source.expand(target.shape)
        self.append(Copy(target=self.view(target, "what is copied to"), source=self.view(source, "what is copied")))

    def _pad(self, func: Any, args: Any, kwargs: Any) -> Any:
        source, pad, value = args[0], args[1], args[2] if len(args) > 2 else 0
        if min(pad) < 0:
            raise Refused("padding by a negative amount; slice instead")
        result = func(*args, **kwargs)
        self._new_buffer(result, "scratch", "")
        self._fill(result, value)
        interior = result
        for i in range(len(pad) // 2):
            dim = source.dim() - 1 - i
            interior = interior.narrow(dim, pad[2 * i], source.shape[dim])
        self._copy(interior, source)
        return result

    def _join(self, func: Any, args: Any, kwargs: Any) -> Any:
        parts, dim = args[0], (args[1] if len(args) > 1 else kwargs.get("dim", 0))
        result = func(*args, **kwargs)
        self._new_buffer(result, "scratch", "")
        start = 0
        for i, part in enumerate(parts):
            if func.overloadpacket is aten.stack:
                self._copy(result.select(dim, i), part)
            else:
                self._copy(result.narrow(dim, start, part.shape[dim]), part)
                start += part.shape[dim]
        return result
