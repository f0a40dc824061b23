"""A graph that no problem's file made becomes records, and these a candidate for other sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright import codec
from kernelwright.inductor import candidate_text
from kernelwright.model import Capture, Generated

pytestmark = pytest.mark.process

LOWER = """
import torch
from torch._inductor import codecache, select_algorithm
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from kernelwright import codec
from kernelwright.devices import find_target
from kernelwright.worker.generate.capture import prepare
from kernelwright.worker.generate.device import pretend
from kernelwright.worker.generate.lower import lower, recorded, with_symbols
from kernelwright.worker.generate.symbols import Symbols

pretend(find_target("sm_90"))
prepare()
codecache.triton_key = None  # a hash over Triton's installation
select_algorithm.AlgorithmSelectorCache()
aten, graph = torch.ops.aten, torch.fx.Graph()
x, scale = graph.placeholder("x"), graph.placeholder("scale")
total = graph.call_function(aten.sum.dim_IntList, (x, [1], True))
graph.output((graph.call_function(aten.mul.Tensor, (graph.call_function(aten.div.Tensor, (x, total)), scale)),))
module = torch.fx.GraphModule(torch.nn.Module(), graph)

env = ShapeEnv(duck_shape=False)
mode = FakeTensorMode(shape_env=env)
rows, dim = (env.create_symintnode(env.create_symbol(value, torch._dynamo.source.ConstantSource(name),
             DimDynamic.DYNAMIC), hint=value) for name, value in (("r", 64), ("d", 3000)))
with mode:
    inputs = torch.empty(rows, dim, device="cuda"), torch.empty(dim, device="cuda")
FakeTensorProp(module, mode).propagate_dont_convert_inputs(*inputs)
symbols = Symbols.of_env(env)
with with_symbols(symbols):
    print(codec.encode(recorded(lower(module, ["x", "scale"], symbols), symbols)).decode())
"""

RUN = """
import torch
from candidate import kernel_function
for rows, dim in ((64, 3000), (3, 37)):
    x, scale = torch.rand(rows, dim) + 1, torch.rand(dim)
    torch.testing.assert_close(kernel_function(x, scale), x / x.sum(1, True) * scale)
"""


def test_a_graph_without_a_problem_file_becomes_a_candidate(tmp_path: Path) -> None:
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOWER], capture_output=True, text=True, check=True, timeout=300
    )
    made = codec.decode(output.stdout, Capture)
    assert made.sizes is not None
    assert made.sizes.values == {"x_size0": 64, "x_size1": 3000}
    source = candidate_text(Generated(captures=(made,), inputs=(("x", None), ("scale", None)), torch="installed"))
    (tmp_path / "candidate.py").write_text(source)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, timeout=300)
