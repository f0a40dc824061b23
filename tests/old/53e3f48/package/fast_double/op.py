"""The operator `torch.ops.NAMESPACE.NAME`: for graphs, which cannot hold a Python call.

On a GPU it runs the kernel, elsewhere the reference; it does not choose (the dispatcher does). Its gradient is that of
the reference, or what the problem states as `backward`; the package's check compares the two. The rule: it is a pure
function of its arguments, and its outputs are dense and share no memory with its inputs.
"""

from __future__ import annotations


import torch
from torch.func import functional_call

from . import arguments, reference
from .kernel_host import LOCK, built

QUALIFIED = f"{arguments.NAMESPACE}::{arguments.NAME}"
MODELS = {}

library = torch.library.Library(arguments.NAMESPACE, "DEF")
library.define(arguments.NAME + arguments.SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))


def by_reference(*given):
    """PyTorch's own answer."""
    inputs, parameters, init = arguments.parted(given)
    key = repr(init)
    if key not in MODELS:
        with torch.device("meta"):
            MODELS[key] = reference.Model(*init).eval()
    return functional_call(MODELS[key], dict(zip(arguments.PARAMETERS, parameters, strict=True)), inputs)


def settled(result, given):
    """The result in the form that the schema states, dense, and in memory of its own."""
    outputs = [result] if isinstance(result, torch.Tensor) else list(result)
    taken = {tensor.untyped_storage()._cdata for tensor in tensors_in(given)}
    outputs = [
        output.contiguous().clone() if output.untyped_storage()._cdata in taken else output.contiguous()
        for output in outputs
    ]
    return outputs[0] if arguments.SINGLE else outputs


def tensors_in(given):
    for value in given:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def on_gpu(*given):
    inputs, parameters, init = arguments.parted(given)
    with LOCK, torch.cuda.device_of(next(tensors_in(given))):
        return settled(arguments.run(built(init), inputs, parameters), given)


def elsewhere(*given):
    with torch.no_grad():
        return settled(by_reference(*given), given)


library.impl(arguments.NAME, elsewhere, "CompositeExplicitAutograd")
library.impl(arguments.NAME, on_gpu, "CUDA")


def fixed(given):
    """The arguments with every size a number: a graph that holds the operator is for one shape, as the dispatcher
    has it, and some of PyTorch's own shape functions err on symbols here (nll_loss without a reduction, in 2.13)."""
    if isinstance(given, torch.Tensor):
        sizes = [int(size) for size in given.shape]
        return torch.empty(sizes, dtype=given.dtype, device=given.device)
    return type(given)(fixed(one) for one in given) if isinstance(given, (list, tuple)) else given


@torch.library.register_fake(QUALIFIED, lib=library)
def fake(*given):
    result = by_reference(*fixed(given))
    outputs = [result] if isinstance(result, torch.Tensor) else list(result)
    outputs = [torch.empty(output.shape, dtype=output.dtype, device=output.device) for output in outputs]
    return outputs[0] if arguments.SINGLE else outputs


def keep(ctx, inputs, output):
    flat = list(tensors_in(inputs))
    kept = [output] if arguments.SINGLE else list(output)
    ctx.given = [None if isinstance(value, (torch.Tensor, list, tuple)) else value for value in inputs]
    ctx.counts = [
        1 if isinstance(value, torch.Tensor) else len(value) if isinstance(value, (list, tuple)) else 0
        for value in inputs
    ]
    ctx.listed = [isinstance(value, (list, tuple)) for value in inputs]
    ctx.kept = len(flat)
    ctx.save_for_backward(*flat, *kept)


def backward(ctx, *gradients):
    """Gradients for every argument of the operator, in its order."""
    saved = list(ctx.saved_tensors)
    flat, outputs = saved[: ctx.kept], saved[ctx.kept :]
    gradients = gradients if arguments.SINGLE else gradients[0]
    found = arguments_of(ctx, differentiated(ctx, flat, outputs, list(gradients)))
    return found[0] if len(found) == 1 else tuple(found)


def differentiated(ctx, flat, outputs, gradients):
    """The gradient of each tensor argument, None for those that have none."""
    if hasattr(reference, "backward"):
        inputs, parameters, init = arguments.parted(arguments_of(ctx, flat, ctx.given))
        stated = reference.backward(tuple(gradients), tuple(inputs), tuple(parameters), tuple(outputs))
        return [*stated]
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_(tensor.is_floating_point() or tensor.is_complex()) for tensor in flat]
        result = by_reference(*arguments_of(ctx, leaves, ctx.given))
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        pairs = [
            (one, grad) for one, grad in zip(results, gradients, strict=True) if one.requires_grad and grad is not None
        ]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = torch.autograd.grad([one for one, _ in pairs], wanted, [grad for _, grad in pairs], allow_unused=True)
    each = iter(found)
    return [next(each) if leaf.requires_grad else None for leaf in leaves]


def arguments_of(ctx, tensors, others=None):
    """Tensors put back into the operator's arguments; what is no tensor comes from `others`, else None."""
    left = list(tensors)
    found = []
    for place, count in enumerate(ctx.counts):
        if ctx.listed[place]:
            found.append([left.pop(0) for _ in range(count)])
        elif count:
            found.append(left.pop(0))
        else:
            found.append(others[place] if others is not None else None)
    return found


torch.library.register_autograd(QUALIFIED, backward, setup_context=keep, lib=library)

call = getattr(getattr(torch.ops, arguments.NAMESPACE), arguments.NAME)
