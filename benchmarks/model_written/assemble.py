"""Writes a problem and a candidate for each kernel of a manifest: `assemble.py OUT --from FOLDER`.

FOLDER holds the collections as bare git directories, OWNER+NAME/repo. OUT/COLLECTION.NAME gets `problem.py`, which is
one of `problems/`, and the collection's text with our name for its entry: `honest.py`, `wrong.py` or `wrong_cheat.py`,
as `benchmarks/faults.py` reads them. `--manifest FILE` takes another list, `--name PATTERN` only some of it. Nothing of
a collection is imported or run.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import hashlib
import io
import subprocess
import tokenize
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
"""What the collections' own programs define before they run a text without imports."""
LAUNCH = """

def kernel_function(x):
    rows, columns = x.shape
    out = torch.empty_like(x)
    {name}[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out
"""
NO_EPILOGUE = 'EPILOGUE = "none"'


FILES = {"clean": "honest.py", "wrong": "wrong.py", "cheat": "wrong_cheat.py"}
"""By label."""


class AssemblyError(Exception):
    """A collection does not have what the manifest says."""


def read_file(folder: Path, collection: Mapping[str, str], path: str) -> str:
    """Text of a collection's file at its commit."""
    directory = folder / collection["repository"].replace("/", "+") / "repo"
    command = ["git", f"--git-dir={directory}", "show", f"{collection['commit']}:{path}"]
    answer = subprocess.run(command, capture_output=True, check=False)
    if answer.returncode:
        raise AssemblyError(f"{directory} has no {path} at {collection['commit']}: {answer.stderr.decode().strip()}")
    return answer.stdout.decode()


def take_function(text: str, name: str) -> str:
    """Lines of one function of a module, with its decorators."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            return "".join(text.splitlines(keepends=True)[first - 1 : node.end_lineno])
    raise AssemblyError(f"no function {name}")


def rename(text: str, old: str, new: str) -> str:
    """The text with another name in place of one, where it is a name: not in comments and strings."""
    lines = text.splitlines(keepends=True)
    names = [
        token.start
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and token.string == old
    ]
    if not names:
        raise AssemblyError(f"no name {old}")
    for row, column in reversed(names):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)


def make_candidate(kernel: Mapping[str, Any], text: str) -> str:
    """A candidate from a collection's text. Raises AssemblyError where the text has another sha256."""
    if "function" in kernel:
        text = take_function(text, kernel["function"])
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != kernel["sha256"]:
        raise AssemblyError(f"{kernel['path']} has the sha256 {found}, expected {kernel['sha256']}")
    match kernel["form"]:
        case "model":
            return rename(text, "Model", "ModelNew")
        case "run":
            return IMPORTS + rename(text, "run", "kernel_function").rstrip() + "\n"
        case "softmax":
            return IMPORTS + text + LAUNCH.format(name=kernel["function"])
        case form:
            raise AssemblyError(f"no form {form}")


def make_problem(kernel: Mapping[str, Any]) -> str:
    """The problem's text, with the epilogue of this kernel if it has one."""
    text = (HERE / "problems" / f"{kernel['problem']}.py").read_text(encoding="utf-8")
    if "epilogue" not in kernel:
        return text
    if text.count(NO_EPILOGUE) != 1:
        raise AssemblyError(f"problem {kernel['problem']} takes no epilogue")
    return text.replace(NO_EPILOGUE, f'EPILOGUE = "{kernel["epilogue"]}"')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="folder", type=Path, required=True, help="the collections, OWNER+NAME/repo each")
    parser.add_argument("--manifest", type=Path, default=HERE / "manifest.toml")
    parser.add_argument("--name", default="*", help="only kernels whose id matches this pattern")
    options = parser.parse_args()
    manifest = tomllib.loads(options.manifest.read_text(encoding="utf-8"))
    kernels = [kernel for kernel in manifest["kernel"] if fnmatch.fnmatch(kernel["id"], options.name)]
    for kernel in kernels:
        collection = manifest["collection"][kernel["id"].split("/")[0]]
        text = read_file(options.folder, collection, kernel["path"])
        try:
            candidate, problem = make_candidate(kernel, text), make_problem(kernel)
        except AssemblyError as error:
            raise SystemExit(f"{kernel['id']}: {error}") from error
        folder = options.out / kernel["id"].replace("/", ".")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "problem.py").write_text(problem, encoding="utf-8")
        (folder / FILES[kernel["label"]]).write_text(candidate, encoding="utf-8")
    print(f"{len(kernels)} kernels in {options.out}")


if __name__ == "__main__":
    main()
