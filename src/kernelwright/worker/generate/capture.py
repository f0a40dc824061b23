"""Capture of the code that Inductor generates for one case of a problem, with a likely config for each kernel.

Everything happens on fake tensors, so a case of any size takes no memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import msgspec
import torch
from torch import SymInt, Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._inductor import codecache, config, ir
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.triton import TritonKernel, TritonScheduling
from torch._inductor.fx_passes import fuse_attention, joint_graph, misc_patterns
from torch._inductor.runtime.hints import ReductionHint
from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_leaves

from kernelwright.inductor.several import reads
from kernelwright.model import Capture, Case
from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.generate import extremes, ranks
from kernelwright.worker.generate.activations import ACTIVATIONS
from kernelwright.worker.generate.complexes import JOINED, SizesOfComplex, as_pairs
from kernelwright.worker.generate.half_factors import with_half_factors
from kernelwright.worker.generate.joint import Part, divided, is_dense, without_mutations
from kernelwright.worker.generate.lower import lower, recorded, stop_at_lines, with_symbols
from kernelwright.worker.generate.recurrent import InOne
from kernelwright.worker.generate.symbols import Symbols, Unread, Untold
from kernelwright.worker.generate.windows import WINDOWS
from kernelwright.worker.generate.without_device import WithoutDevice, install
from kernelwright.worker.plan.plan import MAX_STEPS
from kernelwright.worker.plan.structure import nested, result_of
from kernelwright.worker.reference.instance import Instance, Watching
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.unmade import casting, faked
from kernelwright.worker.structures import matched

SETTINGS: dict[str, Any] = {
    "compile_threads": 1,
    "fx_graph_cache": False,
    "force_disable_caches": True,
    "layout_optimization": False,  # convolutions keep their layout
    "shape_padding": False,  # products of padded copies would have other sizes
    "comprehensive_padding": False,  # so that buffers are contiguous
    "joint_graph_constant_folding": False,  # it would compute on the device
    "graph_partition": False,
    "size_asserts": False,
    "alignment_asserts": False,
    "triton.cooperative_reductions": False,
    "triton.mix_order_reduction": False,
}


MOST_OPERATORS = MAX_STEPS
"""A recurrent layer calls some for each step. Of a candidate's kernels, few launches compute more than one."""


def prepare() -> None:
    """Make Inductor stop when it has its lines, and keep all masks in kernels. Call once per process, after
    `device.pretend`."""
    install()
    for name, value in SETTINGS.items():
        if hasattr(config, name):  # not every version of torch has every setting
            setattr(config, name, value)
    on_cpu, torch_device = misc_patterns._misc_patterns_init, torch.device("cpu")
    _replace(misc_patterns, "_misc_patterns_init", lambda *args, **kwargs: on_cpu(torch_device))
    # They make PyTorch's fused attention, which no kernel here can have, of products and a softmax.
    _replace(fuse_attention, "_sfdp_init", lambda *args, **kwargs: None)

    stop_at_lines()
    for operator in WINDOWS.keys() & torch._decomp.decomposition_table.keys():  # fake tensors run these, too
        torch._decomp.decomposition_table[operator] = WINDOWS[operator]
    extremes.install()
    ranks.install()
    # Hashes over Triton's installation, 0.4 s of processor time each, for caches that are not read.
    _replace(torch.utils._triton, "triton_hash_with_backend", lambda: "")
    _replace(codecache.CacheBase, "get_system", staticmethod(lambda: {"hash": ""}))
    # They compute every scaled softmax in two forms, and whether a scaled value is infinite, which chooses one (2.13).
    scaled = (joint_graph.mul_softmax_pattern, joint_graph.div_softmax_pattern)
    for entries in joint_graph.pass_patterns[1].patterns.values():
        entries[:] = [one for one in entries if getattr(one, "handler", None) not in scaled]
    _replace(TritonKernel, "_has_constant_mask", lambda kernel, tree: False)
    # One kernel for each tensor, and for each row of a scan: a launch with a grid of its own.
    features = [one for one in TritonScheduling.backend_features if one is not BackendFeature.FOREACH]
    _replace(TritonScheduling, "backend_features", type(TritonScheduling.backend_features)(features))
    _replace(ir.Scan, "num_splits", classmethod(lambda *args, **kwargs: (ReductionHint.DEFAULT, 1)))
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


def capture(problem: LoadedProblem, case: Case, symbols: Symbols) -> Capture:
    """What Inductor makes of one case. symbols: in place of numbers of the case, so that it serves other sizes. Raises
    `ProblemError`, and any error that Inductor raises."""
    try:
        with with_symbols(symbols):
            with faked(symbols.env if symbols.values else None) as mode:  # whose real values a constructor may read
                params = {**case.params, **symbols.numbers}
                with SizesOfComplex(), Unread(symbols.env):
                    sized = msgspec.structs.replace(case, params=params)
                    instance = problem.instance(sized, seed=0, drawn_in=symbols.sizes_alone())
                    if not all(isinstance(one, Tensor) for one in instance.inputs):  # numbers, whose values count
                        instance = problem.instance(sized, seed=0)
            with mode, casting(), torch.no_grad():
                return _capture(instance, symbols)
    except Untold:
        return capture(problem, case, Symbols(symbols.given, symbols.cases, symbols.differing, keeps_all=True))


def _capture(instance: Instance, symbols: Symbols) -> Capture:
    """See `capture`."""
    counts: list[Any] = []
    returned, whole, dtypes = list[str](), list[int](), set[torch.dtype]()
    device = "cpu" if instance.joint else "cuda"
    held = dict([*instance.module.named_parameters(), *instance.module.named_buffers()])
    inputs = dict(zip(instance.input_names, instance.inputs, strict=True))
    given = {name: value for name, value in {**inputs, **held}.items() if isinstance(value, Tensor)}
    pairs = tuple(name for name, tensor in given.items() if tensor.is_complex())
    given |= {name: torch.view_as_real(given[name]) for name in pairs}
    tensors = {name: _on_device(tensor, device) for name, tensor in given.items()}
    numbers = {text: one for text, one in plain(instance).items() if text in symbols.differing}
    own = [*map(as_argument, instance.input_names)]
    symbols.arguments = {text: one for text, one in numbers.items() if type(one) is SymInt and text not in own}
    symbols.plain = {text: one for text, one in numbers.items() if text not in symbols.arguments}
    tensors = symbols.keep_untold(tensors)

    def forward(*values: Any) -> list[Tensor]:
        passed = dict(zip(tensors, values, strict=True))
        passed |= {name: torch.view_as_complex(passed[name]) for name in pairs}
        called = replace(instance, inputs=tuple(passed.get(name, one) for name, one in inputs.items()))
        with Watching(_counted(dtypes)), InOne(lambda size: symbols.hint(symbols.of(size)), MOST_OPERATORS):
            made = _called(called, {name: passed[name] for name in held}, device)
        result_of(made, leaves := list[Tensor]())
        changed = {id(passed[name]): name for name in instance.mutates}
        returned[:] = [changed.get(id(one), "") for one in leaves]
        made = [one for one, name in zip(leaves, returned, strict=True) if not name]
        whole[:] = [place for place, one in enumerate(made) if one.is_complex()]
        return [torch.view_as_real(one) if place in whole else one for place, one in enumerate(made)]

    with enable_python_dispatcher():
        if symbols.values:
            symbols.settle(instance.module)
            with SizesOfComplex():  # finds the sizes that are symbols of their own, before they become arguments
                forward(*tensors.values())
            counts = symbols.symints
            symbols.settle(instance.module)  # forward may have taken some as numbers
        part, after = Part(forward, tensors), None
        if instance.joint:
            outputs = instance.input_names[-instance.joint :]
            part, after = divided(forward, counts, tensors, outputs, len(instance.gradients_of))
        pairs_inside = as_pairs if not symbols.values or any(one.is_complex for one in dtypes) else nullcontext
        parts, graphs = [part], [_traced(part, counts, pairs_inside)]
        if after is not None:
            made: Any = graphs[0].graph.output_node().args[0]
            parts += [after([one.meta["val"] for one in made])]
            graphs += [_traced(parts[1], counts, pairs_inside)]
        names = matched(graphs[0])
        done = [lower(graph, [*one.tensors], symbols) for graph, one in zip(graphs, parts, strict=True)]
    others = [*map(as_argument, {**inputs, **held})]
    first, *backward = (recorded(one, symbols, others) for one in done)
    return msgspec.structs.replace(
        first, backward=backward[0] if backward else None, saved=part.saved, matched=tuple(names),
        returned=tuple(returned if any(returned) else ()), pairs=pairs, pairs_made=tuple(whole),
    )  # fmt: skip


def plain(instance: Instance) -> dict[str, Any]:
    """The arguments of host code that are no tensors, by the text that reads them: forward's, and those that the
    constructor gets, in its lists too."""
    inputs = {as_argument(name): one for name, one in zip(instance.input_names, instance.inputs, strict=True)}
    found, leaves = {name: one for name, one in inputs.items() if not isinstance(one, Tensor)}, list[Any]()
    given = dict(zip(instance.init_names, instance.init_inputs, strict=False))
    structure = nested({name: one for name, one in given.items() if name not in inputs}, leaves)
    found |= dict(zip(reads(structure), leaves, strict=True))
    return {text: one for text, one in found.items() if one is None or isinstance(one, int | float | str | SymInt)}


def _traced(part: Part, counts: Sequence[Any], inside: Callable[[], AbstractContextManager[Any]]) -> GraphModule:
    given = (*counts, *part.tensors.values())

    def call(*values: Any) -> tuple[Tensor, ...]:
        with inside():
            return tuple(called(*values))

    def called(*values: Any) -> Sequence[Tensor]:
        return part.call(*values[len(counts) :])

    if inside is as_pairs:  # whose views are copies: what forward writes into them would be lost
        called = without_mutations(make_fx(called, {**JOINED})(*given), given)
    graph = make_fx(call, {**ACTIVATIONS, **WINDOWS, **ranks.RANKS})(*given)
    for node in list(graph.graph.nodes):
        if (
            isinstance(node.target, OpOverload)
            and not node.target._schema.returns
            and not node.target._schema.is_mutable
        ):
            graph.graph.erase_node(node)  # an assertion; its kernels would store nothing
    graph.graph.eliminate_dead_code()
    return with_half_factors(graph)


def _counted(dtypes: set[torch.dtype]) -> Callable[..., None]:
    """Adds the dtypes of what operators make to a set. It raises RuntimeError when it is called for more operators than
    a candidate can launch kernels for."""
    calls = itertools.count(1)

    def see(*called: Any) -> None:
        dtypes.update(one.dtype for one in tree_leaves(called[-1]) if isinstance(one, Tensor))
        if next(calls) > MOST_OPERATORS:
            raise RuntimeError(f"forward calls more than {MOST_OPERATORS:,} operators: its loops are unrolled")

    return see


def _on_device(tensor: Tensor, device: str) -> Tensor:
    """A tensor for a kernel's argument. One that is not dense is contiguous there, because host code copies it."""
    if not is_dense(tensor):
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)


def _called(instance: Instance, held: dict[str, Tensor], device: str) -> Any:
    args, named = instance.called()
    with torch.device(device), WithoutDevice(), sdpa_kernel(SDPBackend.MATH):
        return torch.func.functional_call(instance.module, held, tuple(args), named)
