"""Packages of kernels that change inputs in place, used as a program would: in a module that was patched, by calls that
the kernel may serve and by calls that it may not. Triton interprets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exported import case, subject, tensor, win, write
from forked import Programs
from kernelwright.errors import RequestError
from kernelwright.export.kernelbench import kernelbench_files
from kernelwright.export.op import op_files
from kernelwright.export.op_arguments import arguments_of
from kernelwright.export.subject import Subject
from kernelwright.model import Property, TensorSpec

pytest.importorskip("torch", reason="the package needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the kernel needs Triton: pip install -e '.[worker]'")

SUBJECTS = Path(__file__).parents[1] / "exploits" / "subjects"


def rotary() -> Subject:
    q, k, table = tensor(5, 4, 24), tensor(5, 2, 24), tensor(5, 1, 12)
    params = {"tokens": 5, "heads": 4, "kv_heads": 2, "size": 24}
    found = tuple(
        case(
            name, params, (q, k, table, table), (q, k, q, k), small=name == "small",
            input_names=("q", "k", "cos", "sin"), mutates=("q", "k"), lies_in=("q", "k"), reads_changed=True,
        )
        for name in ("timed", "small")
    )  # fmt: skip
    return subject(SUBJECTS / "rotary/problem.py", SUBJECTS / "rotary/kernel.py", "rotary", found)


def kv_append(counter: bool = False) -> Subject:
    cache, new = tensor(37, 3, 20), tensor(5, 3, 20)
    slots = TensorSpec(shape=(5,), dtype="int64", stride=(1,))
    mutates = ("k_cache", "v_cache", "slots") if counter else ("k_cache", "v_cache")
    found = tuple(
        case(
            name, {"slots": 37, "tokens": 5, "heads": 3, "size": 20}, (cache, cache, new, new, slots), (cache, cache),
            small=name == "small", input_names=("k_cache", "v_cache", "k", "v", "slots"), mutates=mutates,
            reads_changed=counter,
        )
        for name in ("timed", "small")
    )  # fmt: skip
    return subject(SUBJECTS / "kv_append/problem.py", SUBJECTS / "kv_append/kernel.py", "kv_append", found)


PROGRAM = """\
import json
import torch
import fast_kv_append, fast_rotary
from fast_kv_append import kernel_host as append_host, op as append_op
from fast_rotary import kernel_host, op, reference

found = {}
calls = []


def noted(host, name):
    built = host.Built

    class Noting(built):
        def __init__(self, init):
            super().__init__(init)
            kernel = self.function
            self.function = lambda *given: (calls.append(name), kernel(*given))[1]

    host.Built = Noting
    import importlib
    importlib.import_module(host.__package__ + ".dispatch").Built = Noting


noted(kernel_host, "rotary")
noted(append_host, "append")


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rope = reference.Model()

    def forward(self, q, k, cos, sin):
        return self.rope(q, k, cos, sin)


def inputs():
    torch.manual_seed(3)
    angles = 9 * torch.rand(5, 1, 12)
    return [torch.randn(5, 4, 24), torch.randn(5, 2, 24), angles.cos(), angles.sin()]


def expected(*given):
    return [one.clone() for one in reference.Model()(*given)]


def close(ones, others):
    return all(torch.allclose(one, other, 1e-5, 1e-6) for one, other in zip(ones, others, strict=True))


model = Attention().eval()
found["patched"] = fast_rotary.patch(model, "rope")
with torch.no_grad():
    given = inputs()
    version = given[0]._version
    made = model(*given)
    found["eager"] = [close(made, expected(*inputs())), made[0] is given[0], given[0]._version > version, len(calls)]
    one, other = inputs(), inputs()
    for group in (one, other):
        group[1] = group[0].view(-1)[240:].view(5, 2, 24)
    made = model(*one)
    found["sharing"] = [close(made, expected(*other)), len(calls)]
    strided = inputs()
    strided[0] = torch.randn(5, 4, 48)[:, :, ::2]
    same = [strided[0].clone(), *inputs()[1:]]
    found["strided"] = [close(model(*strided), expected(*same)), len(calls)]
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    given = inputs()
    made, wanted = compiled(*given), expected(*inputs())
    found["compiled"] = [close(made, wanted), close(given[:2], wanted), len(calls)]
grown = [one.requires_grad_() if place == 2 else one for place, one in enumerate(inputs())]
made = model(*grown)
found["gradient"] = [made[0].requires_grad, len(calls)]
fast_rotary.unpatch(model)
both = torch.randn(2, 37, 3, 20)
k_cache, v_cache = both.unbind(0)
new = torch.randn(2, 5, 3, 20)
slots = torch.tensor([4, 0, 36, 9, 2])
wanted = both.clone()
wanted[:, slots] = new
found["returned"] = fast_kv_append.kv_append(k_cache, v_cache, *new.unbind(0), slots)
found["appended"] = [torch.equal(both, wanted), len(calls)]
other = both.clone()
append_op.call(*other.unbind(0), *(2 * new).unbind(0), slots)
found["operator"] = torch.equal(other[:, slots], 2 * new)
found["schema"] = [str(append_op.call.default._schema), str(op.call.default._schema)]
from fast_kv_append import check as append_check
from fast_rotary import check
found["checks"] = [append_check.main(), check.main()]
import rotary_model_new
given = inputs()
rotary_model_new.ModelNew()(*given)
found["kernelbench"] = [close(given[:2], expected(*inputs()))]
try:
    rotary_model_new.ModelNew()(torch.randn(5, 4, 48)[:, :, ::2], *inputs()[1:])
except ValueError as error:
    found["kernelbench"].append(str(error))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("in_place")
    slots = {"shape": [5], "dtype": "int64"}
    sizes = {
        "fast_rotary": win([[5, 4, 24], [5, 2, 24], [5, 1, 12], [5, 1, 12]], 1.0, 9.0),
        "fast_kv_append": win([[37, 3, 20], [37, 3, 20], [5, 3, 20], [5, 3, 20]], 1.0, 9.0),
    }
    sizes["fast_kv_append"]["inputs"].append(slots)
    for one in (rotary(), kv_append()):
        write(op_files(one), home)
        wins = {"schema_version": 1, "source": "stated", "device": "cpu", "cases": [sizes[one.package]]}
        (home / one.package / "wins.json").write_text(json.dumps(wins))
    serves = (Property(name="dense", shown_by="wrong"),)
    dense = replace(rotary(), evaluation=msgspec.structs.replace(rotary().evaluation, serves=serves))
    write(kernelbench_files(dense), home)
    (home / "program.py").write_text(PROGRAM)
    ended = programs(home, home / "program.py", interpret=True)
    assert ended.status == 0, ended.stderr + ended.stdout
    told: dict[str, Any] = msgspec.json.decode(ended.stdout.splitlines()[-1])
    return told


def test_a_patched_module_changes_its_inputs_by_the_kernel_and_tells_autograd(found: dict[str, Any]) -> None:
    assert found["patched"] == ["rope"]
    assert found["eager"] == [True, True, True, 1]


@pytest.mark.parametrize("how", ["sharing", "strided"])
def test_inputs_that_share_memory_or_are_not_dense_are_pytorch_s(found: dict[str, Any], how: str) -> None:
    assert found[how] == [True, 1]


def test_a_file_for_kernelbench_refuses_to_change_what_it_would_have_to_copy(found: dict[str, Any]) -> None:
    assert found["kernelbench"] == [True, "the kernel changes inputs in place, and serves dense and aligned ones only"]


def test_graphs_and_calls_that_want_a_gradient_keep_pytorch_s_own_operations(found: dict[str, Any]) -> None:
    assert found["compiled"] == [True, True, 1]
    assert found["gradient"] == [True, 1]


def test_two_caches_in_one_block_of_memory_are_served_and_nothing_is_returned(found: dict[str, Any]) -> None:
    assert found["returned"] is None
    assert found["appended"] == [True, 2]


def test_the_operator_says_what_it_changes_and_returns_nothing_else(found: dict[str, Any]) -> None:
    assert found["operator"] is True
    for schema, changed in zip(found["schema"], ("k_cache", "q"), strict=True):
        assert f"Tensor(a0!) {changed}" in schema
        assert schema.endswith("-> ()")
    assert found["checks"] == [0, 0]


def test_a_counter_that_forward_reads_and_advances_is_refused_in_one_line() -> None:
    with pytest.raises(RequestError, match="forward advances the integers of slots in place"):
        arguments_of(replace(kv_append(counter=True)))


def test_the_package_of_a_kernel_whose_only_input_is_changed_is_python(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def kernel_function(q):\n    return None\n")
    row = tensor(64)
    cases = (case("timed", {"n": 64}, (row,), (row,), input_names=("q",), mutates=("q",), lies_in=("q",)),)
    for path, text in op_files(subject(SUBJECTS / "rotary/problem.py", kernel, "scale", cases)).items():
        if path.endswith(".py"):
            compile(text, path, "exec")
