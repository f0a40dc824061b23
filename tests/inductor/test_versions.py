"""What every version of torch records of the problems in `recorded` becomes candidates that are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright import codec
from kernelwright.inductor import candidate_texts
from kernelwright.model import Alias, Allocation, Capture, Generated, Launch, LibraryCall, LibraryMode, Unknown

FOLDER = Path(__file__).parent / "recorded"
VERSIONS = sorted(FOLDER.glob("torch-*.json"))
PROBLEMS = sorted(FOLDER.glob("*.py"))

JUDGE = """
import importlib.util, inspect, sys, torch
from kernelwright.source.parameter_names import as_argument

def loaded(file):
    spec = importlib.util.spec_from_file_location("loaded", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

for file, problem in zip(sys.argv[1::2], sys.argv[2::2]):
    reference = loaded(problem)
    for case in reference.CASES:
        def given(function):
            taken = inspect.signature(function).parameters
            return function(**{name: one for name, one in case.items() if name in taken})
        torch.manual_seed(0)
        model, inputs = reference.Model(*given(reference.get_init_inputs)), given(reference.get_inputs)
        values = dict(zip(inspect.signature(model.forward).parameters, inputs))
        values |= {as_argument(name): one.detach() for name, one in model.named_parameters()}
        function = loaded(file).kernel_function
        found = function(**{name: values[name] for name in inspect.signature(function).parameters})
        torch.testing.assert_close(found, model(*inputs), msg=lambda text: f"{file}, {case}: {text}")
"""


def recorded(file: Path) -> dict[str, Generated]:
    return codec.decode(file.read_bytes(), dict[str, Generated])


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_the_records_become_candidates_that_are_right(file: Path, tmp_path: Path) -> None:
    """At the captured sizes and at others, with library calls, with templates, and with rows in one piece."""
    found, arguments = recorded(file), list[str]()
    assert [*found] == [one.stem for one in PROBLEMS]
    for problem in PROBLEMS:
        modes: tuple[LibraryMode, ...] = ("any", "none") if problem.stem in ("product", "norm") else ("any",)
        texts = dict.fromkeys(text for mode in modes for text in candidate_texts(found[problem.stem], mode)[:2])
        for number, text in enumerate(texts):
            (tmp_path / f"{problem.stem}_{number}.py").write_text(text)
            arguments += [str(tmp_path / f"{problem.stem}_{number}.py"), str(problem)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", JUDGE, *arguments], env=environment, check=True, timeout=300)


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_every_line_was_read(file: Path) -> None:
    captures: list[Capture] = []
    for one in recorded(file).values():
        captures += [*one.captures, *one.templates, *one.rows]
    steps = [step for one in captures for step in one.steps]
    assert [one for one in steps if isinstance(one, Unknown)] == []
    assert {type(one) for one in steps} == {Alias, Allocation, Launch, LibraryCall}
    assert any(kernel.tiles is not None for one in captures for kernel in one.kernels)
