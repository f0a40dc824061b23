"""How a candidate's function is called: by its text here, by values in the recorder, and both alike."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from kernelwright.errors import RequestError
from kernelwright.export.binding import bound_arguments, form_of

pytest.importorskip("torch", reason="the recorder needs torch: pip install -e '.[worker]'")

PARAMETERS = ("layers.0.weight", "layers.0.bias", "norm.weight", "scale")
INPUTS = ("x", "mask")
INIT = ("eps", "width")

ALL = "layers.0.weight, layers.0.bias, norm.weight, scale"
NAMED = ("eps=eps, width=width, mask=mask, layers_0_weight=layers.0.weight, layers_0_bias=layers.0.bias, "
         "bias=layers.0.bias, norm_weight=norm.weight, scale=scale")  # fmt: skip

CALLS = {
    "x": "x",
    "x, mask": "x, mask",
    "first, second": "x, mask",
    "x, scale, eps": "x, scale, eps",
    "x, layers_0_weight, layers_0_bias, norm_weight": "x, layers.0.weight, layers.0.bias, norm.weight",
    "x, bias, width=3": "x, layers.0.bias, width",
    "x, weight=None": "x, mask",
    "x, other=None, *, eps, scale=1": "x, mask, eps=eps, scale=scale",
    "x, block=64, eps=1e-5": "x, 64, eps",
    "x, block=64, /, mask=None": "x, 64, mask",
    "a, eps=0.1, mask=None": "x, eps, mask",
    "*inputs": f"x, mask, {ALL}, eps, width",
    "x, *inputs, scale": "x, mask, layers.0.weight, layers.0.bias, norm.weight, eps, width, scale=scale",
    "x, scale, *rest": "x, scale, mask, layers.0.weight, layers.0.bias, norm.weight, eps, width",
    "x, *args, **kwargs": f"x, mask, {ALL}, eps=eps, width=width",
    "*args, **kwargs": f"x, mask, {ALL}, eps=eps, width=width",
    "x, **kwargs": f"x, {NAMED}",
    "x, *, eps, **more": f"x, {NAMED}",
    "first, **options": f"x, {NAMED}",
}
"""The arguments of a call, by the signature of the function. The value of each argument is its name."""


@pytest.mark.parametrize(("signature", "expected"), CALLS.items())
def test_text_and_values_are_bound_alike(signature: str, expected: str) -> None:
    from kernelwright.worker.plan.case_shape import CaseShape
    from kernelwright.worker.record.calling import bind_arguments

    space: dict[str, Any] = {}
    source = f"def kernel_function({signature}):\n    pass\n"
    exec(source, space)
    case = CaseShape(name="case", inputs=(1, 2), input_names=INPUTS, parameters={}, init=(0.5, 7), init_names=INIT)
    args, kwargs = bind_arguments(space["kernel_function"], case, [*INPUTS], {n: n for n in PARAMETERS}, [*INIT])  # type: ignore[misc]
    parts = [part.rpartition("=") for part in expected.split(", ")]
    assert [str(value) for value in args] == [value for name, _, value in parts if not name]
    assert kwargs == {name: value for name, _, value in parts if name}
    places = {"input": INPUTS, "parameter": PARAMETERS, "init": INIT}
    found = bound_arguments(source, INPUTS, PARAMETERS, INIT)
    ours_args = [places[one.origin][one.index] for one in found if one.keyword is None]
    ours_kwargs = {one.keyword: places[one.origin][one.index] for one in found if one.keyword is not None}
    called = inspect.signature(space["kernel_function"]).bind(*args, **kwargs)
    ours = inspect.signature(space["kernel_function"]).bind(*ours_args, **ours_kwargs)
    called.apply_defaults()
    ours.apply_defaults()
    assert ours == called


def test_a_function_of_anything_gets_weights_and_constructor_arguments() -> None:
    from kernelwright.worker.plan.case_shape import CaseShape
    from kernelwright.worker.record.calling import bind_arguments

    case = CaseShape(name="case", inputs=(1,), input_names=("x",), parameters={}, init=(7,), init_names=("width",))

    def bound(call: Any) -> tuple[list[Any], dict[str, Any]]:
        return bind_arguments(call, case, ["x"], {"norm.weight": "w", "bias": "b"}, [7])  # type: ignore[dict-item]

    assert bound(lambda x, *args, **kwargs: None) == (["x", "w", "b"], {"width": 7})
    assert bound(lambda *args: None) == (["x", "w", "b", 7], {})
    assert bound(lambda **kwargs: None) == ([], {"x": "x", "norm_weight": "w", "weight": "w", "bias": "b", "width": 7})
    assert bound(lambda x, weight, **kwargs: None) == (["x", "w"], {"bias": "b", "width": 7})


@pytest.mark.parametrize("signature", ["x, block=64, eps=1, /", "x, block=64, *weights"])
def test_a_value_that_can_only_follow_a_default_by_position_is_refused(signature: str) -> None:
    with pytest.raises(RequestError, match="by position only"):
        bound_arguments(f"def kernel_function({signature}):\n    pass\n", ("x",), ("scale",), ("eps",))


def test_no_argument_is_passed_twice() -> None:
    bound = bound_arguments("def kernel_function(**values):\n    pass\n", ("x",), ("eps", "b.c", "a.b_c"), ("x", "eps"))
    assert {one.keyword: (one.origin, one.index) for one in bound} == {
        "x": ("input", 0), "eps": ("parameter", 0), "b_c": ("parameter", 1), "c": ("parameter", 1),
        "a_b_c": ("parameter", 2),
    }  # fmt: skip
    assert len(bound) == 5


def test_a_candidate_with_both_forms_is_a_model() -> None:
    both = "class ModelNew: pass\ndef kernel_function(x): pass\n"
    assert form_of(both) == "ModelNew"


def test_an_autograd_function_is_refused_with_what_a_package_needs() -> None:
    source = "import torch\n\n\nclass Scale(torch.autograd.Function):\n    pass\n\n\nkernel_function = Scale\n"
    with pytest.raises(RequestError, match=r"no function kernel_function .*needs kernel_function and kernel_backward"):
        bound_arguments(source, INPUTS, (), ())
