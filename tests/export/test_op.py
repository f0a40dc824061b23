"""The exported package, used as a program would use it, on the CPU: Triton interprets, `wins.json` is stated.

What needs a GPU (CUDA graphs, inductor, times) is in tests/gpu. One process uses everything, the tests look at what it
said. All programs run in forks of two others (`forked.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exported import cross_entropy, linear, names_beside, softmax, win, write
from fakes import ENVIRONMENT
from forked import Programs
from kernelwright.errors import RequestError
from kernelwright.export.op import constants_of_model, op_files
from kernelwright.export.op_arguments import ASSIGNED, READ, arguments_of
from kernelwright.export.op_texts import arguments_text, forward_text
from kernelwright.model import BenchReport

pytest.importorskip("torch", reason="the package needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the kernel needs Triton: pip install -e '.[worker]'")


def stated(*cases: dict[str, Any]) -> str:
    return json.dumps({"schema_version": 1, "device": "cpu", "cases": list(cases)})


FIGURES = ("kernel", "eager", "kernel_compiled", "compile")


def interpreter_fails() -> bool:
    """Triton before 3.7 takes arrays of one element for numbers in its interpreter, which NumPy no longer allows."""
    numpy, triton = pytest.importorskip("numpy"), pytest.importorskip("triton")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            int(numpy.ones(1))
    except TypeError:
        return tuple(map(int, triton.__version__.split(".")[:2])) < (3, 7)
    return False


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    if interpreter_fails():
        pytest.skip("Triton's interpreter does not run with this NumPy: pip install 'triton>=3.7'")
    folder = tmp_path_factory.mktemp("exports")
    write(op_files(softmax()), folder)
    write(op_files(linear()), folder)
    times = {32: (10.0, 20.0), 64: (15.0, 30.0), 8: (20.0, 10.0)}
    wins = [win([[rows, 64]], *pair, params={"rows": rows, "cols": 64}) for rows, pair in times.items()]
    pair = {"call_us": 30.0, "device_us": 5.0}, {"call_us": 10.0, "device_us": 10.0}
    lost, won = (dict.fromkeys(("eager", "compiled"), why) for why in ("not faster by enough in call_us", "faster"))
    figures = dict(zip(FIGURES, (*pair, *pair), strict=True))
    params = {"rows": 16, "cols": 64}
    wins.append(win([[16, 64]], 1.0, 1.0, **figures, params=params, why=lost, why_in_graphs=won))
    (folder / "fast_softmax" / "wins.json").write_text(stated(*wins))
    parameters = {
        name: {"shape": list(spec.shape), "dtype": "float32"}
        for name, spec in linear().problem.cases[1].parameters.items()
    }
    case = win([[9, 20]], 10.0, 20.0, init=[20, 33], parameters=parameters)
    (folder / "fast_linear" / "wins.json").write_text(stated(case))
    done = programs(folder, Path(__file__).with_name("using.py"), interpret=True)
    assert done.status == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


TAKEN = {
    "measured to win": True,
    "by keyword": True,
    "between": True,
    "a leaf without grad mode": True,
    "measured to lose": False,
    "larger": False,
    "another dtype": False,
    "wants a gradient": False,
    "strided": False,
    "misaligned": False,
    "vmap": False,
    "torch.func.grad": False,
    "torch.func.jvp": False,
    "a forward derivative": False,
    "under a mode": False,
}


@pytest.mark.parametrize(("what", "taken"), TAKEN.items())
def test_the_kernel_is_taken_only_where_it_was_measured_to_win(found: dict[str, Any], what: str, taken: bool) -> None:
    assert found[f"kernel: {what}"] is taken


def test_what_it_gives_is_right_whoever_computes_it(found: dict[str, Any]) -> None:
    for what in (
        "is right",
        "gradient is right",
        "forward derivative is right",
        "compiled is right",
        "a copy is right",
        "a pickled one is right",
    ):
        assert found[what] is True, what


def test_a_graph_holds_the_operator_where_it_wins_and_pytorchs_own_elsewhere(found: dict[str, Any]) -> None:
    assert found["in a graph"] == ["fast_softmax.softmax.default"]
    assert found["in a graph, measured to lose"] == ["aten.softmax.int"]
    assert found["in a graph, any number of rows"] == ["aten.softmax.int"]


def test_it_says_why(found: dict[str, Any]) -> None:
    called, compiled, counts = found["explained"].splitlines()
    assert called == "called: kernel (case 32x64: faster)"
    assert compiled == "in torch.compile: kernel (case 32x64: faster)"
    assert counts == "what counts: an awaited call, calls in a row and device time, on a host half as fast, too"


def test_it_is_compiled_ahead_for_the_measured_cases_that_it_serves(found: dict[str, Any]) -> None:
    assert found["warm: cases"] == ["32x64", "64x64"]
    assert found["warm: cases in graphs"] == ["32x64", "64x64", "16x64"]
    assert found["warm: the kernel ran"] == [[32, 64], [64, 64]]
    assert found["warm: measured elsewhere"] == {}


def test_pytorch_runs_where_a_config_does_not_fit_the_gpu(found: dict[str, Any]) -> None:
    assert found["a config that does not fit"] is True
    (why,) = found["a config that does not fit, explained"]
    assert "shared memory" in why


def test_pytorch_runs_where_a_kernel_s_own_assertion_fails(found: dict[str, Any]) -> None:
    assert found["an assertion of a kernel"] is True


GRAPHS = {
    "a module": [False, True],
    "a function": [False, True],
    "a patched model": [False, True],
    "a copy": [False, True],
    "a pickled one": [False, True],
    "a size that loses on the device": [False, False],
    "a size that wins in calls": [True, True],
}


@pytest.mark.parametrize(("what", "taken"), GRAPHS.items())
def test_with_graphs_the_kernel_is_taken_where_device_time_alone_wins(
    found: dict[str, Any], what: str, taken: list[bool]
) -> None:
    assert found[f"graphs: {what}"] == taken


def test_with_graphs_compiled_code_holds_the_operator_where_device_time_alone_wins(found: dict[str, Any]) -> None:
    assert found["graphs: compiled"] == [["aten.softmax.int"], ["fast_softmax.softmax.default"]]
    assert found["graphs: compiled is right"] is True


def test_with_graphs_it_says_what_counts(found: dict[str, Any]) -> None:
    called, compiled, counts = found["graphs: explained"].splitlines()
    assert called == "called: kernel (case 16x64: faster)"
    assert compiled == "in torch.compile: kernel (case 16x64: faster)"
    assert counts == "what counts: device time alone (graphs=True)"


def test_the_benchmark_says_of_each_size_in_which_use_the_kernel_is_taken(found: dict[str, Any]) -> None:
    wins, _, loses, on_the_device = (" ".join(row.split()) for row in found["rows of the benchmark"])
    assert wins == "32x64 2.00x 2.00x calls, graphs 2.00x 2.00x calls, graphs faster"
    assert loses == "8x64 0.50x 0.50x - 0.50x 0.50x - not faster by enough in call_us"
    assert on_the_device == "16x64 0.33x 2.00x graphs 0.33x 2.00x graphs not faster by enough in call_us"


def test_modules_share_what_counts_and_below_which_size_nothing_wins(found: dict[str, Any]) -> None:
    assert found["graphs: kinds"] == [["calls", 32 * 64], ["graphs", 16 * 64]]


def test_a_size_is_given_up_for_all_dtypes_only_where_it_is_below_all_that_win(found: dict[str, Any]) -> None:
    assert found["a size below all that win"] is True
    assert found["a dtype that loses"] is True
    assert found["a dtype of a size below all that win, explained"].startswith("called: PyTorch (no similar shape")


def test_what_is_remembered_of_shapes_is_bounded(found: dict[str, Any]) -> None:
    assert found["too many shapes are forgotten"] is True


def test_a_model_is_patched_and_set_back(found: dict[str, Any]) -> None:
    assert found["patched"] == found["unpatched"] == ["1"]
    assert found["patched by name and function"] == [["1"], ["1"], ["1"]]
    for what in (
        "patched is right",
        "patched takes the kernel",
        "a copy of a patched model is right",
        "unpatched is right",
    ):
        assert found[what] is True, what


def test_a_module_that_computes_something_else_is_not_patched(found: dict[str, Any]) -> None:
    assert "no module of Sequential matches" in found["nothing is meant"]
    assert "does not compute what the problem's Model computes" in found["another dimension"]
    assert "does not compute what the problem's Model computes" in found["another function"]
    assert "in training" in found["right in evaluation only"]
    assert "a replaced forward already" in found["patched twice"]


def test_parameters_are_the_modules_own_at_every_call(found: dict[str, Any]) -> None:
    for what in ("is right", "takes the kernel", "follows its weights", "follows a new weight", "compiled is right",
                 "of another size", "patched is right", "patched takes the kernel", "learns"):  # fmt: skip
        assert found[f"linear {what}"] is True, what
    assert found["linear that learns"] is False
    assert found["linear in a graph"] == ["fast_linear.linear.default"]
    assert found["linear patched"] == [""]


@pytest.mark.parametrize(
    "subject",
    [softmax(), linear(), linear("sequential_container"), linear("renamed_layers"), cross_entropy()],
    ids=lambda one: one.name,
)
def test_a_package_passes_its_own_checks_without_a_gpu(subject: Any, tmp_path: Path, programs: Programs) -> None:
    write(op_files(subject), tmp_path)
    done = programs(tmp_path, f"{subject.package}.check")
    assert done.status == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 4
    assert "left out: the checks of the kernel itself" in done.stdout


def test_a_readme_says_so_where_nothing_was_measured_and_how_to_measure() -> None:
    report = BenchReport(problem="softmax", environment=ENVIRONMENT, cases=())
    subjects = softmax(), softmax(results=(report, "best")), softmax(measures=True)
    texts = [op_files(one)["README.md"] for one in subjects]
    assert ["Nothing was measured: PyTorch serves every call" in text for text in texts] == [True, False, False]
    assert texts[0].index("python -m fast_softmax.benchmark --write") < texts[0].index("from fast_softmax import")


def test_a_readme_says_how_to_use_the_kernel_in_graphs() -> None:
    assert "`fast_softmax.softmax_in_graphs(x)`" in op_files(softmax())["README.md"]
    assert "`Module(features, hidden, graphs=True)`" in op_files(linear())["README.md"]


def test_wrong_gradients_are_found_by_the_check(tmp_path: Path, programs: Programs) -> None:
    files = op_files(softmax())
    files["fast_softmax/reference.py"] += (
        "\n\ndef backward(gradients, inputs, parameters, outputs):\n    return gradients\n"
    )
    done = programs(write(files, tmp_path), "fast_softmax.check")
    assert done.status == 1
    assert "FAILED  gradients are those of the reference" in done.stdout


def test_a_stated_backward_is_what_the_operator_differentiates_by(tmp_path: Path, programs: Programs) -> None:
    files = op_files(softmax())
    files["fast_softmax/reference.py"] += BACKWARD
    done = programs(write(files, tmp_path), "fast_softmax.check")
    assert done.status == 0, done.stdout + done.stderr


BACKWARD = """

def backward(gradients, inputs, parameters, outputs):
    (gradient,), (y,) = gradients, outputs
    return (y * (gradient - (gradient * y).sum(-1, keepdim=True)),)
"""


def test_the_benchmark_says_that_it_needs_a_gpu(tmp_path: Path, programs: Programs) -> None:
    done = programs(write(op_files(softmax()), tmp_path), "fast_softmax.benchmark", CUDA_VISIBLE_DEVICES="")
    assert done.status == 2
    assert "no GPU here" in done.stderr


def test_what_is_written_is_clean_python(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="ruff checks it: pip install -e '.[dev]'")
    for subject in (softmax(), linear()):
        write(op_files(subject), tmp_path)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,B"]
    done = subprocess.run([*ruff, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_constants_that_the_model_reads_are_told_from_those_of_its_inputs() -> None:
    text = "rows = 4\neps = 1e-5\n\n\nclass Model:\n    x = eps\n\n\ndef get_inputs():\n    return [rows]\n"
    assert constants_of_model(text) == {"eps"}


@pytest.mark.parametrize(("text", "only"), [("F.dropout(x, 0.1, self.training)", True), ("torch.relu(x)", False)])
def test_a_problem_that_behaves_otherwise_in_training_has_the_kernel_in_evaluation_only(text: str, only: bool) -> None:
    subject = replace(softmax(), problem_text=f"class Model:\n    def forward(self, x):\n        return {text}\n")
    assert (forward_text(subject, arguments_of(subject), False).count("not self.training and ") == 2) is only


@pytest.mark.parametrize("subject", [softmax(), linear(), cross_entropy()], ids=lambda one: one.name)
def test_no_argument_can_take_the_place_of_a_name_that_the_generated_code_uses(subject: Any) -> None:
    arguments = arguments_of(subject)
    used = names_beside(arguments.names, forward_text(subject, arguments, False) + arguments_text(subject, arguments))
    assert {"state", "op", "wins"} <= used <= READ | ASSIGNED


def called(subject: Any, name: str) -> Any:
    """The same problem whose forward calls its argument so."""
    cases = tuple(msgspec.structs.replace(case, input_names=(name,)) for case in subject.problem.cases)
    return replace(subject, problem=msgspec.structs.replace(subject.problem, cases=cases))


def test_a_model_constructed_with_an_argument_called_graphs_is_refused() -> None:
    cases = tuple(msgspec.structs.replace(case, init_names=("graphs",)) for case in softmax().problem.cases)
    named = replace(softmax(), problem=msgspec.structs.replace(softmax().problem, cases=cases))
    with pytest.raises(RequestError, match="constructed with an argument called graphs"):
        arguments_of(named)


def test_an_argument_called_as_a_name_of_the_generated_code_is_refused() -> None:
    for name in ("count", "key", "state", "wins"):
        assert arguments_of(called(softmax(), name)).names == (name,)
    with pytest.raises(RequestError, match="has a name that the operator needs: run"):
        arguments_of(called(softmax(), "run"))


PARAMETERS = """
import torch
from fast_linear.kernel_host import built

weights = [torch.full((33, 20), 1.0), torch.full((33,), 2.0), torch.full((20, 33), 3.0), torch.full((20,), 4.0)]
names = ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]
host = built((20, 33))
host.model.first = host.model.up.weight  # a second name, which the reference does not have
host.with_parameters(names, weights)
print([host.model.up.weight is weights[0], host.model.up.bias is weights[1], host.model.down.weight is weights[2]])
print(host.model.first is weights[0])
"""


def test_a_candidate_gets_parameters_under_the_names_that_it_has_for_them(tmp_path: Path, programs: Programs) -> None:
    write({**op_files(linear("renamed_layers")), "try_parameters.py": PARAMETERS}, tmp_path)
    done = programs(tmp_path, "try_parameters")
    assert done.status == 0, done.stdout + done.stderr
    assert done.stdout.split("\n") == ["[True, True, True]", "True", ""]
