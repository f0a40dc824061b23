"""The public names of Triton's language, by module, and the committed list of them for each supported Triton.

As a script it writes that list: `python tests/triton_names.py FOLDER...`, where each folder holds an unpacked wheel of
one Triton (`pip download triton==3.6.0 --no-deps`, then unzip). Names are read in a process for each, with the folder
on its path. It then says which names have no decision in src/kernelwright/worker/language.toml.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

LIST = Path(__file__).with_suffix(".toml")

MODULES = ("triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice", "triton.language.extra.cuda",
           "triton.language.extra", "triton.language.math", "triton.language", "triton")  # fmt: skip
"""What kernels may import of Triton. `math` is Python's: its names depend on no Triton."""

VALUES = ("tensor", "tensor_descriptor", "dtype", "block_type", "pointer_type", "constexpr", "tuple", "condition")
"""Classes of triton.language whose instances a kernel holds; their attributes are listed together."""


def public_names() -> dict[str, list[str]]:
    """By module, and under "values" those of the classes in VALUES, of the Triton that is on the path."""
    found = {module: _public(importlib.import_module(module)) for module in MODULES}
    language = importlib.import_module("triton.language")
    classes = [getattr(language, name) for name in VALUES if hasattr(language, name)]
    return found | {"values": sorted({name for kind in classes for name in _public(kind)})}


def installed_version() -> str:
    """Major and minor number of the Triton that is on the path."""
    return ".".join(str(importlib.import_module("triton").__version__).split(".")[:2])


def listed() -> dict[str, dict[str, set[str]]]:
    """By version (major and minor), then as `public_names`."""
    table = tomllib.loads(LIST.read_text(encoding="utf-8"))
    found: dict[str, dict[str, set[str]]] = {version: {} for version in table.pop("versions")}
    for module, groups in table.items():
        for versions, names in groups.items():
            for version in versions.split():
                found[version].setdefault(module, set()).update(names.split())
    return found


def _public(thing: object) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def _read(folder: str) -> tuple[str, dict[str, list[str]]]:
    """The full version of an unpacked Triton and its names."""
    code = ("import json, sys; import triton; import triton_names as t; "
            "print(json.dumps([triton.__version__, triton.__file__, t.public_names()]))")  # fmt: skip
    path = os.pathsep.join([folder, str(Path(__file__).parent)])
    text = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    version, file, names = json.loads(text)
    if not Path(file).is_relative_to(Path(folder).resolve()):
        raise SystemExit(f"{folder} holds no Triton: {file} was imported")
    return version, names


def _written(found: dict[str, dict[str, list[str]]]) -> str:
    """The list as TOML: names that several versions share stand once. found: by full version."""
    short = {version: ".".join(version.split(".")[:2]) for version in found}
    lines = ["# Written by triton_names.py. The decisions are in src/kernelwright/worker/language.toml.", "",
             "[versions]", *(f'"{short[version]}" = "{version}"' for version in found)]  # fmt: skip
    for module in sorted({module for names in found.values() for module in names}):
        lines += ["", f'["{module}"]']
        groups: dict[str, list[str]] = {}
        for name in sorted({name for names in found.values() for name in names[module]}):
            holders = " ".join(short[version] for version in found if name in found[version][module])
            groups.setdefault(holders, []).append(name)
        for holders, names in sorted(groups.items()):
            wrapped = "\n".join(textwrap.wrap(" ".join(names), 118))
            lines.append(f'"{holders}" = """\n{wrapped}"""')
    return "\n".join(lines) + "\n"


def main(folders: list[str]) -> int:
    from kernelwright.worker.rules import language

    found = dict(sorted(_read(folder) for folder in folders))
    LIST.write_text(_written(found), encoding="utf-8")
    undecided = [
        f"{version}: {module}.{name}"
        for version, modules in found.items()
        for module, names in modules.items()
        for name in sorted(set(names) - decided(language, module))
    ]
    print("\n".join([f"{LIST.name}: {', '.join(found)}", *(undecided or ["every name is decided about"])]))
    return 1 if undecided else 0


def decided(language: object, module: str) -> frozenset[str]:
    """Names that kernelwright.worker.rules.language has a decision for."""
    if module == "values":
        return frozenset(language.VALUE_ATTRIBUTES | language.REFUSED_ATTRIBUTES)  # type: ignore[attr-defined]
    return frozenset(language.MODULES[module].every)  # type: ignore[attr-defined]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
