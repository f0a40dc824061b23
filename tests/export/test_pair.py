"""Packages of a forward with its backward, used as a program would, on the CPU: Triton interprets, `wins.json` says
what won.

One process uses everything (`pairs.py`), the tests look at what it said; like the checks of packages, it is a fork of
another (`forked.py`). What needs a GPU is in tests/gpu.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exported import case, names_beside, pair, swiglu, tensor, win, write
from forked import Programs
from kernelwright.errors import RequestError
from kernelwright.export.kernelbench import kernelbench_files
from kernelwright.export.op import op_files
from kernelwright.export.op_arguments import ASSIGNED, READ, arguments_of
from kernelwright.export.pair_arguments import forward_subject, saved_names
from kernelwright.export.subject import Subject
from kernelwright.model import TensorSpec

pytest.importorskip("torch", reason="the package needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the kernel needs Triton: pip install -e '.[worker]'")


def add_rms_norm() -> Subject:
    x, weight = tensor(5, 37), tensor(37)
    info = case(
        "timed", {"tokens": 5, "width": 37}, (x, x, x, x), (x, x, x, x, weight), init=(37, 1e-6),
        input_names=("x", "residual", "grad_0", "grad_1"), init_names=("width", "eps"), parameters={"weight": weight},
        gradients_of=("x", "residual", "weight"),
    )  # fmt: skip
    return pair("add_rms_norm", info)


def cross_entropy() -> Subject:
    logits, labels, loss = tensor(5, 300), TensorSpec(shape=(5,), dtype="int64", stride=(1,)), tensor(5)
    info = case(
        "timed", {"rows": 5, "vocabulary": 300}, (logits, labels, loss), (loss, logits),
        input_names=("logits", "labels", "grad_0"), gradients_of=("logits",),
    )  # fmt: skip
    return pair("cross_entropy", info)


def both(sizes: list[list[int]], forward: bool = True, training: bool = True, **more: Any) -> dict[str, Any]:
    """A measured case: whether the kernels win in a forward alone, and in a forward with its backward."""
    found = win(sizes, *((10.0, 20.0) if forward else (20.0, 10.0)), **more)
    wins, loses = {"call_us": 10.0, "device_us": 10.0}, {"call_us": 20.0, "device_us": 20.0}
    mine, theirs = (wins, loses) if training else (loses, wins)
    why = "faster" if training else "not faster by enough in call_us"
    found |= dict.fromkeys(("kernel_training", "kernel_compiled_training"), mine)
    found |= dict.fromkeys(("eager_training", "compile_training"), theirs)
    for use in ("why", "why_in_graphs"):
        found[use] |= {"training": why, "training_compiled": why}
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("pairs")
    loss = both([[5, 300]])
    loss["inputs"].append({"shape": [5], "dtype": "int64"})
    norm = {"init": [37, 1e-6], "parameters": {"weight": {"shape": [37], "dtype": "float32"}}}
    cases = {
        "swiglu": [
            both([[7, 300]] * 2), both([[5, 300]] * 2, training=False), both([[9, 300]] * 2, forward=False)
        ],
        "add_rms_norm": [both([[5, 37]] * 2, **norm)],
        "cross_entropy": [loss],
    }  # fmt: skip
    for one in (swiglu(), add_rms_norm(), cross_entropy()):
        write(op_files(one), home)
        wins = {"schema_version": 1, "source": "stated", "device": "cpu", "cases": cases[one.name]}
        (home / one.package / "wins.json").write_text(json.dumps(wins))
    done = programs(home, Path(__file__).with_name("pairs.py"), interpret=True)
    assert done.status == 0, done.stderr[-6000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


BOTH = ["forward", "backward"]


def test_a_training_step_runs_both_kernels_and_has_autograd_s_gradients(found: dict[str, Any]) -> None:
    for name in ("training", "norm", "loss"):
        assert found[name] == [BOTH, True], name
    assert found["norm learns"] is True
    assert found["norm returns"] == "tuple"
    assert found["a copy is right"] is True


def test_a_plain_training_step_goes_through_no_operator(found: dict[str, Any]) -> None:
    assert found["a step is made by"] == "DirectBackward"


def test_without_gradients_the_forward_s_kernel_runs_alone(found: dict[str, Any]) -> None:
    assert found["no gradient wanted"] == found["no_grad"] == ["forward"]
    assert found["no_grad is right"] is True


def test_what_wants_a_part_of_the_gradients_is_pytorch_s_forward_and_backward(found: dict[str, Any]) -> None:
    assert found["a part wants one"] == found["norm, a frozen weight"] == []
    assert found["a part is right"] is True


def test_a_size_goes_to_the_kernels_where_forward_and_backward_won_together(found: dict[str, Any]) -> None:
    assert found["forward wins, both lose"] == [[], ["forward"]]
    assert found["both win, forward loses"] == [BOTH, []]
    assert found["unknown size"] == []


def test_other_layouts_and_torch_func_are_pytorch_s(found: dict[str, Any]) -> None:
    assert found["strided"] == found["torch.func.grad"] == []


def test_gradients_of_outputs_may_lie_in_memory_as_they_like_or_be_absent(found: dict[str, Any]) -> None:
    assert found["an expanded gradient"] is True
    assert found["norm, one output used"] is True


def test_a_second_backward_gives_the_same(found: dict[str, Any]) -> None:
    assert found["twice"] is True


def test_a_second_derivative_is_refused_by_the_kernels_and_the_reference_s_elsewhere(found: dict[str, Any]) -> None:
    assert "create_graph=True cannot be served: unpatch the module" in found["second derivative"]
    assert found["fallback, second derivative"] is True


def test_what_the_backward_does_not_read_is_not_kept(found: dict[str, Any]) -> None:
    assert sorted(found["norm, kept for the backward"]) == [[5], [5, 37], [37]]


def test_what_the_host_code_refuses_is_pytorch_s(found: dict[str, Any]) -> None:
    assert found["refused"] is True


def test_the_operator_has_gradients_for_those_that_want_one(found: dict[str, Any]) -> None:
    assert found["operator"] == [BOTH, True]
    assert found["operator, a part"] == [True]
    assert found["operator, strided"] is True
    assert found["fallback"] == [[], True]


@pytest.mark.parametrize("name", ["swiglu", "add_rms_norm", "cross_entropy"])
def test_the_operator_keeps_pytorch_s_rules_with_its_kernels(found: dict[str, Any], name: str) -> None:
    assert set(found[f"opcheck of fast_{name}"]) == {"SUCCESS"}


def test_compiled_code_holds_both_operators_where_both_win(found: dict[str, Any]) -> None:
    forward, backward = "fast_add_rms_norm.add_rms_norm.default", "fast_add_rms_norm.add_rms_norm_backward.default"
    assert found["compiled is right"] is True
    assert found["compiled"] == [[forward], [backward]]
    assert found["compiled without gradients"] is True
    assert found["compiled without gradients holds"] == [[forward]]
    assert found["compiled, losing"] is True
    assert found["compiled, losing, holds"] == [[], []]


def test_a_module_that_was_patched_takes_both(found: dict[str, Any]) -> None:
    assert found["norm, patched"] == ["norm"]
    assert found["norm, patched, takes both"] == BOTH


def test_it_says_what_serves_calls_that_want_gradients(found: dict[str, Any]) -> None:
    lines = found["explained"].splitlines()
    assert lines[2] == "called with gradients: kernel (case 7x300 7x300: faster)"
    assert lines[3].startswith("the same in torch.compile: kernel")


@pytest.mark.parametrize("one", [swiglu(), add_rms_norm(), cross_entropy()], ids=lambda one: one.name)
def test_a_package_passes_its_own_checks_without_a_gpu(one: Subject, tmp_path: Path, programs: Programs) -> None:
    write(op_files(one), tmp_path)
    done = programs(tmp_path, f"{one.package}.check")
    assert done.status == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 4


@pytest.mark.parametrize("one", [swiglu(), add_rms_norm(), cross_entropy()], ids=lambda one: one.name)
def test_no_argument_can_take_the_place_of_a_name_that_the_generated_code_uses(one: Subject) -> None:
    forward = forward_subject(one)
    used = names_beside(arguments_of(forward).names, op_files(one)[f"{one.package}/forward.py"])
    assert {"state", "op", "wins", "wanted"} <= used <= READ | ASSIGNED


def test_kernelbench_has_no_place_for_a_backward() -> None:
    with pytest.raises(RequestError, match="a forward only"):
        kernelbench_files(swiglu())


def test_the_names_of_what_is_saved_are_read_from_the_text() -> None:
    assert saved_names('SAVED: tuple[str, ...] = ("a",)\nSAVED = ("b", "c")\n') == ("b", "c")
    assert saved_names('SAVED: tuple[str, ...] = ("a",)\n') == ("a",)
    assert saved_names("x = 1\n") == ()
