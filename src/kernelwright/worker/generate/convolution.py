"""Convolutions as products: the windows of the input are the rows of a matrix that is never stored.

Inductor's own template multiplies the channels under one element of the window at a time, so that three input channels
fill a tenth of a block, and it has no form for dilations and transposed convolutions. Here the depth of the product
runs over channels and window together, in one of two orders. With few channels it is that of the weight in memory. With
`LEAST_CHANNELS` or more, a step has channels under one element of the window, whose place in the input is computed once
for a row and not for each number of a tile, which is up to three times as fast (benchmarks/results/generated.md).

PyTorch's tensors have pixels behind each other in memory, and a window begins at any of them. So each number of a tile
is loaded by itself, which tensor cores for half precision wait for. Such a convolution with windows of several elements
reads a copy of the input that has channels behind each other, so that loads take 16 bytes.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._inductor import ir
from torch._inductor.lowering import lowerings
from torch._inductor.select_algorithm import SymbolicGridFn, TritonTemplate, autotune_select_algorithm
from torch._inductor.virtualized import V, ops
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from kernelwright.devices.first_configs import STAGES, TILE
from kernelwright.worker.generate.factors import DTYPES, LOAD_BYTES
from kernelwright.worker.generate.hints import value_of

aten = torch.ops.aten

CONVOLUTION = aten.convolution.default
LOWERING = lowerings[CONVOLUTION]
"""Inductor's own."""

LEAST_CHANNELS = 16
"""Of a group, for steps under one element of the window: the smallest side of a block of `tl.dot`."""

SIDES = "DHW"
"""Names of the sides after batch and channels; a tensor with fewer has the last ones."""

TEXT = """
{{def_kernel("X", "W")}}
    BATCH = {{size("X", 0)}}
    IN_C = {{size("X", SIDES + 1 if CHANNELS_LAST else 1)}}
    IN_@ = {{size("X", ? - 1 if CHANNELS_LAST else ?)}}
    OUT_@ = {{size(None, ?)}}
    ROWS_@ = {% if PHASES_@ > 1 %}(OUT_@ + {{PHASES_@ - 1}}) // {{PHASES_@}}{% else %}OUT_@{% endif %}{# side @ #}
    GROUP_OUT_C = {{size(None, 1)}}{% if GROUPS > 1 %} // {{GROUPS}}{% endif %}
    GROUP_IN_C = IN_C{% if GROUPS > 1 %} // {{GROUPS}}{% endif %}
    DEPTH = GROUP_IN_C * {{ELEMENTS}}

    tile = tl.program_id(0).to(INDEX_DTYPE)
    columns = (GROUP_OUT_C + BLOCK_N - 1) // BLOCK_N
    row = tile // columns * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tile % columns * BLOCK_N + tl.arange(0, BLOCK_N)
    row_@ = row // (ROWS_$) % ROWS_@
    batch = row // (ROWS_*)
    x_first = batch{% if not CHANNELS_LAST %} * IN_C{% endif %}
    channel = column
{% if GROUPS > 1 %}
    group = tl.program_id(1).to(INDEX_DTYPE)
    x_group = group * (IN_C // GROUPS)
{% if not CHANNELS_LAST %}    x_first = x_first + x_group{% endif %}
    channel = group * GROUP_OUT_C + column
{% endif %}
    w_first = channel * DEPTH
{% if PHASES > 1 %}
    rest = tl.program_id(2).to(INDEX_DTYPE)
    w_first = (rest * (GROUPS * GROUP_OUT_C) + channel) * DEPTH
{% endif %}
{% if PHASES_@ > 1 %}
    rest_@ = rest // (PHASES_$) % PHASES_@
    phase_@ = (rest_@ * DILATION_@ + SHIFT_@) % PHASES_@
    first_@ = row_@ + (phase_@ - rest_@ * DILATION_@ + BEFORE_@) // PHASES_@
    out_@ = row_@ * PHASES_@ + phase_@
{% else %}{# side @ #}
    first_@ = row_@{% if STRIDE_@ > 1 %} * STRIDE_@{% endif %}{% if PADDING_@ %} - PADDING_@{% endif %}
    out_@ = row_@
{% endif %}{# side @ #}
    x_first = x_first * IN_@ + first_@
{% if CHANNELS_LAST %}    x_first = x_first * IN_C{% if GROUPS > 1 %} + x_group{% endif %}{% endif %}
    in_rows = batch < BATCH
    in_columns = column < GROUP_OUT_C
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
{% if BY_ELEMENT %}
    steps = (GROUP_IN_C + BLOCK_K - 1) // BLOCK_K
    for step in range(0, ELEMENTS * steps):
        element = step // steps
        x_channel = step % steps * BLOCK_K + tl.arange(0, BLOCK_K)
        in_depth = x_channel < GROUP_IN_C
        depth = element * GROUP_IN_C + x_channel
        x_step = {% if CHANNELS_LAST %}0{% else %}x_channel{% endif %}
        in_x = in_rows
{% if LAST_@ %}        in_x = in_x & ((element // (KERNEL_$) % KERNEL_@ > 0) | (rest_@ < LAST_@)){% endif %}
        step_@ = element // (KERNEL_$) % KERNEL_@{% if DILATION_@ > 1 %} * DILATION_@{% endif %}
        x_step = x_step * IN_@ + step_@
{% if MAY_LEAVE_@ %}
        at_@ = first_@ + step_@
        in_x = in_x & (at_@ >= 0) & (at_@ < IN_@)
{% endif %}{# side @ #}
{% if CHANNELS_LAST %}        x_step = x_step * IN_C + x_channel{% endif %}
        x_mask = in_x[:, None] & in_depth[None, :]
{% else %}
    for start in range(0, DEPTH, BLOCK_K):
        depth = start + tl.arange(0, BLOCK_K)
        in_depth = depth < DEPTH
{% if LAST_@ %}        in_depth = in_depth & ((depth // (KERNEL_$) % KERNEL_@ > 0) | (rest_@ < LAST_@)){% endif %}
        x_step = depth // (KERNEL_*)
        x_mask = in_rows[:, None] & in_depth[None, :]
        step_@ = depth // (KERNEL_$) % KERNEL_@{% if DILATION_@ > 1 %} * DILATION_@{% endif %}
        x_step = x_step * IN_@ + step_@
{% if MAY_LEAVE_@ %}
        at_@ = first_@[:, None] + step_@[None, :]
        x_mask = x_mask & (at_@ >= 0) & (at_@ < IN_@)
{% endif %}{# side @ #}
{% endif %}
        a = tl.load(X + (x_first[:, None] + x_step[None, :]), mask=x_mask, other=0.0)
        w_mask = in_depth[:, None] & in_columns[None, :]
        b = tl.load(W + (w_first[None, :] + depth[:, None]), mask=w_mask, other=0.0)
        acc += tl.dot(a, b, allow_tf32=ALLOW_TF32)

{% if PHASES_@ > 1 %}    in_rows = in_rows & (out_@ < OUT_@){% endif %}
    mask = in_rows[:, None] & in_columns[None, :]
    idx_n = batch[:, None]
    idx_c = channel[None, :]
    idx_@ = out_@[:, None]
    {{store_output(("idx_n", "idx_c", idx_...), "acc", "mask", val_shape=("BLOCK_M", "BLOCK_N"))}}
"""
"""Lines with @, the name of a side, are repeated for each side; ? is its number. `OUT_$`: the product over the later
sides; `OUT_*`: over all."""


def text(sides: str) -> str:
    """The template's text for tensors with these sides, such as "HW"."""

    def product(names: str) -> Callable[[re.Match[str]], str]:
        return lambda found: " * ".join(f"{found[1]}_{name}" for name in names)

    lines = []
    for of_sides, block in itertools.groupby(TEXT.splitlines(), lambda line: "@" in line):
        plain = [re.sub(r"(\w+)_\*", product(sides), line) for line in block]
        for number, side in enumerate(sides if of_sides else " "):
            later = [re.sub(r"(\w+)_\$", product(sides[number + 1 :]), line).replace(" // ()", "") for line in plain]
            lines += [line.replace("@", side).replace("?", str(number + 2)) for line in later]
    return "\n".join(lines).replace("idx_...", ", ".join(f'"idx_{side}"' for side in sides))


@SymbolicGridFn
def _grid(batch: Any, channels: Any, *rest: Any, cdiv: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    *sides, meta = rest
    rows = batch * math.prod(
        cdiv(n, meta[f"PHASES_{side}"]) for n, side in zip(sides, SIDES[-len(sides) :], strict=True)
    )
    columns = channels // meta["GROUPS"]
    return cdiv(rows, meta["BLOCK_M"]) * cdiv(columns, meta["BLOCK_N"]), meta["GROUPS"], meta["PHASES"]


TEMPLATES = {
    count: TritonTemplate(name=f"convolution_of_{count}", grid=_grid, source=text(SIDES[-count:]))
    for count in (1, 2, 3)
}
"""By number of sides."""


class Side(NamedTuple):
    """How an output reads the input along one side.

    The fields from `phases` on are of transposed convolutions with a stride. There output o reads input i with element
    k of the window if o + padding = stride * i + dilation * k. The elements with k % stride = rest serve the outputs
    with o % stride = phase.
    """

    kernel: int
    """Number of elements of the window; with several phases, of the elements that serve one phase."""
    stride: int
    """Distance in the input between the windows of two neighbouring outputs."""
    padding: int
    """Number of zeros before the input."""
    dilation: int
    """Distance in the input between two neighbouring elements of the window."""
    may_leave: bool
    """Whether a window may reach beyond the input."""
    phases: int = 1
    """The stride of the transposed convolution, which is the number of phases and of rests."""
    shift: int = 0
    """The phase of rest 0."""
    before: int = 0
    """padding - (kernel - 1) * dilation * stride. The first output of a phase begins at input
    (phase - rest * dilation + before) / stride, which has no remainder."""
    last: int = 0
    """Number of rests whose last element is within the window; 0: all."""


def convolution(
    x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, output_padding: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """The lowering of `aten.convolution` to a template; the operators that follow add a bias. Inductor's own lowering
    for dtypes that are not in `DTYPES`, and where no output reads any input.

    The template computes those outputs of a transposed convolution that read any input, see `_spread`."""
    if x.get_dtype() not in DTYPES:
        return LOWERING(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    (groups,) = _ints([groups])
    window, count = _ints(weight.get_size()[2:]), len(weight.get_size()) - 2
    stride, padding, dilation, added = (
        (*one, *one[-1:] * (count - len(one))) for one in map(_ints, (stride, padding, dilation, output_padding))
    )
    lengths = zip(x.get_size()[2:], window, stride, padding, dilation, added, strict=True)
    made = [(length - 1) * step - 2 * pad + by * (side - 1) + more + 1 if transposed
            else FloorDiv(length + 2 * pad - by * (side - 1) - 1, step) + 1
            for length, side, step, pad, by, more in lengths]  # fmt: skip
    apart = [math.gcd(step, by) if transposed else 1 for step, by in zip(stride, dilation, strict=True)]
    read = _read_transposed if transposed else _read
    sides = [read(side, step // each, -(-pad // each), by // each)
             for side, step, pad, by, each in zip(window, stride, padding, dilation, apart, strict=True)]  # fmt: skip
    computed = [FloorDiv(length - 1 + pad, each) - -(-pad // each) + 1
                for length, pad, each in zip(made, padding, apart, strict=True)]  # fmt: skip
    if min(map(value_of, computed)) < 1:
        return LOWERING(x, weight, bias, stride, padding, dilation, transposed, added, groups)
    channels = weight.get_size()[1] * groups if transposed else weight.get_size()[0]
    if transposed:
        weight = _by_phases(weight, sides, groups)
    by_element = value_of(weight.get_size()[1]) >= LEAST_CHANNELS
    elements = math.prod(one.kernel for one in sides)
    x, weight, channels_last = _in_order(x, weight, by_element, elements > 1, groups)
    layout = ir.FixedLayout(x.get_device(), x.get_dtype(), [x.get_size()[0], channels, *computed])
    numbers = {
        f"{name.upper()}_{named}": int(number)
        for named, side in zip(SIDES[-count:], sides, strict=True)
        for name, number in side._asdict().items()
    }
    choices: list[Any] = []
    failure = TEMPLATES[count].maybe_append_choice(
        choices, input_nodes=(x, weight), layout=layout, **numbers, GROUPS=groups,
        ELEMENTS=elements, BY_ELEMENT=by_element, CHANNELS_LAST=channels_last, SIDES=count,
        PHASES=math.prod(one.phases for one in sides),
        ALLOW_TF32=torch.backends.cudnn.allow_tf32, **TILE, num_stages=STAGES,
    )  # fmt: skip
    if failure is not None:
        raise failure
    result = autotune_select_algorithm("convolution", choices, [x, weight], layout)
    result = result[0] if isinstance(result, tuple) else result
    if max(apart) > 1:
        result = _spread(result, made, padding, apart)
    if bias is None:
        return result
    return lowerings[aten.add.Tensor](result, lowerings[aten.view.default](bias, [channels, *[1] * count]))


def _in_order(x: Any, weight: Any, by_element: bool, has_window: bool, groups: int) -> tuple[Any, Any, bool]:
    """Both factors as the template reads them, contiguous, and whether x has its channels last. It has in half
    precision, where a window has several elements; then zeros behind the channels fill up loads of 16 bytes."""
    itemsize = x.get_dtype().itemsize
    missing = -value_of(weight.get_size()[1]) % (LOAD_BYTES // itemsize)
    channels_last = by_element and itemsize == 2 and has_window and (groups == 1 or not missing)
    if channels_last and missing:
        x, weight = (_with_more_channels(one, missing) for one in (x, weight))
    if channels_last:
        x = _with_channels_last(x)
    if by_element:
        weight = _with_channels_last(weight)
    x, weight = (ir.ExternKernel.require_contiguous(ir.ExternKernel.realize_input(one)) for one in (x, weight))
    return x, weight, channels_last


def _ints(given: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(one) for one in V.graph.sizevars.guard_int_seq(given))


def _read(window: int, stride: int, padding: int, dilation: int) -> Side:
    return Side(window, stride, padding, dilation, padding > 0)


def _read_transposed(window: int, stride: int, padding: int, dilation: int) -> Side:
    """Output o reads input i times element k of the window where o + padding = stride * i + dilation * k. stride and
    dilation: without a common divisor."""
    if stride == 1:
        return Side(window, 1, dilation * (window - 1) - padding, dilation, True)
    taps = -(-window // stride)
    before = padding - (taps - 1) * dilation * stride
    return Side(taps, 1, 0, dilation, True, stride, -padding % stride, before, window % stride)


def _spread(x: Any, lengths: Sequence[int], padding: Sequence[int], apart: Sequence[int]) -> Any:
    """The outputs of a transposed convolution whose stride and dilation have the common divisor `apart` along a side.
    It divides o + padding for each output o that reads any input: those are in x, and the others are 0."""
    load, number = x.make_loader(), torch.int64

    def element(index: Sequence[Any]) -> Any:
        reached = [one + pad for one, pad in zip(index[2:], padding, strict=True)]
        rests = [
            ops.index_expr(ModularIndexing(one, 1, each), number) for one, each in zip(reached, apart, strict=True)
        ]
        is_in_x = functools.reduce(ops.and_, [ops.eq(rest, ops.constant(0, number)) for rest in rests])
        at = [FloorDiv(one, each) - -(-pad // each) for one, pad, each in zip(reached, padding, apart, strict=True)]
        return ops.masked(is_in_x, lambda: load([*index[:2], *at]), 0.0)

    return ir.Pointwise.create(
        device=x.get_device(), dtype=x.get_dtype(), inner_fn=element, ranges=[*x.get_size()[:2], *lengths]
    )


def _by_phases(weight: Any, sides: Sequence[Side], groups: int) -> Any:
    """The weight with which a template computes a transposed convolution: of each phase its elements of the window, in
    reversed order, zero for one that it lacks; the channels of each group exchanged.

    weight: (C, K / groups, *window). Returns (phases * K, C / groups, *elements of a phase)."""
    channels, in_group, *window = weight.get_size()
    window = [*_ints(window)]
    count = len(sides)
    added = [side.kernel * side.phases - length for side, length in zip(sides, window, strict=True)]
    if any(added):
        ends = [number for one in reversed(added) for number in (0, one)]
        weight = lowerings[aten.constant_pad_nd.default](weight, ends, 0.0)
    split = [number for side in sides for number in (side.kernel, side.phases)]
    parts = lowerings[aten.view.default](weight, [groups, FloorDiv(channels, groups), in_group, *split])
    kernels, phases = range(3, 3 + 2 * count, 2), range(4, 4 + 2 * count, 2)
    reversed_ = lowerings[torch.ops.prims.rev.default](parts, [*kernels])
    ordered = lowerings[aten.permute.default](reversed_, [*phases, 0, 2, 1, *kernels])
    copied = lowerings[aten.clone.default](ordered, memory_format=torch.contiguous_format)
    out = math.prod(side.phases for side in sides) * groups * in_group
    return lowerings[aten.view.default](copied, [out, FloorDiv(channels, groups), *(side.kernel for side in sides)])


def _with_channels_last(x: Any) -> Any:
    """(N, C, *sides) in the order (N, *sides, C). The copy has one index for all sides, which Inductor tiles."""
    number, channels, *sides = x.get_size()
    flat = lowerings[aten.view.default](x, [number, channels, math.prod(sides)])
    ordered = lowerings[aten.permute.default](flat, [0, 2, 1])
    copied = lowerings[aten.clone.default](ordered, memory_format=torch.contiguous_format)
    return lowerings[aten.view.default](copied, [number, *sides, channels])


def _with_more_channels(x: Any, added: int) -> Any:
    """(N, C, *sides) with zeros behind its channels."""
    return lowerings[aten.constant_pad_nd.default](x, [0, 0] * (len(x.get_size()) - 2) + [0, added], 0.0)
