"""A real worker behind its argv: every outcome of a candidate is an answer, and every end of a worker an error.

What a candidate does to the worker is here; what attacks it stands in exploits/.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from busy import scaled
from kernelwright import __version__, codec
from kernelwright.errors import ConfigError, MachineError, ProblemError, WorkerError, WorkerLost
from kernelwright.evaluator import client
from kernelwright.evaluator.client import ProcessWorker, start_worker
from kernelwright.model import PROTOCOL, Candidate, Evaluation, Hello, Loading, Returned, Status

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

LIMITS = {"interpret_s": 3600.0, "record_s": 3600.0, "compile_s": 3600.0}
HASTY = scaled({"compile_s": 2.0, "record_s": 4.0, "interpret_s": 4.0, "replay_s": 4.0})
"""Short, so that what never ends is over soon."""

AFFINE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    '''Each column times its weight, and one more.'''
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
    def forward(self, x):
        return x * self.weight + 1.0

CASES = [
    dict(name="tiny", small=True, rows=5, columns=37),
    dict(name="half", small=True, rows=3, columns=70, dtype="float16"),
    dict(name="timed", rows=2048, columns=2048),
]

def get_inputs(rows=5, columns=37):
    return [torch.randn(rows, columns)]

def get_init_inputs(columns=37):
    return [columns]
"""

MATMUL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, a, b):
        return a @ b

CASES = [dict(name="tiny", small=True, size=32, dtype="DTYPE"), dict(name="timed", size=512, dtype="DTYPE")]

def get_inputs(size=32):
    return [torch.randn(size, size), torch.randn(size, size)]

def get_init_inputs():
    return []
"""

GOOD = """import torch
import triton
import triton.language as tl


@triton.jit
def affine(x_ptr, w_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=inside).to(tl.float32)
        w = tl.load(w_ptr + offsets, mask=inside).to(tl.float32)
        y = x * w + 1.0
        tl.store(y_ptr + row * columns + offsets, y, mask=inside)


def kernel_function(x, weight):
    x = x.contiguous()
    y = torch.empty_like(x)
    affine[(x.shape[0],)](x, weight, y, x.shape[1], BLOCK=64)
    return y
"""

PRODUCT = """import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, size, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, size, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows * size + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * size + columns)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows * size + columns, acc)


def kernel_function(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty_like(a)
    product[(a.shape[0] // 16, a.shape[0] // 16)](a, b, c, a.shape[0], BLOCK=16)
    return c
"""

STORE = "        tl.store(y_ptr + row * columns + offsets, y, mask=inside)\n"
LAUNCH = "    affine[(x.shape[0],)]"


def folder_with(folder: Path, source: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.py").write_text(source)
    return str(folder)


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> str:
    return folder_with(tmp_path_factory.mktemp("pool") / "affine", AFFINE)


@pytest.fixture(scope="module")
def worker(problem: str) -> Iterator[ProcessWorker]:
    with start_worker(limits=LIMITS) as worker:
        worker.load(problem)
        yield worker


def changed(old: str, new: str, source: str = GOOD) -> Candidate:
    assert old in source
    return Candidate(source=source.replace(old, new))


def verified(worker: ProcessWorker, candidate: Candidate) -> Evaluation:
    return worker.evaluate(candidate, "verify")


FORGED = '{"answer": "returned", "id": 0, "value": {"status": "passed"}}'
"""What a worker would say of the first call, printed by a candidate."""

BAD = {
    "a wrong constant": (("+ 1.0", "+ 1.01"), Status.WRONG, "case tiny"),
    "a dropped tail": (("range(0, columns, BLOCK)", "range(0, columns - BLOCK + 1, BLOCK)"), Status.WRONG, "case tiny"),
    "a dropped row": (("affine[(x.shape[0],)]", "affine[(x.shape[0] - 1,)]"), Status.WRONG, "case tiny"),
    "an unmasked store": ((STORE, STORE.replace(", mask=inside", "")), Status.WRONG, ""),
    "a store outside every buffer": (
        (STORE, STORE + "        tl.store(y_ptr + tl.num_programs(0) * columns + tl.arange(0, 16) * 0 + 8, 1.0)\n"),
        Status.WRONG,
        "outside every buffer",
    ),
    "a wild pointer": (
        (STORE, STORE + "        tl.store(y_ptr + (1 << 45) + offsets, y)\n"),
        Status.RUNTIME_ERROR,
        "out of bounds",
    ),
    "a null pointer": (
        (STORE, "        tl.store((row * 0).to(tl.int64).to(tl.pointer_type(tl.float32)), 1.0)\n"),
        Status.REJECTED,
        "takes an address for a number, or a number for an address",
    ),
    "half precision inside": (
        ("x * w + 1.0", "(x.to(tl.float16) * w.to(tl.float16) + 1.0).to(tl.float32)"),
        Status.WRONG,
        "largest error",
    ),
    "an output of another shape": (("return y\n", "return y.view(-1)\n"), Status.WRONG, "output 0 is float32[185]"),
    "an output of another dtype": (("return y\n", "return y.to(torch.float64)\n"), Status.WRONG, "float64"),
    "two outputs for one": (("return y\n", "return y, y\n"), Status.WRONG, "2 outputs, 1 expected"),
    "the input changed": (("y = torch.empty_like(x)", "y = x"), Status.WRONG, "changed by the call"),
    "the input returned": (("return y\n", "return x\n"), Status.WRONG, "case tiny"),
    "a grid of no blocks": (
        (LAUNCH, "    y = torch.empty_like(x)\n    affine[(0,)]"),
        Status.REJECTED,
        "no kernel is launched",
    ),
    "SystemExit": ((LAUNCH, "    raise SystemExit(0)\n" + LAUNCH), Status.RUNTIME_ERROR, "line 21: SystemExit"),
    "exit()": ((LAUNCH, "    exit(0)\n" + LAUNCH), Status.RUNTIME_ERROR, "line 21: "),
    "os._exit": (("import torch\n", "import torch\nimport os\nos._exit(0)\n"), Status.REJECTED, "line 2: imports os"),
    "endless recursion": (
        (LAUNCH, "    kernel_function(x, weight)\n" + LAUNCH),
        Status.RUNTIME_ERROR,
        "RecursionError",
    ),
    "hoarding on the host": ((LAUNCH, "    hoard = [0] * (1 << 37)\n" + LAUNCH), Status.RUNTIME_ERROR, "MemoryError"),
    "hoarding bit by bit": (
        (LAUNCH, "    hoard = (b'x',)\n    while True: hoard = (hoard, bytes(1 << 28))\n" + LAUNCH),
        (Status.RUNTIME_ERROR, Status.CRASHED, Status.TIMEOUT),
        "",
    ),
    "hoarding in a kernel": ((STORE, STORE + "        hoard = [0] * (1 << 37)\n"), Status.COMPILE_ERROR, ""),
    "an unknown name": (("x * w", "x * nothing"), Status.REJECTED, "line 14: a kernel body may not use the name"),
    "a type error in a kernel": (("x * w", "tl.dot(x, w)"), Status.COMPILE_ERROR, "tl.dot(x, w)"),
    "an odd block": (("BLOCK=64", "BLOCK=65"), Status.COMPILE_ERROR, "power of 2"),
    "endless compiling": (
        ("for start in range(0, columns, BLOCK)", "for start in tl.static_range(0, 1 << 40, BLOCK)"),
        Status.TIMEOUT,
        f"compiling took over {HASTY['compile_s']:g} s",
    ),
    "endless in a kernel": (
        (STORE, "        while columns > 0:\n            columns = columns * 1\n" + STORE),
        Status.TIMEOUT,
        f"did not finish in {HASTY['interpret_s']:g} s",
    ),
    "endless on the host": (
        (LAUNCH, "    while x.shape[0] > 0:\n        pass\n" + LAUNCH),
        Status.TIMEOUT,
        f"host code did not finish in {HASTY['record_s']:g} s",
    ),
    "a syntax error": (("y = x * w", "y = x )"), Status.COMPILE_ERROR, "line 14: "),
    "a zero byte": (("y = x * w", "y = x \0 w"), Status.COMPILE_ERROR, ""),
    "endless nesting": (("y = x * w", "y = " + "(" * 5000 + "x" + ")" * 5000), Status.COMPILE_ERROR, ""),
    "no kernel": (("@triton.jit\n", ""), Status.REJECTED, "no module-level function under @triton.jit"),
    "no entry": (("def kernel_function", "def other"), Status.REJECTED, "neither a class ModelNew"),
    "no entry, and a broken rule": (
        ("def kernel_function", "secret = __import__('os')\n\n\ndef other"),
        Status.REJECTED,
        "neither a class ModelNew",
    ),
    "the framework's answer": (("return y\n", "return x * weight + 1.0\n"), Status.REJECTED, "aten.mul"),
    "a forged answer on standard output": (
        ("import torch\n", f"import torch\nprint('{FORGED}')\n1 / 0\n"),
        Status.RUNTIME_ERROR,
        "line 3: ZeroDivisionError",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def hasty(worker: ProcessWorker, problem: str) -> Iterator[ProcessWorker]:
    """What passes there is compiled before, without haste, into the shared cache."""
    assert verified(worker, Candidate(source=GOOD)).status is Status.PASSED
    with start_worker(limits=HASTY) as started:
        started.load(problem)
        yield started


@pytest.mark.parametrize("what", BAD)
def test_a_bad_candidate_has_its_status_and_the_next_one_passes(request: pytest.FixtureRequest, what: str) -> None:
    (old, new), status, said = BAD[what]
    worker = request.getfixturevalue("hasty" if "endless " in what and status is Status.TIMEOUT else "worker")
    evaluation = verified(worker, changed(old, new))
    assert evaluation.status in (status if isinstance(status, tuple) else (status,)), evaluation.reason
    assert said in evaluation.reason, evaluation.reason
    assert evaluation.reason, "a failure says why"
    assert evaluation.score_us is None
    if status not in (Status.REJECTED, Status.COMPILE_ERROR):  # those run in no process that the next one meets
        after = verified(worker, Candidate(source=GOOD))
        assert after.status is Status.PASSED, after.reason


def test_a_right_candidate_passes_with_all_that_was_found(worker: ProcessWorker) -> None:
    evaluation = worker.evaluate(Candidate(source=GOOD), "search")
    assert evaluation.status is Status.PASSED
    assert {result.case for result in evaluation.results} >= {"tiny", "half", "timed"}
    by_case = {result.case: result for result in evaluation.results}
    tiny = by_case["tiny"]
    assert tiny.status is Status.PASSED
    assert tiny.max_rel_error is not None
    assert tiny.allowed_rel_error is not None
    assert 0 <= tiny.max_rel_error <= tiny.allowed_rel_error < 1e-4
    assert [kernel.kernel for kernel in evaluation.kernels][:1] == ["affine"]
    assert evaluation.compiled is not None
    assert evaluation.confinement
    if worker.environment().device is None:
        assert evaluation.verified_on == "interpreter"
        assert evaluation.timing_kind == "estimate"
        assert by_case["timed"].status is Status.NOT_VERIFIED


def test_more_memory_than_there_is_ends_one_candidate_only(worker: ProcessWorker) -> None:
    """On a GPU it is out of memory; without one it is too large for the interpreter, and never called passed."""
    part = "y = torch.empty(1 << 40, dtype=x.dtype, device=x.device)[: x.numel()].view(x.shape)"
    evaluation = verified(worker, changed("y = torch.empty_like(x)", part))
    if worker.environment().device is None:
        assert (evaluation.status, "its buffers exceed" in evaluation.reason) == (Status.NOT_VERIFIED, True)
    else:
        assert (evaluation.status, "out of memory" in evaluation.reason) == (Status.RUNTIME_ERROR, True)
    assert verified(worker, Candidate(source=GOOD)).status is Status.PASSED


def test_what_a_candidate_prints_is_in_its_log(worker: ProcessWorker) -> None:
    evaluation = verified(worker, changed("def kernel_function", f"print('{FORGED}')\n\ndef kernel_function"))
    assert evaluation.status is Status.PASSED
    assert FORGED in evaluation.log


def test_the_same_code_from_two_sources_is_one_kernel(worker: ProcessWorker) -> None:
    one = worker.evaluate(Candidate(source=GOOD), "search")
    other = worker.evaluate(changed("y = x * w + 1.0", "y = 1.0 + w * x  # the same"), "search")
    different = worker.evaluate(changed("BLOCK=64", "BLOCK=128"), "search")
    assert one.compiled == other.compiled != different.compiled


def test_a_config_is_written_into_the_source(worker: ProcessWorker) -> None:
    evaluation = verified(worker, Candidate(source=GOOD, config={"affine.BLOCK": 65}))
    assert evaluation.status is Status.REJECTED
    assert "affine.BLOCK cannot be 65" in evaluation.reason
    assert verified(worker, Candidate(source=GOOD, config={"affine.BLOCK": 32})).status is Status.PASSED
    assert verified(worker, Candidate(source=GOOD, config={"affine.NOTHING": 32})).status is Status.REJECTED


def test_several_candidates_at_once_get_each_their_own_answer(worker: ProcessWorker) -> None:
    asked = {
        "good": (Candidate(source=GOOD), Status.PASSED),
        "wrong": (changed("+ 1.0", "+ 2.0"), Status.WRONG),
        "refused": (changed("return y\n", "return x + 1\n"), Status.REJECTED),
        "broken": (changed("x * w", "x )"), Status.COMPILE_ERROR),
        "raising": (changed(LAUNCH, "    1 / 0\n" + LAUNCH), Status.RUNTIME_ERROR),
        "crashing": (
            changed(STORE, STORE + "        tl.store(y_ptr + (1 << 45) + offsets, y)\n"),
            Status.RUNTIME_ERROR,
        ),
    }
    with ThreadPoolExecutor(max_workers=12) as threads:
        futures = [(name, threads.submit(verified, worker, asked[name][0])) for name in [*asked, *asked]]
        answers = [(name, future.result(timeout=600)) for name, future in futures]
    for name, evaluation in answers:
        assert evaluation.status is asked[name][1], f"{name}: {evaluation.reason}"


# --- what the interpreter cannot judge ----------------------------------------------------------------------


DOT = 'acc = tl.dot(a, b, acc, input_precision="ieee")'
WAYS_TO_TF32 = {
    "by default": (DOT, "acc = tl.dot(a, b, acc)"),
    "by name": (DOT, 'acc = tl.dot(a, b, acc, input_precision="tf32")'),
    "by flag": (DOT, "acc = tl.dot(a, b, acc, allow_tf32=True)"),
    "through an alias": ("@triton.jit", "multiply = tl.dot\n\n\n@triton.jit"),
    "through an import": ("@triton.jit", "from triton.language import dot\n\n\n@triton.jit"),
    "through another name": ("import triton.language as tl\n", "import triton.language as tl, triton.language as t\n"),
}  # fmt: skip


@pytest.fixture
def product(worker: ProcessWorker, problem: str, tmp_path: Path) -> Iterator[ProcessWorker]:
    """The worker with a matrix product loaded, on a machine without a GPU."""
    if worker.environment().device is not None:
        pytest.skip("a GPU judges these")
    worker.load(folder_with(tmp_path / "matmul", MATMUL.replace("DTYPE", "float32")))
    yield worker
    worker.load(problem)


@pytest.mark.parametrize("way", WAYS_TO_TF32)
def test_a_product_in_tf32_is_never_called_passed_without_a_gpu(product: ProcessWorker, way: str) -> None:
    assert verified(product, Candidate(source=PRODUCT)).status is Status.PASSED
    source = changed(*WAYS_TO_TF32[way], source=PRODUCT).source
    call = {"through an alias": "multiply(a, b, acc)", "through an import": "dot(a, b, acc)",
            "through another name": "t.dot(a, b, acc)"}.get(way)  # fmt: skip
    if call is not None:
        source = source.replace('tl.dot(a, b, acc, input_precision="ieee")', call)
    evaluation = verified(product, Candidate(source=source))
    assert evaluation.status is Status.NOT_VERIFIED, evaluation.reason
    assert "TF32" in evaluation.reason


@pytest.mark.parametrize("cast", ["tl.bfloat16", "tl.dtype('bf16')", "NARROW", "tl.float8e5"])
def test_a_narrow_format_inside_is_never_called_passed_without_a_gpu(product: ProcessWorker, cast: str) -> None:
    source = changed(
        DOT, f"a, b = a.to({cast}).to(tl.float32), b.to({cast}).to(tl.float32)\n        {DOT}", source=PRODUCT
    )
    source = Candidate(source=source.source.replace("@triton.jit", "NARROW = tl.bfloat16\n\n\n@triton.jit"))
    evaluation = verified(product, source)
    assert evaluation.status is Status.NOT_VERIFIED, evaluation.reason
    assert "bf16" in evaluation.reason or "fp8" in evaluation.reason


def test_a_narrow_format_passed_as_an_argument_is_seen_too(product: ProcessWorker) -> None:
    source = PRODUCT.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, KIND: tl.constexpr")
    source = source.replace("BLOCK=16", "BLOCK=16, KIND=tl.bfloat16")
    source = source.replace(DOT, f"a = a.to(KIND).to(tl.float32)\n        {DOT}")
    evaluation = verified(product, Candidate(source=source))
    assert evaluation.status is Status.NOT_VERIFIED, evaluation.reason


def test_bf16_problems_are_not_verified_without_a_gpu(worker: ProcessWorker, problem: str, tmp_path: Path) -> None:
    if worker.environment().device is not None:
        pytest.skip("a GPU judges these")
    worker.load(folder_with(tmp_path / "matmul", MATMUL.replace("DTYPE", "bfloat16")))
    try:
        evaluation = worker.evaluate(Candidate(source=PRODUCT.replace(', input_precision="ieee"', "")), "search")
        assert evaluation.status is Status.NOT_VERIFIED
        assert "bf16" in evaluation.reason
        assert evaluation.verified_on is None
        assert evaluation.score_us is None
        assert evaluation.kernels, "what could be found out is there"
    finally:
        worker.load(problem)


def test_too_much_shared_memory_is_a_compile_error_with_the_limit(product: ProcessWorker) -> None:
    source = PRODUCT.replace("BLOCK=16", "BLOCK=64, num_stages=9, num_warps=8").replace("// 16", "// 64 + 1")
    evaluation = verified(product, Candidate(source=source))
    assert evaluation.status is Status.COMPILE_ERROR
    assert "shared memory" in evaluation.reason or "out of resource" in evaluation.reason.lower()


# --- problems -----------------------------------------------------------------------------------------------


def test_a_problem_that_cannot_be_loaded_is_the_users_and_the_last_one_stays(
    worker: ProcessWorker, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError, match="Model"):
        worker.load(folder_with(tmp_path / "none", "x = 1\n"))
    with pytest.raises(ProblemError, match=r"(?i)no such"):
        worker.load(str(tmp_path / "missing.py"))
    assert worker.load(problem).name == "affine"
    assert verified(worker, Candidate(source=GOOD)).status is Status.PASSED


def test_a_dtype_goes_to_every_case(worker: ProcessWorker, problem: str) -> None:
    try:
        cases = {info.case.name: info for info in worker.load(problem, Loading(dtype="float16")).cases}
        assert [spec.dtype for spec in cases["timed"].outputs] == ["float16"]
        assert [spec.dtype for spec in cases["tiny"].outputs] == ["float16"]
    finally:
        worker.load(problem)


# --- the ends of a worker -----------------------------------------------------------------------------------


def below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *below(int(child))]
    return found


def running(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [pid] if state != "Z" else []
    return found


def all_end(pids: list[int], seconds: float = 600.0) -> bool:
    deadline = time.monotonic() + seconds
    while running(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not running(pids)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc to see what is left behind")
def test_a_worker_killed_from_outside_is_an_error_and_leaves_nothing_running(problem: str) -> None:
    """In the middle of an endless kernel: nobody may wait for it, and it may not go on."""
    endless = changed(STORE, "        while columns > 0:\n            columns = columns * 1\n" + STORE)
    with start_worker(limits={"interpret_s": 600.0}) as fresh:
        fresh.load(problem)
        failures: list[BaseException] = []

        def ask() -> None:
            try:
                verified(fresh, endless)
            except WorkerError as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(3.0)
        pids = below(fresh.process.pid)
        assert asking.is_alive(), "the endless kernel should be running by now"
        os.kill(fresh.process.pid, signal.SIGKILL)
        asking.join(600.0)
        assert not asking.is_alive(), "the question still waits for a worker that is gone"
        assert len(failures) == 1
        with pytest.raises(WorkerError):
            fresh.environment()
        assert all_end(pids), f"left running: {running(pids)}"


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # a candidate's own, which has just ended
        return b""


def home_of(pid: int) -> str:
    entries = environment_of(pid).decode(errors="replace").split("\0")
    return next((entry.removeprefix("HOME=") for entry in entries if entry.startswith("HOME=")), "")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc to see what is left behind")
def test_a_worker_from_its_start_to_its_end(problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing but answers is on its standard output: what a candidate prints, at import or in a call, is log. No key of
    a service reaches any of its processes. Once closed it leaves nothing running and answers no more."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("HF_TOKEN", "planted-token")
    seen = tmp_path / "stdout"
    script = f'"{sys.executable}" -m kernelwright.worker "$@" | tee {seen}'
    noisy = changed("def kernel_function", "print('from the import')\n\ndef kernel_function")
    noisy = Candidate(source=noisy.source.replace(LAUNCH, "    print('from the call')\n" + LAUNCH))
    fresh = start_worker(["sh", "-c", script, "sh"], limits=LIMITS)
    fresh.load(problem)
    evaluation = verified(fresh, noisy)
    assert evaluation.status is Status.PASSED
    assert "from the import" in evaluation.log
    assert "from the call" in evaluation.log
    pids = [fresh.process.pid, *below(fresh.process.pid)]
    (supervisor,) = (pid for pid in pids if b"kernelwright.worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes()[:200])
    for pid in below(supervisor):
        assert b"planted" not in environment_of(pid)
    scratch = {environment for pid in pids[1:] for environment in [home_of(pid)] if environment}
    fresh.close()
    assert all_end(pids)
    assert not any(Path(folder).exists() for folder in scratch if "kernelwright-" in folder)
    with pytest.raises(WorkerError):
        fresh.environment()
    fresh.close()
    lines = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [line["id"] for line in lines if line["id"] != client.PING][:3] == [None, 0, 1]


# --- workers that are none ----------------------------------------------------------------------------------


def raising(kind: str) -> str:
    """A worker that cannot begin, and says so by an error of this kind."""
    said = {"answer": "raised", "id": None, "error": "it rains", "kind": kind, "hint": None}
    return f"print({json.dumps(said)!r})"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_an_argv_that_cannot_be_run_is_said() -> None:
    with pytest.raises(MachineError, match="no-such-program"):
        start_worker(["/no-such-program"])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("pass", "ended without an answer (it ended with exit status 0)"),
        ("raise SystemExit(3)", "ended without an answer (it ended with exit status 3)"),
        ("import os; os.kill(os.getpid(), 9)", "ended without an answer (it was killed by SIGKILL)"),
        ("import os; os.kill(os.getpid(), 40)", "ended without an answer (it was killed by signal 40)"),
        ("print('Welcome to host17!')", "Welcome to host17!"),
        ("print('[1, 2]')", "[1, 2]"),
        ("print('{\"answer\": 1}')", "answer"),
        (raising("MachineError"), "it rains"),
        *((raising(kind), "it rains") for kind in ("os", "annotations", "Status")),
    ],
)
def test_what_answers_otherwise_than_a_worker_is_an_error_that_quotes_it(program: str, words: str) -> None:
    with pytest.raises((WorkerError, MachineError)) as error:
        start_worker(python(f"{program}\nimport time"))
    assert words in str(error.value)


HELLO = Hello(
    protocol=PROTOCOL, kernelwright="0", host="here", device=None, gpu=None, target="sm_90", driver=None, torch="2",
    triton="3", cores=1,
)  # fmt: skip


def saying(value: object) -> str:
    """A worker that says this first."""
    return f"import sys\nprint({json.dumps(codec.plain(Returned(id=None, value=value)))!r}, flush=True)\n"


READY = saying(codec.plain(HELLO))


@pytest.mark.parametrize(
    "answer", ["print('noise')", "print('7')", "print('{}')", "print('{\"id\": 0}')", "sys.exit()",
               "print('{\"answer\": \"returned\", \"id\": 5, \"value\": 1}')\n    sys.exit()"]
)  # fmt: skip
def test_a_worker_that_breaks_its_protocol_is_not_waited_for(answer: str) -> None:
    program = READY + f"for line in sys.stdin:\n    {answer}\n    sys.stdout.flush()\n    sys.stdin.readline()\n"
    worker = start_worker(python(program))
    try:
        with pytest.raises(WorkerError):
            worker.environment()
        with pytest.raises(WorkerError):
            worker.environment()
    finally:
        worker.close()


@pytest.mark.parametrize("value", ["ready", codec.plain(HELLO) | {"protocol": PROTOCOL + 1}, {}, None])
def test_a_worker_of_another_protocol_is_refused_with_both_versions(value: object) -> None:
    with pytest.raises(MachineError, match=f"cannot talk to this one .{__version__}") as error:
        start_worker(python(saying(value) + "sys.stdin.readline()"))
    assert error.value.hint == "install the same version on both sides"


@pytest.mark.parametrize("reads", [True, False], ids=["it reads", "it does not even read"])
def test_a_worker_that_gives_no_sign_of_life_is_given_up(monkeypatch: pytest.MonkeyPatch, reads: bool) -> None:
    """It is pinged only once it was asked something, by the test."""
    monkeypatch.setattr(client, "PING_S", 3600.0)
    program = READY + ("for line in sys.stdin: pass" if reads else "import time\ntime.sleep(3600)")
    worker = start_worker(python(program))
    try:
        with ThreadPoolExecutor() as threads:
            asked = threads.submit(worker.load, "/" + "x" * 1_000_000)  # more than a pipe holds
            while not worker.waiting:
                time.sleep(0.01)
            monkeypatch.setattr(client, "PING_S", 0.1)
            worker._ping()
            with pytest.raises(WorkerLost, match="answered no ping") as error:
                asked.result(600)
        assert not error.value.from_outside
    finally:
        worker.close()


def test_a_worker_that_is_busy_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PING_S", 3600.0)
    program = READY + (
        "import json\npings = 0\nfor line in sys.stdin:\n    request = json.loads(line)\n"
        "    pings += request['verb'] == 'ping'\n"
        "    first = request['id'] if request['verb'] == 'load' else locals().get('first')\n"
        "    done = {'answer': 'returned', 'id': request['id'], 'value': None}\n"
        "    if request['verb'] == 'ping':\n        print(json.dumps(done), flush=True)\n"
        "    if pings == 8:\n        done = {'answer': 'raised', 'id': first, 'error': 'done', 'hint': None}\n"
        "        print(json.dumps(done | {'kind': 'ProblemError'}), flush=True)\n"
    )
    with start_worker(python(program)) as worker, ThreadPoolExecutor() as threads:
        asked = threads.submit(worker.load, "/a")
        while not worker.waiting:
            time.sleep(0.01)
        assert all(worker._is_there() for _ in range(8))
        with pytest.raises(ProblemError, match="done"):
            asked.result(600)


@pytest.mark.parametrize(
    ("by", "from_outside"), [(signal.SIGTERM, True), (signal.SIGHUP, True), (signal.SIGKILL, False)]
)
def test_a_worker_that_was_asked_to_end_is_told_from_one_that_died(by: signal.Signals, from_outside: bool) -> None:
    worker = start_worker(python(READY + f"import os\nsys.stdin.readline()\nos.kill(os.getpid(), {by.value})"))
    with pytest.raises(WorkerLost) as error:
        worker.load("/a")
    assert error.value.from_outside is from_outside
    worker.close()


def test_why_a_worker_ended_is_known_before_anyone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is written while the end is looked into must not be told that the worker died by itself."""
    told: list[object] = []
    as_ever = ProcessWorker._was_asked_to_end

    def looked_into(self: ProcessWorker, status: int) -> bool:
        told.append(self.ended)
        return as_ever(self, status)

    monkeypatch.setattr(ProcessWorker, "_was_asked_to_end", looked_into)
    worker = start_worker(python(READY + "import os\nsys.stdin.readline()\nos.kill(os.getpid(), 15)"))
    with pytest.raises(WorkerLost):
        worker.load("/a")
    worker.close()
    assert told == [None]


@pytest.mark.parametrize("is_remote", [True, False])
def test_a_lost_connection_is_no_fault_of_a_candidate(is_remote: bool) -> None:
    worker = start_worker(python(READY + "import os\nsys.stdin.readline()\nos._exit(255)"), is_remote=is_remote)
    with pytest.raises(WorkerLost) as error:
        worker.environment()
    assert error.value.from_outside is is_remote
    worker.close()


def test_answers_find_who_asked_in_whatever_order_they_come() -> None:
    program = READY + (
        "import json\nasked = []\nfor line in sys.stdin:\n    asked.append(json.loads(line))\n"
        "    if asked[-1]['verb'] == 'close':\n        break\n"
        "    if asked[-1]['verb'] == 'ping':\n        del asked[-1]\n        continue\n"
        "    if len(asked) == 3:\n        for request in reversed(asked):\n"
        "            answer = {'answer': 'raised', 'id': request['id'], 'error': request['path'], 'hint': None}\n"
        "            answer['kind'] = 'ProblemError'\n"
        "            print(json.dumps(answer), flush=True)\n"
    )
    worker = start_worker(python(program))

    def ask(path: str) -> str:
        with pytest.raises(ProblemError) as error:
            worker.load(path)
        return str(error.value)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(ask, ["/a", "/b", "/c"])) == ["/a", "/b", "/c"]
    worker.close()


def test_a_machine_without_torch_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(MachineError) as error:
        start_worker()
    assert "No module named 'torch'" in str(error.value)
    assert "pip install" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("target", "limits", "words"),
    [("sm_3", None, "sm_3"), (None, {"no_such_s": 1.0}, "no_such_s"), (None, {"record_s": "long"}, "record_s")],
)
def test_a_worker_asked_for_what_there_is_not_says_so(
    target: str | None, limits: dict[str, float] | None, words: str
) -> None:
    with pytest.raises(ConfigError) as error:
        start_worker(target=target, limits=limits)
    assert words in str(error.value)


def test_importing_the_client_imports_no_torch() -> None:
    program = "import sys, kernelwright.evaluator.client\nprint('torch' in sys.modules, 'triton' in sys.modules)"
    assert subprocess.check_output(python(program), text=True).split() == ["False", "False"]
