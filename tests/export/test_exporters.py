"""The other formats: each is read back as its reader would."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exported import GALLERY, linear, softmax, subject, write
from fakes import ENVIRONMENT
from kernelwright.errors import ConfigError, RequestError
from kernelwright.export import best_config
from kernelwright.export.binding import bound_arguments
from kernelwright.export.exporters import EXPORTERS
from kernelwright.export.names import identifier
from kernelwright.export.subject import Subject
from kernelwright.model import BenchReport, Candidate
from samples import passed, run_view, short_run

HERE = Path(__file__).parent


def of_run() -> Subject:
    """The sample run's best, as `export` would take it."""
    view = run_view(short_run(), {4: passed(26.0)})
    best = view.best
    assert best is not None
    assert best.proposal.candidate is not None
    evaluation = view.figure(best)
    assert evaluation is not None
    return Subject(
        problem=view.info.problem,
        problem_text="",
        cases_text=None,
        candidate=best.proposal.candidate,
        evaluation=evaluation,
        environment=view.info.environment,
        package="fast_softmax",
        run=view,
        trial=best.number,
    )


def test_kernelbench_wraps_a_function_in_the_references_own_class(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (text,) = EXPORTERS["kernelbench"].files(linear()).values()
    marked = text.replace("return kernel_function(", "return calls.append((")
    marked = marked.rstrip().removesuffix(")") + "))\n"
    file = tmp_path / "candidate.py"
    file.write_text(marked)
    calls: list[tuple[object, ...]] = []
    space: dict[str, object] = {"calls": calls, "__name__": "candidate", "__file__": str(file)}
    tree = ast.parse(marked)
    kept = [node for node in tree.body if getattr(node, "name", "") in ("_reference", "_of", "ModelNew")]
    exec(compile(ast.Module(kept, []), str(file), "exec"), space)
    model = space["ModelNew"](20, 33)  # type: ignore[operator]
    x = torch.zeros(2, 20)
    model(x)
    assert list(model.state_dict()) == ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]
    assert [tuple(one.shape) for one in calls[0]] == [(2, 20), (33, 20), (33,), (20, 33), (20,)]  # type: ignore[attr-defined]


def test_kernelbench_leaves_a_model_as_it_is() -> None:
    (text,) = EXPORTERS["kernelbench"].files(linear("sequential_container")).values()
    assert text.split("\n\n", 1)[1].strip() == linear("sequential_container").source.strip()


def test_the_card_of_a_hub_repository_says_so_where_nothing_was_measured() -> None:
    report = BenchReport(problem="softmax", environment=ENVIRONMENT, cases=())
    cards = [EXPORTERS["hf-kernels"].files(one)["README.md"] for one in (softmax(), softmax(results=(report, "best")))]
    assert ["Nothing was measured" in card for card in cards] == [True, False]


def test_the_hub_layout_has_a_digest_of_every_file_and_a_namespace_of_its_own() -> None:
    files = EXPORTERS["hf-kernels"].files(softmax())
    home = "build/torch-cuda/"
    metadata = json.loads(files[f"{home}metadata.json"])
    digests = metadata["digest"]["files"]
    inside = {path.removeprefix(home): text for path, text in files.items() if path.startswith(home)}
    assert set(digests) == set(inside) - {"metadata.json"}
    for path, text in inside.items():
        if path != "metadata.json":
            assert base64.b64decode(digests[path]) == hashlib.sha256(text.encode()).digest()
    assert f'NAMESPACE = "{metadata["id"]}"' in inside["arguments.py"]
    assert metadata["backend"] == {"type": "cuda"}
    imports = [node for text in inside.values() if "import" in text for node in imported(text)]
    assert "fast_softmax" not in imports


def imported(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]


def test_the_hub_layout_imports_flat_and_through_the_older_folder(tmp_path: Path) -> None:
    import subprocess
    import sys

    pytest.importorskip("torch")
    write(EXPORTERS["hf-kernels"].files(softmax()), tmp_path)
    asked = "import torch, fast_softmax as one; x = torch.ones(2, 4); print(torch.equal(one.softmax(x), x / 4))"
    home = tmp_path / "build" / "torch-cuda"
    done = subprocess.run([sys.executable, "-c", asked], cwd=home, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr


def test_a_csv_has_a_row_for_each_trial_and_timed_case() -> None:
    rows = list(csv.DictReader(io.StringIO(EXPORTERS["csv"].files(of_run())["trials.csv"])))
    trials = short_run()
    assert {int(row["trial"]) for row in rows} == {trial.number for trial in trials}
    timed = [row for row in rows if row["case"]]
    assert all(float(row["median_us"]) > 0 and row["kind"] in ("measured", "estimate") for row in timed)


def test_a_pinned_config_is_read_by_the_loader_and_refused_where_it_was_estimated(tmp_path: Path) -> None:
    text = EXPORTERS["config"].files(of_run())["best_config.json"]
    (tmp_path / "best_config.json").write_text(text)
    where = of_run().environment
    found = msgspec.json.decode(text, type=best_config.Pinned)
    assert found.joint.config == of_run().candidate.config
    if found.kind == "estimate":
        with pytest.raises(ConfigError, match="never measured"):
            best_config.load(tmp_path / "best_config.json", device="x", torch=where.torch, triton=where.triton)


def test_a_trace_is_the_runs() -> None:
    files = EXPORTERS["trace"].files(of_run())
    assert "trace/README.txt" in files
    assert any(path.endswith("kernel.py") for path in files)


NAMES = {
    "softmax": "softmax", "3d-Conv": "k_3d_conv", "a b": "a_b", "näst dir": "nast_dir", "畳み込み": "k_kernel",
    "lambda": "k_lambda", "patch": "k_patch", "reference": "k_reference", "wins": "k_wins",
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_a_problems_name_becomes_a_packages(name: str, expected: str) -> None:
    assert identifier(name) == expected


def test_no_module_of_a_package_goes_by_a_name_that_a_problem_may_have() -> None:
    written = [Path(name) for name in EXPORTERS["op"].files(softmax())]
    modules = {file.stem for file in written if file.suffix == ".py" and file.parent.name == "fast_softmax"} - {
        "__init__"
    }
    assert {"reference", "wins", "kernel"} < modules
    assert {identifier(name) for name in modules}.isdisjoint(modules)


def test_an_argument_of_nobody_is_refused() -> None:
    with pytest.raises(RequestError, match="'z' is none of the problem's"):
        bound_arguments("def kernel_function(x, z): pass", ("x",), (), ())


def test_a_config_is_written_into_the_kernel_and_an_autotuned_choice_beside_it() -> None:
    key = "softmax_kernel.num_warps"
    folder = GALLERY / "softmax"
    made = subject(folder / "problem.py", folder / "starter.py", "softmax", softmax().problem.cases, config={key: 8},
                   autotune={"other": 3})  # fmt: skip
    assert "num_warps=8" in made.source
    assert made.autotune == {"other": 0}
    chosen = Candidate(source=made.candidate.source, config={"autotune:other": 2})
    assert replace(made, candidate=chosen).autotune == {"other": 2}


def test_an_export_says_what_no_draw_varied() -> None:
    made = softmax()
    evaluation = msgspec.structs.replace(made.evaluation, constant=("input mask", "input scale = 0.5"))
    subject = replace(made, evaluation=evaluation)
    package, hub, bench = (EXPORTERS[name].files(subject) for name in ("op", "hf-kernels", "kernelbench"))
    for text in (package["README.md"], hub["README.md"], *bench.values()):
        assert "he same in every draw, so a kernel may have it built in: input mask, input scale = 0.5" in text
    assert json.loads(package["fast_softmax/provenance.json"])["evaluation"]["constant"] == list(evaluation.constant)


@pytest.mark.parametrize("mode", ["none", "any"])
def test_an_export_says_which_library_steps_were_allowed(mode: Any) -> None:
    made = softmax()
    subject = replace(made, evaluation=msgspec.structs.replace(made.evaluation, library=mode))
    package, hub, bench = (EXPORTERS[name].files(subject) for name in ("op", "hf-kernels", "kernelbench"))
    texts = package["README.md"], package["fast_softmax/__init__.py"], hub["README.md"], *bench.values()
    for text in texts:
        assert f"LIBRARY = '{mode}'" in text
