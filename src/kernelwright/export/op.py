"""The exporter `op`: a package to install or vendor, with the kernel as a PyTorch operator that is used only where it
is faster.

The package is complete and does not depend on kernelwright. It can test and time itself (`check`, `benchmark`), and
`kernelwright recheck` judges it again.
"""

from __future__ import annotations

import ast

import msgspec

from kernelwright.codec import encode, plain
from kernelwright.export.names import OF_A_PAIR, SHARED, STATIC
from kernelwright.export.op_arguments import Arguments, alike, arguments_of
from kernelwright.export.op_texts import arguments_text, forward_text, init_text, readme_text
from kernelwright.export.pair_arguments import forward_subject, pair_of
from kernelwright.export.subject import Subject
from kernelwright.export.wins import spec, wins_document
from kernelwright.model import CaseInfo, TensorSpec
from kernelwright.source import parse as syntax
from kernelwright.templates import rendered, shipped

HOME = "kernelwright.export"


def op_files(subject: Subject) -> dict[str, str | bytes]:
    """The package's files, contents by path. Raises `RequestError` for a problem that cannot become an operator."""
    whole, subject = subject, forward_subject(subject)
    arguments = arguments_of(subject)
    pair = pair_of(whole, arguments) if whole.problem.gradients else None
    cases = usable_cases(subject, arguments)
    package = subject.package
    files: dict[str, str | bytes] = {
        **{f"{package}/{path}": content for path, content in subject.beside.items()},
        **static_texts(package, pair is not None),
        f"{package}/__init__.py": init_text(subject, arguments),
        f"{package}/arguments.py": arguments_text(subject, arguments, pair),
        f"{package}/forward.py": forward_text(subject, arguments, pair is not None),
        f"{package}/kernel.py": subject.source,
        f"{package}/reference.py": subject.problem_text,
        f"{package}/cases.json": json_text([stated(info) for info in cases]),
        f"{package}/wins.json": json_text(
            wins_document(subject.results, cases, subject.evaluation.library, pair is not None)
        ),
        f"{package}/provenance.json": json_text(subject.provenance()),
        f"tests/test_{package}.py": rendered(HOME, "package/test.py.j2", package=package),
        "pyproject.toml": rendered(
            "kernelwright.export", "package/pyproject.toml.j2", package=package, title=subject.title
        ),
        "README.md": readme_text(subject, arguments, pair),
    }
    if subject.cases_text is not None:
        files[f"{package}/reference.cases.json"] = subject.cases_text
    return files


def static_texts(package: str, is_pair: bool) -> dict[str, str]:
    """The modules with the same text in every package, texts by path. is_pair: of a candidate with a backward."""
    names = {name: name for name in (*STATIC, *(OF_A_PAIR if is_pair else ()))}
    names |= {"op": "pair_op"} if is_pair else {}
    files = {f"{package}/{name}.py": shipped(HOME, f"package/{file}.py.txt") for name, file in names.items()}
    return {**files, f"{package}/{SHARED}.py": shipped("kernelwright.source", f"{SHARED}.py")}


def usable_cases(subject: Subject, arguments: Arguments) -> tuple[CaseInfo, ...]:
    """The cases that the package can run, without those whose parameters change the Model: the package has only one."""
    fixed = constants_of_model(subject.problem_text)
    return tuple(info for info in subject.problem.cases if alike(info, arguments) and not fixed & set(info.case.params))


def constants_of_model(text: str) -> set[str]:
    """Names assigned at module level that class Model, or a function it may call, reads."""
    tree = syntax.parse(text)
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    makers = ("get_inputs", "get_init_inputs", "work")
    bodies = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and getattr(node, "name", "") not in makers
    ]
    read = {node.id for body in bodies for node in ast.walk(body) if isinstance(node, ast.Name)}
    return assigned & read


def stated(info: CaseInfo) -> dict[str, object]:
    case = info.case
    return {
        "name": case.name, "params": case.params, "dtype": case.dtype, "small": case.small,
        "held_out": case.held_out, "work_bytes": info.bytes, "init": plain(info.init),
        "inputs": [spec(value) if isinstance(value, TensorSpec) else value for value in info.inputs],
        "parameters": [spec(value) for value in info.parameters.values()],
        "outputs": [spec(value) for value in info.outputs],
    }  # fmt: skip


def json_text(content: object) -> str:
    return msgspec.json.format(encode(plain(content)), indent=1).decode() + "\n"
