"""The candidate, ready to be called: its module imported when it is first needed, so that a machine without Triton can
import this package.

`kernel.py` beside this file is the candidate as it was verified, its config written in; its host code runs here as it
stands, with shorter launches (`launch.py`). The rule: nothing here is reached unless the kernel was measured to win, or
the operator is called on a GPU.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module

from . import arguments

LOCK = threading.RLock()
BUILT = {}


class Built:
    """The candidate for one set of constructor arguments."""

    def __init__(self, init):
        module = import_module(f"{__package__}.kernel")
        for name, index in arguments.AUTOTUNE.items():
            pin(getattr(module, name), index)
        if "triton" in sys.modules:
            import_module(f"{__package__}.launch").shorten(module)
        self.init = init
        self.function = getattr(module, "kernel_function", None)
        self.model = None
        if hasattr(module, "ModelNew"):
            self.model = module.ModelNew(*init).eval()
            self.places = {}
            for name, _ in [*self.model.named_parameters(), *self.model.named_buffers()]:
                owner = self.model.get_submodule(name.rpartition(".")[0])
                self.places[name] = (owner, name.rpartition(".")[2])

    def with_parameters(self, names, tensors):
        """The candidate's forward, its parameters and buffers being these, by name."""
        for name, tensor in zip(names, tensors, strict=True):
            owner, leaf = self.places.get(name, (None, ""))
            if owner is not None:
                held = owner._parameters if leaf in owner._parameters else owner._buffers
                if held[leaf] is not tensor:
                    held[leaf] = tensor
        return self.model.forward


def pin(kernel, index):
    """Leave a kernel under triton.autotune the one config that was verified: a program's first call tunes nothing."""
    while not hasattr(kernel, "configs"):  # another decorator is around it
        kernel = kernel.fn
    if len(kernel.configs) > 1:
        kernel.configs = [kernel.configs[index]]


def built(init):
    """Shared by all calls of the operator with the same constructor arguments."""
    key = repr(init)
    with LOCK:
        if key not in BUILT:
            BUILT[key] = Built(init)
        return BUILT[key]
