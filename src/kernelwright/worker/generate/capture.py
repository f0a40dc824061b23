"""Capture of the code that Inductor generates for one case of a problem, as text, with a likely config for each kernel.

Everything happens on fake tensors, so a case of any size takes no memory.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch._guards import TracingContext, tracing
from torch._inductor import compile_fx, config
from torch._inductor.codegen.simd import SIMDScheduling
from torch._inductor.codegen.triton import TritonKernel
from torch._inductor.fx_passes import misc_patterns
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import Reduction
from torch._ops import OpOverload
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from kernelwright.model import Capture, Case, Split, TensorSpec
from kernelwright.worker.generate import factors
from kernelwright.worker.generate.activations import ACTIVATIONS
from kernelwright.worker.generate.configs import listed_configs
from kernelwright.worker.generate.depthwise import DEPTHWISE
from kernelwright.worker.generate.pools import POOLS
from kernelwright.worker.generate.sizes import parts_of
from kernelwright.worker.generate.without_device import WithoutDevice
from kernelwright.worker.plan.structure import result_of
from kernelwright.worker.reference.instance import Instance
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.unmade import casting, faked

SETTINGS: dict[str, Any] = {
    "compile_threads": 1,
    "fx_graph_cache": False,
    "force_disable_caches": True,
    "layout_optimization": False,  # convolutions keep their layout
    "shape_padding": False,  # products of padded copies would have other sizes
    "comprehensive_padding": False,  # so that buffers are contiguous
    "joint_graph_constant_folding": False,  # it would compute on the device
    "triton.cooperative_reductions": False,
    "triton.mix_order_reduction": False,
}


class _Generated(BaseException):
    """Carries the generated text out of Inductor. It is no `Exception`, so that no handler in between catches it."""


class Choices:
    """Choices that depend on the size and change the structure of the text: whether Inductor splits a reduction into
    parts, whether offsets have 32 bits, and whether factors are copied and padded. The choices for the first size are
    used for all other sizes, so that all texts have the structure of the first. The number of parts varies, see
    `parts_of`."""

    def __init__(self) -> None:
        self._splits = _Splits()
        copies = _Kept(factors, "is_worth_a_copy"), _Kept(factors, "padding_of")
        self._kept = [self._splits, _Kept(SIMDScheduling, "can_use_32bit_indexing"), *copies]

    def restart(self) -> None:
        """Forget all choices: a new series of sizes begins, and its first size chooses."""
        for one in self._kept:
            one.restart()

    def begin(self) -> None:
        """Begin the next size of the series."""
        for one in self._kept:
            one.begin()

    def splits(self) -> tuple[Split, ...]:
        """The reductions in parts at this size."""
        return tuple(self._splits.found)


class _Kept:
    """A replacement for a function: its n-th call for any size returns the result of the n-th call for the
    first size. It stays in place until the process ends."""

    def __init__(self, holder: Any, name: str) -> None:
        self.own, self.answers, self.asked = getattr(holder, name), list[Any](), 0
        setattr(holder, name, staticmethod(self._answer))

    def restart(self) -> None:
        self.answers.clear()

    def begin(self) -> None:
        self.asked = 0

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        if self.asked > len(self.answers):
            self.answers.append(self.own(*args, **kwargs))
        return self.answers[self.asked - 1]


class _Splits(_Kept):
    """number: of the size in its series. found: the reductions in parts at this size."""

    def __init__(self) -> None:
        super().__init__(Reduction, "num_splits")
        self.number, self.found = -1, list[Split]()

    def restart(self) -> None:
        super().restart()
        self.number = -1

    def begin(self) -> None:
        super().begin()
        self.number += 1
        self.found.clear()

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        hint, chosen = super()._answer(*args, **kwargs)
        if chosen <= 1:
            return hint, chosen
        length = int(inspect.signature(self.own).bind(*args, **kwargs).arguments["reduction_numel"])
        count = parts_of(length, int(chosen), self.number) if self.number else int(chosen)
        self.found.append(Split(length=length, count=count, chosen=int(chosen)))
        return hint, count


def prepare() -> None:
    """Make Inductor stop when it has generated its text, and keep all masks in it. Call once per process, after
    `device.pretend`."""
    for name, value in SETTINGS.items():
        *parts, last = name.split(".")
        holder = getattr(config, parts[0]) if parts else config
        if hasattr(holder, last):  # not every version of torch has every setting
            setattr(holder, last, value)
    on_cpu, torch_device = misc_patterns._misc_patterns_init, torch.device("cpu")
    _replace(misc_patterns, "_misc_patterns_init", lambda *args, **kwargs: on_cpu(torch_device))

    def stop(graph: GraphLowering, *args: Any, **kwargs: Any) -> Any:
        code = graph.codegen()[0]
        raise _Generated(code.value if hasattr(code, "value") else str(code))

    _replace(GraphLowering, "compile_to_module", stop)
    _replace(TritonKernel, "_has_constant_mask", lambda kernel, tree: False)
    known = symbolic_shapes._maybe_evaluate_static_worker
    _replace(symbolic_shapes, "_maybe_evaluate_static_worker", lambda *args: _where_limited(known, *args))


def _where_limited(known: Any, condition: Any, symbols: Any, *others: Any) -> Any:
    """What `known` says of a condition on indices; None (not known) where an index has no limits. torch 2.13 raises
    AssertionError for it, as in a replicate padding of a view that splits dimensions (`pixel_shuffle`)."""
    return None if any(limits is None for _, limits, *_ in symbols) else known(condition, symbols, *others)


def _replace(holder: Any, name: str, value: Any) -> None:
    """Replace an attribute; raises AttributeError if this version of torch does not have it."""
    getattr(holder, name)
    setattr(holder, name, value)


def capture(problem: LoadedProblem, case: Case) -> Capture:
    """Generate the text for one case. Raises `ProblemError`, and any error that Inductor raises."""
    with faked() as mode:  # whose real values a constructor may read
        instance = problem.instance(case, seed=0)
    with mode, casting(), torch.no_grad():
        held = dict([*instance.module.named_parameters(), *instance.module.named_buffers()])
        inputs = dict(zip(instance.input_names, instance.inputs, strict=True))
        given = {name: value for name, value in {**inputs, **held}.items() if isinstance(value, Tensor)}
        tensors = {name: _on_device(tensor) for name, tensor in given.items()}

        def forward(*values: Tensor) -> Any:
            passed = dict(zip(tensors, values, strict=True))
            called = replace(instance, inputs=tuple(passed.get(name, one) for name, one in inputs.items()))
            result_of(_called(called, {name: passed[name] for name in held}), leaves := list[Tensor]())
            return tuple(leaves)

        graph = make_fx(forward, {**ACTIVATIONS, **POOLS, **DEPTHWISE})(*tensors.values())
    graph.graph.eliminate_dead_code()
    shapes = tuple(tuple(one.meta["val"].shape) for one in tree_leaves(graph.graph.output_node().args[0]))
    called = [one for one in graph.graph.nodes if isinstance(one.target, OpOverload) and not one.target.is_view]
    try:
        with torch.no_grad(), tracing(TracingContext(mode)):
            compile_fx.compile_fx(graph, list(tensors.values()))
    except _Generated as generated:
        text = str(generated)
    else:
        raise RuntimeError("Inductor generated nothing")
    return Capture(
        text=text,
        names=tuple(tensors),
        tensors=tuple(
            TensorSpec(shape=tuple(t.shape), dtype=str(t.dtype).removeprefix("torch."), stride=tuple(t.stride()))
            for t in tensors.values()
        ),
        numbers=problem.numbers(case),
        configs=listed_configs(text),
        outputs=shapes,
        is_one_operator=len(called) == 1,
    )


def _on_device(tensor: Tensor) -> Tensor:
    """A tensor for a kernel's argument. One that is not dense is contiguous there, because host code copies it."""
    expected, stride = 1, tensor.stride()
    for step, size in sorted(zip(stride, tensor.shape, strict=True)):
        if size != 1 and step != expected:
            return torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")
        expected *= size
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device="cuda")


def _called(instance: Instance, held: dict[str, Tensor]) -> Any:
    args, named = instance.called()
    with torch.device("cuda"), WithoutDevice():
        return torch.func.functional_call(instance.module, held, tuple(args), named)
