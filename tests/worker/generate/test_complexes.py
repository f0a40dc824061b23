"""Complex tensors in forward become pairs of real ones in one kernel, at every size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from evaluated import StartedWorker
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Status
from kernelwright.worker.generate.capture import _traced
from kernelwright.worker.generate.complexes import as_pairs
from kernelwright.worker.generate.joint import Part
from kernelwright.worker.generate.without_device import WithoutDevice
from kernelwright.worker.reference.instance import Watching
from problem_text import problem_text

ROWS = {"x": "torch.randn(rows, features, 2)"}
BOTH = {"x": "torch.randn(rows, features, dtype=torch.complex64)", "y": "torch.randn(rows, features)"}
TURNS = "self.register_buffer('turn', torch.polar(torch.ones(features), torch.arange(features) * 0.1))"

WRITTEN = {
    "a product with a complex buffer": (ROWS, TURNS, "return torch.view_as_real(torch.view_as_complex(x) * self.turn)"),
    "arguments, outputs and real factors": (BOTH, "pass", "return x * y + torch.exp(x.conj() / (1 + x.abs()))"),
    "lengths and angles": (BOTH, "pass", "return torch.polar(y.abs(), x.abs()).real, torch.complex(y, y).sum(1).abs()"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_complex_tensors_are_pairs_in_kernels(shared_worker: StartedWorker, tmp_path: Path, name: str) -> None:
    inputs, init, forward = WRITTEN[name]
    text = problem_text(
        forward, "rows=512, features=1000", inputs, init=init, numbers="features=1000", small="rows=3, features=37"
    )
    (tmp_path / "problem.py").write_text(text)
    shared_worker().load(str(tmp_path / "problem.py"))
    found = shared_worker().generate()
    assert found.captures[0].sizes is not None
    assert found.captures[0].library_calls == ()
    result = shared_worker().evaluate(Candidate(source=candidate_texts(found, "none")[0]), "verify")
    assert {case.case: case.status for case in result.results}["small"] is Status.PASSED, result.reason


def spectrum(x: Tensor) -> Tensor:
    window = torch.hann_window(12, dtype=x.dtype)
    return torch.stft(x.flatten(1), 16, 4, 12, window, normalized=True, return_complex=True)


TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "of real numbers": lambda x: torch.view_as_real(torch.fft.rfft2(x, norm="ortho")),
    "both sides of it": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "and back": lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 2, s=x.shape[-2:]),
    "of complex numbers": lambda x: torch.view_as_real(torch.fft.ifft(torch.fft.fft2(x) * 1j)),
    "in the middle": lambda x: torch.view_as_real(torch.fft.fftshift(torch.fft.fft(x))),
    "of windows": lambda x: torch.view_as_real(spectrum(x)),
}


@pytest.mark.parametrize("shape", [(2, 6, 9), (3, 5, 8)])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_fourier_transform_is_products_with_cosines_and_sines(name: str, shape: tuple[int, ...]) -> None:
    x, called = torch.randn(*shape, dtype=torch.float64), list[str]()
    with torch.no_grad(), WithoutDevice(), Watching(lambda func, *_: called.append(func.__name__)), as_pairs():
        found = TRANSFORMS[name](x)
    assert not any("_fft_" in one for one in called)
    torch.testing.assert_close(found, TRANSFORMS[name](x))


def into_zeros(x: Tensor) -> Tensor:
    made = torch.zeros(*x.shape, dtype=torch.complex128)
    made[..., :2] = torch.view_as_complex(torch.stack((x, x), -1))[..., :2]
    return torch.view_as_real(made + torch.ones(x.shape[-1], dtype=torch.complex128))


def test_a_complex_tensor_that_forward_fills_and_writes_into_is_a_pair() -> None:
    x = torch.randn(2, 6, dtype=torch.float64)
    with torch.no_grad(), WithoutDevice():
        graph = _traced(Part(lambda x: [into_zeros(x)], {"x": x}), [], as_pairs)
    assert not any(one.dtype.is_complex for node in graph.graph.nodes for one in tree_leaves(node.meta.get("val"))
                   if isinstance(one, Tensor))  # fmt: skip
    torch.testing.assert_close(graph(x)[0], into_zeros(x))
