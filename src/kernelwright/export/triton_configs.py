"""Writes the chosen configs as lists of `triton.Config` for `triton.autotune`, in a Python file without kernelwright.

A list sets only parameters with fixed values. A block size that the host code computes is named in a comment, because a
`triton.Config` with its value would be wrong for other shapes.
"""

from __future__ import annotations

from kernelwright.export.best_config import Chosen, Pinned
from kernelwright.source import KernelConfig


def triton_configs_text(pinned: Pinned) -> str:
    """The file's text, with one list per kernel: the choice for all cases, then differing choices for single cases."""
    lines = [
        f'"""Configs of {pinned.problem}, chosen by kernelwright {pinned.kernelwright} on {pinned.date[:10]}.',
        "",
        f"Times are {provenance(pinned)}; torch {pinned.torch}, Triton {pinned.triton}.",
        f"Candidate: SHA-256 {pinned.candidate[:12]}. They hold for this device and these versions: best_config.json",
        'says the same and is checked when it is loaded."""',
        "",
        "import triton",
    ]
    kernels = list(dict.fromkeys(name for one in every(pinned) for name in one.kernels))
    for kernel in kernels:
        lines += ["", f"{constant(kernel)} = ["]
        seen: list[KernelConfig] = []
        for one in every(pinned):
            config = one.kernels.get(kernel)
            if config is None or config in seen:
                continue
            seen.append(config)
            what = f"case {one.case or pinned.tuned_for[0]}"
            if one.case is None and len(pinned.tuned_for) > 1:
                what = f"all of {', '.join(pinned.tuned_for)}"
            lines.append(f"    {config_text(config)},  # {what}")
            if config.derived:
                lines.append(f"    # the host code computes {', '.join(config.derived)}")
        lines.append("]")
    return "\n".join(lines) + "\n"


def every(pinned: Pinned) -> tuple[Chosen, ...]:
    return (pinned.joint, *pinned.cases)


def provenance(pinned: Pinned) -> str:
    if pinned.kind == "estimate":
        return f"estimates for {pinned.target}, nothing was measured"
    how = "measured on" if pinned.kind == "measured" else "replayed from a record of"
    return f"{how} {pinned.device or pinned.target}"


def constant(kernel: str) -> str:
    """`matmul_kernel#2` as MATMUL_KERNEL_2."""
    return "".join(letter if letter.isalnum() else "_" for letter in kernel).upper()


def config_text(config: KernelConfig) -> str:
    inside = ", ".join(f'"{name}": {value}' for name, value in config.kwargs.items())
    return f"triton.Config({{{inside}}}, num_warps={config.num_warps}, num_stages={config.num_stages})"
