"""The tools of the MCP server that need no run: problems, and candidates judged, timed and exported by themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from kernelwright.errors import RequestError
from kernelwright.folders import write_file
from kernelwright.jobs import bench as bench_job
from kernelwright.jobs import check as check_job
from kernelwright.jobs import export as export_job
from kernelwright.jobs import verify as verify_job
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.exportable import ExportSource
from kernelwright.jobs.loading import read_candidate
from kernelwright.mcp.calls import BEGINS, READS, WRITES, awaited
from kernelwright.model import Candidate
from kernelwright.problems.paths import PROBLEM_FILE, WRITTEN, gallery_problems
from kernelwright.report.bench import bench_text
from kernelwright.report.bounds import bounds_text
from kernelwright.report.derived import derived_text
from kernelwright.report.evaluation import evaluation_text
from kernelwright.report.gallery import computes
from kernelwright.report.qualification import qualification_text
from kernelwright.source import parse as syntax
from kernelwright.text.escape import is_fit

LARGEST_BYTES = 256 << 10

PLACE = re.compile(rf"{WRITTEN}/[^./][^/]*(?:/{PROBLEM_FILE}|\.py)")
"""Where a problem is written: no part begins with a dot."""


def add_tools(made: MCPServer, agent: AgentSession) -> None:
    add_problem_tools(made, agent)
    add_candidate_tools(made, agent)


def add_problem_tools(made: MCPServer, agent: AgentSession) -> None:
    @made.tool(annotations=READS)
    def list_problems(folder: str = ".") -> list[dict[str, str]]:
        """The problems in a folder's gallery and in kernelwright's, each with its name and what it computes. start_run
        takes a name, or the path of any problem file."""
        files = gallery_problems(Path(folder))
        return [{"name": name, "file": str(file.resolve()), "about": computes(file)} for name, file in files.items()]

    @made.tool(annotations=WRITES)
    def write_problem(file: str, text: str) -> dict[str, str]:
        """Write a new problem, problems/NAME.py or problems/NAME/problem.py in the current folder. text: Python with
        class Model(nn.Module), get_inputs() and get_init_inputs(), as KernelBench has them; and, better, CASES, a list
        of dict(name=…, dtype=…, small=True or held_out=True, and values for arguments of get_inputs and
        get_init_inputs), with two small cases that a machine without a GPU can judge. Overwrites nothing. Then call
        check_problem."""
        return {"file": str(written(file, text)), "what_now": "check_problem says whether it can be used"}

    @made.tool(annotations=BEGINS)
    async def check_problem(ctx: Context[Any, Any], problem: str) -> dict[str, Any]:
        """Whether a problem can tell a kernel from trivial answers, and the least time for each case. qualifies: true,
        false, or null where this machine could judge no case. Runs the problem's file."""
        return await awaited(ctx, f"checking {problem}", lambda: checked(problem, agent))


def add_candidate_tools(made: MCPServer, agent: AgentSession) -> None:
    @made.tool(annotations=BEGINS)
    async def verify(
        ctx: Context[Any, Any], problem: str, file: str | None = None, source: str | None = None
    ) -> dict[str, Any]:
        """Judge a kernel outside of any run, on every case, without timing it. file: a Python file; or source: the
        module itself. Gives its status, the reason, and what was found of each case."""
        return await awaited(ctx, f"verifying a kernel for {problem}", lambda: verified(problem, file, source, agent))

    @made.tool(annotations=BEGINS)
    async def bench(
        ctx: Context[Any, Any], problem: str, files: list[str] | None = None, max_autotune: bool = False
    ) -> str:
        """Time eager PyTorch, torch.compile, the problem's starter and best kernel, and these files side by side; a
        table for each case. Minutes on a GPU; without one the times are estimates, and say so."""
        settings = bench_job.BenchSettings(max_autotune=max_autotune)
        return await awaited(
            ctx,
            f"timing kernels for {problem}",
            lambda: bench_text(bench_job.bench(problem, files or (), settings, desk=agent.desk)),
        )

    @made.tool(annotations=BEGINS)
    async def export(
        ctx: Context[Any, Any],
        what: str,
        problem: str | None = None,
        out: str | None = None,
        format: str = export_job.PACKAGE,
    ) -> dict[str, Any]:
        """Write a kernel out for use elsewhere. what: a run's folder (its confirmed best) or a kernel's file, with the
        problem that it is for. format: op, a package that falls back to PyTorch wherever the kernel was not measured to
        be faster; kernelbench; hf-kernels. out: a folder that is new or empty. Gives the folder and its files, or the
        reason why nothing was written."""
        source = ExportSource(what, problem=problem)
        return await awaited(ctx, f"exporting {what}", lambda: exported(source, format, out, agent))


def written(file: str, text: str) -> Path:
    """A new problem file. Raises `RequestError` for a place that `PLACE` does not match or that is taken, and for text
    that is too long or does not parse."""
    if not (PLACE.fullmatch(file) and is_fit(file)):
        raise RequestError(
            f"{file!r} is no place of a problem", f"write {WRITTEN}/NAME.py or {WRITTEN}/NAME/problem.py"
        )
    if Path(file).exists():
        raise RequestError(f"{file} exists already", "choose another name, or edit the file itself")
    if (size := len(text.encode(errors="replace"))) > LARGEST_BYTES:
        raise RequestError(f"the text has {size} bytes", f"at most {LARGEST_BYTES} are written")
    try:
        syntax.parse(text)
    except (SyntaxError, ValueError) as error:
        where = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise RequestError(f"the text does not parse as Python{where}: {error}", "mend it") from error
    write_file(Path(), file, text)
    return Path(file)


def checked(problem: str, agent: AgentSession) -> dict[str, Any]:
    found = check_job.check(problem, desk=agent.desk)
    parts = [
        derived_text(found.problem),
        qualification_text(found.qualification, found.problem.title),
        bounds_text(found.problem.cases, found.eager),
    ]
    return {
        "qualifies": found.qualification.qualifies,
        "cases": [one.case.name for one in found.problem.cases],
        "text": "\n\n".join(filter(None, parts)),
    }


def verified(problem: str, file: str | None, source: str | None, agent: AgentSession) -> dict[str, Any]:
    if (file is None) == (source is None):
        raise RequestError("a kernel is a file or a source", "give one of them")
    candidate = read_candidate(file) if file is not None else Candidate(source=source or "")
    found = verify_job.verify(problem, candidate, desk=agent.desk)
    evaluation = found.evaluation
    return {
        "status": evaluation.status.value,
        "reason": evaluation.reason,
        "text": evaluation_text(evaluation, found.problem.cases),
    }


def exported(source: ExportSource, format: str, out: str | None, agent: AgentSession) -> dict[str, Any]:
    found = export_job.export(source, desk=agent.desk, format=format, out=out)
    return {
        "folder": None if found.folder is None else str(found.folder),
        "files": list(found.files),
        "check": found.checked,
        "has_figures": found.has_figures,
        "library": found.library,
        "reason": found.reason,
    }
