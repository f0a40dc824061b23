"""The exporter `op`: a package to install or vendor, with the kernel as a PyTorch operator that is used only where it
is faster.

The package is complete and does not depend on kernelwright. It can test and time itself (`check`, `benchmark`), and
`kernelwright recheck` judges it again.
"""

from __future__ import annotations

import ast
import json
from importlib import resources

import msgspec

from kernelwright.codec import encode, plain
from kernelwright.export.names import OF_A_PAIR, SHARED, STATIC
from kernelwright.export.op_arguments import Arguments, alike, arguments_of, arguments_text
from kernelwright.export.op_forward import forward_text
from kernelwright.export.pair_arguments import Pair, forward_subject, pair_arguments_text, pair_of
from kernelwright.export.subject import Subject
from kernelwright.export.wins import spec, wins_document
from kernelwright.model import CaseInfo, TensorSpec
from kernelwright.report.evaluation import constant_texts, library_text, serves_texts, unqualified_text
from kernelwright.source import parse as syntax
from kernelwright.text.escape import in_code


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
        f"{package}/arguments.py": arguments_text(subject, arguments)
        if pair is None
        else pair_arguments_text(subject, arguments, pair),
        f"{package}/forward.py": forward_text(subject, arguments, pair is not None),
        f"{package}/kernel.py": subject.source,
        f"{package}/reference.py": subject.problem_text,
        f"{package}/cases.json": json_text([stated(info) for info in cases]),
        f"{package}/wins.json": json_text(
            wins_document(subject.results, cases, subject.evaluation.library, pair is not None)
        ),
        f"{package}/provenance.json": json_text(subject.provenance()),
        f"tests/test_{package}.py": test_text(package),
        "pyproject.toml": project_text(subject),
        "README.md": readme_text(subject, arguments, pair),
    }
    if subject.cases_text is not None:
        files[f"{package}/reference.cases.json"] = subject.cases_text
    return files


def static_texts(package: str, is_pair: bool) -> dict[str, str]:
    """The modules with the same text in every package, texts by path. is_pair: of a candidate with a backward."""
    texts = resources.files("kernelwright.export") / "package"
    shared = resources.files("kernelwright.source") / f"{SHARED}.py"
    names = {name: name for name in (*STATIC, *(OF_A_PAIR if is_pair else ()))}
    names |= {"op": "pair_op"} if is_pair else {}
    files = {f"{package}/{name}.py": (texts / f"{file}.py.txt").read_text("utf-8") for name, file in names.items()}
    return {**files, f"{package}/{SHARED}.py": shared.read_text("utf-8")}


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


# --- generated files ------------------------------------------------------------------------------------------


def init_text(subject: Subject, arguments: Arguments) -> str:
    function = has_function(subject, arguments)
    init = [repr(value) for value in default_init(subject)]
    functions = {subject.name: init, f"{subject.name}_in_graphs": [*init, "graphs=True"]} if function else {}
    exported = ["Module", "explain", "patch", "unpatch", "warm", *functions]
    made = "".join(f"{name} = Module({', '.join(given)}).forward\n\n" for name, given in functions.items())
    return f'''"""A kernel for {subject.title}, used where it was measured to be faster.

Made by {subject.maker}. README.md says how to use it, provenance.json its origin.
{in_code(sentence(library_text(subject.evaluation)))}
"""

from __future__ import annotations

from .module import Module, explain, patch, unpatch
from .warm import warm

{made}__all__ = {json.dumps(sorted(exported))}
'''


def has_function(subject: Subject, arguments: Arguments) -> bool:
    """Whether one function can replace the problem's module: it has no parameters, and all cases construct it with the
    same arguments."""
    return not arguments.parameters and len({encode(info.init) for info in subject.problem.cases}) == 1


def default_init(subject: Subject) -> tuple[object, ...]:
    return subject.problem.cases[0].init


def test_text(package: str) -> str:
    return f'''"""The package's own checks under pytest; those of the kernel run on the GPU it was measured on."""

import pytest

from {package} import check


@pytest.mark.parametrize("one", check.ANYWHERE, ids=lambda one: one.__name__)
def test_anywhere(one):
    one()


@pytest.mark.skipif(not check.measured_here(), reason="this is not the GPU that the kernel was measured on")
@pytest.mark.parametrize("one", check.ON_THE_GPU, ids=lambda one: one.__name__)
def test_on_the_gpu(one):
    one()
'''


def project_text(subject: Subject) -> str:
    return f"""[build-system]
requires = ["hatchling>=1.27,<2"]
build-backend = "hatchling.build"

[project]
name = "{subject.package.replace("_", "-")}"
version = "0.1.0"
description = "A kernel for {subject.title}, used where it is faster than PyTorch."
readme = "README.md"
requires-python = ">=3.10"
# Triton comes with torch on Linux and is imported when the kernel is first used.
dependencies = ["torch>=2.9"]

[tool.hatch.build.targets.wheel]
packages = ["{subject.package}"]
"""


def sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


UNMEASURED = """
**Nothing was measured: PyTorch serves every call**, until you have run this on a machine with the GPU, where the
package is installed (`--vary` adds the sizes that you need):

```sh
python -m {package}.benchmark --write
```
"""


FORWARD_ONLY = """aligned, under autocast, and wherever a gradient is wanted. `explain(module, *inputs)` says which
it is, and why."""

BOTH = """aligned, and under autocast. `explain(module, *inputs)` says which it is, and why.

The package has the backward, too: `loss.backward()` and `torch.compile` run it wherever forward and backward together
were measured to be faster. A call that wants no gradient goes by the forward's own figures. PyTorch runs both where
gradients are wanted of some of {differentiated} only. `create_graph=True` is refused where the kernels ran."""


IN_PLACE = """
It changes {changed} in place, in eager calls; the graphs of `torch.compile` keep PyTorch's own operations. PyTorch also
serves calls where one of these shares memory with another input.
"""


def use_text(subject: Subject, arguments: Arguments) -> tuple[str, str]:
    """Example code: how a program calls the package, and how it does in a captured CUDA graph."""
    package, names = subject.package, ", ".join(arguments.names)
    if has_function(subject, arguments):
        used = f"from {package} import {subject.name}\n\ny = {subject.name}({names})\n"
        return used, f"{package}.{subject.name}_in_graphs({names})"
    made = f"Module({', '.join(arguments.init)})"
    comment = "used, saved and loaded like the problem's Model"
    used = f"from {package} import Module\n\nm = {made}  # {comment}\ny = m({names})\n"
    return used, f"Module({', '.join([*arguments.init, 'graphs=True'])})"


def remarks_text(subject: Subject, arguments: Arguments) -> str:
    """Paragraphs on inputs that the kernel does not support, on its library steps, and on missing measurements."""
    evaluation = subject.evaluation
    lines = [f"The kernel {line}." for line in serves_texts(evaluation)] + [sentence(library_text(evaluation))]
    if evaluation.unqualified:
        lines.append(unqualified_text(evaluation.unqualified))
    lines += map(sentence, constant_texts(evaluation.constant))
    remarks = "".join(f"\n{line}\n" for line in lines)
    if arguments.mutates:
        remarks += IN_PLACE.format(changed=", ".join(arguments.names[place] for place in arguments.mutates))
    if subject.results is None and not subject.measures:
        remarks += UNMEASURED.format(package=subject.package)
    return remarks


def readme_text(subject: Subject, arguments: Arguments, pair: Pair | None = None) -> str:
    package, evaluation = subject.package, subject.evaluation
    where = subject.environment.device or "no GPU (Triton's CPU interpreter, small cases only)"
    verified = {"device": f"on {where}", "interpreter": f"on {where}", None: "nowhere"}[evaluation.verified_on]
    used, in_graphs = use_text(subject, arguments)
    gradients = FORWARD_ONLY
    if pair is not None:
        known = zip((*arguments.names, *arguments.parameters), pair.differentiated, strict=True)
        gradients = BOTH.format(differentiated=", ".join(name for name, has_one in known if has_one))
    return f"""# {package}

A Triton kernel for {subject.title} by {subject.maker}, verified {verified}.
{remarks_text(subject, arguments)}
```python
{used}```

To put it into a model that you have, and to take it out again:

```python
from {package} import patch, unpatch

patch(model, "layers.*.act")   # or a class, or a function of name and module
unpatch(model)
```

The kernel runs where `wins.json` says that it was measured to be faster than PyTorch, call time included. PyTorch runs
everywhere else: on other shapes and dtypes, on other GPU models and the CPU, on inputs that are not contiguous and
{gradients}

A program that replays CUDA graphs (captured by hand, or by `torch.compile(mode="reduce-overhead")`) pays for the launch
of a kernel once, at the capture. `{in_graphs}` and `patch(model, …, graphs=True)` take the kernel wherever device time
alone was measured to win. Call each shape once before it is captured.

| command | does |
|---|---|
| `python -m {package}.check` | says whether the package works here |
| `python -c "import {package}; print({package}.warm())"` | compiles it ahead of the first calls |
| `python -m {package}.benchmark` | times the kernel against PyTorch on this GPU, and says where it is taken |
| `python -m {package}.benchmark --write --vary NAME=V,V` | and goes by these figures from now on, on this GPU |
| `kernelwright recheck PATH` | after an upgrade: still right, still faster? |

`--vary` adds sizes, by the names of the problem's own parameters ({", ".join(subject.problem.cases[0].case.params)}).

`kernel.py` is the kernel as it was verified, host code included, and `reference.py` the problem; read both.
`torch.ops.{package}.{subject.name}` is the operator itself: it chooses by layout and alignment alone.
"""
