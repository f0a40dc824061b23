"""Configs from a function with a list comprehension, pruned, under triton.heuristics; wrappers that cast and stack."""

import functools

import torch
import triton
import triton.language as tl


def space():
    return [triton.Config({"BLOCK": b}, num_warps=w, num_stages=s) for b in (64, 128) for w in (2, 4) for s in (1, 2)]


def fitting(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= 2 * named_args["n"]] or configs[:1]


@triton.autotune(space(), key=["n", "features"], prune_configs_by={"early_config_prune": fitting})
@triton.heuristics(values={"EVEN": lambda META: META["n"] % META["BLOCK"] == 0})
@triton.jit(do_not_specialize=["features"])
def affine_relu(x_ptr, both_ptr, s_ptr, out_ptr, n, features, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < n) | EVEN
    column = i % features
    x = tl.load(x_ptr + i, mask=inside).to(tl.float32)
    w = tl.load(both_ptr + column, mask=inside)
    b = tl.load(both_ptr + features + column, mask=inside)
    s = tl.load(s_ptr + column, mask=inside)
    tl.store(out_ptr + i, tl.maximum(x * w + b - s, 0.0), mask=inside)


def grid_of(n, META):
    return (triton.cdiv(n, META["BLOCK"]), 1, 1)


@torch.inference_mode()
def kernel_function(x, weight, bias, shift):
    x = x.contiguous()
    both = torch.stack((weight.float(), bias.to(torch.float32)))
    out = torch.empty_like(x)
    n, features = x.numel(), x.shape[-1]
    affine_relu[functools.partial(grid_of, n)](x, both, shift.float(), out, n, features)
    return out
