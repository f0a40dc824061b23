"""Kernel or PyTorch? What a module remembers of the shapes it has met, and what has to hold for a call.

A shape's answer is worked out once and then found in a dict; what may change from call to call is asked only where the
kernel has won. The rule: whatever is in doubt goes to PyTorch.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import NamedTuple

import torch
from torch.autograd import forward_ad
from torch.compiler import assume_constant_result
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from . import arguments, wins
from .kernel_host import Built

try:
    from torch.fx.experimental.symbolic_shapes import has_static_value
except ImportError:  # then every size counts as one that may change

    def has_static_value(size):
        return False


PLAIN = (torch.Tensor, torch.nn.Parameter)
ALIGNED_BYTES = 16
MOST_SHAPES = 4096
"""Shapes remembered by one module; after so many it starts anew."""

MEASURED = wins.read()
KINDS = []
"""Each kind of module met so far. Modules of one kind share a number, so that torch.compile need not compile for each
of them."""


class Kind(NamedTuple):
    """What modules have in common that go by the same figures. parameters: name and shape of each. use: which figures
    have to win, a key of `wins.USES`. cases: those that apply. least: below so many elements nothing wins."""

    init: list
    parameters: list
    use: str
    cases: list
    least: int


class State:
    """What one module keeps for dispatching. names: where the problem's parameters are in the module. graphs: whether
    device time alone has to win."""

    def __init__(self, module, init, names, graphs):
        self.place(init, names)
        held = zip(arguments.PARAMETERS, self.parameters(module), strict=True)
        shapes = [[name, list(tensor.shape)] for name, tensor in held]
        self.be(number_of(init, shapes, "graphs" if graphs else "calls"))

    def place(self, init, names):
        self.init, self.init_text = init, repr(init)
        self.names, self.getters = tuple(names), tuple(map(attrgetter, names))

    def be(self, number):
        """A module of that kind, which has met no shape yet."""
        self.number = number
        self.least = KINDS[number].least
        self.forget()

    @property
    def kind(self):
        return KINDS[self.number]

    def forget(self):
        self.known = {}  # by shapes, dtypes and devices: whether the kernel wins
        self.why = {}
        self.expected = {}
        self.kernel = None

    def __deepcopy__(self, memo):
        """A copied module works everything out anew: a kernel may hold parameters of the other."""
        other = State.__new__(State)
        other.place(self.init, self.names)
        other.be(self.number)
        return other

    def __getstate__(self):
        return {"init": self.init, "names": self.names, "parameters": self.kind.parameters, "use": self.kind.use}

    def __setstate__(self, state):
        self.place(state["init"], state["names"])
        self.be(number_of(self.init, state["parameters"], state["use"]))

    def parameters(self, module):
        """The problem's parameters and buffers, in the problem's order."""
        return tuple([find(module) for find in self.getters])

    def decide(self, inputs, key):
        """Work out a shape that was not met before; True where the kernel is to be called.

        While a CUDA graph is captured nothing may be compiled, so a new shape is PyTorch's there and asked again later.
        """
        if captures(inputs):
            return False
        if len(self.known) >= MOST_SHAPES:
            self.forget()
        answer, why, case = self.judged(inputs, "eager")
        if answer and self.kernel is None:
            self.kernel = Built(self.init)
        self.why[key] = why
        self.expected[key] = case
        self.known[key] = answer
        return answer

    def judged(self, inputs, regime):
        """(whether, why, dtypes that the parameters have to have)."""
        places = {value.get_device() for value in inputs if isinstance(value, torch.Tensor)}
        if len(places) != 1:
            return False, "the inputs lie on different devices", ()
        return judged(self.kind, kinds(inputs), sizes(inputs), places.pop(), regime)

    def parameters_fit(self, tensors, key, index):
        """Whether the parameters are what was measured, on the inputs' device, and want no gradient now."""
        return all(
            tensor.dtype is dtype and tensor.get_device() == index and usable(tensor)
            for tensor, dtype in zip(tensors, self.expected[key], strict=True)
        )


def number_of(init, parameters, use):
    """The place of a kind of module in `KINDS`."""
    for number, kind in enumerate(KINDS):
        if kind[:3] == (init, parameters, use):
            return number
    cases = MEASURED.matching(json.loads(json.dumps(init)), parameters)
    KINDS.append(Kind(init, parameters, use, cases, wins.least_elements(cases, use)))
    return len(KINDS) - 1


def judged(kind, given, size, index, regime):
    """(whether, why, dtypes of the parameters) for inputs of those kinds and sizes on that device."""
    here = device_name(index)
    if MEASURED.device is None:
        return False, "nothing was measured: run the benchmark of this package with --write on the GPU", ()
    if here != MEASURED.device:
        return False, f"measured on {MEASURED.device}, this is {here}", ()
    answer, why = wins.verdict(kind.cases, given, size, regime, kind.use)
    alike = next((case for case in kind.cases if wins.kinds_of(case) == given), None)
    expected = [] if alike is None else [spec["dtype"] for spec in alike["parameters"].values()]
    return answer, why, tuple(getattr(torch, name) for name in expected)


def device_name(index):
    return torch.cuda.get_device_name(index) if index >= 0 else "cpu"


def kinds(inputs):
    return tuple(
        (str(value.dtype).removeprefix("torch."), value.dim()) if isinstance(value, torch.Tensor) else value
        for value in inputs
    )


def sizes(inputs):
    return tuple(size for value in inputs if isinstance(value, torch.Tensor) for size in value.shape)


def found_in(module, name):
    """A parameter by its qualified name; for torch.compile, which does not follow an attrgetter."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def usable(tensor):
    """Whether a tensor may go to the kernel now: plain, dense, aligned as measured, no gradient wanted."""
    try:
        return (
            type(tensor) in PLAIN
            and tensor.is_contiguous()
            and not (tensor.requires_grad and torch.is_grad_enabled())
            and tensor.data_ptr() % ALIGNED_BYTES == 0
            and is_current(tensor.get_device())
        )
    except RuntimeError:  # under vmap and other transforms a tensor has no memory of its own
        return False


def captures(inputs):
    on_gpu = any(isinstance(value, torch.Tensor) and value.is_cuda for value in inputs)
    return on_gpu and torch.cuda.is_current_stream_capturing()


def is_current(index):
    """Whether kernels launched now go to that device: Triton launches on the current one, wherever its tensors are."""
    return index < 0 or index == torch._C._cuda_getDevice()


def calm():
    """Whether nothing watches or changes operators now: a mode, a trace, autocast, forward derivatives (whose inputs do
    not say that they want a gradient)."""
    return not (
        is_in_torch_dispatch_mode()
        or torch.is_autocast_enabled("cuda")
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
    )


def static(tensor):
    """While compiling: whether every size is fixed. Sizes that may change go to PyTorch: one graph then serves all."""
    return all(has_static_value(size) for size in tensor.shape)


def wins_compiled(state, tensors, parameters, key):
    """While compiling. key: of plain values only; what it decides is a constant of the graph."""
    if torch.is_autocast_enabled("cuda"):
        return False
    for tensor in (*tensors, *parameters):
        if not tensor.is_contiguous() or (tensor.requires_grad and torch.is_grad_enabled()):
            return False
    return constant(state.number, *key)


@assume_constant_result
def constant(number, index, *values):
    """values: of each input its shape and dtype, or the plain value; then the dtypes of the parameters."""
    count = len(arguments.PARAMETERS)
    given, held = list(values[: len(values) - count]), values[len(values) - count :]
    kinds_given, size = [], []
    for is_tensor in arguments.TENSORS:
        first = given.pop(0)
        if is_tensor:
            kinds_given.append((str(given.pop(0)).removeprefix("torch."), len(first)))
            size += [int(one) for one in first]
        else:
            kinds_given.append(first)
    place = -1 if index is None else index
    answer, _, expected = judged(KINDS[number], tuple(kinds_given), tuple(size), place, "compiled")
    return bool(answer and tuple(held) == expected)
