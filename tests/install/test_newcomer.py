"""A newcomer's walk with an installed wheel: the README's Python, and an agent over MCP."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    return install(build_wheel(folder), folder)


def test_the_python_of_the_readme_runs(fresh: Fresh) -> None:
    (code,) = (code for code in codes(ROOT / "README.md") if code.language == "python")
    (fresh.home / "first.py").write_text(code.text)
    assert fresh("python", "first.py").stdout.startswith("right\nmine qualifies: no trivial answer passes")


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


def test_an_agent_finds_the_problems_that_come_with_the_wheel(fresh: Fresh) -> None:
    pytest.importorskip("mcp", reason="the MCP server needs mcp: pip install -e '.[mcp]'")
    names = fresh("python", "-c", AGENT, str(fresh.python.with_name("kernelwright"))).stdout.split()
    assert {"softmax", "matmul", "max_pool3d"} <= set(names)
