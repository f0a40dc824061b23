"""What operators compute of each element, as text: kernels of them on Triton's interpreter, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import make_fx

from forked import Programs
from kernelwright.worker.structures.arguments import NotWritten
from kernelwright.worker.structures.elementwise import element, is_elementwise

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    one.__name__.strip("_"): one for one in (
        torch.abs, torch.atan, torch.ceil, torch.cos, torch.erf, torch.exp, torch.exp2, torch.expm1, torch.floor,
        torch.log, torch.log1p, torch.log2, torch.neg, torch.reciprocal, torch.round, torch.rsqrt, torch.sigmoid,
        torch.sign, torch.sin, torch.sqrt, torch.square, torch.tanh, F.celu, F.elu, F.gelu,
        F.hardshrink, F.hardsigmoid, F.hardswish, F.hardtanh, F.leaky_relu, F.mish, F.relu, F.relu6, F.selu, F.silu,
        F.softplus, F.softshrink, F.softsign, F.tanhshrink,
    )
} | {
    "numbers": lambda x: torch.nan_to_num(x, 1.0, 7.0, -7.0),
    "clamped": lambda x: x.clamp(-1, 0.5), "clamped_below": lambda x: x.clamp_min(0.1),
    "gelu_by_tanh": lambda x: F.gelu(x, approximate="tanh"), "above": lambda x: F.threshold(x, 0.1, -3.0),
    "cubed": lambda x: x**3, "power": lambda x: x.abs() ** 1.7, "rest": lambda x: torch.fmod(x, 0.75),
    "maximum": lambda x: torch.maximum(x, 0.5 - x), "added": lambda x: torch.addcmul(x, x, x, value=0.5),
    "hidden": lambda x: x.masked_fill(x > 1, float("-inf")),
    "between": lambda x: torch.where((x > 0) & (x < 1), x, 2.0),
    "not_above": lambda x: torch.where(~(x > 0), x, 2.0), "lerp": lambda x: torch.lerp(x, x * x, 0.3),
    "quantised": lambda x: torch.clamp(torch.round(x / 0.11), -128, 127).to(torch.int8).float(),
    "angle": lambda x: torch.atan2(x, x + 1), "without_nan": lambda x: torch.where(torch.isnan(x), 0.0, x),
    "as_bits": lambda x: ((torch.isinf(x).to(torch.int32) << 3) | 1).float(),
}  # fmt: skip

VALUES = torch.cat([torch.linspace(-30, 30, 241), torch.tensor([0.0, -0.0, 1e-6, 1e30, -1e30, torch.inf, torch.nan])])

PROGRAM = """
import sys
import torch, triton
import triton.language as tl
from triton.language.extra import libdevice
from kernelwright.worker.interpret import interpreter, memory

{kernels}

memory.install = lambda: None  # functions of libdevice without the check of addresses
interpreter.install()
x, made = torch.load(sys.argv[1] + "/x.pt"), {{}}
for name, kernel in list(globals().items()):
    if name.startswith("kernel_"):
        made[name.removeprefix("kernel_")] = out = torch.empty_like(x)
        kernel[(1,)](x, out, len(x), BLOCK=256)
torch.save(made, sys.argv[1] + "/made.pt")
"""


def lines_of(function: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
    graph = make_fx(lambda x: function(x))(torch.rand(3)).graph
    words: dict[Node, str] = dict.fromkeys(graph.find_nodes(op="placeholder"), "x")
    lines = []
    for node in graph.nodes:
        if node.target is torch.ops.aten._to_copy.default:
            words[node] = f"{words[node.args[0]]}.to(tl.{str(node.meta['val'].dtype).removeprefix('torch.')})"
        elif node.op == "call_function":
            lines.append(f"{node.name} = {element(node, words.__getitem__)}")
            words[node] = node.name
    return [*lines, f"tl.store(out_ptr + k, {words[graph.output_node().args[0]]}, mask=k < count)"]


def test_what_elementwise_operators_compute_is_what_pytorch_computes(programs: Programs, tmp_path: Path) -> None:
    """Also for infinity, NaN and zeros of both signs."""
    kernels = [
        f"@triton.jit\ndef kernel_{name}(x_ptr, out_ptr, count, BLOCK: tl.constexpr):\n    k = tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + k, mask=k < count, other=1.0)\n"
        + "".join(f"    {line}\n" for line in lines_of(function))
        for name, function in FUNCTIONS.items()
    ]
    (tmp_path / "program.py").write_text(PROGRAM.format(kernels="\n\n".join(kernels)))
    torch.save(VALUES, tmp_path / "x.pt")
    ended = programs(tmp_path, tmp_path / "program.py", str(tmp_path), interpret=True)
    assert ended.status == 0, ended.stderr
    made = torch.load(tmp_path / "made.pt")
    assert made.keys() == FUNCTIONS.keys()
    for name, function in FUNCTIONS.items():
        torch.testing.assert_close(
            made[name],
            function(VALUES.double()).float(),
            equal_nan=True,
            rtol=1e-5,
            atol=1e-6,
            msg=lambda said, name=name: f"{name}: {said}",
        )


OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cumsum": lambda x: x.cumsum(0), "softmax": lambda x: torch.softmax(x, 0), "flip": lambda x: x.flip(0),
    "gcd": lambda x: torch.gcd(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_reads_other_elements_or_calls_a_function_of_pytorch_is_not_elementwise(name: str) -> None:
    graph = make_fx(lambda x: OTHERS[name](x))(torch.ones(3, dtype=torch.int64 if name == "gcd" else None)).graph
    (node,) = (one for one in graph.nodes if one.op == "call_function")
    assert not is_elementwise(node)
    with pytest.raises(NotWritten):
        element(node, str)


def test_a_size_where_a_number_is_due_is_not_written() -> None:
    """As in the turns of a transform of any length: no text was an error, which ended the capture of all sizes."""
    graph = make_fx(lambda x: torch.remainder(x, x.shape[0]), tracing_mode="symbolic")(torch.rand(5)).graph
    (node,) = graph.find_nodes(op="call_function", target=torch.ops.aten.remainder.Scalar)
    assert not is_elementwise(node)
