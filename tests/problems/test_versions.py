"""Kernels of the gallery whose host code asks the GPU: right on the small cases, and with specialised warps where said.

They are verified by a real worker, at a config that compiles quickly; the spaces that benchmarks state for them are
read as `tune --space` reads them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Loading, Status
from kernelwright.spaces.space import configs, default
from kernelwright.spaces.stated import stated_space

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = [ROOT / "gallery" / problem / f"{version}.py"
            for problem in ("matmul", "matmul_leaky_relu") for version in ("persistent", "descriptors")]  # fmt: skip
BEST = [version.with_name("best.py") for version in VERSIONS[::2]]
NAMES = [f"{version.parent.name}/{version.stem}" for version in VERSIONS]
SMALL = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> Worker:
    return shared_worker()


@pytest.fixture(scope="module")
def loaded(worker: Worker) -> dict[str, Path]:
    """The problem that the worker holds; it is loaded anew only where it is another."""
    return {}


def load(worker: Worker, loaded: dict[str, Path], version: Path) -> None:
    problem = version.with_name("problem.py")
    if loaded.get("problem") != problem:
        worker.load(str(problem))
        loaded["problem"] = problem


@pytest.mark.parametrize("version", [*VERSIONS, *BEST], ids=[*NAMES, "matmul/best", "matmul_leaky_relu/best"])
def test_a_version_is_right_on_the_small_cases(worker: Worker, loaded: dict[str, Path], version: Path) -> None:
    load(worker, loaded, version)
    evaluation = worker.evaluate(Candidate(source=version.read_text(), config=dict(SMALL)), "search")
    assert evaluation.status is Status.PASSED, evaluation.reason
    passed = {result.case for result in evaluation.results if result.status is Status.PASSED}
    assert {"70x50x90_fp32", "150x130x65_fp16"} <= passed


def test_the_marching_convolution_is_right_on_the_small_cases(worker: Worker, loaded: dict[str, Path]) -> None:
    best = ROOT / "gallery/conv_transpose3d/best.py"
    load(worker, loaded, best)
    evaluation = worker.evaluate(Candidate(source=best.read_text()), "search")
    assert evaluation.status is Status.PASSED, evaluation.reason
    passed = {result.case for result in evaluation.results if result.status is Status.PASSED}
    assert {"1x3to5x3x4x3_fp32", "2x40to70x2x2x2_fp16", "1x5to8x2x3x6_fp16"} <= passed


@pytest.mark.parametrize("parts", [1, 4])
def test_a_tile_that_is_stored_in_parts_is_whole(worker: Worker, loaded: dict[str, Path], parts: int) -> None:
    version = ROOT / "gallery/matmul/descriptors.py"
    load(worker, loaded, version)
    config = SMALL | {"matmul_kernel.EPILOGUE_SUBTILE": parts}
    evaluation = worker.evaluate(Candidate(source=version.read_text(), config=config), "search")
    assert evaluation.status is Status.PASSED, evaluation.reason


@pytest.mark.parametrize("problem", ["matmul", "matmul_leaky_relu"])
def test_warps_are_specialised_where_that_is_asked_for(worker: Worker, loaded: dict[str, Path], problem: str) -> None:
    version = ROOT / "gallery" / problem / "descriptors.py"
    load(worker, loaded, version)
    kernel = f"{problem}_kernel"
    config = {"BLOCK_N": 128, "WARP_SPECIALIZE": 1, f"{kernel}.FLATTEN": 0, f"{kernel}.EPILOGUE_SUBTILE": 1,
              f"{kernel}.num_warps": 4}  # fmt: skip
    compiled = worker.compile(Candidate(source=version.read_text(), config=config), "search")
    warps = max(resources.num_warps for resources in compiled.kernels)
    assert warps == 12, "four that fetch and twice four that multiply were expected"
    assert any(resources.spill_bytes == 0 for resources in compiled.kernels if resources.num_warps == warps)


@pytest.mark.parametrize("version", VERSIONS, ids=NAMES)
def test_a_stated_space_holds_the_source_as_it_is_written(version: Path) -> None:
    stated = ROOT / "benchmarks/spaces" / f"{version.parent.name}_{version.stem}.toml"
    space = stated_space(stated, version.read_text(), {})
    assert 40 <= len(list(configs(space))) <= 80
    assert default(space) == {parameter.name: parameter.default for parameter in space.parameters}


def test_a_tile_for_half_precision_is_not_refused_for_what_it_takes_in_single(
    worker: Worker, loaded: dict[str, Path]
) -> None:
    """128x128x64 in five stages takes 160 KiB with two-byte elements, and more than there is with four."""
    starter = ROOT / "gallery/matmul/starter.py"
    kernel = "matmul_kernel"
    config = {f"{kernel}.BLOCK_K": 64, f"{kernel}.num_stages": 5}
    loaded.clear()
    worker.load(str(starter.with_name("problem.py")))
    every = worker.compile(Candidate(source=starter.read_text(), config=config), "search")
    info = worker.load(str(starter.with_name("problem.py")), Loading(narrow=True))
    narrow = worker.compile(Candidate(source=starter.read_text(), config=config), "search")
    assert every.status is Status.COMPILE_ERROR
    assert "shared memory" in every.reason
    assert narrow.status is Status.NOT_VERIFIED, narrow.reason
    assert {one.case.name for one in info.cases} == {
        "4096_fp16", "8192_fp16", "4096_bf16", "1000x777x1501_fp16", "150x130x65_fp16",
    }  # fmt: skip
