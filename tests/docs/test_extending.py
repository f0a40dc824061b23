"""The examples of docs/extending do what their pages say: each is read off its page, put into its table, and run.

The rule: a page is the only copy of its code, its line of the table included.
"""

from __future__ import annotations

import inspect
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from evaluated import StartedWorker
from exported import softmax
from kernelwright.errors import ProviderError
from kernelwright.export import exporters
from kernelwright.importers import table as importers
from kernelwright.inductor.candidate import IMPORTS
from kernelwright.llm.protocol import Provider
from kernelwright.model import Candidate, Operator, Request, Status
from kernelwright.propose import options as proposer_options
from kernelwright.propose import table as proposers
from kernelwright.propose.model import ModelProposer
from kernelwright.search import STRATEGIES
from kernelwright.spaces import SAMPLERS
from kernelwright.worker import structures
from kernelwright.worker.profile import operation
from kernelwright.worker.profile.job import Job
from kernelwright.worker.structures.found import CALL
from laws import test_proposer_laws, test_sampler_laws, test_strategy_laws
from pages import ROOT, blocks, entry, example, named, run
from proposing import KERNEL, context, passed, starter

EXTENDING = ROOT / "docs" / "extending"
PAGES = sorted(EXTENDING.glob("*.md"))


def laws_of(suite: ModuleType) -> list[Any]:
    """Every law of a suite about something with a name, once for each of its other parameters."""
    found = []
    for title, law in inspect.getmembers(suite, inspect.isfunction):
        if not title.startswith("test_") or "name" not in inspect.signature(law).parameters:
            continue
        marks = [mark for mark in getattr(law, "pytestmark", ()) if mark.args[0] != "name"]
        for number, chosen in enumerate(itertools.product(*(mark.args[1] for mark in marks))):
            given = dict(zip((mark.args[0] for mark in marks), chosen, strict=True))
            found.append(pytest.param(law, given, id=f"{title.removeprefix('test_')}-{number}"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_holds_one_whole_file_and_reads_like_the_rest(page: Path) -> None:
    [(path, text)] = blocks(page)[0].items()
    ruff = [sys.executable, "-m", "ruff"]
    checked = [
        [*ruff, "check", "--quiet", "--extend-ignore", "T20", "--stdin-filename", path],  # a program of a user's prints
        [*ruff, "format", "--diff", "--stdin-filename", path],
    ]
    for command in checked:
        ended = subprocess.run([*command, "-"], input=text, capture_output=True, text=True, cwd=ROOT)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_is_in_the_table_of_pages(page: Path) -> None:
    assert f"(extending/{page.name})" in (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


# --- searching: the laws of all ---------------------------------------------------------------------------------


@pytest.fixture
def strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, fragments = example(EXTENDING / "strategy.md", tmp_path)
    name, made = entry(fragments[0], vars(module))
    monkeypatch.setitem(STRATEGIES, name, made)
    monkeypatch.setitem(test_strategy_laws.VARIANTS, "plain", (name, {}))
    monkeypatch.setattr(test_strategy_laws, "ORDERS", range(1))
    monkeypatch.setitem(test_strategy_laws.VARIANTS, "nested", (name, test_strategy_laws.NESTED))


@pytest.mark.usefixtures("strategy")
@pytest.mark.parametrize("variant", ["plain", "nested"])
@pytest.mark.parametrize(("law", "given"), laws_of(test_strategy_laws))
def test_the_strategy_keeps_the_law(law: Callable[..., None], given: dict[str, Any], variant: str) -> None:
    law(name=variant, **given)


@pytest.fixture
def sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    module, fragments = example(EXTENDING / "sampler.md", tmp_path)
    name, made = entry(fragments[0], vars(module))
    monkeypatch.setitem(SAMPLERS, name, made)
    return name


@pytest.mark.parametrize(("law", "given"), laws_of(test_sampler_laws))
def test_the_sampler_keeps_the_law(law: Callable[..., None], given: dict[str, Any], sampler: str) -> None:
    law(name=sampler, **given)


# --- proposing --------------------------------------------------------------------------------------------------


@pytest.fixture
def proposer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    module, fragments = example(EXTENDING / "proposer.md", tmp_path)
    names = {**vars(proposers), **vars(module)}
    name, made = entry(fragments[0], names)
    monkeypatch.setitem(proposers.PROPOSERS, name, made)
    monkeypatch.setitem(test_proposer_laws.MAKERS, name, lambda folder: proposers.build_proposer(name))
    return name


@pytest.mark.parametrize(("law", "given"), laws_of(test_proposer_laws))
def test_the_proposer_keeps_the_law(
    law: Callable[..., None], given: dict[str, Any], proposer: str, tmp_path: Path
) -> None:
    law(name=proposer, tmp_path=tmp_path, **given)


def test_the_proposer_changes_one_number_by_one_step(proposer: str) -> None:
    request = Request(number=1, operator=Operator.IMPROVE, round=1, parents=(0,))
    made = proposers.build_proposer(proposer).propose(request, context(starter(passed(100.0))))
    assert made is not None
    assert made.candidate is not None
    assert made.note.count("→") == 1


@dataclass(frozen=True)
class Made:
    provider: Callable[[str], Provider]
    proposer: Callable[[str], Any]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    module, fragments = example(EXTENDING / "provider.md", tmp_path)
    monkeypatch.setitem(sys.modules, "kernelwright.llm.command", module)
    names = {**vars(proposers), **vars(proposer_options)}
    run(fragments[0], names)
    run(fragments[1], names)
    name, made = entry(fragments[2], names)
    monkeypatch.setitem(proposers.PROPOSERS, name, made)
    return Made(module.Command, lambda line: proposers.build_proposer(name, {"line": line}))


def program(tmp_path: Path, text: str) -> str:
    file = tmp_path / "model.py"
    file.write_text(text)
    return f"{sys.executable} {file}"


def test_the_provider_hands_a_prompt_to_the_program_and_its_answer_back(command: Made, tmp_path: Path) -> None:
    line = program(tmp_path, "import sys; print(sys.stdin.read().upper())")
    reply = command.provider(line).complete(("be brief",), "why?")
    assert reply.text == "BE BRIEF\n\nWHY?\n"
    assert reply.usage.requests == 1
    assert not reply.truncated


@pytest.mark.parametrize(
    ("text", "why"),
    [("raise SystemExit('no credit')", "status 1: no credit"), ("import os; os.abort()", "said nothing")],
)
def test_a_program_that_fails_is_no_answer(command: Made, tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ProviderError, match=why):
        command.provider(program(tmp_path, text)).complete(("",), "")


def test_a_program_that_is_not_there_is_no_answer(command: Made) -> None:
    with pytest.raises(ProviderError, match="gave no answer"):
        command.provider("no-such-program-at-all").complete(("",), "")


def test_the_provider_writes_kernels_through_the_proposer(command: Made, tmp_path: Path) -> None:
    reply = f"Note: written.\n\n```python\n{KERNEL}```\n"
    made = command.proposer(program(tmp_path, f"print({reply!r})"))
    assert isinstance(made, ModelProposer)
    proposal = made.propose(Request(number=0, operator=Operator.SEED), context())
    assert proposal.error is None
    assert proposal.candidate is not None
    assert proposal.candidate.source.strip() == KERNEL.strip()


# --- taking away and bringing in --------------------------------------------------------------------------------


def test_the_exporter_writes_a_page_with_verdict_and_source(tmp_path: Path) -> None:
    module, fragments = example(EXTENDING / "exporter.md", tmp_path)
    name, exporter = entry(fragments[0], {**vars(exporters), **vars(module)})
    subject = softmax()
    [(path, text)] = exporter.files(subject).items()
    assert (name, path) == ("card", "KERNEL.md")
    assert text.startswith(f"# softmax, candidate {subject.candidate.id}\n\npassed on the interpreter")
    assert subject.source.rstrip("\n") in text


def test_the_importer_reads_the_cells_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, fragments = example(EXTENDING / "importer.md", tmp_path)
    name, importer = entry(fragments[0], {**vars(importers), "notebook": module})
    monkeypatch.setitem(importers.IMPORTERS, name, importer)
    cells = [
        {"cell_type": "markdown", "source": ["def kernel_function"]},
        {"cell_type": "code", "source": ["import torch\n", "print(1)"]},
        {"cell_type": "code", "source": "def kernel_function(x):\n    return torch.relu(x)"},
        {"cell_type": "code", "source": "def kernel_function(x:\n"},
    ]
    notebook = tmp_path / "kernels.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    taker, found = importers.read_seeds(notebook, None)
    assert taker == name
    assert [seed.name for seed in found.seeds] == ["cell 2"]
    assert found.seeds[0].candidate.source.startswith("import torch\ndef kernel_function")
    assert list(found.useless) == ["cell 3"]


# --- measuring --------------------------------------------------------------------------------------------------


@pytest.fixture
def profilers(tmp_path: Path) -> tuple[ModuleType, tuple[Any, ...]]:
    module, fragments = example(EXTENDING / "profiler.md", tmp_path)
    names = {**vars(operation), **vars(module)}
    run(fragments[0], names)
    return module, names["PROFILERS"]


def test_the_profiler_reads_launches_in_the_order_of_time(
    profilers: tuple[ModuleType, tuple[Any, ...]], tmp_path: Path
) -> None:
    export = tmp_path / "report.sqlite"
    kernels = (
        "start",
        "end",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "registersPerThread",
        "demangledName",
    )
    with closing(sqlite3.connect(export)) as database, database:
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        database.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(kernels)})")
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(7, "second"), (8, "first")])
        rows = [(9000, 9500, 4, 1, 1, 128, 1, 1, 40, 7), (1000, 3000, 64, 2, 1, 256, 1, 1, 32, 8)]
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * 10)})", rows)
    first, second = profilers[0].of_export(export)
    assert (first.kernel, first.grid, first.block) == ("first", (64, 2, 1), (256, 1, 1))
    assert (first.value("duration"), first.value("registers")) == (2.0, 32)
    assert (second.kernel, second.value("duration")) == ("second", 0.5)


def test_where_the_profilers_tool_is_missing_the_next_is_tried(
    profilers: tuple[ModuleType, tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    module, table = profilers
    site: Any = None
    job = Job(problem="", case="", device="cpu", marks="none")
    own = [one for one in table if isinstance(one, module.NsightSystems)]
    assert operation.by_first(site, job, False, own) == (None, (), {"nsys": "nsys is not on PATH"})
    with pytest.raises(module.CannotProfile, match="no table of kernels"):
        module.of_export(tmp_path / "absent.sqlite")


def test_a_worker_behind_another_argv_judges_a_candidate(tmp_path: Path) -> None:
    example(EXTENDING / "worker.md", tmp_path)
    honest = ROOT / "tests" / "honest"
    asked = [str(honest / "problems" / "relu_bias.py"), str(honest / "kernels" / "relu_bias" / "any_strides.py")]
    behind = ["nice", "-n", "1", sys.executable, "-m", "kernelwright.worker"]
    command = [sys.executable, str(tmp_path / "judge_elsewhere.py"), *asked, *behind]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("passed on ")


# --- structures --------------------------------------------------------------------------------------------------


DIAGONAL = """
import torch

class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.diagonal(a @ b)

def get_inputs():
    return [torch.randn(N, K), torch.randn(K, N)]

def get_init_inputs():
    return []

N, K = 1000, 700
CASES = [dict(name="large"), dict(name="small", small=True, N=33, K=50), dict(name="long", small=True, N=2, K=600)]
"""


def test_the_structure_matches_a_diagonal_and_its_kernel_is_right(
    shared_worker: StartedWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, fragments = example(EXTENDING / "structure.md", tmp_path)
    monkeypatch.setitem(structures.STRUCTURES, *entry(fragments[0], vars(module)))  # type: ignore[arg-type]
    a, b = torch.zeros(8, 4), torch.zeros(4, 8)
    traced = make_fx(lambda a, b: torch.diagonal(a @ b) * 2, tracing_mode="fake")
    graph, other = traced(a, b), traced(torch.zeros(8, 4), torch.zeros(4, 9))
    assert structures.matched(other) == []
    with structures.with_structures():
        assert structures.matched(graph) == ["diagonal"]
    assert next(node.target for node in graph.graph.nodes if node.op == "call_function") is CALL
    (found,) = module.find_diagonal(traced(a, b))
    tunables = "\n".join(f"DIAGONAL_{key} = {value}" for key, value in found.structure.config.items())
    kernel = "def kernel_function(a, b):\n    return diagonal(a, b)"
    (tmp_path / "diagonal.py").write_text(DIAGONAL)
    shared_worker().load(str(tmp_path / "diagonal.py"))
    source = "\n\n\n".join([IMPORTS, found.structure.source, tunables, kernel])
    result = shared_worker().evaluate(Candidate(source=source + "\n"), "verify")
    assert {case.status for case in result.results if "large" not in case.case} == {Status.PASSED}, result.reason
