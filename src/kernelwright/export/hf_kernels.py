"""The exporter `hf-kernels`: the package of `op` as a repository of the Hugging Face kernels hub, built for CUDA.

Layout and metadata follow https://huggingface.co/docs/kernels/kernel-requirements (2026): the package's files directly
in `build/torch-cuda`, a folder with the package's name for older loaders, and a digest of every file. The operator's
namespace contains a hash of kernel and problem, because one process may load several versions.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

from kernelwright.codec import sha
from kernelwright.export.op import json_text, op_files
from kernelwright.export.op_texts import sentence
from kernelwright.export.subject import Subject
from kernelwright.report.evaluation import constant_texts, library_text
from kernelwright.templates import rendered

VARIANT = "build/torch-cuda"
VERSION = 0
"""On the hub, version 0 means "not recommended for production"; the publisher may raise it."""


def hf_kernels_files(subject: Subject) -> dict[str, str | bytes]:
    package = subject.package
    identity = f"_{package}_cuda_{sha(subject.source + subject.problem_text)[:7]}"
    named = replace(subject, package=identity)
    inside = f"{identity}/"
    flat = {path.removeprefix(inside): text for path, text in op_files(named).items() if path.startswith(inside)}
    flat[f"{package}/__init__.py"] = rendered("kernelwright.export", "package/older_loader.py.j2", identity=identity)
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


def card(subject: Subject) -> str:
    remarks = [library_text(subject.evaluation), *constant_texts(subject.evaluation.constant)]
    return rendered(
        "kernelwright.export",
        "package/card.md.j2",
        package=subject.package,
        title=subject.title,
        maker=subject.maker,
        remarks=[*map(sentence, remarks)],
        unmeasured=subject.results is None,
        variant=VARIANT,
        version=VERSION,
    )
