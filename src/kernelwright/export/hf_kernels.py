"""The exporter `hf-kernels`: the package of `op` as a repository of the Hugging Face kernels hub, built for CUDA.

Layout and metadata follow https://huggingface.co/docs/kernels/kernel-requirements (2026): the package's files directly
in `build/torch-cuda`, a folder with the package's name for older loaders, and a digest of every file. The operator's
namespace contains a hash of kernel and problem, because one process may load several versions.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace

from kernelwright.codec import sha
from kernelwright.export.op import json_text, op_files, sentence
from kernelwright.export.subject import Subject
from kernelwright.report.evaluation import constant_texts, library_text

VARIANT = "build/torch-cuda"
VERSION = 0
"""On the hub, version 0 means "not recommended for production"; the publisher may raise it."""


def hf_kernels_files(subject: Subject) -> dict[str, str | bytes]:
    package = subject.package
    identity = f"_{package}_cuda_{sha(subject.source + subject.problem_text)[:7]}"
    named = replace(subject, package=identity)
    inside = f"{identity}/"
    flat = {path.removeprefix(inside): text for path, text in op_files(named).items() if path.startswith(inside)}
    flat[f"{package}/__init__.py"] = older_loader(identity)
    flat["metadata.json"] = json_text(metadata(package, identity, flat))
    files: dict[str, str | bytes] = {f"{VARIANT}/{path}": text for path, text in flat.items()}
    return {**files, "README.md": card(subject)}


def metadata(package: str, identity: str, files: dict[str, str | bytes]) -> dict[str, object]:
    digests = {
        path: base64.b64encode(hashlib.sha256(text.encode() if isinstance(text, str) else text).digest()).decode()
        for path, text in sorted(files.items())
    }
    return {
        "id": identity,
        "name": package.replace("_", "-"),
        "version": VERSION,
        "license": "unknown",
        "python-depends": [],
        "backend": {"type": "cuda"},
        "digest": {"algorithm": "sha256", "files": digests},
    }


def older_loader(identity: str) -> str:
    return f'''"""For loaders that look for a folder of the kernel's name: the same names, from the folder above."""

import importlib.util
import sys
from pathlib import Path

_home = Path(__file__).resolve().parent.parent
_name = "{identity}_flat"
if _name not in sys.modules:
    _places = [str(_home)]
    _spec = importlib.util.spec_from_file_location(_name, _home / "__init__.py", submodule_search_locations=_places)
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])
globals().update({{name: getattr(sys.modules[_name], name) for name in sys.modules[_name].__all__}})
'''


UNMEASURED = """
**Nothing was measured: PyTorch serves every call.** Export it again with `--results FILE`, a report that
`kernelwright bench --json` has written on the GPU.
"""


def card(subject: Subject) -> str:
    front = json.dumps(["kernels"])
    remarks = [library_text(subject.evaluation), *constant_texts(subject.evaluation.constant)]
    mode = "".join(f"\n{sentence(remark)}\n" for remark in remarks)
    unmeasured = "" if subject.results is not None else UNMEASURED
    return f"""---
library_name: kernels
tags: {front}
license: unknown
---

# {subject.package.replace("_", "-")}

A Triton kernel for {subject.title}, used where it was measured to be faster than PyTorch; PyTorch runs
everywhere else. Made by {subject.maker}.
{mode}{unmeasured}
Before publishing: put the kernel's licence here and into `{VARIANT}/metadata.json`, whose `version` is
{VERSION} (not yet recommended for production).

```python
from kernels import get_kernel

kernel = get_kernel("YOU/{subject.package.replace("_", "-")}", version={VERSION}, trust_remote_code=True)
```
"""
