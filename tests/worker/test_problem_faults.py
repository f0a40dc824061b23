"""A fault of a problem file is said with its file, and with its line where there is one, whatever the file does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from busy import scaled
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.evaluator.client import ProcessWorker, start_worker
from kernelwright.worker.processes.scratch import KEPT_BYTES, LONGEST_BYTES, shorten

TEMPLATE = '''"""A problem."""
import os, random, signal, sys, threading, time
import torch
{top}
class Model(torch.nn.Module):
    def __init__(self, *given):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}

def get_inputs():
    {inputs}

def get_init_inputs():
    return [{init_input}]
'''


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessWorker]:
    """One for all: after each fault it has to serve the next problem."""
    with start_worker(limits={"judge_s": 3600.0}) as started:
        yield started


def file_with(
    folder: Path,
    top: str = "",
    forward: str = "return 2 * x",
    inputs: str = "return [torch.randn(64)]",
    init: str = "pass",
    init_input: str = "",
) -> Path:
    file = folder / "odd_problem.py"
    file.write_text(TEMPLATE.format(top=top, forward=forward, inputs=inputs, init=init, init_input=init_input))
    return file


def fault(worker: ProcessWorker, file: Path) -> str:
    def judged() -> None:
        worker.load(str(file))
        worker.qualify()

    with pytest.raises(ProblemError) as raised:
        judged()
    said = str(raised.value)
    assert str(file) in said
    assert "Traceback" not in said.partition("(")[0]
    return said


ODD_EXCEPTION = "class Odd({base}):\n    def __str__(self): {body}\nraise Odd()"


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ("raise BaseException('no')", "line 4: importing it raised BaseException: no"),
        ("class Own(BaseException): pass\nraise Own('no')", "line 5: importing it raised Own: no"),
        ("sys.exit(3)", "line 4: importing it raised SystemExit"),
        ("def again(): again()\nagain()", "line 4: importing it raised RecursionError"),
        (ODD_EXCEPTION.format(base="Exception", body="raise self"), "its text cannot be computed: Odd"),
        (ODD_EXCEPTION.format(base="Exception", body="return 5"), "its text cannot be computed: TypeError"),
        ("raise ValueError('\\ud800')", "ValueError: \ufffd"),
        ("os._exit(4)", "ended with exit status 4 in importing it"),
        ("os.abort()", "killed by SIGABRT in importing it"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL in importing it"),
        ("os.closerange(3, 100)", "ended"),
        ("signal.alarm(1)\ntime.sleep(60)", "killed by SIGALRM in importing it"),
        ("CASES = [dict(name='\\ud800')]", "which JSON cannot"),
        ("CASES = [dict(name='a', n=10**30)]\nn = 4", "which JSON cannot"),
        ("CASES = [dict(name='a', n=float('nan'))]\nn = 4", "which JSON cannot"),
        ("class L(list):\n    def __iter__(self): raise OSError\nCASES = L([1])", "line 5: reading CASES raised"),
    ],
)  # fmt: skip
def test_at_import(worker: ProcessWorker, tmp_path: Path, top: str, words: str) -> None:
    assert words in fault(worker, file_with(tmp_path, top=top))


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return ()", "an empty tuple"),
        ("return []", "an empty list"),
        ("return x.to_sparse()", "a sparse tensor"),
        ("return torch.nested.nested_tensor([x, x])", ""),
        ("return x.to('meta')", ""),
        ("yield x", "a generator"),
        ("self.n = getattr(self, 'n', 0) + 1; return x[: self.n]", ""),
        ("raise BaseException('no')", "line 11: forward raised BaseException: no"),
        ("return self.forward(x)", "RecursionError"),
        ("os._exit(0)", "ended with exit status 0 in forward"),
        ("os.kill(os.getpid(), 11)", "killed by SIGSEGV in forward"),
        ("return None", "a NoneType"),
    ],
)
def test_in_forward(worker: ProcessWorker, tmp_path: Path, forward: str, words: str) -> None:
    assert words in fault(worker, file_with(tmp_path, forward=forward))


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ("del self._parameters", "preparing its Model raised AttributeError"),
        ("self.eval = None", "preparing its Model raised TypeError"),
        ("self.register_buffer('b', torch.ones(2, device='meta'))", "preparing its Model raised"),
        ("self.register_buffer('b', torch.ones(3).to_sparse())", "Cannot access storage of SparseTensorImpl"),
    ],
)
def test_in_the_module_that_was_made(worker: ProcessWorker, tmp_path: Path, init: str, words: str) -> None:
    assert words in fault(worker, file_with(tmp_path, init=init))


def test_a_constructor_argument_that_no_process_can_be_sent(worker: ProcessWorker, tmp_path: Path) -> None:
    said = fault(worker, file_with(tmp_path, init_input="object()"))
    assert "get_init_inputs gives a object for given_0" in said
    said = fault(worker, file_with(tmp_path, init_input="torch.float16"))
    assert "get_init_inputs gives a dtype for given_0" in said
    assert "Model can choose functions, dtypes and modules by a name" in said


@pytest.mark.parametrize(
    "forward", ["return x[x > 0]", "return (x > 0).nonzero()", "return torch.unique((1e4 * x).round())"]
)
def test_outputs_whose_sizes_depend_on_values(worker: ProcessWorker, tmp_path: Path, forward: str) -> None:
    """Of so many values two draws with as many positive ones are rarer than one in a hundred."""
    many = "return [torch.randn(100_000)]"
    assert "sizes" in fault(worker, file_with(tmp_path, forward=forward, inputs=many))


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("return [torch.randn(random.randint(1, 10**6))]", "the sizes of inputs differ"),
        ("return [torch.randn(64).to_sparse()]", "a sparse tensor"),
        ("os._exit(3)", "ended with exit status 3 in get_inputs"),
        ("raise BaseException", "line 14: get_inputs raised BaseException"),
        ("yield torch.randn(3)", "a generator"),
    ],
)
def test_in_get_inputs(worker: ProcessWorker, tmp_path: Path, inputs: str, words: str) -> None:
    assert words in fault(worker, file_with(tmp_path, inputs=inputs))


def test_get_inputs_without_end(tmp_path: Path) -> None:
    with start_worker(limits=scaled({"judge_s": 3.0})) as hasty:
        file = file_with(tmp_path, inputs="while True: time.sleep(1)")
        assert "did not answer in time" in fault(hasty, file)


@pytest.mark.parametrize(
    "top",
    [
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "os.chdir('/')",
        "os.remove(__file__) if os.path.exists(__file__) else None",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.setitimer(signal.ITIMER_REAL, 0.5)",
        "os.fork()",
        "print('x' * 20_000_000)",
        "__doc__ = 5",
        "__doc__ = '\\ud800'",
        "sys.stdout = sys.stderr = None",
    ],
)
def test_what_hurts_nobody_is_no_fault(worker: ProcessWorker, tmp_path: Path, top: str) -> None:
    file = file_with(tmp_path, top=top)
    assert worker.load(str(file)).name == "odd_problem"


def test_after_a_problem_that_cannot_be_loaded_none_is_loaded(worker: ProcessWorker, tmp_path: Path) -> None:
    worker.load(str(file_with(tmp_path)))
    with pytest.raises(ProblemError):
        worker.load(str(tmp_path / "none.py"))
    with pytest.raises(WorkerError, match="no problem is loaded"):
        worker.qualify()


def test_a_log_keeps_its_end_and_not_more(tmp_path: Path) -> None:
    log = tmp_path / "judge-1.log"
    with log.open("ab") as writer:
        writer.write(b"x" * LONGEST_BYTES + b"the end\n")
        writer.flush()
        shorten(log)
        writer.write(b"and more\n")
    assert log.stat().st_size < KEPT_BYTES + 100
    assert log.read_bytes().endswith(b"the end\nand more\n")
    short = tmp_path / "short.log"
    short.write_bytes(b"x")
    shorten(short)
    assert short.read_bytes() == b"x"
