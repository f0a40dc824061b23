"""A newcomer's walk with an installed wheel: the README's Python, a notebook, and an agent over MCP."""

from __future__ import annotations

import json
import time

import pytest

from fresh import ROOT, Fresh, build_wheel, install
from pages import codes

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")
pytest.importorskip("hatchling", reason="building the wheel needs hatchling: pip install -e '.[dev]'")

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

AGENT = """
import anyio, sys
from mcp import StdioServerParameters
from mcp.client import Client

async def main():
    started = StdioServerParameters(command=sys.argv[1], args=["mcp"])
    async with Client(started) as client:
        answer = await client.call_tool("list_problems", {})
        assert not answer.is_error
        print(*[one["name"] for one in answer.structured_content["result"]])

anyio.run(main)
"""


NOTEBOOK = """
import json, nbformat
from nbclient import NotebookClient

cells = [
    "import torch, kernelwright",
    "problem = kernelwright.Problem.from_module(torch.nn.GELU(), torch.randn(8, 64), name='mine')",
    "kernelwright.check(problem)",
    "kernelwright.optimize(problem, trials=1, out='run')",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
shown = [[one.data["text/html"] for one in cell.outputs if "data" in one] for cell in notebook.cells]
print(json.dumps(shown))
"""
"""Every cell has a limit in seconds: a kernel that does not answer ends the test."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    return install(build_wheel(folder), folder)


def test_the_python_of_the_readme_runs(fresh: Fresh) -> None:
    (code,) = (code for code in codes(ROOT / "README.md") if code.language == "python")
    (fresh.home / "first.py").write_text(code.text)
    assert fresh("python", "first.py").stdout.startswith("right\nmine qualifies: no trivial answer passes")
    assert (fresh.home / "problems" / "mine" / "problem.py").is_file()


def test_a_first_kernel_is_verified_and_the_time_to_it_is_printed(
    fresh: Fresh, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import kernelwright; softmax = kernelwright.Problem.find('softmax'); "
        "print(kernelwright.verify(softmax, softmax.files.best).passed)"
    )
    began_s = time.monotonic()
    assert fresh("python", "-c", code).stdout == "True\n"
    with capsys.disabled():
        print(f"\ntime to the first verified kernel on this CPU: {time.monotonic() - began_s:.0f} s")


@pytest.mark.timeout(240)
def test_a_notebook_shows_what_the_functions_return(fresh: Fresh) -> None:
    """A search of one trial: with more, or a problem of the gallery, it takes minutes on a CPU."""
    for package in ("nbclient", "ipykernel"):
        pytest.importorskip(package, reason="running a notebook needs nbclient and ipykernel: pip install -e '.[dev]'")
    imports, problem, (checked,), (progress, run) = json.loads(fresh("python", "-c", NOTEBOOK).stdout)
    assert imports == problem == []
    assert checked.startswith("<p><b>mine qualifies: no trivial answer passes")
    assert "best so far" in progress
    assert run.startswith("<p><b>")
    assert "gelu" in (fresh.home / "run" / "best_kernel.py").read_text()


def test_an_agent_finds_the_problems_that_come_with_the_wheel(fresh: Fresh) -> None:
    pytest.importorskip("mcp.server", reason="the MCP server needs mcp: pip install -e '.[mcp]'")
    names = fresh("python", "-c", AGENT, str(fresh.python.with_name("kernelwright"))).stdout.split()
    assert {"softmax", "matmul", "max_pool3d"} <= set(names)
