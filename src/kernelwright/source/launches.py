"""Kernel configs of a source: the constants and launch options of its launches, as in `triton.Config`.

It only reads values written in the text, so a config has to be applied first. Only values that can be read with
certainty are returned. A block size that the host code computes from shapes is listed as derived.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelwright.errors import ConfigError
from kernelwright.model import Record
from kernelwright.source.kernels import Kernel, LaunchCall, read_kernels, read_launch
from kernelwright.source.names import DEFAULT_NUM_STAGES, DEFAULT_NUM_WARPS
from kernelwright.source.scopes import Reader, Scope
from kernelwright.source.tunables import autotune_list, find_places, parse


class KernelConfig(Record, frozen=True, kw_only=True):
    """kwargs: the constexpr parameters that are tunables, by the kernel's names. derived: parameters that the host code
    computes from tunables and shapes."""

    kwargs: dict[str, int]
    num_warps: int
    num_stages: int
    derived: tuple[str, ...] = ()


def kernel_configs(source: str, autotune: Mapping[str, int] | None = None) -> dict[str, KernelConfig]:
    """The config of each launched kernel; a second launch of a kernel with other values is `name#2`.

    autotune: for kernels under `triton.autotune`, the index of the config. A kernel whose configs cannot be read is
    left out. Raises `ConfigError` for a source that does not parse.
    """
    reader = parse(source)
    if reader is None:
        raise ConfigError("the source does not parse as Python", "correct its syntax first")
    literals = {id(place.node) for place in find_places(reader) if isinstance(place.node, ast.Constant)}
    kernels = read_kernels(reader)
    found: dict[str, list[KernelConfig]] = {}
    for call, scope in reader.calls:
        launch = read_launch(reader, kernels, call, scope)
        if launch is None:
            continue
        index = (autotune or {}).get(launch.kernel.name, 0)
        one = autotuned(reader, launch.kernel, index) if launch.kernel.autotuned else launched(reader, launch, literals)
        if one is not None and one not in found.setdefault(launch.kernel.name, []):
            found[launch.kernel.name].append(one)
    return {
        name if number == 1 else f"{name}#{number}": one
        for name, configs in found.items()
        for number, one in enumerate(configs, 1)
    }


def launched(reader: Reader, launch: LaunchCall, literals: set[int]) -> KernelConfig:
    """literals: ids of the nodes that are tunables."""
    kernel, kwargs, derived = launch.kernel, {}, []
    for parameter in kernel.parameters:
        value, scope = given(reader, launch, parameter)
        if parameter not in kernel.constexprs or value is None:
            continue
        origin = reader.origin(value, scope)
        if origin is not None and id(origin.node) in literals:
            kwargs[parameter] = origin.value
        elif origin is None and not isinstance(value, ast.Constant):
            derived.append(parameter)
    options = {}
    for option, default in (("num_warps", DEFAULT_NUM_WARPS), ("num_stages", DEFAULT_NUM_STAGES)):
        origin = reader.origin(launch.given[option], launch.scope) if option in launch.given else None
        options[option] = default if origin is None else origin.value
        if origin is None and option in launch.given:
            derived.append(option)
    return KernelConfig(
        kwargs=kwargs, num_warps=options["num_warps"], num_stages=options["num_stages"], derived=tuple(derived)
    )


def given(reader: Reader, launch: LaunchCall, parameter: str) -> tuple[ast.expr | None, Scope]:
    """The argument that a launch passes for a parameter, or the default in the kernel's signature."""
    if parameter in launch.given:
        return launch.given[parameter], launch.scope
    return launch.kernel.defaults.get(parameter), reader.module


def autotuned(reader: Reader, kernel: Kernel, index: int) -> KernelConfig | None:
    """The config with this index, as written; None where it cannot be read."""
    configs = autotune_list(reader, kernel)
    if configs is None or not 0 <= index < len(configs.elts):
        return None
    call = configs.elts[index]
    if not isinstance(call, ast.Call) or not reader.is_triton(call.func, "Config"):
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    values = named.get("kwargs", call.args[0] if call.args else None)
    if not isinstance(values, ast.Dict) or not all(isinstance(key, ast.Constant) for key in values.keys):
        return None
    kwargs, derived = {}, []
    for key, value in zip(values.keys, values.values, strict=True):
        origin = reader.origin(value, reader.module)
        assert isinstance(key, ast.Constant)
        if origin is None:
            derived.append(str(key.value))
        else:
            kwargs[str(key.value)] = origin.value
    return KernelConfig(
        kwargs=kwargs,
        num_warps=option_of(reader, named.get("num_warps"), DEFAULT_NUM_WARPS),
        num_stages=option_of(reader, named.get("num_stages"), DEFAULT_NUM_STAGES),
        derived=tuple(derived),
    )


def option_of(reader: Reader, value: ast.expr | None, default: int) -> int:
    origin = reader.origin(value, reader.module) if value is not None else None
    return default if origin is None else origin.value
