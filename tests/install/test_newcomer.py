"""A newcomer's walk with an installed wheel: the README's Python, a notebook, and an agent over MCP."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from fresh import ROOT, Fresh, build_wheel, install
from pages import codes

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")
pytest.importorskip("hatchling", reason="building the wheel needs hatchling: pip install -e '.[dev]'")

pytestmark = [pytest.mark.process, pytest.mark.timeout(3600)]

AGENT = """
import anyio, sys
from mcp import StdioServerParameters
from mcp.client import Client

async def main():
    started = StdioServerParameters(command=sys.argv[1], args=["mcp"])
    async with Client(started) as client:
        async def call(tool, **given):
            answer = await client.call_tool(tool, given)
            assert not answer.is_error, answer.content
            return answer.structured_content

        print(*[one["name"] for one in (await call("list_problems"))["result"]])
        await call("start_run", problem="layer.py")
        while (found := await call("wait"))["state"]["doing"] is not None:
            pass
        print("@triton.jit" in (await call("next_request"))["prompt"])
        await call("finish")
        while (found := await call("wait"))["state"]["doing"] is not None:
            pass
        print(found["state"]["verdict"])

anyio.run(main)
"""


NOTEBOOKS = ("nbclient", "ipykernel")
"""What runs a notebook, which kernelwright does not bring."""

NOTEBOOK = """
import json, nbformat
from nbclient import NotebookClient

cells = [
    "import torch, kernelwright",
    "layers = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.GELU())",
    "problem = kernelwright.Problem.from_module(layers, torch.randn(8, 64), name='mine')",
    "kernelwright.check(problem)",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(notebook, timeout=1000, kernel_name="python3").execute()
shown = [[one.data["text/html"] for one in cell.outputs if "data" in one] for cell in notebook.cells]
print(json.dumps(shown))
"""
"""Every cell has a limit in seconds: a kernel that does not answer ends the test."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    return install(build_wheel(folder), folder, besides=tuple(filter(find_spec, NOTEBOOKS)))


@pytest.fixture(scope="module")
def layer(fresh: Fresh) -> str:
    """The file with which docs/start.md begins."""
    (code,) = (code for code in codes(ROOT / "docs" / "start.md") if code.language == "python")
    (fresh.home / "layer.py").write_text(code.text)
    return "layer.py"


def test_the_python_of_the_readme_runs(fresh: Fresh) -> None:
    code = next(code for code in codes(ROOT / "README.md") if code.language == "python")
    (fresh.home / "first.py").write_text(code.text)
    said = fresh("python", "first.py").stdout
    assert said.startswith("mine qualifies: no trivial answer passes")
    assert said.endswith("['1']\n"), "the package is in the model"
    assert (fresh.home / "problems" / "mine" / "problem.py").is_file()


@pytest.mark.timeout(3600)
def test_a_notebook_shows_what_the_functions_return(fresh: Fresh) -> None:
    for package in NOTEBOOKS:
        pytest.importorskip(package, reason="running a notebook needs nbclient and ipykernel: pip install -e '.[dev]'")
    imports, layers, problem, (checked,) = json.loads(fresh("python", "-c", NOTEBOOK).stdout)
    assert imports == layers == problem == []
    assert checked.startswith("<p><b>mine qualifies: no trivial answer passes")


def test_an_agent_finds_the_problems_that_come_with_the_wheel_and_runs_a_search(fresh: Fresh, layer: str) -> None:
    pytest.importorskip("mcp.server", reason="the MCP server needs mcp: pip install -e '.[mcp]'")
    names, has_parent, *verdict = fresh(
        "python", "-c", AGENT, str(fresh.python.with_name("kernelwright"))
    ).stdout.splitlines()
    assert {"softmax", "matmul", "max_pool3d"} <= set(names.split())
    assert has_parent == "True", "the first request shows the kernel that torch.compile generates"
    assert "µs (estimate)" in "".join(verdict)
